#include "doors/turn/waiters.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "doors/turn/turn.h"
#include "doors/turn/work.h"

namespace cairn::doors {

Waiters::Waiters(store::Store& store, std::function<void(std::function<void()>)> post)
    : store_(store), post_(std::move(post)), self_(std::make_shared<Waiters*>(this)) {}

Waiters::~Waiters() {
  const std::lock_guard lock(mutex_);
  *self_ = nullptr;
  lines_.clear();
}

Waiters::Line& Waiters::LineOf(store::Topic topic) {
  Line& line = lines_[topic.id];
  if (line.places.empty()) {
    line.wake = store_.OnWake(topic, [this, topic] { Woken(topic); });
  }
  return line;
}

std::unique_ptr<Waiters::Place> Waiters::Join(std::span<const store::Topic> topics, Kind kind,
                                              Ask ask, Service service, JoinOptions options) {
  CAIRN_CHECK(!topics.empty(), "a client waits for nothing");
  const std::lock_guard lock(mutex_);
  const uint64_t id = next_place_++;
  Waiter waiter{{topics.begin(), topics.end()}, kind, std::move(ask), std::move(service)};
  for (const store::Topic topic : topics) LineOf(topic).places.insert(id);
  if (options.everyone) {
    Line& line = LineOf(*options.everyone);
    line.asks_all = true;
    line.places.insert(id);
    waiter.topics.push_back(*options.everyone);
  }
  waiters_.emplace(id, std::move(waiter));
  size_ = waiters_.size();
  // What was stored between the waiter's own look and now has woken nobody.
  if (!options.missed_nothing) {
    for (const store::Topic topic : topics) Woken(topic);
  }
  return std::make_unique<Place>(*this, id);
}

bool Waiters::Withdraw(uint64_t place) {
  const std::lock_guard lock(mutex_);
  const auto waiter = waiters_.find(place);
  if (waiter == waiters_.end() || waiter->second.served) return false;
  if (waiter->second.claimed) {
    waiter->second.leaving = true;
    return false;
  }
  return Remove(place);
}

void Waiters::Leave(uint64_t place) {
  const std::lock_guard lock(mutex_);
  Remove(place);
}

Waiters::Claim Waiters::ClaimNext(store::Topic topic, uint64_t after,
                                  const std::set<std::string_view>& done) {
  const std::lock_guard lock(mutex_);
  const auto line = lines_.find(topic.id);
  if (line == lines_.end()) return {};
  const std::set<uint64_t>& places = line->second.places;
  for (auto at = places.upper_bound(after); at != places.end(); ++at) {
    Waiter& waiter = waiters_.at(*at);
    if (waiter.served || done.contains(waiter.kind.name)) continue;
    if (!waiter.service.inside) return {};
    if (waiter.claimed) return {.claimed = Claimed::kBusy, .place = *at};
    waiter.claimed = true;
    return {.claimed = Claimed::kYes,
            .place = *at,
            .kind = waiter.kind.name,
            .speaks_for_its_kind = waiter.kind.takes && !line->second.asks_all,
            .make_work = waiter.service.make_work,
            .tell = waiter.service.tell};
  }
  return {};
}

Waiters::Claimed Waiters::ClaimOwn(uint64_t place) {
  const std::lock_guard lock(mutex_);
  const auto waiter = waiters_.find(place);
  if (waiter == waiters_.end() || waiter->second.served) return Claimed::kNobody;
  if (std::exchange(waiter->second.claimed, true)) return Claimed::kBusy;
  return Claimed::kYes;
}

void Waiters::Release(uint64_t place) {
  const std::lock_guard lock(mutex_);
  const auto found = waiters_.find(place);
  if (found == waiters_.end()) return;
  Waiter& waiter = found->second;
  CAIRN_CHECK(waiter.claimed && !waiter.served, "place {} is given back by a stranger", place);
  waiter.claimed = false;
  released_.notify_all();
  if (std::exchange(waiter.leaving, false)) waiter.ask(place, waiter.topics.front());
}

void Waiters::Settle(uint64_t place) {
  const std::lock_guard lock(mutex_);
  Remove(place);
}

void Waiters::SetServed(uint64_t place) {
  const std::lock_guard lock(mutex_);
  if (const auto found = waiters_.find(place); found != waiters_.end()) {
    CAIRN_CHECK(found->second.claimed && !found->second.served, "place {} is served twice", place);
    found->second.served = true;
    found->second.claimed = false;
    released_.notify_all();
  }
}

void Waiters::AwaitRelease(uint64_t place) {
  std::unique_lock lock(mutex_);
  released_.wait(lock, [&] {
    const auto waiter = waiters_.find(place);
    return waiter == waiters_.end() || !waiter->second.claimed;
  });
}

bool Waiters::Remove(uint64_t place) {
  const auto waiter = waiters_.find(place);
  if (waiter == waiters_.end()) return false;
  const std::vector<store::Topic> topics = std::move(waiter->second.topics);
  waiters_.erase(waiter);
  size_ = waiters_.size();
  released_.notify_all();
  for (const store::Topic topic : topics) {
    const auto line = lines_.find(topic.id);
    if (line == lines_.end()) continue;
    line->second.places.erase(place);
    if (line->second.places.empty()) {
      lines_.erase(line);
    } else if (line->second.passing && line->second.asked == place) {
      AskNext(topic, line->second);
    }
  }
  return true;
}

void Waiters::ServeNow(store::Topic topic, Turn& by) {
  // Held while they look, which never waits: who ends a wait meanwhile learns whether it was
  // served.
  const std::lock_guard lock(mutex_);
  std::set<std::string_view> done;
  uint64_t asked = 0;
  for (;;) {
    const auto line = lines_.find(topic.id);
    // A pass that is under way goes on when the commit wakes the topic.
    if (line == lines_.end() || line->second.passing) return;
    const auto next =
        std::find_if(line->second.places.upper_bound(asked), line->second.places.end(),
                     [&](uint64_t place) { return !done.contains(waiters_.at(place).kind.name); });
    if (next == line->second.places.end()) return;
    asked = *next;
    const Waiter& waiter = waiters_.at(asked);
    if (IsAsked(asked, waiter) || waiter.claimed || waiter.service.inside) return;
    const Kind kind = waiter.kind;
    switch (by.Look(waiter.service.make_work(), waiter.service.tell)) {
      case Found::kSomething:
        Remove(asked);
        break;
      case Found::kNothing:
        if (kind.takes && !line->second.asks_all) done.insert(kind.name);
        break;
      case Found::kUnknown:
        return;
    }
  }
}

// Whether it looks because of a pass over one of its lines.
bool Waiters::IsAsked(uint64_t place, const Waiter& waiter) const {
  return std::ranges::any_of(waiter.topics, [&](store::Topic topic) {
    const auto line = lines_.find(topic.id);
    return line != lines_.end() && line->second.passing && line->second.asked == place;
  });
}

void Waiters::FoundNothing(uint64_t place, store::Topic topic) {
  const std::lock_guard lock(mutex_);
  const auto waiter = waiters_.find(place);
  const auto line = lines_.find(topic.id);
  if (waiter == waiters_.end() || line == lines_.end()) return;
  if (!line->second.passing || line->second.asked != place) return;
  if (waiter->second.kind.takes && !line->second.asks_all)
    line->second.done.insert(waiter->second.kind.name);
  AskNext(topic, line->second);
}

void Waiters::Woken(store::Topic topic) {
  {
    const std::lock_guard lock(woken_mutex_);
    woken_.push_back(topic);
    if (woken_.size() > 1) return;  // somebody is already on the way
  }
  post_([self = self_] {
    if (*self != nullptr) (*self)->StartPasses();
  });
}

void Waiters::StartPasses() {
  std::vector<store::Topic> topics;
  {
    const std::lock_guard lock(woken_mutex_);
    topics.swap(woken_);
  }
  const std::lock_guard lock(mutex_);
  for (const store::Topic topic : topics) {
    const auto found = lines_.find(topic.id);
    if (found == lines_.end()) continue;
    Line& line = found->second;
    if (line.passing) {
      line.again = true;
      continue;
    }
    line.passing = true;
    line.asked = 0;
    line.done.clear();
    AskNext(topic, line);
  }
}

// Asks the next in line after the one who was asked last; at the end of the line, ends the pass or
// begins it again.
void Waiters::AskNext(store::Topic topic, Line& line) {
  CAIRN_CHECK(line.passing && !line.places.empty(), "nobody stands in line");
  for (;;) {
    for (auto at = line.places.upper_bound(line.asked); at != line.places.end(); ++at) {
      const Waiter& waiter = waiters_.at(*at);
      if (line.done.contains(waiter.kind.name)) continue;
      line.asked = *at;
      return waiter.ask(*at, topic);
    }
    line.asked = 0;
    line.done.clear();
    if (!std::exchange(line.again, false)) {
      line.passing = false;
      return;
    }
  }
}

bool Waiters::IsWaiting(uint64_t place) const {
  const std::lock_guard lock(mutex_);
  return waiters_.contains(place);
}

bool Waiters::AnyoneWaits(std::span<const store::Topic> topics) const {
  const std::lock_guard lock(mutex_);
  if (lines_.empty()) return false;
  return std::ranges::any_of(topics,
                             [this](store::Topic topic) { return lines_.contains(topic.id); });
}

size_t Waiters::count() const {
  const std::lock_guard lock(mutex_);
  return waiters_.size();
}

}  // namespace cairn::doors
