#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
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
#include "jobs/ledger/context.h"
#include "jobs/operations/lease.h"

namespace cairn::functions {

// How long a message that has no room waits, unless it is told before.
inline constexpr int64_t kParkedMs = 60'000;

// A message that was claimed, and what its transaction has found out.
struct Begun {
  jobs::LeaseRef lease;
  Principal principal;
  std::string event;
  int64_t deadline_ms = 0;
  Activation activation;  // as written: running, unless it has ended
  VersionMeta version;
  std::string shift;  // that counts how it ends
  // Why it is not run.
  bool ended = false;                 // it has a result, which is published again
  bool stranger = false;              // its id belongs to somebody else's activation
  std::optional<Error> refused = {};  // there is nothing to run, or the caller may not
  bool expired = false;
};

// A message that was claimed and put back, because its version runs as often as it may.
struct ParkedMessage {
  FunctionName function;
  uint64_t version = 0;
  int64_t max_concurrency = 0;
  std::string message;  // its job
};

// Claims messages of cs.invoke and marks their activations as running, in one transaction: for
// whoever waits for messages, or by the commit that publishes one (doors/turn/line_wait.h).
//
// Two kinds of messages are put back for a while in that transaction, and not begun:
//
// - one whose activation another message runs, while the lease of that one lasts. If its lease ends
//   without an end of the activation, this one takes the activation over.
// - one whose version has no room here (Options::has_room). It comes again after kParkedMs, and
//   before if somebody makes its job pending (ParkedMessage).
class BeginWork final : public doors::Work {
 public:
  struct Options {
    size_t count = 1;  // at most
    int64_t lease_ms = 0;
    const std::atomic<bool>* stopping = nullptr;  // then nothing is claimed; outlives the work
    // Whether a version can run `more` times more than now, by its max_concurrency. From any
    // thread. Empty: always.
    std::function<bool(const FunctionName& function, const VersionMeta& version, int64_t more)>
        has_room = {};
  };
  explicit BeginWork(Options options);

  Result<void> Run(store::Transaction& transaction) override;
  bool found() const override { return claimed_ > 0; }
  std::vector<Begun> TakeBegun() { return std::move(begun_); }
  std::vector<ParkedMessage> TakeParked() { return std::move(parked_); }

 private:
  Result<void> Begin(jobs::Context& context, const codeq::Message& message);
  // Whether it was put back for the lease of another message.
  Result<bool> WaitForOwner(jobs::Context& context, const Begun& begun);
  // Whether it was put back for want of room.
  Result<bool> Park(jobs::Context& context, const Begun& begun);

  const std::atomic<bool>* const stopping_;
  const std::function<bool(const FunctionName&, const VersionMeta&, int64_t)> has_room_;
  codeq::ClaimRequest claim_;
  codeq::Locks locks_;
  size_t claimed_ = 0;
  std::vector<Begun> begun_;
  std::vector<ParkedMessage> parked_;
  std::map<std::string, int64_t> taken_;  // begun, by version
};

}  // namespace cairn::functions
