#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cairn {

// Bytes owns, BytesView borrows. Both hold any byte, zero included; neither implies text.
using Bytes = std::string;
using BytesView = std::string_view;

// Big-endian integers keep their numeric order when keys are compared as bytes.
void AppendBig16(Bytes& out, uint16_t value);
void AppendBig32(Bytes& out, uint32_t value);
void AppendBig64(Bytes& out, uint64_t value);

// Takes bytes off the front of a key or value. The first read past the end makes every later read
// fail too, so a decoder reads all fields and asks ok() or AtEnd() once.
class BytesReader {
 public:
  explicit BytesReader(BytesView bytes) : rest_(bytes) {}

  uint8_t Byte();
  uint16_t Big16();
  uint32_t Big32();
  uint64_t Big64();
  BytesView Take(size_t count);
  BytesView Rest();  // all that is left

  bool ok() const { return ok_; }
  // Whether every read succeeded and nothing is left.
  bool AtEnd() const { return ok_ && rest_.empty(); }

 private:
  uint64_t Big(size_t width);

  BytesView rest_;
  bool ok_ = true;
};

// The smallest key that is larger than every key starting with `prefix`; nullopt when there is none
// (prefix is empty or all 0xFF).
std::optional<Bytes> PrefixSuccessor(BytesView prefix);

// For messages: printable ASCII as it is, the rest as \xNN, cut after `limit` bytes.
std::string Printable(BytesView bytes, size_t limit = 64);

std::string HexEncode(BytesView bytes);

}  // namespace cairn
