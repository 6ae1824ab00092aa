#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "data/json/value.h"
#include "data/keyspace/rdb_stream.h"
#include "data/value/keys.h"

// What DUMP gives and RESTORE takes: a value as Redis 7.0 writes it to its files.
//
//   type:1 value… version:2 crc64:8        the last two little-endian
//
// The checksum is that of everything before it. `value` is made of the pieces that rdb_reader.h
// draws; what each type makes of them stands at its name.
namespace cairn::data {

// Types that are read. Written are the first seven of them.
enum class RdbType : uint8_t {
  kString = 0,      // string
  kList = 1,        // count string…
  kSet = 2,         // count string…
  kHash = 4,        // count (field value)…
  kSortedSet2 = 5,  // count (member binary_double)…
  kStream2 = 19,    // see rdb_stream.h
  kJson = 0xb4,     // a string that is an encoded value (json/encoding.h); Redis refuses it

  kSortedSet = 3,           // count (member text_double)…
  kListZiplist = 10,        // a string that is a ziplist (listpack.h); so with the next five
  kSetIntset = 11,          //
  kSortedSetZiplist = 12,   // member and score in turn
  kHashZiplist = 13,        // field and value in turn
  kHashListpack = 16,       //
  kSortedSetListpack = 17,  //
  kListQuicklist = 14,      // count ziplist…
  kListQuicklist2 = 18,  // count (container string)…: of container 1 an element, of 2 a listpack
  kSetListpack = 20,     // Redis 7.2
  kStream = 15,          // Redis 5
  kStream3 = 21,         // Redis 7.2
};

// Puts a dump together.
//
//   RdbWriter writer(RdbType::kSet);
//   writer.Length(members.size());
//   for (const Bytes& member : members) writer.String(member);
//   return std::move(writer).Finish();
class RdbWriter {
 public:
  explicit RdbWriter(RdbType type) { bytes_ += static_cast<char>(type); }

  void Length(uint64_t length);
  void String(BytesView text);
  void Double(double value);
  void Little64(uint64_t value);
  void Raw(BytesView bytes) { bytes_ += bytes; }
  // With version and checksum.
  Bytes Finish() &&;

 private:
  Bytes bytes_;
};

// A value that was read. Which member is used follows from the type.
struct RdbValue {
  ValueType type = ValueType::kString;
  Bytes text;                                    // string
  std::vector<Bytes> members;                    // list, in order; set
  std::vector<std::pair<Bytes, Bytes>> fields;   // hash
  std::vector<std::pair<Bytes, double>> scores;  // sorted set
  RdbStream stream;
  JsonValue json;
};

// Whether a dump has a version that is understood and the right checksum.
bool HasValidFooter(BytesView dump);
// The value of a dump, whose footer is not looked at. nullopt if it cannot be read, is of a type
// that is not known here, is an empty collection, or has a member twice.
std::optional<RdbValue> DecodeRdbValue(BytesView dump);

// A score in digits; nullopt for anything else, and for what is not a number.
std::optional<double> ParseScoreText(std::string_view text);

// The CRC-64 with the polynomial of Jones that Redis uses.
uint64_t Crc64(BytesView bytes);

}  // namespace cairn::data
