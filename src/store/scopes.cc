#include "store/scopes.h"

#include "base/hash.h"

namespace cairn::store {
namespace {

uint64_t HashName(Space space, BytesView name) {
  return Hash64(name, static_cast<uint64_t>(space) + 1);
}

}  // namespace

Scopes Scopes::Exclusive() {
  Scopes scopes;
  scopes.exclusive_ = true;
  return scopes;
}

Scopes& Scopes::Add(Space space, BytesView name) {
  hashes_.push_back(HashName(space, name));
  return *this;
}

Scopes& Scopes::AddAll(const Scopes& other) {
  exclusive_ = exclusive_ || other.exclusive_;
  hashes_.insert(hashes_.end(), other.hashes_.begin(), other.hashes_.end());
  return *this;
}

void Scopes::Clear() {
  exclusive_ = false;
  hashes_.clear();
}

Topic Topic::Of(Space space, BytesView name) { return {HashName(space, name)}; }

}  // namespace cairn::store
