#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"

// The tuple encoding of FoundationDB: values of several types as bytes whose order is the order of
// the values. A tuple is its elements one after the other:
//
//   00                        null; in a nested tuple 00 FF
//   01 bytes… 00              bytes, in which 00 stands as 00 FF
//   02 bytes… 00              text, UTF-8, likewise
//   05 elements… 00           a nested tuple
//   14-n bytes:n              an integer below 0 of n bytes, 1 to 8: the ones' complement
//   14                        0
//   14+n bytes:n              an integer above 0 of n bytes, as few as it needs
//   20 bytes:4, 21 bytes:8    float, double: all bits flipped if negative, else the sign bit
//   26, 27                    false, true
//   30 bytes:16               a UUID
//   33 bytes:12               a versionstamp
//
// Integers of more than 8 bytes (0B, 1D) are not read. An encoding that is not the shortest of its
// value is refused, so what is decoded encodes to the same bytes.
namespace cairn::actors {

// Writes a tuple, element by element.
//
//   TuplePacker().Integer(2).Begin().Text("loop").Integer(7).End().Take()
class TuplePacker {
 public:
  TuplePacker() = default;
  // Goes on behind these bytes: those of a tuple's first elements.
  explicit TuplePacker(BytesView prefix) : bytes_(prefix) {}

  TuplePacker& Null();
  TuplePacker& AddBytes(BytesView bytes);
  TuplePacker& Text(std::string_view text);
  TuplePacker& Integer(int64_t value);
  // The sign and the distance from 0, for those an int64_t does not hold.
  TuplePacker& Magnitude(uint64_t magnitude, bool negative);
  TuplePacker& Float(float value);
  TuplePacker& Double(double value);
  TuplePacker& Bool(bool value);
  TuplePacker& Uuid(const std::array<uint8_t, 16>& uuid);
  TuplePacker& Versionstamp(const std::array<uint8_t, 12>& stamp);
  // A nested tuple; every Begin has its End.
  TuplePacker& Begin();
  TuplePacker& End();

  const Bytes& bytes() const { return bytes_; }
  Bytes Take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
  size_t depth_ = 0;
};

struct TupleElement;
using Tuple = std::vector<TupleElement>;

struct TupleNull {
  friend bool operator==(const TupleNull&, const TupleNull&) = default;
};
struct TupleBytes {
  Bytes bytes;
  friend bool operator==(const TupleBytes&, const TupleBytes&) = default;
};
struct TupleText {
  std::string text;
  friend bool operator==(const TupleText&, const TupleText&) = default;
};
struct TupleInteger {
  uint64_t magnitude = 0;
  bool negative = false;  // never of 0

  static TupleInteger Of(int64_t value);
  // nullopt: too large for one.
  std::optional<int64_t> value() const;
  friend bool operator==(const TupleInteger&, const TupleInteger&) = default;
};
// Their bits, so that every NaN is one of its own.
struct TupleFloat {
  uint32_t bits = 0;
  friend bool operator==(const TupleFloat&, const TupleFloat&) = default;
};
struct TupleDouble {
  uint64_t bits = 0;
  friend bool operator==(const TupleDouble&, const TupleDouble&) = default;
};
struct TupleUuid {
  std::array<uint8_t, 16> bytes{};
  friend bool operator==(const TupleUuid&, const TupleUuid&) = default;
};
struct TupleVersionstamp {
  std::array<uint8_t, 12> bytes{};
  friend bool operator==(const TupleVersionstamp&, const TupleVersionstamp&) = default;
};

struct TupleElement {
  std::variant<TupleNull, TupleBytes, TupleText, TupleInteger, TupleFloat, TupleDouble, bool,
               TupleUuid, TupleVersionstamp, Tuple>
      value;
  friend bool operator==(const TupleElement&, const TupleElement&) = default;
};

Bytes PackTuple(const Tuple& tuple);
// nullopt for bytes that are no tuple, or one nested deeper than kMaxTupleDepth.
std::optional<Tuple> UnpackTuple(BytesView bytes);

// Appends `bytes` with 00 as 00 FF, without an end: what every encoding of bytes that begin so
// begins with.
void AppendTupleEscaped(Bytes& out, BytesView bytes);

}  // namespace cairn::actors
