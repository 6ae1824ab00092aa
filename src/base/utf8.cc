#include "base/utf8.h"

#include <algorithm>
#include <cstdint>

namespace cairn {

size_t Utf8SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  size_t length = 0;
  uint32_t code = 0;
  uint32_t smallest = 0;
  if (first < 0x80) return 1;
  if ((first & 0xe0) == 0xc0) {
    length = 2, code = first & 0x1f, smallest = 0x80;
  } else if ((first & 0xf0) == 0xe0) {
    length = 3, code = first & 0x0f, smallest = 0x800;
  } else if ((first & 0xf8) == 0xf0) {
    length = 4, code = first & 0x07, smallest = 0x10000;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = (code << 6) | (byte(i) & 0x3f);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < smallest || code > 0x10ffff || surrogate ? 0 : length;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string CleanText(std::string_view text, size_t limit) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string clean;
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    const std::string_view next = length == 0 ? kReplacement : text.substr(0, length);
    if (clean.size() + next.size() > limit) break;
    clean += next;
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return clean;
}

}  // namespace cairn
