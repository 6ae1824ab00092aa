#pragma once

#include <atomic>
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
#include <vector>

#include "store/store.h"

namespace cairn::doors {

class Dispatcher;

// The lines in which clients wait for something to be stored: BLPOP for an element, XREAD BLOCK for
// an entry. One line per topic, in order of arrival.
//
// At once. A loop whose request has woken a topic serves those in line before it executes anything
// else, in the same group: ServeNow runs their requests one after the other on that loop, whichever
// loops they are on, and nobody sees the store in between.
//
// A pass. That is not always possible: the commit comes from the pool or from another server, or to
// look again would have to wait. So when a commit wakes a topic, and when somebody joins its line
// (the commit may have come just before), those in line are asked one after the other, each on its
// own loop, to look again. Who finds something leaves the line, and only then, when what it took is
// committed, is the next one asked. So the longest waiting is served first, whichever loops they
// are on.
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
    ~Place() { waiters_.Withdraw(id_); }
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
  // Looks again in the group of that dispatcher, on its loop: on any thread, one at a time. Must
  // not call this object. Who finds something is in no line any more.
  using Look = std::function<Found(Dispatcher& by)>;

  // At the end of the line of each topic. In the line of `everyone`, if there is one, a pass asks
  // all: what one of them finds there says nothing about the others. Nobody is asked there because
  // of the joining.
  std::unique_ptr<Place> Join(std::span<const store::Topic> topics, Kind kind, Ask ask, Look look,
                              std::optional<store::Topic> everyone = std::nullopt);
  // The answer to an Ask, of one who stays.
  void FoundNothing(uint64_t place, store::Topic topic);

  // Lets those in line look, the longest waiting first, until there is nothing left for them.
  void ServeNow(store::Topic topic, Dispatcher& by);
  // Takes the waiter out of its lines. False if it is in none: it has been served.
  bool Withdraw(uint64_t place);

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
    Look look;
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
  bool Remove(uint64_t place);
  bool IsAsked(uint64_t place, const Waiter& waiter) const;
  void Woken(store::Topic topic);
  void StartPasses();
  void AskNext(store::Topic topic, Line& line);

  store::Store& store_;
  const std::function<void(std::function<void()>)> post_;
  const std::shared_ptr<Waiters*> self_;  // holds null once this object is gone

  mutable std::mutex mutex_;
  uint64_t next_place_ = 1;
  std::map<uint64_t, Waiter> waiters_;
  std::atomic<size_t> size_{0};               // of waiters_
  std::unordered_map<uint64_t, Line> lines_;  // by Topic::id

  // Topics whose passes are to begin. Apart, because commits announce them under the store's lock.
  std::mutex woken_mutex_;
  std::vector<store::Topic> woken_;
};

}  // namespace cairn::doors
