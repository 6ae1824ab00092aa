#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "functions/model/message.h"
#include "functions/protocol/program.h"

namespace cairn::functions {

// The answer of an activation on its way from the run to a client of this server that waits for it,
// before the run has ended. Two coroutines meet here, often of two loops: the client's and the
// run's.
//
//   the run       Attach ─→ Answer, or Begin ─→ Piece … ─→ End
//   the client    Look, again at each wake ─→ Take … Took …, or Leave
//
// It holds no more than what the run may have under way (wire::kStreamWindowBytes): the client says
// with Took what it has passed on, and the run is told.
//
// An answer is that of one run. If a message is delivered again while its client waits, the later
// run takes over as long as nothing was told; an answer that has begun is broken off.
//
// Safe to use from any thread. What it calls is called without its lock, on the caller's thread.
class LiveResponse {
 public:
  explicit LiveResponse(AnswerMode mode) : mode_(mode) {}

  AnswerMode mode() const { return mode_; }

  // --- The client --------------------------------------------------------------------------------

  // Called whenever there may be something new, from any thread. Replaces the one before.
  void SetWaker(std::function<void()> waker);

  enum class Stage : uint8_t { kWaiting, kAnswered, kStreaming };
  Stage Look() const;
  // Once, of kAnswered: the whole answer; of kStreaming: its head.
  FunctionResult TakeResult();
  // That nothing will be taken: the client has its answer from elsewhere. False if one has come.
  bool Close();

  enum class End : uint8_t { kOpen, kComplete, kBroken };
  struct Next {
    std::string bytes;      // a piece of the body; empty: none is there
    End end = End::kOpen;   // told after the last piece
    std::string type = {};  // of the error that broke it
  };
  Next Take();
  void Took(uint64_t bytes);
  // The client is gone. Not an error after the end. If others wait for the same activation, the run
  // goes on for them.
  void Leave(bool others_wait);

  // --- The run -----------------------------------------------------------------------------------

  // How the run hears of the client, from any thread.
  struct Listener {
    std::function<void(uint64_t bytes)> took;
    std::function<void(bool others_wait)> left;
  };
  // Makes the caller the run whose answer this is, by the number returned. nullopt: nobody wants
  // it, or another run has begun to give it, which is broken off.
  std::optional<uint64_t> Attach(Listener listener);
  // These do nothing for a run that is not the one any more.
  void Answer(uint64_t run, FunctionResult result);
  void Begin(uint64_t run, FunctionResult head);
  void Piece(uint64_t run, std::string bytes);
  // Of a body that has begun; once. `type` is that of the error, if it is not complete.
  void Finish(uint64_t run, bool complete, std::string_view type);

 private:
  // Runs `change` if `run` is the one, and wakes the client.
  void Tell(uint64_t run, const std::function<void()>& change);

  const AnswerMode mode_;
  mutable std::mutex mutex_;
  std::function<void()> waker_;
  Listener listener_;
  uint64_t run_ = 0;
  Stage stage_ = Stage::kWaiting;
  FunctionResult result_;
  std::deque<std::string> pieces_;
  End end_ = End::kOpen;
  std::string error_type_;
  bool closed_ = false;  // nobody takes anything any more
};

// Which activations have clients that wait for them here. Safe to use from any thread.
class LiveResponses {
  struct Shared;

 public:
  LiveResponses();

  // A client's place, as long as it exists; it may outlive this object. The response is null for
  // all but the first client of an activation: they get the result when the activation ends.
  class Place {
   public:
    Place(const LiveResponses& all, std::string key, AnswerMode mode);
    ~Place();  // leaves
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    const std::shared_ptr<LiveResponse>& response() const { return response_; }

   private:
    const std::shared_ptr<Shared> all_;
    const std::string key_;
    std::shared_ptr<LiveResponse> response_;
  };

  static std::string KeyOf(std::string_view tenant, std::string_view activation_id);
  // Null if nobody waits here.
  std::shared_ptr<LiveResponse> Find(const std::string& key) const;

 private:
  const std::shared_ptr<Shared> shared_;
};

}  // namespace cairn::functions
