#pragma once

#include <cstdint>
#include <vector>

#include "store/space.h"

namespace cairn::store {

// What a body may change, and what it reads that must not change under it: a set of names (a key, a
// record, an object…), or everything. Two bodies whose scopes share a name run one after the other.
//
// Names are kept as hashes. Two names that collide only make bodies wait that need not have waited.
class Scopes {
 public:
  Scopes() = default;
  // Everything: a body with this runs alone. For FLUSHALL, and scripts with undeclared keys.
  static Scopes Exclusive();

  // `name` belongs to the owner of `space` and need not be a stored key.
  Scopes& Add(Space space, BytesView name);
  Scopes& AddAll(const Scopes& other);
  void Clear();

  bool exclusive() const { return exclusive_; }
  bool empty() const { return !exclusive_ && hashes_.empty(); }
  const std::vector<uint64_t>& hashes() const { return hashes_; }

 private:
  bool exclusive_ = false;
  std::vector<uint64_t> hashes_;
};

// What a waiter waits for and a commit announces. Like a scope, a name kept as a hash: a collision
// only makes a waiter look once in vain.
struct Topic {
  uint64_t id = 0;

  static Topic Of(Space space, BytesView name);
  friend bool operator==(const Topic&, const Topic&) = default;
};

}  // namespace cairn::store
