#pragma once

#include "base/result.h"
#include "store/scopes.h"

namespace cairn::doors {

// The scopes that a body runs under, as far as it has to know, and those that it turned out to
// need.
//
//   body:    CAIRN_RETURN_IF_ERROR(held.Require(scopes));   touches what its scopes do not cover
//   caller:  the body has failed, held.Widen(scopes)        → run it again
//
// The callers are Turn and RunWaiting: nobody else has to widen anything.
struct HeldScopes {
  bool exclusive = false;  // everything is held
  // Other processes serve the store too (Store::shared), so the engine itself keeps bodies apart
  // and scopes only decide who waits: a body may touch more than they cover.
  bool only_order = false;
  bool may_take_long = false;  // no event loop waits for the body
  store::Scopes granted = {};  // because an earlier run has asked for them
  store::Scopes wanted = {};   // by this run, which has failed: to be run again with these too
  int widened = 0;             // how often that was done

  bool Covers(const store::Scopes& scopes) const;
  // Fails, and notes what is wanted, unless the scopes are held. Returned as the body's error, that
  // makes the body run again with these scopes too.
  Result<void> Require(const store::Scopes& scopes);
  // After a run that has failed: whether to run it again, with what has been added to `scopes`.
  bool Widen(store::Scopes& scopes);
};

}  // namespace cairn::doors
