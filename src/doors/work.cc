#include "doors/work.h"

#include <utility>

namespace cairn::doors {

bool Work::Widen() {
  if (held.exclusive || !std::exchange(held.wants_exclusive, false)) return false;
  scopes = store::Scopes::Exclusive();
  held.exclusive = true;
  return true;
}

}  // namespace cairn::doors
