#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace cairn::data {

// Which members a collection may have, as its record holds it. What is asked for most where members
// are added is one that was never there; the record says so, and the store is not asked, which
// would have to look everywhere for it.
//
//   nothing               it may have any member
//   hash:4 …              of every member that it has had, up to kMaxHashes
//   set:2 bits:128        two bits for each of them; `set` is how many bits are set
//
// A member that is removed leaves its traces, so the answer is "no" or "maybe". When most bits are
// set the filter has nothing left to say and is given up, for as long as the collection lives.
// Every change of the collection writes the filter again, which is why it is no larger.
class MemberFilter {
 public:
  static constexpr size_t kMaxHashes = 16;
  static constexpr uint32_t kBits = 1024;  // a power of two

  // It may have any member.
  MemberFilter() = default;
  // It has had none.
  static MemberFilter OfNothing();
  // nullopt for bytes that are not drawn above.
  static std::optional<MemberFilter> Decode(BytesView bytes);

  BytesView bytes() const { return bytes_; }

  // False: there is no member of that hash. Hashes are those of FieldHash (fields.h).
  bool MayHave(uint32_t hash) const;
  void Add(uint32_t hash);

 private:
  bool in_bits() const;
  void SetBit(uint32_t bit);
  void SetBits(uint32_t hash);
  void ChangeToBits();

  bool known_ = false;
  Bytes bytes_;
};

}  // namespace cairn::data
