#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"
#include "functions/control/versions.h"
#include "functions/model/keys.h"
#include "store/store.h"

namespace cairn::functions {

// Compiles bundles for whoever publishes them, in processes of the sandbox (invoker/compiler.h).
// A bundle that does not compile, or imports what it does not have, is CS_VALIDATION_FAILED with
// the file, the line and what is wrong.
class BundleCompiler {
 public:
  virtual ~BundleCompiler() = default;

  using Outcome = Result<SharedCode>;

  // On a loop.
  virtual boost::asio::awaitable<Outcome> Compile(std::shared_ptr<const Package> package) = 0;
  // From any thread, for who cannot wait: calls `done` later, on some loop, and wakes `then`.
  virtual void Begin(std::shared_ptr<const Package> package, store::Topic then,
                     std::function<void(Outcome)> done) = 0;
  // From any thread: compiles a version that was published without its code, and stores that.
  // Nobody is told how it went; a version that does not compile says so when it is invoked.
  virtual void CompileLater(FunctionName function, uint64_t version) = 0;
};

}  // namespace cairn::functions
