#include "base/base64.h"

#include <array>
#include <cstdint>

namespace cairn {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 0xFF;

constexpr std::array<uint8_t, 256> kDigits = [] {
  std::array<uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (size_t at = 0; at < kAlphabet.size(); ++at) {
    digits[static_cast<uint8_t>(kAlphabet[at])] = static_cast<uint8_t>(at);
  }
  return digits;
}();

// 24 bits of the four digits at `text`; nullopt if one is none.
std::optional<uint32_t> Group(std::string_view text) {
  uint32_t bits = 0;
  for (const char c : text) {
    const uint8_t digit = kDigits[static_cast<uint8_t>(c)];
    if (digit == kNoDigit) return std::nullopt;
    bits = bits << 6 | digit;
  }
  return bits << (6 * (4 - text.size()));
}

}  // namespace

std::string Base64Encode(BytesView bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const BytesView three = bytes.substr(at, 3);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < three.size() ? static_cast<uint8_t>(three[i]) : 0);
    }
    for (size_t i = 0; i < 4; ++i) {
      const bool padding = i > three.size();
      text += padding ? '=' : kAlphabet[bits >> (18 - 6 * i) & 63];
    }
  }
  return text;
}

std::optional<Bytes> Base64Decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  Bytes bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  for (size_t at = 0; at < text.size(); at += 4) {
    const std::string_view digits = text.substr(at, 4);
    const std::optional<uint32_t> bits = Group(digits);
    if (!bits || digits.size() == 1) return std::nullopt;
    const size_t count = digits.size() - 1;
    for (size_t i = 0; i < count; ++i) bytes += static_cast<char>(*bits >> (16 - 8 * i));
    // What is left of the last digit must be zeros: else two texts would mean the same bytes.
    if ((*bits & ((uint32_t{1} << (24 - 8 * count)) - 1)) != 0) return std::nullopt;
  }
  return bytes;
}

}  // namespace cairn
