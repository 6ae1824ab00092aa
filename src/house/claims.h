#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cairn::house {

// What layers claim for themselves: a name, a timer kind, a space. That two claim the same is a
// mistake in the program; the first such collision is kept, so that the server can refuse to start
// and say so.
class Claims {
 public:
  // From now on `layer` claims.
  void set_layer(std::string_view layer) { layer_ = layer; }
  std::string_view layer() const { return layer_; }

  // `what` ends the sentence "the layers … both claim": "timer kind 33". False if it is taken.
  bool Claim(const std::string& what);

  const std::optional<Error>& collision() const { return collision_; }

 private:
  std::string_view layer_;
  std::map<std::string, std::string_view> owners_;  // by what they have claimed
  std::optional<Error> collision_;
};

}  // namespace cairn::house
