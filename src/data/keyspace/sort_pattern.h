#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "doors/resp/command.h"

namespace cairn::data {

// What SORT's BY and GET are given: the name of a key, or of a hash's field, in which the first
// asterisk stands for the element at hand.
//
//   weight_*           the string weight_ELEMENT
//   user:*:data->age   the field age of the hash user:ELEMENT:data
//   #                  the element itself
//
// The text outlives the pattern.
class SortPattern {
 public:
  explicit SortPattern(std::string_view text);

  // Whether reading it looks at keys that the command does not name.
  bool ReadsKeys() const { return reads_keys_; }
  // nullopt if there is no such key or field, if it is of another type, and for a pattern without
  // an asterisk.
  Result<std::optional<Bytes>> Read(doors::CommandContext& context, BytesView element) const;

 private:
  bool is_element_;
  bool reads_keys_;
  std::string_view prefix_;
  std::string_view postfix_;
  std::string_view field_;  // empty: a string is meant
};

// Counts a key that SORT has looked for to read it, and tells of one that is missing. SORT may
// write, so loading a key for it does not.
void NoteSortRead(doors::CommandContext& context, BytesView key, bool found);

}  // namespace cairn::data
