#include "base/bytes.h"

#include <bit>
#include <cstring>

namespace cairn {
namespace {

uint16_t Swapped(uint16_t value) { return __builtin_bswap16(value); }
uint32_t Swapped(uint32_t value) { return __builtin_bswap32(value); }
uint64_t Swapped(uint64_t value) { return __builtin_bswap64(value); }

// Between the order of this machine and big-endian.
template <typename T>
T Turned(T value) {
  return std::endian::native == std::endian::little ? Swapped(value) : value;
}

template <typename T>
void AppendBig(Bytes& out, T value) {
  char buffer[sizeof(T)];
  value = Turned(value);
  std::memcpy(buffer, &value, sizeof(T));
  out.append(buffer, sizeof(T));
}

constexpr char kHexDigits[] = "0123456789abcdef";

}  // namespace

void AppendBig16(Bytes& out, uint16_t value) { AppendBig(out, value); }
void AppendBig32(Bytes& out, uint32_t value) { AppendBig(out, value); }
void AppendBig64(Bytes& out, uint64_t value) { AppendBig(out, value); }

uint64_t BytesReader::Big(size_t width) {
  const BytesView taken = Take(width);
  if (taken.empty()) return 0;
  char buffer[sizeof(uint64_t)] = {};
  std::memcpy(buffer + sizeof(buffer) - width, taken.data(), width);
  uint64_t value = 0;
  std::memcpy(&value, buffer, sizeof(value));
  return Turned(value);
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
