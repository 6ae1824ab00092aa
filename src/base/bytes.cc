#include "base/bytes.h"

namespace cairn {
namespace {

template <typename T>
void AppendBig(Bytes& out, T value) {
  char buffer[sizeof(T)];
  for (size_t i = 0; i < sizeof(T); ++i) {
    buffer[i] = static_cast<char>(value >> (8 * (sizeof(T) - 1 - i)));
  }
  out.append(buffer, sizeof(T));
}

constexpr char kHexDigits[] = "0123456789abcdef";

}  // namespace

void AppendBig16(Bytes& out, uint16_t value) { AppendBig(out, value); }
void AppendBig32(Bytes& out, uint32_t value) { AppendBig(out, value); }
void AppendBig64(Bytes& out, uint64_t value) { AppendBig(out, value); }

uint64_t BytesReader::Big(size_t width) {
  uint64_t value = 0;
  for (const char c : Take(width)) {
    value = (value << 8) | static_cast<uint8_t>(c);
  }
  return value;
}

uint8_t BytesReader::Byte() { return static_cast<uint8_t>(Big(1)); }
uint16_t BytesReader::Big16() { return static_cast<uint16_t>(Big(2)); }
uint32_t BytesReader::Big32() { return static_cast<uint32_t>(Big(4)); }
uint64_t BytesReader::Big64() { return Big(8); }

BytesView BytesReader::Take(size_t count) {
  if (!ok_ || count > rest_.size()) {
    ok_ = false;
    return {};
  }
  const BytesView taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

BytesView BytesReader::Rest() { return Take(rest_.size()); }

std::optional<Bytes> PrefixSuccessor(BytesView prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') {
    prefix.remove_suffix(1);
  }
  if (prefix.empty()) {
    return std::nullopt;
  }
  Bytes successor(prefix);
  successor.back() = static_cast<char>(static_cast<uint8_t>(successor.back()) + 1);
  return successor;
}

std::string Printable(BytesView bytes, size_t limit) {
  std::string text;
  for (const char c : bytes.substr(0, limit)) {
    if (c >= 0x20 && c < 0x7f && c != '\\') {
      text += c;
    } else {
      const auto byte = static_cast<uint8_t>(c);
      text += {'\\', 'x', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
    }
  }
  if (bytes.size() > limit) {
    text += "...";
  }
  return text;
}

std::string HexEncode(BytesView bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15];
  }
  return text;
}

}  // namespace cairn
