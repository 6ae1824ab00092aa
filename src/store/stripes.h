#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "store/scopes.h"
#include "store/store.h"

namespace cairn::store {

// The locks behind scopes: a fixed number of stripes, each held by one owner at a time. A scope is
// a hash, its stripe the hash's low bits. Owners are opaque addresses, so that the same group may
// take a stripe again for a later body.
//
// Each stripe also remembers the newest commit that changed something under it. It is set before
// the commit is visible, so a reader that saw the change also sees the number it has to wait for.
//
// No deadlock: a set of stripes is taken in ascending order, and nobody waits for a stripe while
// holding stripes of an earlier set.
class Stripes {
 public:
  static constexpr size_t kCount = 4096;
  using Index = uint16_t;
  using Owner = const void*;

  // The stripes of `scopes`, ascending, each once.
  static void Collect(const Scopes& scopes, std::vector<Index>& stripes) {
    stripes.clear();
    if (scopes.exclusive()) {
      for (size_t i = 0; i < kCount; ++i) stripes.push_back(static_cast<Index>(i));
      return;
    }
    for (const uint64_t hash : scopes.hashes()) {
      stripes.push_back(static_cast<Index>(hash % kCount));
    }
    if (stripes.size() > 1) {
      std::sort(stripes.begin(), stripes.end());
      stripes.erase(std::unique(stripes.begin(), stripes.end()), stripes.end());
    }
  }

  // False if someone else holds it. True again for its holder.
  bool TryAcquire(Index stripe, Owner owner) {
    Owner expected = nullptr;
    return stripes_[stripe].owner.compare_exchange_strong(expected, owner,
                                                          std::memory_order_acquire) ||
           expected == owner;
  }

  // Waits until it is free. Only for an owner that holds no stripe above this one.
  void Acquire(Index stripe, Owner owner) {
    if (TryAcquire(stripe, owner)) return;
    waiting_.fetch_add(1);
    while (!TryAcquire(stripe, owner)) {
      auto& holder = stripes_[stripe].owner;
      const Owner current = holder.load();
      if (current != nullptr) holder.wait(current);
    }
    waiting_.fetch_sub(1);
  }

  // The library shares its waiting rooms between atomics, so telling one that nobody waits for can
  // be a call of the kernel all the same. Who waits has said so before looking at the holder; who
  // releases stores first and then looks for who waits: one of the two sees the other.
  void Release(Index stripe, Owner owner) {
    auto& holder = stripes_[stripe].owner;
    CAIRN_CHECK(holder.load(std::memory_order_relaxed) == owner);
    holder.store(nullptr);
    if (waiting_.load() != 0) holder.notify_one();
  }

  bool IsHeldBy(Index stripe, Owner owner) const {
    return stripes_[stripe].owner.load(std::memory_order_relaxed) == owner;
  }

  uint64_t newest_commit(Index stripe) const {
    return stripes_[stripe].newest_commit.load(std::memory_order_acquire);
  }
  void set_newest_commit(Index stripe, uint64_t commit) {
    stripes_[stripe].newest_commit.store(commit, std::memory_order_release);
  }

 private:
  struct Stripe {
    std::atomic<Owner> owner{nullptr};
    std::atomic<uint64_t> newest_commit{0};
  };
  std::array<Stripe, kCount> stripes_;
  std::atomic<int> waiting_{0};  // for any of them
};

}  // namespace cairn::store
