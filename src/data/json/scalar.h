#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"
#include "data/json/path.h"
#include "data/json/value.h"
#include "data/value/entry.h"
#include "doors/resp/command.h"

namespace cairn::data {

// A scalar of a document in one piece (document.h), changed where it stands: the rest of the
// document is neither decoded nor encoded. Counters of small documents are what it is for.
//
//   CAIRN_ASSIGN_OR_RETURN(auto scalar, JsonScalar::Find(context, key, path));
//   if (scalar && scalar->Replace(context, next)) …
//
// Lives inside the transaction's body.
class JsonScalar {
 public:
  // What is at the end of a path of names. nullopt if there is no document, if it or the path is
  // of another kind, or if no scalar is there: then the way of target.h is to be taken, which also
  // knows what to reply.
  static Result<std::optional<JsonScalar>> Find(doors::CommandContext& context, BytesView key,
                                                const JsonPath& path);

  const JsonValue& value() const { return value_; }
  // Puts another scalar there and saves the document. Returns false, and changes nothing, if that
  // makes the document too large for one piece.
  [[nodiscard]] bool Replace(doors::CommandContext& context, const JsonValue& scalar);

 private:
  JsonScalar(Entry entry, JsonValue value, size_t at, size_t size)
      : entry_(std::move(entry)), value_(std::move(value)), at_(at), size_(size) {}

  Entry entry_;
  JsonValue value_;
  size_t at_;  // in the payload
  size_t size_;
};

}  // namespace cairn::data
