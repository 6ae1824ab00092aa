#include "doors/turn/held_scopes.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "doors/access/limits.h"

namespace cairn::doors {

bool HeldScopes::Covers(const store::Scopes& scopes) const {
  if (exclusive) return true;
  if (scopes.exclusive()) return false;
  return only_order || std::ranges::all_of(scopes.hashes(), [this](uint64_t hash) {
           return std::ranges::find(granted.hashes(), hash) != granted.hashes().end();
         });
}

Result<void> HeldScopes::Require(const store::Scopes& scopes) {
  if (Covers(scopes)) return {};
  wanted.AddAll(scopes);
  return Error{ErrorCode::kWouldBlock, "a command needs more scopes than it was given"};
}

bool HeldScopes::Widen(store::Scopes& scopes) {
  if (exclusive || wanted.empty()) return false;
  if (++widened > kMaxWidenings) wanted = store::Scopes::Exclusive();
  scopes.AddAll(wanted);
  granted.AddAll(std::exchange(wanted, {}));
  exclusive = scopes.exclusive();
  CAIRN_CHECK(exclusive || widened <= kMaxWidenings, "widened {} times", widened);
  return true;
}

}  // namespace cairn::doors
