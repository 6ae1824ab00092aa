#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "data/commands.h"
#include "data/limits.h"
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
    {"aof-use-rdb-preamble", "yes"},
    {"auto-aof-rewrite-percentage", "100"},
    {"auto-aof-rewrite-min-size", "67108864"},
    {"no-appendfsync-on-rewrite", "no"},
    {"dbfilename", "dump.rdb"},
    {"rdbchecksum", "yes"},
    {"rdbcompression", "yes"},
    {"save", ""},
    {"stop-writes-on-bgsave-error", "yes"},
    // Memory
    {"maxmemory", "0"},
    {"maxmemory-clients", "0"},
    {"maxmemory-policy", "noeviction"},
    {"maxmemory-samples", "5"},
    {"activedefrag", "no"},
    {"lazyfree-lazy-eviction", "yes"},
    {"lazyfree-lazy-expire", "yes"},
    {"lazyfree-lazy-server-del", "yes"},
    {"lazyfree-lazy-user-del", "yes"},
    {"lazyfree-lazy-user-flush", "yes"},
    // Encodings, as OBJECT ENCODING names them
    {"hash-max-listpack-entries", "512"},
    {"hash-max-listpack-value", "64"},
    {"hll-sparse-max-bytes", "3000"},
    {"list-compress-depth", "0"},
    {"list-max-listpack-size", "-2"},
    {"set-max-intset-entries", "512"},
    {"stream-node-max-bytes", "4096"},
    {"stream-node-max-entries", "100"},
    {"zset-max-listpack-entries", "128"},
    {"zset-max-listpack-value", "64"},
    // Replication and cluster: neither
    {"cluster-enabled", "no"},
    {"masterauth", ""},
    {"masteruser", ""},
    {"min-replicas-max-lag", "10"},
    {"min-replicas-to-write", "0"},
    {"repl-backlog-size", "1048576"},
    {"repl-timeout", "60"},
    {"replica-read-only", "yes"},
    {"replica-serve-stale-data", "yes"},
    {"replicaof", ""},
    {"slaveof", ""},
    // The process
    {"activerehashing", "yes"},
    {"daemonize", "no"},
    {"dynamic-hz", "yes"},
    {"enable-debug-command", "yes"},
    {"enable-module-command", "no"},
    {"hz", "10"},
    {"io-threads", "1"},
    {"io-threads-do-reads", "no"},
    {"latency-monitor-threshold", "0"},
    {"latency-tracking", "yes"},
    {"latency-tracking-info-percentiles", "50 99 99.9"},
    {"logfile", ""},
    {"loglevel", "notice"},
    {"pidfile", ""},
    {"protected-mode", "no"},
    {"supervised", "no"},
    {"syslog-enabled", "no"},
    {"tcp-backlog", "511"},
    {"tcp-keepalive", "300"},
    {"tracking-table-max-keys", "0"},
    {"unixsocket", ""},
    {"unixsocketperm", "0"},
};

}  // namespace

void AddFixedSettings(doors::Instance& instance) {
  doors::Settings& settings = instance.settings();
  for (const auto& [name, value] : kConstants) {
    settings.Add(doors::Setting::Fixed(std::string(name), std::string(value)));
  }
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
