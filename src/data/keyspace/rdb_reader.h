#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace cairn::data {

// Takes the pieces of Redis's formats off the front of bytes. As with BytesReader the first failure
// makes every later read fail, so that a decoder asks ok() once.
class RdbReader {
 public:
  explicit RdbReader(BytesView bytes) : rest_(bytes) {}

  uint8_t Byte() { return static_cast<uint8_t>(Big(1)); }
  // Integers of `width` bytes, at most 8.
  uint64_t Big(size_t width);
  uint64_t Little(size_t width);
  BytesView Take(uint64_t count);

  // A number of things:
  //
  //   00llllll   01llllll llllllll   80 l:4   81 l:8        big-endian
  uint64_t Length();
  // A length with its bytes, or
  //
  //   C0 i:1   C1 i:2   C2 i:4      an integer, little-endian, as its digits
  //   C3 compressed_length length compressed…      see lzf.h
  Bytes String();
  // As digits: length:1 text…, where the lengths FD, FE and FF stand for not a number and the
  // infinities.
  double TextDouble();
  double BinaryDouble();

  void Fail() { ok_ = false; }
  bool ok() const { return ok_; }
  size_t remaining() const { return rest_.size(); }
  bool AtEnd() const { return ok_ && rest_.empty(); }

 private:
  uint64_t LengthAfter(uint8_t first);

  BytesView rest_;
  bool ok_ = true;
};

}  // namespace cairn::data
