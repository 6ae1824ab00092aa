#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "doors/turn/work.h"
#include "functions/activation/accept.h"
#include "functions/codeq/names.h"
#include "functions/codeq/topics.h"
#include "functions/model/keys.h"
#include "functions/model/records.h"
#include "jobs/operations/lease.h"

namespace cairn::functions {

// A message that was claimed, and what its transaction has found out.
struct Begun {
  jobs::LeaseRef lease;
  Principal principal;
  std::string event;
  int64_t deadline_ms = 0;  // without the time that it was suspended
  int64_t last_ms = 0;      // however long it is suspended
  Activation activation;    // as written: running, unless it has ended
  VersionMeta version;
  std::string shift;  // that counts how it ends
  // Why it is not run.
  bool ended = false;                 // it has a result, which is published again
  bool stranger = false;              // its id belongs to somebody else's activation
  std::optional<Error> refused = {};  // there is nothing to run, or the caller may not
  bool expired = false;
};

// Claims messages of cs.invoke and marks their activations as running, in one transaction: for
// whoever waits for messages, or by the commit that publishes one (doors/turn/line_wait.h).
class BeginWork final : public doors::Work {
 public:
  struct Options {
    size_t count = 1;  // at most
    int64_t lease_ms = 0;
    std::string worker_id;
    const std::atomic<bool>* stopping = nullptr;  // then nothing is claimed; outlives the work
  };
  explicit BeginWork(Options options);

  Result<void> Run(store::Transaction& transaction) override;
  bool found() const override { return !begun_.empty(); }
  std::vector<Begun> TakeBegun() { return std::move(begun_); }

 private:
  const std::atomic<bool>* const stopping_;
  codeq::ClaimRequest claim_;
  codeq::Locks locks_;
  std::vector<Begun> begun_;
};

}  // namespace cairn::functions
