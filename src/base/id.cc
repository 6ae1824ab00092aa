#include "base/id.h"

namespace cairn {
namespace {

std::array<uint8_t, 16> RandomBytes16(Random& random) {
  std::array<uint8_t, 16> bytes;
  for (size_t word = 0; word < 2; ++word) {
    uint64_t value = random.Next();
    for (size_t i = 0; i < 8; ++i, value >>= 8) {
      bytes[word * 8 + i] = static_cast<uint8_t>(value);
    }
  }
  return bytes;
}

// The first 48 bits become the time, as both UUID v7 and ULID have it.
void StampMillis(std::array<uint8_t, 16>& bytes, Timestamp now) {
  auto ms = static_cast<uint64_t>(now.millis());
  for (size_t i = 6; i-- > 0; ms >>= 8) {
    bytes[i] = static_cast<uint8_t>(ms);
  }
}

void SetVersion(std::array<uint8_t, 16>& bytes, uint8_t version) {
  bytes[6] = static_cast<uint8_t>((bytes[6] & 0x0f) | (version << 4));
  bytes[8] = static_cast<uint8_t>((bytes[8] & 0x3f) | 0x80);
}

bool IsDashPosition(size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

std::optional<uint8_t> HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<uint8_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<uint8_t>(c - 'A' + 10);
  return std::nullopt;
}

}  // namespace

Uuid Uuid::V4(Random& random) {
  auto bytes = RandomBytes16(random);
  SetVersion(bytes, 4);
  return Uuid(bytes);
}

Uuid Uuid::V7(Timestamp now, Random& random) {
  auto bytes = RandomBytes16(random);
  StampMillis(bytes, now);
  SetVersion(bytes, 7);
  return Uuid(bytes);
}

std::optional<Uuid> Uuid::Parse(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  std::array<uint8_t, 16> bytes{};
  size_t digits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsDashPosition(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const auto digit = HexDigit(text[i]);
    if (!digit) return std::nullopt;
    bytes[digits / 2] = static_cast<uint8_t>((bytes[digits / 2] << 4) | *digit);
    ++digits;
  }
  return Uuid(bytes);
}

std::string Uuid::ToString() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (const uint8_t byte : bytes_) {
    if (IsDashPosition(text.size())) text += '-';
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string NewUlid(Timestamp now, Random& random) {
  static constexpr char kCrockford[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  auto bytes = RandomBytes16(random);
  StampMillis(bytes, now);
  // 26 characters carry 130 bits: the number is written with two leading zero bits.
  std::string text;
  text.reserve(26);
  uint32_t window = 0;
  int bits = 2;
  for (const uint8_t byte : bytes) {
    window = (window << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += kCrockford[(window >> bits) & 31];
    }
  }
  return text;
}

}  // namespace cairn
