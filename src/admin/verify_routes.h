#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/thread_pool.h"
#include "doors/http/route_table.h"
#include "house/verify.h"
#include "store/store.h"

namespace cairn::admin {

class VerifyRun;

// GET /v1/admin/verify: runs the checks of all layers while the server serves, one verification at
// a time, and tells what it finds as lines of JSON (house/verify.h) as soon as it is known.
//
// Stop, or the end of the request, ends a verification that is under way.
class VerifyRoutes {
 public:
  // What it is given outlives it.
  VerifyRoutes(store::Store& store, const std::vector<house::LayerCheck>& checks)
      : store_(store), checks_(checks) {}

  void AddTo(doors::RouteTable& table);
  void Stop();

 private:
  Result<std::shared_ptr<VerifyRun>> Begin();

  store::Store& store_;
  const std::vector<house::LayerCheck>& checks_;
  std::mutex mutex_;
  std::shared_ptr<VerifyRun> current_;  // null: none is under way
  // One thread checks, the other waits for the next line.
  ThreadPool pool_{{.name = "verify", .threads = 2, .queue_limit = 16}};
};

}  // namespace cairn::admin
