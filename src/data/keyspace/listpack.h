#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"

// The packed forms in which Redis keeps small collections, as they are found in dumps. Integers in
// them become their decimal digits. nullopt for bytes that are something else.
namespace cairn::data {

// Redis 7:
//
//   bytes:4 count:2 (entry size_backwards)… FF        little-endian
//
//   entry     0xxxxxxx                      a number below 128
//             10llllll text…                up to 63 bytes
//             110xxxxx xxxxxxxx             a signed number of 13 bits
//             1110llll llllllll text…       up to 4095 bytes
//             F0 length:4 text…
//             F1 F2 F3 F4                   a signed number of 2, 3, 4 or 8 bytes
//
// size_backwards is the size of the entry, in as many bytes as that needs at 7 bits each.
std::optional<std::vector<Bytes>> DecodeListpack(BytesView bytes);

// Puts a listpack together. It stays below 4 GiB.
class ListpackWriter {
 public:
  // As a number if it is the shortest form of one.
  void Add(BytesView text);
  void AddInteger(int64_t value);
  Bytes Finish() &&;

 private:
  void Append(BytesView entry);

  Bytes entries_;
  size_t count_ = 0;
};

// What came before listpacks, up to Redis 6:
//
//   bytes:4 tail:4 count:2 (previous_size entry)… FF  little-endian
//
//   previous_size  size:1 or FE size:4
//   entry     00llllll text…                up to 63 bytes
//             01llllll llllllll text…       up to 16383 bytes
//             80 length:4 text…             big-endian
//             C0 D0 E0 F0 FE                a signed number of 2, 4, 8, 3 or 1 bytes
//             1111xxxx                      x - 1, for x from 1 to 13
std::optional<std::vector<Bytes>> DecodeZiplist(BytesView bytes);

// Sets of integers: width:4 count:4 integers…, little-endian, of width 2, 4 or 8.
std::optional<std::vector<Bytes>> DecodeIntset(BytesView bytes);

}  // namespace cairn::data
