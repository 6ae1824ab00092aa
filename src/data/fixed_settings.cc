#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "data/commands.h"
#include "data/limits.h"
#include "doors/arg_parser.h"
#include "doors/instance.h"
#include "doors/limits.h"
#include "doors/settings.h"

namespace cairn::data {
namespace {

std::string_view FsyncPolicy(store::Durability durability) {
  switch (durability) {
    case store::Durability::kSync:
      return "always";
    case store::Durability::kInterval:
      return "everysec";
    case store::Durability::kOs:
      return "no";
  }
  return "no";
}

// What Redis clients and tools ask for and Cairn has no choice about, or nothing to apply it to.
constexpr std::pair<std::string_view, std::string_view> kConstants[] = {
    // Persistence
    {"appendonly", "yes"},
    {"appendfilename", "appendonly.aof"},
    {"appenddirname", "appendonlydir"},
    {"dbfilename", "dump.rdb"},
    {"rdbchecksum", "yes"},
    {"save", ""},
    // Memory
    {"maxmemory", "0"},
    {"maxmemory-clients", "0"},
    {"maxmemory-policy", "noeviction"},
    // Replication and cluster: neither
    {"cluster-enabled", "no"},
    {"masterauth", ""},
    {"masteruser", ""},
    {"min-replicas-max-lag", "10"},
    {"min-replicas-to-write", "0"},
    {"replica-read-only", "yes"},
    {"replicaof", ""},
    {"slaveof", ""},
    // The process
    {"daemonize", "no"},
    {"enable-debug-command", "yes"},
    {"enable-module-command", "no"},
    {"io-threads", "1"},
    {"io-threads-do-reads", "no"},
    {"latency-tracking-info-percentiles", "50 99 99.9"},
    {"logfile", ""},
    {"loglevel", "notice"},
    {"pidfile", ""},
    {"protected-mode", "no"},
    {"supervised", "no"},
    {"syslog-enabled", "no"},
    {"tcp-backlog", "511"},
    {"tcp-keepalive", "300"},
    {"unixsocket", ""},
    {"unixsocketperm", "0"},
};

// What only tunes how Redis keeps things in memory and in its files: it can be set, is shown, and
// changes nothing. A program that sets it works; where refusing matters to the caller (maxmemory,
// appendonly) the setting is above.
struct Tuning {
  std::string_view name;
  int64_t value;
  int64_t low;
  int64_t high;
  std::string_view former_name = {};
};
constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
constexpr int64_t kAnyInt = std::numeric_limits<int32_t>::max();
constexpr Tuning kTunings[] = {
    {"auto-aof-rewrite-min-size", 67'108'864, 0, kAny},
    {"auto-aof-rewrite-percentage", 100, 0, kAnyInt},
    {"hash-max-listpack-entries", 512, 0, kAny, "hash-max-ziplist-entries"},
    {"hash-max-listpack-value", 64, 0, kAny, "hash-max-ziplist-value"},
    {"hll-sparse-max-bytes", 3000, 0, kAny},
    {"hz", 10, 0, kAnyInt},
    {"list-compress-depth", 0, 0, kAnyInt},
    {"list-max-listpack-size", -2, std::numeric_limits<int32_t>::min(), kAnyInt,
     "list-max-ziplist-size"},
    {"maxmemory-samples", 5, 1, kAnyInt},
    {"repl-backlog-size", 1'048'576, 1, kAny},
    {"repl-ping-replica-period", 10, 1, kAnyInt, "repl-ping-slave-period"},
    {"repl-timeout", 60, 1, kAnyInt},
    {"set-max-intset-entries", 512, 0, kAny},
    {"stream-node-max-bytes", 4096, 0, kAny},
    {"tracking-table-max-keys", 0, 0, kAny},
    {"zset-max-listpack-entries", 128, 0, kAny, "zset-max-ziplist-entries"},
    {"zset-max-listpack-value", 64, 0, kAny, "zset-max-ziplist-value"},
};
constexpr std::pair<std::string_view, std::string_view> kSwitches[] = {
    {"activedefrag", "no"},
    {"activerehashing", "yes"},
    {"aof-use-rdb-preamble", "yes"},
    {"dynamic-hz", "yes"},
    {"latency-tracking", "yes"},
    {"lazyfree-lazy-eviction", "yes"},
    {"lazyfree-lazy-expire", "yes"},
    {"lazyfree-lazy-server-del", "yes"},
    {"lazyfree-lazy-user-del", "yes"},
    {"lazyfree-lazy-user-flush", "yes"},
    {"no-appendfsync-on-rewrite", "no"},
    {"rdbcompression", "yes"},
    {"replica-serve-stale-data", "yes"},
    {"stop-writes-on-bgsave-error", "yes"},
};

void AddTuning(doors::Settings& settings, const Tuning& tuning) {
  const auto value = std::make_shared<std::atomic<int64_t>>(tuning.value);
  const auto get = [value] { return fmt::to_string(value->load()); };
  const auto set = [value, tuning](std::string_view text) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(*value, doors::ParseSettingNumber(text, tuning.low, tuning.high));
    return {};
  };
  settings.Add({.name = std::string(tuning.name), .get = get, .set = set});
  if (!tuning.former_name.empty()) {
    settings.Add({.name = std::string(tuning.former_name), .get = get, .set = set});
  }
}

void AddSwitch(doors::Settings& settings, std::string_view name, std::string_view value) {
  const auto on = std::make_shared<std::atomic<bool>>(value == "yes");
  settings.Add({.name = std::string(name),
                .get = [on] { return std::string(*on ? "yes" : "no"); },
                .set = [on](std::string_view text) -> Result<void> {
                  const bool yes = doors::EqualsIgnoreCase(text, "yes");
                  if (!yes && !doors::EqualsIgnoreCase(text, "no")) {
                    return Error{ErrorCode::kInvalid, "argument must be 'yes' or 'no'"};
                  }
                  *on = yes;
                  return {};
                }});
}

}  // namespace

void AddFixedSettings(doors::Instance& instance) {
  doors::Settings& settings = instance.settings();
  for (const auto& [name, value] : kConstants) {
    settings.Add(doors::Setting::Fixed(std::string(name), std::string(value)));
  }
  for (const Tuning& tuning : kTunings) AddTuning(settings, tuning);
  for (const auto& [name, value] : kSwitches) AddSwitch(settings, name, value);
  const std::pair<std::string_view, std::string> kComputed[] = {
      {"appendfsync", std::string(FsyncPolicy(instance.store().durability()))},
      {"databases", fmt::to_string(doors::kDatabases)},
      {"proto-max-bulk-len", fmt::to_string(kMaxStringBytes)},
  };
  for (const auto& [name, value] : kComputed) {
    settings.Add(doors::Setting::Fixed(std::string(name), value));
  }
}

}  // namespace cairn::data
