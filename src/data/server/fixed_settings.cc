#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "data/server/commands.h"
#include "data/value/encoding_limits.h"
#include "data/value/limits.h"
#include "doors/access/limits.h"
#include "doors/resp/instance.h"
#include "doors/resp/settings.h"

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

constexpr std::string_view kNoFiles =
    "there are no RDB or AOF files; start the server with --durability to say when a write is safe";
constexpr std::string_view kNoReplicas = "this server has no replicas and is not a replica";
constexpr std::string_view kAtStart = "it is a choice of the server's command line";
constexpr std::string_view kNoRedisMemory = "the store's memory needs no such upkeep";
// Nothing is ever evicted. Who asks for it is told so, and what to do instead: a cache that grows
// without an end on the quiet would fill the disk.
constexpr std::string_view kNoEviction =
    "Cairn keeps its data on disk and evicts nothing: give keys a time to live (EXPIRE, SET ... "
    "EX); what the server may use of memory is set at start with --memory";

// What Redis clients and tools ask for and Cairn has no choice about, or nothing to apply it to:
// whoever sets it to something else is told so, and why.
struct Constant {
  std::string_view name;
  std::string_view value;
  std::string_view advice = {};
};
constexpr Constant kConstants[] = {
    // Persistence
    {"aof-use-rdb-preamble", "yes", kNoFiles},
    {"appendonly", "yes", kNoFiles},
    {"appendfilename", "appendonly.aof", kNoFiles},
    {"appenddirname", "appendonlydir", kNoFiles},
    {"auto-aof-rewrite-min-size", "67108864", kNoFiles},
    {"auto-aof-rewrite-percentage", "100", kNoFiles},
    {"dbfilename", "dump.rdb", kNoFiles},
    {"no-appendfsync-on-rewrite", "no", kNoFiles},
    {"rdbchecksum", "yes", kNoFiles},
    {"rdbcompression", "yes", kNoFiles},
    {"sanitize-dump-payload", "yes", "RESTORE always checks what it is given"},
    {"save", "", kNoFiles},
    {"stop-writes-on-bgsave-error", "yes", kNoFiles},
    // Memory
    {"activedefrag", "no", kNoRedisMemory},
    {"activerehashing", "yes", kNoRedisMemory},
    {"lazyfree-lazy-eviction", "yes", kNoRedisMemory},
    {"lazyfree-lazy-expire", "yes", kNoRedisMemory},
    {"lazyfree-lazy-server-del", "yes", kNoRedisMemory},
    {"lazyfree-lazy-user-del", "yes", kNoRedisMemory},
    {"lazyfree-lazy-user-flush", "yes", kNoRedisMemory},
    {"maxmemory", "0", kNoEviction},
    {"maxmemory-policy", "noeviction", kNoEviction},
    {"maxmemory-samples", "5", kNoEviction},
    {"maxmemory-clients", "0"},
    // Replication and cluster: neither
    {"cluster-enabled", "no", "there is no cluster; several servers can share a PostgreSQL store"},
    {"masterauth", "", kNoReplicas},
    {"masteruser", "", kNoReplicas},
    {"min-replicas-max-lag", "10", kNoReplicas},
    {"min-replicas-to-write", "0", kNoReplicas},
    {"repl-backlog-size", "1048576", kNoReplicas},
    {"repl-ping-replica-period", "10", kNoReplicas},
    {"repl-ping-slave-period", "10", kNoReplicas},
    {"repl-timeout", "60", kNoReplicas},
    {"replica-read-only", "yes", kNoReplicas},
    {"replica-serve-stale-data", "yes", kNoReplicas},
    {"replicaof", "", kNoReplicas},
    {"slave-read-only", "yes", kNoReplicas},
    {"slaveof", "", kNoReplicas},
    // The process
    {"daemonize", "no", kAtStart},
    {"dynamic-hz", "yes", "nothing runs by such a clock"},
    {"enable-debug-command", "yes", "forbid DEBUG to users with ACL SETUSER"},
    {"enable-module-command", "no", "there are no modules"},
    {"hz", "10", "nothing runs by such a clock"},
    {"io-threads", "1", "start the server with --io-threads"},
    {"io-threads-do-reads", "no", "start the server with --io-threads"},
    {"logfile", "", kAtStart},
    {"loglevel", "notice", kAtStart},
    {"pidfile", "", kAtStart},
    {"protected-mode", "no", kAtStart},
    {"supervised", "no", kAtStart},
    {"syslog-enabled", "no", kAtStart},
    {"tcp-backlog", "511", kAtStart},
    {"tcp-keepalive", "300", kAtStart},
    {"unixsocket", "", kAtStart},
    {"unixsocketperm", "0", kAtStart},
    {"hll-sparse-max-bytes", "3000", "DUMP and RESTORE need one size on all servers"},
};

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
constexpr int64_t kAnyInt = std::numeric_limits<int32_t>::max();

// How Redis keeps values in memory, as far as clients can see it (encoding_limits.h).
struct Encoding {
  std::string_view name;
  std::string_view former_name;
  std::atomic<int64_t> EncodingLimits::*limit;
  bool bytes = false;
};
constexpr Encoding kEncodings[] = {
    {"hash-max-listpack-entries", "hash-max-ziplist-entries", &EncodingLimits::hash_fields},
    {"hash-max-listpack-value", "hash-max-ziplist-value", &EncodingLimits::hash_bytes, true},
    {"set-max-intset-entries", "", &EncodingLimits::set_integers},
    {"zset-max-listpack-entries", "zset-max-ziplist-entries", &EncodingLimits::sorted_set_members},
    {"zset-max-listpack-value", "zset-max-ziplist-value", &EncodingLimits::sorted_set_bytes, true},
};

// What is set for other parts of Redis's memory, none of which a client can see. Whoever tunes them
// together with those above loses nothing.
struct Unseen {
  std::string_view name;
  int64_t value;
  int64_t low;
  std::string_view former_name = {};
};
constexpr Unseen kUnseen[] = {
    {"list-compress-depth", 0, 0},
    {"list-max-listpack-size", -2, std::numeric_limits<int32_t>::min(), "list-max-ziplist-size"},
};

// A setting, and the same under its former name where it has one.
void AddNamed(doors::Settings& settings, doors::Setting setting, std::string_view former_name) {
  if (!former_name.empty()) {
    settings.Add(
        {.name = std::string(former_name), .get = setting.get, .former_name_of = setting.name});
  }
  settings.Add(std::move(setting));
}

void AddEncoding(doors::Settings& settings, const Encoding& row,
                 const SharedEncodingLimits& limits) {
  AddNamed(settings,
           {.name = std::string(row.name),
            .get = [limits, row] { return fmt::to_string(((*limits).*row.limit).load()); },
            .set = [limits, row](std::string_view text) -> Result<void> {
              CAIRN_ASSIGN_OR_RETURN((*limits).*row.limit,
                                     row.bytes ? doors::ParseSettingBytes(text, 0, kAny)
                                               : doors::ParseSettingNumber(text, 0, kAny));
              return {};
            }},
           row.former_name);
}

void AddUnseen(doors::Settings& settings, const Unseen& row) {
  const auto value = std::make_shared<std::atomic<int64_t>>(row.value);
  AddNamed(settings,
           {.name = std::string(row.name),
            .get = [value] { return fmt::to_string(value->load()); },
            .set = [value, row](std::string_view text) -> Result<void> {
              CAIRN_ASSIGN_OR_RETURN(*value, doors::ParseSettingNumber(text, row.low, kAnyInt));
              return {};
            }},
           row.former_name);
}

}  // namespace

void AddFixedSettings(doors::Instance& instance, const SharedEncodingLimits& limits) {
  doors::Settings& settings = instance.settings();
  for (const Constant& row : kConstants) {
    settings.Add(doors::Setting::Fixed(std::string(row.name), std::string(row.value),
                                       std::string(row.advice)));
  }
  for (const Encoding& row : kEncodings) AddEncoding(settings, row, limits);
  for (const Unseen& row : kUnseen) AddUnseen(settings, row);
  settings.Add(doors::Setting::Fixed("appendfsync",
                                     std::string(FsyncPolicy(instance.store().durability())),
                                     "start the server with --durability"));
  settings.Add(doors::Setting::Fixed("databases", fmt::to_string(doors::kDatabases),
                                     "the number of databases is fixed"));
}

}  // namespace cairn::data
