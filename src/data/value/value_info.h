#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "data/value/encoding_limits.h"
#include "data/value/entry.h"
#include "data/value/keys.h"

namespace cairn::data {

// What TYPE and SCAN's TYPE call it.
std::string_view TypeName(ValueType type);

// How Redis would encode a value of this content, of a key that exists: clients use it to guess at
// sizes, and at whether members have an order. Cairn has no such encodings. What Redis would do
// because of a value's past it cannot tell, but for a hash that has had too many fields to know
// their order.
Result<std::string_view> EncodingName(const Entry& entry, const EncodingLimits& limits);

// Whether Redis would keep the collection in one piece. Those it returns from a scan at once, in
// the order that it has for them.
Result<bool> IsInOnePiece(const Entry& entry, const EncodingLimits& limits);

// How many bytes a key that exists takes with its elements, as far as `samples` of them tell; all
// of them are looked at for 0.
Result<size_t> StoredBytes(const Entry& entry, size_t samples);

}  // namespace cairn::data
