#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "doors/resp/pubsub.h"
#include "store/store.h"

namespace cairn::doors {

// Between the processes that serve one store: messages published on one reach those who listen on
// the others, and users changed on one change on all. One thread of its own.
//
//   published here ─ commit ─ Send ─ row in space events, in commit order ─ wake-up
//   … on each other process: rows behind the last one seen ─ PubSub::Receive ─ its loops
//
// Messages of one process arrive everywhere in the order of their commits. As in Redis, a message
// reaches who listens at that moment: a process that is cut off for longer than rows are kept, or
// that dies before it has sent what it published, loses messages.
//
// Row: key `01 number:8`, value `sender:8 (kind:1 length:4 channel length:4 payload)*`.
class Relay {
 public:
  struct Options {
    uint64_t kept_ns = 60'000'000'000;  // how long rows are kept
    // Past this much that could not be sent yet, the oldest messages are dropped.
    size_t unsent_bytes = 64UL << 20;
  };
  // `users_changed` is called on the relay's thread, also without reason.
  Relay(Options options, store::Store& store, PubSub& pubsub, const Clock& clock, Log log,
        std::function<void()> users_changed);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Once. What others publish after it returns is heard.
  Result<void> Start();

  // From any thread; does not wait.
  void Send(std::shared_ptr<const PubSub::Message> message);

 private:
  using Messages = std::deque<std::shared_ptr<const PubSub::Message>>;

  void ThreadMain();
  Result<void> SendAll(const Messages& messages);
  Result<void> ReceiveNew();
  void Receive(BytesView row);
  // The newest row that is old enough to be removed, 0 if there is none.
  uint64_t NewestOld();

  const Options options_;
  store::Store& store_;
  PubSub& pubsub_;
  const Clock& clock_;
  const Log log_;
  const std::function<void()> users_changed_;
  uint64_t id_ = 0;         // no other process has it
  uint64_t last_seen_ = 0;  // the number of a row
  struct Seen {
    uint64_t at_ns;
    uint64_t number;
  };
  std::deque<Seen> seen_;  // now and then, oldest first

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool messages_came_ = false;
  bool users_came_ = false;
  Messages unsent_;
  size_t unsent_bytes_ = 0;
  store::Subscription messages_wake_;
  store::Subscription users_wake_;
  std::thread thread_;
};

// What a commit wakes when it has changed users.
store::Topic UsersTopic();

}  // namespace cairn::doors
