#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace cairn::data {

// Counts distinct elements approximately, with the registers and in the format of Redis, so that
// counts are equal to Redis's and values can be exchanged:
//
//   "HYLL" encoding:1 00 00 00 count:8 registers…
//
//   count      the last estimate, little-endian; its bit 63 says that registers changed since
//   encoding 0 dense: 16384 registers of 6 bits, least significant bit first, 12288 bytes
//   encoding 1 sparse, a run of registers after the other:
//                00llllll            l + 1 registers are 0
//                01llllll llllllll   l + 1 registers are 0
//                1vvvvvll            l + 1 registers are v + 1
//
// What is sparse becomes dense when that is too large for it, and stays so.
class HyperLogLog {
 public:
  static constexpr size_t kRegisters = 16384;

  HyperLogLog() : registers_(kRegisters, 0) {}
  // An Error's message is the reply: `bytes` is something else, or damaged.
  static Result<HyperLogLog> Decode(BytesView bytes);

  // Returns whether that has changed anything.
  bool Add(BytesView element);
  // What was added to `other` counts as added here too.
  void Merge(const HyperLogLog& other);
  uint64_t Estimate() const;

  Bytes Encode() const;

  // For PFDEBUG and PFSELFTEST.
  const std::vector<uint8_t>& registers() const { return registers_; }
  bool dense() const { return dense_; }
  void MakeDense() { dense_ = true; }

 private:
  bool DecodeDense(BytesView bytes);
  bool DecodeSparse(BytesView bytes);
  Bytes EncodeDense() const;
  // nullopt if it cannot be sparse.
  std::optional<Bytes> EncodeSparse() const;

  std::vector<uint8_t> registers_;
  bool dense_ = false;
  std::optional<uint64_t> known_estimate_;
};

}  // namespace cairn::data
