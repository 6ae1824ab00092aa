#include "house/claims.h"

#include <fmt/format.h>

namespace cairn::house {

bool Claims::Claim(const std::string& what) {
  const auto [owner, is_new] = owners_.emplace(what, layer_);
  if (!is_new && !collision_) {
    collision_ = Error{ErrorCode::kInvalid, fmt::format("the layers {} and {} both claim {}",
                                                        owner->second, layer_, what)};
  }
  return is_new;
}

}  // namespace cairn::house
