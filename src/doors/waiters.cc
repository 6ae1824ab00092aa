#include "doors/waiters.h"

#include <algorithm>
#include <utility>

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
                                              Ask ask, Look look,
                                              std::optional<store::Topic> everyone) {
  const std::lock_guard lock(mutex_);
  const uint64_t id = next_place_++;
  Waiter waiter{{topics.begin(), topics.end()}, kind, std::move(ask), std::move(look)};
  for (const store::Topic topic : topics) LineOf(topic).places.insert(id);
  if (everyone) {
    Line& line = LineOf(*everyone);
    line.asks_all = true;
    line.places.insert(id);
    waiter.topics.push_back(*everyone);
  }
  waiters_.emplace(id, std::move(waiter));
  size_ = waiters_.size();
  // What was stored between the waiter's own look and now has woken nobody.
  for (const store::Topic topic : topics) Woken(topic);
  return std::make_unique<Place>(*this, id);
}

bool Waiters::Withdraw(uint64_t place) {
  const std::lock_guard lock(mutex_);
  return Remove(place);
}

bool Waiters::Remove(uint64_t place) {
  const auto waiter = waiters_.find(place);
  if (waiter == waiters_.end()) return false;
  const std::vector<store::Topic> topics = std::move(waiter->second.topics);
  waiters_.erase(waiter);
  size_ = waiters_.size();
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

void Waiters::ServeNow(store::Topic topic, Dispatcher& by) {
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
    if (IsAsked(asked, waiter)) return;
    const Kind kind = waiter.kind;
    switch (waiter.look(by)) {
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
