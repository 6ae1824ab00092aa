#pragma once

#include <cstddef>
#include <optional>

#include "base/bytes.h"
#include "base/function_ref.h"

namespace cairn::data {

// What takes more than this is stored in rows. Larger, a change would write much that has not
// changed; smaller, the records of applications would be spread over rows.
inline constexpr size_t kMaxPackedBytes = 1024;

// The elements of a small value in one piece, as its record holds them:
//
//   (suffix_size:2 value_size:2 suffix… value…)…      in the order in which they were added;
//                                                     older ones ascending by suffix
//
// Suffixes and values are those that the rows of a larger value have (elements.h). Nothing is
// unpacked: there is one buffer, of kMaxPackedBytes at most, that is walked through.
class PackedRows {
 public:
  PackedRows() = default;
  // nullopt for bytes that are not drawn above.
  static std::optional<PackedRows> Decode(BytesView bytes);

  BytesView bytes() const { return bytes_; }

  // A view until the next change.
  std::optional<BytesView> Get(BytesView suffix) const;
  // Adds a row behind all others, or replaces its value where it stands. Returns false, and changes
  // nothing, if that would be too large for one piece.
  [[nodiscard]] bool Put(BytesView suffix, BytesView value);
  void Erase(BytesView suffix);

  // In the order of the buffer; the views last until the next change. Returns whether to go on.
  using Visitor = FunctionRef<bool(BytesView suffix, BytesView value)>;
  void ForEach(Visitor visit) const;

 private:
  // Where a row is, or would be: behind all others.
  struct Place {
    size_t at = 0;
    size_t size = 0;  // 0: it is not there
    BytesView value;
  };
  Place Find(BytesView suffix) const;

  Bytes bytes_;
};

}  // namespace cairn::data
