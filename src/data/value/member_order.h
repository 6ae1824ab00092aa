#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/bytes.h"

namespace cairn::data {

// In what order the members of a collection in rows were added, as one row beside them holds it:
//
//   hash:4 …        of each member, those added first in front
//
// Clients see that order in Redis as long as a hash is a listpack. It is kept apart from the record
// and from the members, so that it is written only when a member comes or goes, and costs nothing
// once there are too many. Members that share a hash are told apart by the order of their bytes.
class MemberOrder {
 public:
  // As many fields as Redis keeps in a listpack by default. With more there is no order.
  static constexpr size_t kMaxMembers = 512;

  MemberOrder() = default;
  // nullopt for bytes that are not drawn above.
  static std::optional<MemberOrder> Decode(BytesView bytes);

  BytesView bytes() const { return bytes_; }
  size_t size() const;

  // Of a member that is new: it is the last.
  void Append(uint32_t hash);
  // Of a member that goes. One that is not known is not an error.
  void Remove(uint32_t hash);

  // The place of each hash, the first being 0.
  std::unordered_map<uint32_t, size_t> Places() const;

 private:
  Bytes bytes_;
};

}  // namespace cairn::data
