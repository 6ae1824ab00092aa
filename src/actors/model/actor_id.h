#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/random.h"

namespace cairn::actors {

// The name of an actor for as long as there are backups of it: a random UUID (version 4) and the
// label of the data centre where it was made. Ids are never used twice.
//
//   stored   uuid:16 label:2
//   shown    the number 01 uuid:16 label:2, in 30 digits of base 36: 0dvi4b2cq1bsv8…
//
// The leading 01 says how the rest is laid out. Ids of one length sort as text as they do stored.
class ActorId {
 public:
  static constexpr size_t kBytes = 18;
  static constexpr size_t kTextBytes = 30;
  // This program knows nothing of several data centres.
  static constexpr uint16_t kLabel = 1;

  static ActorId New(Random& random);
  // Accepts lower-case digits alone; nullopt for anything that ToString does not give.
  static std::optional<ActorId> Parse(std::string_view text);
  // nullopt unless it has kBytes.
  static std::optional<ActorId> FromBytes(BytesView bytes);

  BytesView view() const { return {bytes_.data(), bytes_.size()}; }
  std::string ToString() const;

  friend auto operator<=>(const ActorId&, const ActorId&) = default;

 private:
  std::array<char, kBytes> bytes_{};
};

}  // namespace cairn::actors
