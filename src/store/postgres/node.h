#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "store/postgres/open.h"
#include "store/postgres/pool.h"
#include "store/postgres/statements.h"
#include "store/stripes.h"
#include "store/wakeups.h"

namespace cairn::store::postgres {

// What the parts of this process's store share. Nothing in it is needed by the database or by other
// processes: it is lost without harm.
struct Node {
  Node(const Options& store_options, const Clock& store_clock, Log store_log)
      : options(store_options),
        clock(store_clock),
        log(std::move(store_log)),
        statements(options.schema),
        pool({options.url, options.statement_timeout}, statements, options.connections) {}

  // The key of an advisory lock. Those of other schemas in the same database differ.
  int64_t LockKey(uint64_t hash) const { return static_cast<int64_t>(hash ^ schema_hash); }

  const Options options;
  const Clock& clock;
  const Log log;
  const Statements statements;
  Pool pool;

  uint64_t schema_hash = 0;
  uint64_t id = 0;  // no other process has it
  bool advisory = false;
  std::string channel;  // of notifications; empty where the server has none

  // Bodies of this process that share a scope take turns here first, so that they wait in memory
  // and not each with a session, and so that what follows a commit is called in commit order.
  Stripes stripes;
  // Taken by who appends events and has lost a conflict over it.
  std::mutex event_mutex;
  Wakeups wakeups;

  std::atomic<uint64_t> next_marker{1};

  std::mutex counter_mutex;
  std::set<std::pair<Space, Bytes>> marked_counters;  // whose row is known to be there

  // Commits are numbered by this process as their answers arrive. The upper bits come from a
  // sequence, so that numbers go on growing after a restart.
  std::mutex commit_mutex;
  std::atomic<uint64_t> last_commit{0};
  std::atomic<uint64_t> commits{0};
  uint64_t next_listener = 1;
  std::map<uint64_t, std::function<void(Result<Commit>)>> durable_listeners;

  std::mutex timer_mutex;
  std::function<void(Timestamp)> earlier_timer;
};

}  // namespace cairn::store::postgres
