#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"

// As much of MessagePack (https://msgpack.org) as documents of this layer need: maps from numbers
// to integers, booleans, byte strings and arrays of byte strings. By hand because Debian's
// libmsgpack-cxx-dev brings another Boost than ours, and the C library makes a tree of each
// document, which costs more than the rest of a fetch.
namespace cairn::jobs {

// Appends values to `out`.
class PackWriter {
 public:
  explicit PackWriter(Bytes& out) : out_(out) {}

  void MapHeader(uint32_t pairs);
  void ArrayHeader(uint32_t items);
  void Unsigned(uint64_t value);
  void Signed(int64_t value);
  void Bool(bool value) { out_.push_back(static_cast<char>(value ? 0xC3 : 0xC2)); }
  void String(std::string_view value);  // str: text
  void Binary(BytesView value);         // bin

 private:
  Bytes& out_;
};

// Takes values off the front. The first that is not of the kind asked for, or is cut off, makes
// every later read fail too, so a decoder reads all and asks ok() once. Views are into the input.
class PackReader {
 public:
  explicit PackReader(BytesView bytes) : rest_(bytes) {}

  uint32_t MapHeader();
  uint32_t ArrayHeader();
  uint64_t Unsigned();
  int64_t Signed();
  bool Bool();
  BytesView String();  // str or bin
  void Skip();         // whatever comes next, of a newer version

  bool ok() const { return ok_; }
  bool AtEnd() const { return ok_ && rest_.empty(); }

 private:
  uint8_t Byte();
  uint64_t Big(size_t width);
  BytesView Take(uint64_t size);
  void SkipOne(uint64_t& pending);

  BytesView rest_;
  bool ok_ = true;
};

}  // namespace cairn::jobs
