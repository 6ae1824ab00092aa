#include "admin/cluster_status.h"

#include <boost/json/array.hpp>

#include "admin/metrics.h"
#include "base/time_text.h"

namespace cairn::admin {
namespace {

namespace json = boost::json;

constexpr int64_t kUsPerSecond = 1'000'000;

std::string TimeText(Timestamp time) { return FormatTime(static_cast<uint64_t>(time.us) * 1000); }

}  // namespace

json::object ClusterStatusJson(const ClusterStatus& status) {
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
  return out;
}

}  // namespace cairn::admin
