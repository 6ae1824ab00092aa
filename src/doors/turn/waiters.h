#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/store.h"

namespace cairn::doors {

class Turn;
class Work;

// The lines in which clients wait for something to be stored: BLPOP for an element, XREAD BLOCK for
// an entry. One line per topic, in order of arrival.
//
// In the same transaction. Those who wait for keys are served by the body that has something for
// them (serving.h), on a loop or on the pool: it claims the next in line, runs its request, and
// goes on until there is nothing left. A waiter is claimed by one body at a time, and leaves its
// lines when that body has succeeded.
//
// At once. Others, who wait for what takes more to look for (jobs), are served after the body but
// in its group, if that is possible without waiting: ServeNow runs their requests on the loop.
//
// A pass. Neither is always possible: the commit comes from another server or from a timer. So when
// a commit wakes a topic, and when somebody joins its line who may have missed a commit, those in
// line are asked one after the other, each on its own loop, to look again. Who finds something
// leaves the line, and only then, when what it took is committed, is the next one asked. So the
// longest waiting is served first, whichever loops they are on.
//
// Those who take something away and find nothing end the pass for their own kind: behind one BLPOP
// that finds the list empty a thousand others need not look. Those who only read, and those of
// another kind, are still asked.
//
// Safe to use from any thread. Outlives the places in it.
class Waiters {
 public:
  // What a waiter looks for. Two of the same kind in one line find the same.
  struct Kind {
    std::string_view name;  // lives as long as the process
    bool takes = false;     // takes something away, so that one that finds nothing speaks for all
  };

  // A place in the lines of some topics. Leaves them when destroyed.
  class Place {
   public:
    Place(Waiters& waiters, uint64_t id) : waiters_(waiters), id_(id) {}
    ~Place() { waiters_.Leave(id_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    uint64_t id() const { return id_; }

   private:
    Waiters& waiters_;
    const uint64_t id_;
  };

  // `post` runs a function soon, on some thread where the lines may be worked on: never inside the
  // call.
  Waiters(store::Store& store, std::function<void(std::function<void()>)> post);
  ~Waiters();
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;

  // Called with the place and a topic: look again, and then leave, or say FoundNothing. Must not
  // call this object before it returns.
  using Ask = std::function<void(uint64_t place, store::Topic topic)>;

  enum class Found : uint8_t {
    kSomething,
    kNothing,
    kUnknown,  // could not look without waiting
  };

  // Tells a waiter whose work has run for somebody else what became of that. Called on any thread.
  using Tell = std::function<void(const std::shared_ptr<Work>&, const Result<store::Commit>&)>;
  // How others serve a waiter.
  struct Service {
    std::function<std::unique_ptr<Work>()> make_work;  // looks for what it waits for
    Tell tell;
    // What it locks is what it waits for: a body that has something for it can run its work inside
    // the same transaction. Else it is served at once, but behind the body.
    bool inside = false;
  };

  struct JoinOptions {
    std::optional<store::Topic> everyone = std::nullopt;
    // No commit can have come between the waiter's own look and now: the look's transaction still
    // holds what it looked at.
    bool missed_nothing = false;
  };
  // At the end of the line of each topic. In the line of `everyone`, if there is one, a pass asks
  // all: what one of them finds there says nothing about the others. Nobody is asked there because
  // of the joining.
  std::unique_ptr<Place> Join(std::span<const store::Topic> topics, Kind kind, Ask ask,
                              Service service, JoinOptions options);
  std::unique_ptr<Place> Join(std::span<const store::Topic> topics, Kind kind, Ask ask,
                              Service service) {
    return Join(topics, kind, std::move(ask), std::move(service), JoinOptions());
  }
  // The answer to an Ask, of one who stays.
  void FoundNothing(uint64_t place, store::Topic topic);

  // Lets those in line look, the longest waiting first, until there is nothing left for them.
  // On the loop of `by`, in its group. A waiter that was served leaves its lines.
  void ServeNow(store::Topic topic, Turn& by);
  // Takes the waiter out of its lines. False if it is in none, because it has been served, or is
  // being served just now; if that fails, it is asked again.
  bool Withdraw(uint64_t place);

  enum class Claimed : uint8_t {
    kYes,
    kBusy,    // another body has claimed it: Busy until released
    kNobody,  // there is none, or the next one cannot be served inside a transaction
  };
  struct Claim {
    Claimed claimed = Claimed::kNobody;
    uint64_t place = 0;
    std::string_view kind = {};
    bool speaks_for_its_kind = false;  // if it finds nothing, others of its kind need not look
    std::function<std::unique_ptr<Work>()> make_work = {};
    Tell tell = {};
  };
  // The next in line behind `after` whose kind is not in `done`.
  Claim ClaimNext(store::Topic topic, uint64_t after, const std::set<std::string_view>& done);
  // A waiter for itself. kNobody: it has been served.
  Claimed ClaimOwn(uint64_t place);
  // It was not served. No effect if the waiter has left.
  void Release(uint64_t place);
  // It was served, and leaves its lines.
  void Settle(uint64_t place);
  // Of a waiter that has claimed itself: it has found something, and leaves when its place does.
  void SetServed(uint64_t place);
  // Waits until nobody has claimed it. Only for a thread that holds nothing that others wait for.
  void AwaitRelease(uint64_t place);

  // Whether it still stands in line: it has not been served.
  bool IsWaiting(uint64_t place) const;
  // Whether anybody waits at all; what another thread does at the same time may not be seen.
  bool anyone() const { return size_.load(std::memory_order_relaxed) != 0; }
  // Whether anybody stands in one of these lines.
  bool AnyoneWaits(std::span<const store::Topic> topics) const;
  size_t count() const;

 private:
  struct Waiter {
    std::vector<store::Topic> topics;
    Kind kind;
    Ask ask;
    Service service;
    bool claimed = false;
    bool served = false;   // in line only until its place goes
    bool leaving = false;  // somebody wanted to withdraw it while it was claimed
  };
  struct Line {
    std::set<uint64_t> places;  // ids grow in order of arrival
    store::Subscription wake;
    bool asks_all = false;
    bool passing = false;
    bool again = false;               // the topic was woken during the pass
    uint64_t asked = 0;               // who has to answer now
    std::set<std::string_view> done;  // kinds that need not be asked any more in this pass
  };

  Line& LineOf(store::Topic topic);
  void Leave(uint64_t place);
  bool Remove(uint64_t place);
  bool IsAsked(uint64_t place, const Waiter& waiter) const;
  void Woken(store::Topic topic);
  void StartPasses();
  void AskNext(store::Topic topic, Line& line);

  store::Store& store_;
  const std::function<void(std::function<void()>)> post_;
  const std::shared_ptr<Waiters*> self_;  // holds null once this object is gone

  mutable std::mutex mutex_;
  std::condition_variable released_;
  uint64_t next_place_ = 1;
  std::map<uint64_t, Waiter> waiters_;
  std::atomic<size_t> size_{0};               // of waiters_
  std::unordered_map<uint64_t, Line> lines_;  // by Topic::id

  // Topics whose passes are to begin. Apart, because commits announce them under the store's lock.
  std::mutex woken_mutex_;
  std::vector<store::Topic> woken_;
};

}  // namespace cairn::doors
