#include "admin/cluster_status.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "admin/metrics.h"
#include "jobs/job_json.h"

namespace cairn::admin {
namespace {

namespace json = boost::json;

constexpr int64_t kUsPerSecond = 1'000'000;

std::string TimeText(Timestamp time) {
  return jobs::FormatTime(static_cast<uint64_t>(time.us) * 1000);
}

}  // namespace

std::string ClusterStatusJson(const ClusterStatus& status) {
  json::object out{
      {"mode", status.shared ? "cluster" : "single"},
      {"node_id", status.node_id},
      {"server_version", status.version},
      {"status", status.why_not_ready ? "not_ready" : "ready"},
      {"started_at", TimeText(status.started)},
      {"uptime_seconds", (status.now.us - status.started.us) / kUsPerSecond},
      {"durability", DurabilityName(status.durability)},
      {"last_commit", status.last_commit},
      {"durable_commit", status.durable_commit},
  };
  if (status.why_not_ready) out["reason"] = *status.why_not_ready;
  if (!status.shared) {
    // Alone, it does all there is to do. Which of several servers fires timers is settled among
    // them by a lease, and changes.
    out["fires_timers"] = true;
    out["nodes"] = json::array{json::object{{"id", status.node_id}}};
  }
  if (status.events) {
    const ClusterStatus::Events& events = *status.events;
    out["events"] = {{"newest", events.newest}, {"removed", events.removed}};
    // The view leaves no event out: what the log no longer has, it makes up for by reading all.
    out["sqlite_mirror"] = {{"async", true},
                            {"applied", events.in_view},
                            {"newest_event", events.newest},
                            {"lag", events.newest - std::min(events.newest, events.in_view)},
                            {"dropped", 0}};
  }
  return json::serialize(out);
}

}  // namespace cairn::admin
