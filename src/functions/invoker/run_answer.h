#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "functions/invoker/live_response.h"
#include "functions/model/message.h"
#include "functions/model/records.h"
#include "functions/pool/run.h"
#include "functions/pool/run_end.h"
#include "net/loop.h"

namespace cairn::functions {

// What one run tells of its answer before it ends: passes it on to the client that waits, within
// the limits of its version, and keeps what the activation's record says of it.
//
// The record has the answer as if it had not been sent: its head, and its body up to the limit of
// results. A body that goes beyond a limit, or pauses for too long, ends there: the client's
// response is broken off, the function is told as if the client had left, and the activation is an
// error with that limit.
//
// A run begins after the commit that says so is durable (Invoker::Consume), and every call of it is
// answered when what it did is; so nothing that it tells can be taken back by a crash but the end
// of the activation.
//
// Used on the run's loop.
class RunAnswer : public std::enable_shared_from_this<RunAnswer> {
 public:
  struct Limits {
    int64_t bytes = kMaxStreamBytes;
    std::chrono::milliseconds idle = std::chrono::milliseconds(kMaxStreamIdleMs);
  };
  // `loop` and `clock` outlive it.
  RunAnswer(net::Loop& loop, const Clock& clock, Limits limits)
      : loop_(loop), clock_(clock), limits_(limits) {}
  RunAnswer(const RunAnswer&) = delete;
  RunAnswer& operator=(const RunAnswer&) = delete;

  // Gives the run's answer to the client that waits for it, if there is one (may be null). Returns
  // how the answer is to be told.
  AnswerMode Attach(std::shared_ptr<LiveResponse> live);

  // What the run tells (RunHost).
  void SetControl(RunControl* control);
  void Answered(std::string_view result, bool truncated);
  void Begun(std::string_view head);
  void Piece(std::string bytes);
  void Ended();

  // The run is over. Adds to its end what was told before; a response that is not complete is
  // broken off. `limit_hit` is that of the run.
  void Settle(RunEnd& end, std::string& limit_hit);
  // Of an answer that was sent as it was made, once it has settled.
  const std::optional<StreamedAnswer>& streamed() const { return streamed_; }

 private:
  void Took(uint64_t bytes);
  void Left(bool others_wait);
  void Grant(uint64_t bytes);
  // Ends the body because of a limit.
  void Cut(std::string limit, std::string message);
  void WatchGaps(std::chrono::nanoseconds delay);
  void LookForGap();
  FunctionResult Kept() const;

  net::Loop& loop_;
  const Clock& clock_;
  const Limits limits_;
  std::shared_ptr<LiveResponse> live_;
  uint64_t run_ = 0;
  RunControl* control_ = nullptr;
  std::optional<FunctionResult> answer_;  // whole, or the head of a body that comes in pieces
  bool truncated_ = false;
  bool begun_ = false;
  bool ended_ = false;
  bool left_ = false;    // the client is gone
  bool alone_ = false;   // and nobody else waits
  bool broken_ = false;  // what the child sent as an answer is none
  uint64_t under_way_ = 0;
  int64_t bytes_ = 0;
  std::string kept_;
  std::string cut_;  // the limit that was hit
  std::string cut_message_;
  uint64_t active_ns_ = 0;  // when the function made something, or could again
  net::Timer gaps_;
  std::optional<StreamedAnswer> streamed_;
};

}  // namespace cairn::functions
