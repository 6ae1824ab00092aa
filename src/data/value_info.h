#pragma once

#include <string_view>

#include "base/bytes.h"
#include "data/keys.h"

namespace cairn::data {

// What TYPE and SCAN's TYPE call it.
std::string_view TypeName(ValueType type);

// How Redis would encode a value of this content: clients use it to guess at sizes. Cairn has no
// such encodings.
std::string_view EncodingName(ValueType type, BytesView payload);

}  // namespace cairn::data
