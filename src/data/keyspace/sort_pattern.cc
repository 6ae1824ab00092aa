#include "data/keyspace/sort_pattern.h"

#include <utility>

#include "data/value/fields.h"
#include "data/value/string_value.h"

namespace cairn::data {

SortPattern::SortPattern(std::string_view text)
    : is_element_(text == "#"), reads_keys_(text.find('*') != std::string_view::npos) {
  if (!reads_keys_) return;
  const size_t asterisk = text.find('*');
  prefix_ = text.substr(0, asterisk);
  postfix_ = text.substr(asterisk + 1);
  constexpr std::string_view kArrow = "->";
  const size_t arrow = postfix_.find(kArrow);
  // An arrow at the end is part of the key's name.
  if (arrow == std::string_view::npos || arrow + kArrow.size() == postfix_.size()) return;
  field_ = postfix_.substr(arrow + kArrow.size());
  postfix_ = postfix_.substr(0, arrow);
}

Result<std::optional<Bytes>> SortPattern::Read(doors::CommandContext& context,
                                               BytesView element) const {
  if (is_element_) return std::optional(Bytes(element));
  if (!reads_keys_) return std::optional<Bytes>();
  Bytes key(prefix_);
  key += element;
  key += postfix_;
  if (!field_.empty()) {
    CAIRN_ASSIGN_OR_RETURN(Fields hash, Fields::Load(context, key, ValueType::kHash));
    NoteSortRead(context, key, hash.exists() || hash.wrong_type());
    if (hash.wrong_type()) return std::optional<Bytes>();
    return hash.Get(field_);
  }
  CAIRN_ASSIGN_OR_RETURN(StringValue string, StringValue::Load(context, key));
  NoteSortRead(context, key, string.exists() || string.wrong_type());
  if (string.wrong_type() || !string.exists()) return std::optional<Bytes>();
  CAIRN_ASSIGN_OR_RETURN(Bytes text, string.Read(0, string.size()));
  return std::optional(std::move(text));
}

void NoteSortRead(doors::CommandContext& context, BytesView key, bool found) {
  if (context.command.Has(doors::kReadOnly)) return;  // SORT_RO
  ++(found ? context.lookups.hits : context.lookups.misses);
  if (!found) context.Notify(doors::kEventKeyMiss, "keymiss", key);
}

}  // namespace cairn::data
