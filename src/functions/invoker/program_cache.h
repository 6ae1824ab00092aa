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
// read from the store. So a published function costs no memory before it is invoked.
//
// A version is compiled when it is published, and its code is stored beside its bundle
// (control/versions.h). One without code, or whose code another engine has made, is compiled in the
// sandbox when it is loaded, and stored then. The server never looks into code: it hands it to the
// processes of the tenant, which would run what the tenant has published anyway.
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

  struct Figures {
    size_t items = 0;
    size_t bytes = 0;
    int64_t loads = 0;     // from the store
    int64_t compiled = 0;  // of these, those whose code was not stored
  };
  Figures figures() const;

 private:
  // Versions with the same files can differ in how they are run, and functions with the same files
  // in the code that is stored for them: what one has stored, no other runs.
  static std::string NameOf(const Wanted& wanted);
  // What the store has of a version.
  struct Stored {
    std::string tar;
    std::string code;  // empty: none that this engine can use
  };
  boost::asio::awaitable<Result<Stored>> ReadStored(const Wanted& wanted);
  boost::asio::awaitable<void> Store(const Wanted& wanted, std::string code);
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
  int64_t loads_ = 0;
  int64_t compiled_ = 0;
};

}  // namespace cairn::functions
