#include "data/info.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "data/keys.h"
#include "doors/arg_parser.h"
#include "doors/limits.h"
#include "net/resp/server.h"
#include "store/store.h"

namespace cairn::data {
namespace {

using doors::CommandContext;
using doors::Instance;

// Collects the lines of one section.
class Section {
 public:
  explicit Section(std::string_view title) : text_(fmt::format("# {}\r\n", title)) {}

  template <typename T>
  Section& Add(std::string_view name, const T& value) {
    text_ += fmt::format("{}:{}\r\n", name, value);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// 1536 is "1.50K".
std::string Human(uint64_t bytes) {
  constexpr std::array<char, 5> kUnits = {'B', 'K', 'M', 'G', 'T'};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{}B", bytes) : fmt::format("{:.2f}{}", value, kUnits[unit]);
}

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0;
  uint64_t resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t PeakResidentBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

Result<std::string> Server(CommandContext& context, Instance& instance) {
  utsname system{};
  uname(&system);
  const int64_t uptime_s = (context.now().us - instance.started().us) / 1'000'000;
  return Section("Server")
      .Add("redis_version", doors::kRedisVersion)
      .Add("redis_git_sha1", "00000000")
      .Add("redis_git_dirty", 0)
      .Add("redis_mode", "standalone")
      .Add("cairn_version", instance.options().version)
      .Add("os", fmt::format("{} {} {}", system.sysname, system.release, system.machine))
      .Add("arch_bits", 8 * sizeof(void*))
      .Add("multiplexing_api", "epoll")
      .Add("process_id", getpid())
      .Add("run_id", instance.run_id())
      .Add("server_time_usec", context.now().us)
      .Add("uptime_in_seconds", uptime_s)
      .Add("uptime_in_days", uptime_s / 86'400)
      .Add("hz", 10)
      .text();
}

Result<std::string> ClientsSection(CommandContext& /*context*/, Instance& instance) {
  const net::RespServer* server = instance.server();
  return Section("Clients")
      .Add("connected_clients", instance.clients().count())
      .Add("cluster_connections", 0)
      .Add("maxclients", server == nullptr ? 0 : server->max_clients())
      .Add("blocked_clients", 0)
      .Add("tracking_clients", 0)
      .text();
}

Result<std::string> Memory(CommandContext& /*context*/, Instance& instance) {
  const store::StoreStats stats = instance.store().stats();
  const uint64_t resident = ResidentBytes();
  const uint64_t total =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return Section("Memory")
      .Add("used_memory", resident)
      .Add("used_memory_human", Human(resident))
      .Add("used_memory_rss", resident)
      .Add("used_memory_rss_human", Human(resident))
      .Add("used_memory_peak", PeakResidentBytes())
      .Add("used_memory_peak_human", Human(PeakResidentBytes()))
      .Add("total_system_memory", total)
      .Add("total_system_memory_human", Human(total))
      .Add("maxmemory", 0)
      .Add("maxmemory_human", "0B")
      .Add("maxmemory_policy", "noeviction")
      .Add("mem_fragmentation_ratio", "1.00")
      .Add("store_value_cache_bytes", stats.cache_bytes)
      .Add("store_block_cache_bytes", stats.block_cache_bytes)
      .Add("store_write_buffer_bytes", stats.write_buffer_bytes)
      .text();
}

Result<std::string> Persistence(CommandContext& context, Instance& instance) {
  const store::StoreStats stats = instance.store().stats();
  const auto failure = instance.store().write_failure();
  return Section("Persistence")
      .Add("loading", 0)
      .Add("async_loading", 0)
      .Add("rdb_changes_since_last_save", 0)
      .Add("rdb_bgsave_in_progress", 0)
      .Add("rdb_last_save_time", context.now().us / 1'000'000)
      .Add("rdb_last_bgsave_status", failure ? "err" : "ok")
      .Add("aof_enabled", 1)
      .Add("aof_rewrite_in_progress", 0)
      .Add("aof_last_write_status", failure ? "err" : "ok")
      .Add("store_commits", stats.commits)
      .Add("store_engine_writes", stats.engine_writes)
      .Add("store_syncs", stats.syncs)
      .Add("store_last_commit", stats.last_commit)
      .Add("store_durable_commit", stats.durable_commit)
      .Add("store_disk_bytes", stats.disk_bytes)
      .text();
}

Result<std::string> Stats(CommandContext& /*context*/, Instance& instance) {
  const store::StoreStats store = instance.store().stats();
  net::RespServerStats net;
  if (instance.server() != nullptr) net = instance.server()->stats();
  return Section("Stats")
      .Add("total_connections_received", net.connections_received)
      .Add("total_commands_processed", net.requests)
      .Add("total_net_input_bytes", net.bytes_in)
      .Add("total_net_output_bytes", net.bytes_out)
      .Add("rejected_connections", net.connections_rejected)
      .Add("evicted_keys", 0)
      .Add("pubsub_channels", 0)
      .Add("pubsub_patterns", 0)
      .Add("store_cache_hits", store.cache_hits)
      .Add("store_cache_misses", store.cache_misses)
      .Add("slowlog_length", instance.slow_log().size())
      .text();
}

Result<std::string> Replication(CommandContext& /*context*/, Instance& instance) {
  return Section("Replication")
      .Add("role", "master")
      .Add("connected_slaves", 0)
      .Add("master_failover_state", "no-failover")
      .Add("master_replid", instance.run_id())
      .Add("master_repl_offset", 0)
      .text();
}

Result<std::string> Cpu(CommandContext& /*context*/, Instance& /*instance*/) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return fmt::format("{}.{:06}", time.tv_sec, time.tv_usec);
  };
  return Section("CPU")
      .Add("used_cpu_sys", seconds(usage.ru_stime))
      .Add("used_cpu_user", seconds(usage.ru_utime))
      .text();
}

Result<std::string> CommandStats(CommandContext& /*context*/, Instance& instance) {
  Section section("Commandstats");
  const doors::CommandTable& table = instance.commands();
  for (size_t i = 0; i < table.row_count(); ++i) {
    const doors::Command& command = table.row(i);
    const doors::CallTotals totals = instance.Totals(command);
    if (totals.calls == 0 && totals.rejected == 0) continue;
    const double us = static_cast<double>(totals.ns) / 1000;
    section.Add(fmt::format("cmdstat_{}", command.name),
                fmt::format("calls={},usec={:.0f},usec_per_call={:.2f},rejected_calls={},"
                            "failed_calls={}",
                            totals.calls, us,
                            totals.calls == 0 ? 0 : us / static_cast<double>(totals.calls),
                            totals.rejected, totals.failed));
  }
  return section.text();
}

Result<std::string> Cluster(CommandContext& /*context*/, Instance& /*instance*/) {
  return Section("Cluster").Add("cluster_enabled", 0).text();
}

Result<std::string> Keyspace(CommandContext& context, Instance& /*instance*/) {
  Section section("Keyspace");
  for (int db = 0; db < doors::kDatabases; ++db) {
    const auto number = static_cast<uint8_t>(db);
    CAIRN_ASSIGN_OR_RETURN(
        const auto keys, context.transaction.Get({store::Space::kData, EncodeKeyCounter(number)}));
    CAIRN_ASSIGN_OR_RETURN(
        const auto expiring,
        context.transaction.Get({store::Space::kData, EncodeExpiringCounter(number)}));
    if (DecodeCounter(keys) == 0) continue;
    section.Add(fmt::format("db{}", db), fmt::format("keys={},expires={},avg_ttl=0",
                                                     DecodeCounter(keys), DecodeCounter(expiring)));
  }
  return section.text();
}

struct SectionRow {
  std::string_view name;
  Result<std::string> (*write)(CommandContext&, Instance&);
  bool by_default = true;
};

constexpr SectionRow kSections[] = {
    {"server", Server},   {"clients", ClientsSection},
    {"memory", Memory},   {"persistence", Persistence},
    {"stats", Stats},     {"replication", Replication},
    {"cpu", Cpu},         {"commandstats", CommandStats, false},
    {"cluster", Cluster}, {"keyspace", Keyspace},
};

bool Wanted(const SectionRow& section, doors::Args names) {
  if (names.empty()) return section.by_default;
  return std::ranges::any_of(names, [&](std::string_view name) {
    if (doors::EqualsIgnoreCase(name, "default")) return section.by_default;
    return doors::EqualsIgnoreCase(name, "all") || doors::EqualsIgnoreCase(name, "everything") ||
           doors::EqualsIgnoreCase(name, section.name);
  });
}

}  // namespace

Result<void> Info(CommandContext& context, Instance& instance) {
  std::string text;
  for (const SectionRow& section : kSections) {
    if (!Wanted(section, context.args.subspan(1))) continue;
    CAIRN_ASSIGN_OR_RETURN(const std::string lines, section.write(context, instance));
    if (!text.empty()) text += "\r\n";
    text += lines;
  }
  context.reply.Verbatim("txt", text);
  return {};
}

}  // namespace cairn::data
