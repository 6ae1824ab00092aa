#include "base/json_text.h"

#include <cstddef>
#include <cstdint>

#include "base/utf8.h"

namespace cairn {
namespace {

// An ASCII character that cannot stand in a JSON string as it is.
void AppendEscaped(char c, std::string& out) {
  constexpr std::string_view kSpecial = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  constexpr std::string_view kHex = "0123456789abcdef";
  if (const size_t which = kSpecial.find(c); which != std::string_view::npos) {
    out.push_back('\\');
    out.push_back(kLetters[which]);
    return;
  }
  const auto byte = static_cast<uint8_t>(c);
  out.append("\\u00");
  out.push_back(kHex[byte >> 4]);
  out.push_back(kHex[byte & 15]);
}

}  // namespace

void AppendJsonString(std::string_view text, std::string& out) {
  out.push_back('"');
  size_t plain = 0;  // where what needs no escape begins
  size_t at = 0;
  while (at < text.size()) {
    const auto byte = static_cast<uint8_t>(text[at]);
    const size_t length = byte < 0x80 ? 1 : Utf8SequenceLength(text.substr(at));
    if (length > 0 && byte >= 0x20 && byte != '"' && byte != '\\') {
      at += length;
      continue;
    }
    out.append(text, plain, at - plain);
    if (length == 0) {
      out.append("\xEF\xBF\xBD");
    } else {
      AppendEscaped(text[at], out);
    }
    plain = ++at;
  }
  out.append(text, plain, text.size() - plain);
  out.push_back('"');
}

std::string JsonString(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  AppendJsonString(text, out);
  return out;
}

}  // namespace cairn
