#include "admin/metrics.h"

#include <fmt/format.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <utility>

#include "base/check.h"

namespace cairn::admin {
namespace {

using ::prometheus::ClientMetric;
using ::prometheus::MetricFamily;
using ::prometheus::MetricType;

using PrometheusLabels = std::vector<ClientMetric::Label>;

// Collects families in the order in which they are documented. A family is begun by the first call
// with its name; the calls of one family follow each other.
class Collector {
 public:
  template <typename Number>
  void Counter(std::string_view name, std::string_view help, Number value,
               PrometheusLabels labels = {}) {
    ClientMetric metric;
    metric.counter.value = static_cast<double>(value);
    Add(MetricType::Counter, name, help, std::move(metric), std::move(labels));
  }

  template <typename Number>
  void Gauge(std::string_view name, std::string_view help, Number value,
             PrometheusLabels labels = {}) {
    ClientMetric metric;
    metric.gauge.value = static_cast<double>(value);
    Add(MetricType::Gauge, name, help, std::move(metric), std::move(labels));
  }

  void Histogram(std::string_view name, std::string_view help,
                 const house::MetricsWriter::Distribution& values, PrometheusLabels labels) {
    CAIRN_CHECK(values.counts.size() == values.bounds.size() + 1);
    ClientMetric metric;
    uint64_t cumulative = 0;
    for (size_t i = 0; i < values.counts.size(); ++i) {
      cumulative += values.counts[i];
      const double bound =
          i < values.bounds.size() ? values.bounds[i] : std::numeric_limits<double>::infinity();
      metric.histogram.bucket.push_back({cumulative, bound});
    }
    metric.histogram.sample_count = cumulative;
    metric.histogram.sample_sum = values.sum;
    Add(MetricType::Histogram, name, help, std::move(metric), std::move(labels));
  }

  const std::vector<MetricFamily>& families() const { return families_; }

 private:
  void Add(MetricType type, std::string_view name, std::string_view help, ClientMetric metric,
           PrometheusLabels labels) {
    metric.label = std::move(labels);
    if (families_.empty() || families_.back().name != name) {
      families_.push_back({std::string(name), std::string(help), type, {}});
    }
    families_.back().metric.push_back(std::move(metric));
  }

  std::vector<MetricFamily> families_;
};

void CollectServer(const MetricsSnapshot& snapshot, Collector& collector) {
  collector.Gauge("cairn_build_info", "1, with the version as labels.", 1,
                  {{"version", snapshot.version}, {"revision", snapshot.revision}});
  collector.Gauge("cairn_ready", "1 while the server takes reads and writes.", snapshot.ready);
  collector.Counter("cairn_audit_failures_total",
                    "Times that the audit log could not be written when it should have been.",
                    snapshot.audit_failures);
  collector.Gauge("process_start_time_seconds", "When the process started, in Unix time.",
                  static_cast<double>(snapshot.started.us) / 1e6);
  collector.Counter("process_cpu_seconds_total", "Processor time used.",
                    snapshot.process.cpu_seconds);
  collector.Gauge("process_resident_memory_bytes", "Memory in use, as the kernel counts it.",
                  snapshot.process.resident_bytes);
  collector.Gauge("process_open_fds", "Open file descriptors.", snapshot.process.open_files);
  collector.Gauge("process_max_fds", "File descriptors allowed.", snapshot.process.max_files);
}

void CollectDoors(const MetricsSnapshot& snapshot, Collector& collector) {
  const PrometheusLabels resp = {{"door", "resp"}};
  const PrometheusLabels http = {{"door", "http"}};
  constexpr std::string_view kOpen = "Connections open now.";
  collector.Gauge("cairn_connections", kOpen, snapshot.resp.connections_open, resp);
  collector.Gauge("cairn_connections", kOpen, snapshot.http.connections_open, http);
  constexpr std::string_view kReceived = "Connections accepted.";
  collector.Counter("cairn_connections_total", kReceived, snapshot.resp.connections_received, resp);
  collector.Counter("cairn_connections_total", kReceived, snapshot.http.connections_received, http);
  constexpr std::string_view kRejected = "Connections turned away because there were too many.";
  collector.Counter("cairn_connections_rejected_total", kRejected,
                    snapshot.resp.connections_rejected, resp);
  collector.Counter("cairn_connections_rejected_total", kRejected,
                    snapshot.http.connections_rejected, http);
  constexpr std::string_view kRequests = "Requests received.";
  collector.Counter("cairn_requests_total", kRequests, snapshot.resp.requests, resp);
  collector.Counter("cairn_requests_total", kRequests, snapshot.http.requests, http);
  collector.Counter("cairn_resp_protocol_errors_total",
                    "Connections closed for malformed requests.", snapshot.resp.protocol_errors);
  collector.Counter("cairn_resp_received_bytes_total", "Bytes read from Redis-protocol clients.",
                    snapshot.resp.bytes_in);
  collector.Counter("cairn_resp_sent_bytes_total", "Bytes written to Redis-protocol clients.",
                    snapshot.resp.bytes_out);
  collector.Counter("cairn_resp_output_disconnects_total",
                    "Redis-protocol clients closed because they did not read their replies.",
                    snapshot.resp.output_disconnects);
  collector.Counter("cairn_resp_auth_timeouts_total",
                    "Redis-protocol clients closed because they did not authenticate in time.",
                    snapshot.resp.auth_timeouts);
  collector.Counter("cairn_failed_logins_total", "Wrong passwords, users and keys, at both doors.",
                    snapshot.failed_logins);
  collector.Gauge("cairn_buffers_bytes", "What large requests and replies take now, together.",
                  snapshot.buffers.used_bytes);
  collector.Gauge("cairn_buffers_limit_bytes", "The setting limits.buffers.",
                  snapshot.buffers.limit_bytes);
  collector.Counter(
      "cairn_buffers_disconnects_total",
      "Connections closed because they held the most when limits.buffers was used up.",
      snapshot.buffers.disconnected);
  collector.Counter("cairn_buffers_refused_total",
                    "Replies refused because limits.buffers was used up.",
                    snapshot.buffers.refused);
}

// Commands that were never called are left out: most of the table would be zeros.
void CollectCommands(const MetricsSnapshot& snapshot, Collector& collector) {
  const auto each = [&](std::string_view name, std::string_view help, auto value) {
    for (const CommandMetrics& command : snapshot.commands) {
      if (command.calls + command.rejected == 0) continue;
      collector.Counter(name, help, value(command), {{"command", std::string(command.name)}});
    }
  };
  each("cairn_commands_total", "Commands run.", [](const CommandMetrics& c) { return c.calls; });
  each("cairn_command_seconds_total", "Time spent running commands.",
       [](const CommandMetrics& c) { return c.seconds; });
  each("cairn_command_errors_total", "Commands that ran and replied with an error.",
       [](const CommandMetrics& c) { return c.failed; });
  each("cairn_command_rejections_total", "Commands refused before they ran.",
       [](const CommandMetrics& c) { return c.rejected; });
}

void CollectStore(const MetricsSnapshot& snapshot, Collector& collector) {
  const store::StoreStats& store = snapshot.store;
  collector.Gauge(
      "cairn_store_writes_stopped",
      "1 while writes are stopped: a full disk, a failed sync, PostgreSQL that takes none.",
      snapshot.writes_stopped);
  collector.Gauge("cairn_store_durability_info", "1, with the durability mode as label.", 1,
                  {{"mode", std::string(DurabilityName(snapshot.durability))}});
  collector.Counter("cairn_store_commits_total", "Groups of transactions committed.",
                    store.commits);
  collector.Counter("cairn_store_engine_writes_total",
                    "Engine writes the commits were merged into.", store.engine_writes);
  collector.Counter("cairn_store_syncs_total", "Times the log was made durable.", store.syncs);
  collector.Gauge("cairn_store_last_commit", "Number of the newest commit.", store.last_commit);
  collector.Gauge("cairn_store_durable_commit", "Number of the newest durable commit.",
                  store.durable_commit);
  collector.Counter("cairn_store_cache_hits_total", "Reads answered by the value cache.",
                    store.cache_hits);
  collector.Counter("cairn_store_cache_misses_total",
                    "Reads that the value cache could not answer.", store.cache_misses);
  constexpr std::string_view kMemory = "Memory in use by the store's parts.";
  collector.Gauge("cairn_store_memory_bytes", kMemory, store.cache_bytes,
                  {{"part", "value_cache"}});
  collector.Gauge("cairn_store_memory_bytes", kMemory, store.block_cache_bytes,
                  {{"part", "block_cache"}});
  collector.Gauge("cairn_store_memory_bytes", kMemory, store.write_buffer_bytes,
                  {{"part", "write_buffers"}});
  collector.Gauge("cairn_store_memory_budget_bytes", "What the store's parts may use together.",
                  snapshot.memory_budget_bytes);
  collector.Gauge("cairn_store_disk_bytes", "Bytes of live files.", store.disk_bytes);
}

// What a layer writes to, between the figures of others.
class LayerWriter final : public house::MetricsWriter {
 public:
  LayerWriter(std::string_view prefix, Collector& collector)
      : prefix_(prefix), collector_(collector) {}

  void Counter(std::string_view name, std::string_view help, double value, Labels labels) override {
    Check(name);
    collector_.Counter(name, help, value, Translated(labels));
  }
  void Gauge(std::string_view name, std::string_view help, double value, Labels labels) override {
    Check(name);
    collector_.Gauge(name, help, value, Translated(labels));
  }
  void Histogram(std::string_view name, std::string_view help, const Distribution& distribution,
                 Labels labels) override {
    Check(name);
    collector_.Histogram(name, help, distribution, Translated(labels));
  }

 private:
  void Check(std::string_view name) const {
    CAIRN_CHECK(name.starts_with(prefix_) &&
                (name.size() == prefix_.size() || name[prefix_.size()] == '_'));
  }
  static PrometheusLabels Translated(const Labels& labels) {
    PrometheusLabels translated;
    for (const auto& [name, value] : labels) translated.push_back({name, value});
    return translated;
  }

  const std::string_view prefix_;
  Collector& collector_;
};

void CollectLoops(const MetricsSnapshot& snapshot, Collector& collector) {
  for (size_t i = 0; i < snapshot.loops.size(); ++i) {
    collector.Histogram(
        "cairn_loop_latency_seconds", "How late event loops were for a timer.",
        {LoopLatency::kBounds, snapshot.loops[i].counts, snapshot.loops[i].sum_seconds},
        {{"loop", fmt::format("{}", i)}});
  }
}

}  // namespace

std::string_view DurabilityName(store::Durability durability) {
  switch (durability) {
    case store::Durability::kSync:
      return "sync";
    case store::Durability::kInterval:
      return "interval";
    case store::Durability::kOs:
      return "os";
  }
  return "";
}

std::string FormatMetrics(const MetricsSnapshot& snapshot,
                          std::span<const house::Registry::Metrics> layers) {
  Collector collector;
  CollectServer(snapshot, collector);
  CollectDoors(snapshot, collector);
  CollectCommands(snapshot, collector);
  CollectStore(snapshot, collector);
  // From the last to the first, see Registry::metrics.
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    LayerWriter writer(layer->prefix, collector);
    layer->source(writer);
  }
  CollectLoops(snapshot, collector);
  return ::prometheus::TextSerializer().Serialize(collector.families());
}

}  // namespace cairn::admin
