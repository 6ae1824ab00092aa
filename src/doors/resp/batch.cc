#include "doors/resp/batch.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/check.h"
#include "doors/turn/serving.h"

namespace cairn::doors {
namespace {

// One request as a part of the transaction. It waits when one before it, of the same connection,
// has to be run alone.
struct PartBody {
  Work& work;
  Serving& serving;
  size_t index;
  size_t& first_alone;  // of the connection's requests

  Result<void> operator()(store::Transaction& transaction) const {
    if (index > first_alone) {
      return Error{ErrorCode::kWouldBlock, "an earlier request is run again"};
    }
    Result<void> ran = RunServing(work, serving, transaction);
    const bool again = !ran.ok() && ran.error().code == ErrorCode::kWouldBlock;
    if (again || !work.held.wanted.empty()) first_alone = std::min(first_alone, index);
    return ran;
  }
};

}  // namespace

store::Access Deferred::access() const {
  const bool writes = std::ranges::any_of(
      works, [](const auto& work) { return work->access == store::Access::kWrite; });
  return writes ? store::Access::kWrite : store::Access::kRead;
}

void Batch::Add(std::unique_ptr<Deferred> deferred) {
  requests_ += deferred->works.size();
  deferred_.push_back(std::move(deferred));
}

bool Batch::HasRoomFor(const Deferred& deferred) const {
  return empty() || (requests_ + deferred.works.size() <= kMostRequests &&
                     deferred.access() == deferred_[0]->access());
}

size_t Batch::request_bytes() const {
  size_t bytes = 0;
  for (const auto& deferred : deferred_) {
    for (const auto& work : deferred->works) bytes += work->request_bytes;
  }
  return bytes;
}

void Batch::Run(store::Store& store, Waiters& waiters) {
  if (requests_ > 1) return RunTogether(store, waiters);
  deferred_[0]->results = {RunWaiting(store, waiters, *deferred_[0]->works[0])};
}

void Batch::RunTogether(store::Store& store, Waiters& waiters) {
  store::Scopes scopes;
  std::deque<Serving> servings;
  std::vector<size_t> first_alone;
  std::vector<PartBody> bodies;
  std::vector<store::Part> parts;
  first_alone.reserve(deferred_.size());
  bodies.reserve(requests_);
  parts.reserve(requests_);
  for (const auto& deferred : deferred_) {
    first_alone.push_back(deferred->works.size());
    for (size_t i = 0; i < deferred->works.size(); ++i) {
      scopes.AddAll(deferred->works[i]->scopes);
      bodies.push_back(
          {*deferred->works[i], servings.emplace_back(waiters), i, first_alone.back()});
      parts.push_back({bodies.back()});
    }
  }
  // Each body borrows from the vectors beside it, which must not have grown.
  CAIRN_CHECK(bodies.size() == requests_ && first_alone.size() == deferred_.size(),
              "{} bodies of {} requests", bodies.size(), requests_);
  store.RunParts(scopes, deferred_[0]->access(), parts);

  // Before any is run again, which may be because of one that is claimed here.
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].result.ok()) {
      TellServed(servings[i], bodies[i].work, *parts[i].result);
    } else {
      servings[i].Begin();
    }
  }
  size_t part = 0;
  for (size_t connection = 0; connection < deferred_.size(); ++connection) {
    Deferred& deferred = *deferred_[connection];
    for (size_t i = 0; i < deferred.works.size(); ++i, ++part) {
      Work& work = *deferred.works[i];
      const Result<store::Commit>& result = parts[part].result;
      const bool alone = i >= first_alone[connection] && !result.ok() &&
                         result.error().code == ErrorCode::kWouldBlock;
      if (alone) work.Widen();
      deferred.results.push_back(alone ? RunWaiting(store, waiters, work) : result);
    }
  }
}

void Batch::FailAll(const Error& error) {
  for (const auto& deferred : deferred_) deferred->results.assign(deferred->works.size(), error);
}

}  // namespace cairn::doors
