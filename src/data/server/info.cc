#include "data/server/info.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "base/memory.h"
#include "data/value/keys.h"
#include "data/value/numbers.h"
#include "doors/access/limits.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/session.h"
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

std::string Executable() {
  std::error_code problem;
  return std::filesystem::read_symlink("/proc/self/exe", problem).string();
}

Result<std::string> Server(CommandContext& context, Instance& instance, InfoRates& /*rates*/) {
  utsname system{};
  uname(&system);
  const int64_t uptime_s = (context.now().us - instance.run().started.us) / 1'000'000;
  return Section("Server")
      .Add("redis_version", doors::kRedisVersion)
      .Add("redis_git_sha1", "00000000")
      .Add("redis_git_dirty", 0)
      .Add("redis_build_id", 0)
      .Add("redis_mode", "standalone")
      .Add("cairn_version", instance.options().version)
      .Add("os", fmt::format("{} {} {}", system.sysname, system.release, system.machine))
      .Add("arch_bits", 8 * sizeof(void*))
      .Add("monotonic_clock", "POSIX clock_gettime")
      .Add("multiplexing_api", "epoll")
      .Add("atomicvar_api", "c11-builtin")
      .Add("process_id", getpid())
      .Add("process_supervised", "no")
      .Add("run_id", instance.run().id)
      .Add("tcp_port", SettingOr(instance, "port", "0"))
      .Add("server_time_usec", context.now().us)
      .Add("uptime_in_seconds", uptime_s)
      .Add("uptime_in_days", uptime_s / 86'400)
      .Add("hz", 10)
      .Add("configured_hz", 10)
      .Add("lru_clock", uptime_s)
      .Add("executable", Executable())
      .Add("config_file", "")
      .Add("io_threads_active", 0)
      .text();
}

// The server's own consumers stand in lines too, and are not clients.
size_t BlockedClients(Instance& instance) {
  size_t blocked = 0;
  instance.traffic().clients.ForEach(
      [&](doors::Session& session) { blocked += session.is_blocked ? 1 : 0; });
  return blocked;
}

Result<std::string> ClientsSection(CommandContext& /*context*/, Instance& instance,
                                   InfoRates& /*rates*/) {
  const net::RespServer* server = instance.server();
  return Section("Clients")
      .Add("connected_clients", instance.traffic().clients.count())
      .Add("cluster_connections", 0)
      .Add("maxclients", server == nullptr ? 0 : server->max_clients())
      .Add("client_recent_max_input_buffer", 0)
      .Add("client_recent_max_output_buffer", 0)
      .Add("blocked_clients", BlockedClients(instance) + instance.traffic().held)
      .Add("tracking_clients", instance.traffic().tracking.totals().clients)
      .Add("clients_in_timeout_table", 0)
      .text();
}

Result<std::string> Memory(CommandContext& /*context*/, Instance& instance, InfoRates& /*rates*/) {
  const store::StoreStats stats = instance.store().stats();
  const uint64_t resident = ResidentBytes();
  const uint64_t used = AllocatedBytes().value_or(resident);
  const uint64_t total =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t peak = std::max(PeakResidentBytes(), used);
  const uint64_t dataset = stats.cache_bytes + stats.block_cache_bytes + stats.write_buffer_bytes;
  const auto percent = [](uint64_t part, uint64_t whole) {
    return fmt::format(
        "{:.2f}%", whole == 0 ? 0.0 : 100 * static_cast<double>(part) / static_cast<double>(whole));
  };
  Section section("Memory");
  section.Add("used_memory", used)
      .Add("used_memory_human", Human(used))
      .Add("used_memory_rss", resident)
      .Add("used_memory_rss_human", Human(resident))
      .Add("used_memory_peak", peak)
      .Add("used_memory_peak_human", Human(peak))
      .Add("used_memory_peak_perc", percent(used, peak))
      .Add("used_memory_overhead", used - std::min(dataset, used))
      .Add("used_memory_startup", 0)
      .Add("used_memory_dataset", dataset)
      .Add("used_memory_dataset_perc", percent(dataset, used))
      .Add("allocator_allocated", used)
      .Add("allocator_active", resident)
      .Add("allocator_resident", resident)
      .Add("allocator_frag_ratio", "1.00")
      .Add("allocator_frag_bytes", 0)
      .Add("allocator_rss_ratio", "1.00")
      .Add("allocator_rss_bytes", 0)
      .Add("rss_overhead_ratio", "1.00")
      .Add("rss_overhead_bytes", 0)
      .Add("total_system_memory", total)
      .Add("total_system_memory_human", Human(total))
      .Add("used_memory_lua", 0)
      .Add("used_memory_lua_human", "0B")
      .Add("used_memory_vm_eval", 0)
      .Add("used_memory_vm_functions", 0)
      .Add("used_memory_vm_total", 0)
      .Add("used_memory_vm_total_human", "0B")
      .Add("used_memory_functions", 0)
      .Add("used_memory_scripts", 0)
      .Add("used_memory_scripts_human", "0B")
      .Add("maxmemory", 0)
      .Add("maxmemory_human", "0B")
      .Add("maxmemory_policy", "noeviction")
      .Add("mem_fragmentation_ratio", "1.00")
      .Add("mem_fragmentation_bytes", 0)
      .Add("mem_not_counted_for_evict", 0)
      .Add("mem_total_replication_buffers", 0)
      .Add("mem_cluster_links", 0)
      .Add("mem_replication_backlog", 0)
      .Add("mem_clients_slaves", 0)
      .Add("mem_clients_normal", 0)
      .Add("mem_aof_buffer", 0)
      .Add("mem_allocator", "libc")
      .Add("active_defrag_running", 0)
      .Add("lazyfree_pending_objects", 0)
      .Add("lazyfreed_objects", 0)
      .Add("store_value_cache_bytes", stats.cache_bytes)
      .Add("store_block_cache_bytes", stats.block_cache_bytes)
      .Add("store_write_buffer_bytes", stats.write_buffer_bytes);
  for (const doors::Hooks::Figure& figure : instance.hooks().figures) {
    section.Add(figure.name, figure.read());
  }
  return section.text();
}

Result<std::string> Persistence(CommandContext& context, Instance& instance, InfoRates& /*rates*/) {
  const store::StoreStats stats = instance.store().stats();
  const auto failure = instance.store().write_failure();
  return Section("Persistence")
      .Add("loading", 0)
      .Add("async_loading", 0)
      .Add("current_cow_peak", 0)
      .Add("current_cow_size", 0)
      .Add("current_cow_size_age", 0)
      .Add("current_fork_perc", "0.00")
      .Add("current_save_keys_processed", 0)
      .Add("current_save_keys_total", 0)
      .Add("rdb_changes_since_last_save", 0)
      .Add("rdb_bgsave_in_progress", 0)
      .Add("rdb_last_save_time", context.now().us / 1'000'000)
      .Add("rdb_last_bgsave_status", failure ? "err" : "ok")
      .Add("rdb_last_bgsave_time_sec", 0)
      .Add("rdb_current_bgsave_time_sec", -1)
      .Add("rdb_saves", 0)
      .Add("rdb_last_cow_size", 0)
      .Add("rdb_last_load_keys_expired", 0)
      .Add("rdb_last_load_keys_loaded", 0)
      .Add("aof_enabled", 1)
      .Add("aof_rewrite_in_progress", 0)
      .Add("aof_rewrite_scheduled", 0)
      .Add("aof_last_rewrite_time_sec", 0)
      .Add("aof_current_rewrite_time_sec", -1)
      .Add("aof_last_bgrewrite_status", "ok")
      .Add("aof_rewrites", 0)
      .Add("aof_rewrites_consecutive_failures", 0)
      .Add("aof_last_write_status", failure ? "err" : "ok")
      .Add("aof_last_cow_size", 0)
      .Add("aof_current_size", stats.disk_bytes)
      .Add("aof_base_size", stats.disk_bytes)
      .Add("module_fork_in_progress", 0)
      .Add("module_fork_last_cow_size", 0)
      .Add("store_commits", stats.commits)
      .Add("store_engine_writes", stats.engine_writes)
      .Add("store_syncs", stats.syncs)
      .Add("store_last_commit", stats.last_commit)
      .Add("store_durable_commit", stats.durable_commit)
      .Add("store_disk_bytes", stats.disk_bytes)
      .text();
}

Result<std::string> Stats(CommandContext& context, Instance& instance, InfoRates& rates) {
  const store::StoreStats store = instance.store().stats();
  net::RespServerStats net;
  if (instance.server() != nullptr) net = instance.server()->stats();
  const net::RespServerStats since_reset = rates.network.Of(net);
  const doors::PubSub& pubsub = instance.traffic().pubsub;
  const doors::LookupTotals lookups = instance.dispatchers().Lookups();
  const doors::Tracking::Totals tracking = instance.traffic().tracking.totals();
  const Timestamp now = context.now();
  const auto kilobytes = [&](RateMeter& meter, uint64_t bytes) {
    return fmt::format("{:.2f}", meter.Measure(bytes, now) / 1024);
  };
  return Section("Stats")
      .Add("total_connections_received", since_reset.connections_received)
      .Add("total_commands_processed", since_reset.requests)
      .Add("instantaneous_ops_per_sec",
           fmt::format("{:.0f}", rates.requests.Measure(net.requests, now)))
      .Add("total_net_input_bytes", since_reset.bytes_in)
      .Add("total_net_output_bytes", since_reset.bytes_out)
      .Add("total_net_repl_input_bytes", 0)
      .Add("total_net_repl_output_bytes", 0)
      .Add("instantaneous_input_kbps", kilobytes(rates.bytes_in, net.bytes_in))
      .Add("instantaneous_output_kbps", kilobytes(rates.bytes_out, net.bytes_out))
      .Add("instantaneous_input_repl_kbps", "0.00")
      .Add("instantaneous_output_repl_kbps", "0.00")
      .Add("rejected_connections", since_reset.connections_rejected)
      .Add("sync_full", 0)
      .Add("sync_partial_ok", 0)
      .Add("sync_partial_err", 0)
      .Add("expired_keys", instance.observed().expired_keys.load())
      .Add("expired_stale_perc", "0.00")
      .Add("expired_time_cap_reached_count", 0)
      .Add("expire_cycle_cpu_milliseconds", 0)
      .Add("evicted_keys", 0)
      .Add("evicted_clients", 0)
      .Add("total_eviction_exceeded_time", 0)
      .Add("current_eviction_exceeded_time", 0)
      .Add("keyspace_hits", lookups.hits)
      .Add("keyspace_misses", lookups.misses)
      .Add("pubsub_channels", pubsub.CountNames(doors::ChannelKind::kChannel))
      .Add("pubsub_patterns", pubsub.CountNames(doors::ChannelKind::kPattern))
      .Add("pubsubshard_channels", pubsub.CountNames(doors::ChannelKind::kShard))
      .Add("latest_fork_usec", 0)
      .Add("total_forks", 0)
      .Add("migrate_cached_sockets", 0)
      .Add("slave_expires_tracked_keys", 0)
      .Add("active_defrag_hits", 0)
      .Add("active_defrag_misses", 0)
      .Add("active_defrag_key_hits", 0)
      .Add("active_defrag_key_misses", 0)
      .Add("total_active_defrag_time", 0)
      .Add("current_active_defrag_time", 0)
      .Add("tracking_total_keys", tracking.keys)
      .Add("tracking_total_items", tracking.items)
      .Add("tracking_total_prefixes", tracking.prefixes)
      .Add("unexpected_error_replies", 0)
      .Add("total_error_replies", instance.observed().errors.total())
      .Add("dump_payload_sanitizations", 0)
      .Add("total_reads_processed", since_reset.requests)
      .Add("total_writes_processed", since_reset.requests)
      .Add("io_threaded_reads_processed", 0)
      .Add("io_threaded_writes_processed", 0)
      .Add("store_cache_hits", store.cache_hits)
      .Add("store_cache_misses", store.cache_misses)
      .Add("slowlog_length", instance.observed().slow_log.size())
      .text();
}

Result<std::string> Replication(CommandContext& /*context*/, Instance& instance,
                                InfoRates& /*rates*/) {
  return Section("Replication")
      .Add("role", "master")
      .Add("connected_slaves", 0)
      .Add("master_failover_state", "no-failover")
      .Add("master_replid", instance.run().id)
      .Add("master_replid2", std::string(40, '0'))
      .Add("master_repl_offset", 0)
      .Add("second_repl_offset", -1)
      .Add("repl_backlog_active", 0)
      .Add("repl_backlog_size", 1'048'576)
      .Add("repl_backlog_first_byte_offset", 0)
      .Add("repl_backlog_histlen", 0)
      .text();
}

Result<std::string> Cpu(CommandContext& /*context*/, Instance& /*instance*/, InfoRates& /*rates*/) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return fmt::format("{}.{:06}", time.tv_sec, time.tv_usec);
  };
  return Section("CPU")
      .Add("used_cpu_sys", seconds(usage.ru_stime))
      .Add("used_cpu_user", seconds(usage.ru_utime))
      .Add("used_cpu_sys_main_thread", seconds(usage.ru_stime))
      .Add("used_cpu_user_main_thread", seconds(usage.ru_utime))
      .Add("used_cpu_sys_children", "0.000000")
      .Add("used_cpu_user_children", "0.000000")
      .text();
}

Result<std::string> CommandStats(CommandContext& /*context*/, Instance& instance,
                                 InfoRates& /*rates*/) {
  Section section("Commandstats");
  const doors::CommandTable& table = instance.commands();
  for (size_t i = 0; i < table.row_count(); ++i) {
    const doors::Command& command = table.row(i);
    const doors::CallTotals totals = instance.dispatchers().Totals(command);
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

Result<std::string> ErrorStats(CommandContext& /*context*/, Instance& instance,
                               InfoRates& /*rates*/) {
  Section section("Errorstats");
  for (const auto& [code, count] : instance.observed().errors.counts()) {
    section.Add(fmt::format("errorstat_{}", code), fmt::format("count={}", count));
  }
  return section.text();
}

// Those that the setting names, such as "50 99.9".
std::string Percentiles(const doors::CallTotals& totals, std::string_view names) {
  std::string text;
  while (!names.empty()) {
    const size_t end = std::min(names.find(' '), names.size());
    const std::string_view name = names.substr(0, end);
    names.remove_prefix(std::min(end + 1, names.size()));
    const auto percent = static_cast<double>(ParseLongDouble(name).value_or(0));
    text += fmt::format("{}p{}={:.3f}", text.empty() ? "" : ",", name,
                        static_cast<double>(totals.PercentileUs(percent)));
  }
  return text;
}

Result<std::string> LatencyStats(CommandContext& /*context*/, Instance& instance,
                                 InfoRates& /*rates*/) {
  Section section("Latencystats");
  if (SettingOr(instance, "latency-tracking", "yes") == "no") return section.text();
  const std::string percentiles =
      SettingOr(instance, "latency-tracking-info-percentiles", "50 99 99.9");
  const doors::CommandTable& table = instance.commands();
  for (size_t i = 0; i < table.row_count(); ++i) {
    const doors::CallTotals totals = instance.dispatchers().Totals(table.row(i));
    if (totals.calls == 0) continue;
    section.Add(fmt::format("latency_percentiles_usec_{}", table.row(i).name),
                Percentiles(totals, percentiles));
  }
  return section.text();
}

Result<std::string> Modules(CommandContext& /*context*/, Instance& /*instance*/,
                            InfoRates& /*rates*/) {
  return Section("Modules").text();
}

Result<std::string> Cluster(CommandContext& /*context*/, Instance& /*instance*/,
                            InfoRates& /*rates*/) {
  return Section("Cluster").Add("cluster_enabled", 0).text();
}

Result<std::string> Keyspace(CommandContext& context, Instance& /*instance*/,
                             InfoRates& /*rates*/) {
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
  Result<std::string> (*write)(CommandContext&, Instance&, InfoRates&);
  bool by_default = true;
};

constexpr SectionRow kSections[] = {
    {"server", Server},
    {"clients", ClientsSection},
    {"memory", Memory},
    {"persistence", Persistence},
    {"stats", Stats},
    {"replication", Replication},
    {"cpu", Cpu},
    {"modules", Modules},
    {"commandstats", CommandStats, false},
    {"errorstats", ErrorStats},
    {"latencystats", LatencyStats, false},
    {"cluster", Cluster},
    {"keyspace", Keyspace},
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

double RateMeter::Measure(uint64_t total, Timestamp now) {
  constexpr int64_t kShortestUs = 100'000;
  const std::lock_guard lock(mutex_);
  const int64_t passed_us = now.us - last_time_.us;
  if (passed_us < kShortestUs) return rate_;
  // The first question has nothing to compare with; a total that shrank began anew.
  if (last_time_.us != 0 && total >= last_total_) {
    rate_ = static_cast<double>(total - last_total_) * 1e6 / static_cast<double>(passed_us);
  }
  last_time_ = now;
  last_total_ = total;
  return rate_;
}

std::string SettingOr(Instance& instance, std::string_view name, std::string_view otherwise) {
  const std::string_view names[] = {name};
  const auto found = instance.settings().Find(names);
  return found.empty() ? std::string(otherwise) : found.front().second;
}

void NetworkSinceReset::Reset(const net::RespServerStats& totals) {
  const std::lock_guard lock(mutex_);
  at_reset_ = totals;
}

net::RespServerStats NetworkSinceReset::Of(net::RespServerStats totals) const {
  const std::lock_guard lock(mutex_);
  totals.connections_received -= at_reset_.connections_received;
  totals.connections_rejected -= at_reset_.connections_rejected;
  totals.requests -= at_reset_.requests;
  totals.protocol_errors -= at_reset_.protocol_errors;
  totals.bytes_in -= at_reset_.bytes_in;
  totals.bytes_out -= at_reset_.bytes_out;
  return totals;
}

Result<void> Info(CommandContext& context, Instance& instance, InfoRates& rates) {
  std::string text;
  for (const SectionRow& section : kSections) {
    if (!Wanted(section, context.args.subspan(1))) continue;
    CAIRN_ASSIGN_OR_RETURN(const std::string lines, section.write(context, instance, rates));
    if (!text.empty()) text += "\r\n";
    text += lines;
  }
  context.reply.Verbatim("txt", text);
  return {};
}

}  // namespace cairn::data
