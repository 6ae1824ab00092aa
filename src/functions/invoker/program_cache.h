#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "doors/turn/route_store.h"
#include "functions/model/config.h"
#include "functions/model/keys.h"
#include "functions/pool/sandbox_pool.h"

namespace cairn::functions {

// The code of versions that were run lately, by the digest of their bundles: what is not there is
// read from the store and compiled in the sandbox. So a published function costs no memory before
// it is invoked.
//
// Safe to use from any thread; loads go through the loop that asks.
class ProgramCache {
 public:
  // Beyond `bytes` of source and compiled code, what was not used for longest is forgotten.
  ProgramCache(doors::RouteStore& routes, SandboxPool& pool, size_t bytes)
      : routes_(routes), pool_(pool), limit_bytes_(bytes) {}

  struct Wanted {
    FunctionName function;
    uint64_t version = 0;
    std::string sha256;
    const VersionConfig& config;
  };
  // On a loop. Refuses a bundle whose digest is not `sha256`, and code that does not compile.
  boost::asio::awaitable<Result<std::shared_ptr<const Program>>> Load(Wanted wanted);
  // Code that was compiled before it was published.
  void Put(std::shared_ptr<const Program> program);

  struct Figures {
    size_t items = 0;
    size_t bytes = 0;
  };
  Figures figures() const;

 private:
  // Versions with the same files can differ in how they are run.
  static std::string NameOf(const Wanted& wanted);
  std::shared_ptr<const Program> Find(const std::string& name);
  void Keep(const std::string& name, std::shared_ptr<const Program> program);

  struct Item {
    std::shared_ptr<const Program> program;
    size_t bytes = 0;
    std::list<std::string>::iterator place;  // in used_
  };

  doors::RouteStore& routes_;
  SandboxPool& pool_;
  const size_t limit_bytes_;

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Item> items_;
  std::list<std::string> used_;  // the latest first
  size_t bytes_ = 0;
};

}  // namespace cairn::functions
