#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"

namespace cairn {

// A 128-bit UUID (RFC 9562), most significant byte first. Version 4 is random; version 7 begins
// with the time in milliseconds, so newer ids sort after older ones.
class Uuid {
 public:
  static Uuid V4(Random& random);
  static Uuid V7(Timestamp now, Random& random);
  // Accepts the 36-character form in either case; nullopt for anything else.
  static std::optional<Uuid> Parse(std::string_view text);

  explicit Uuid(const std::array<uint8_t, 16>& bytes) : bytes_(bytes) {}
  const std::array<uint8_t, 16>& bytes() const { return bytes_; }
  int version() const { return bytes_[6] >> 4; }
  std::string ToString() const;  // lower case, 8-4-4-4-12

  friend auto operator<=>(const Uuid&, const Uuid&) = default;

 private:
  std::array<uint8_t, 16> bytes_;
};

// A ULID: 48 bits of milliseconds and 80 random bits as 26 characters of Crockford's base 32, whose
// order as text is the order in time (to the millisecond).
std::string NewUlid(Timestamp now, Random& random);

}  // namespace cairn
