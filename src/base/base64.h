#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

// Base64 with the standard alphabet and padding (RFC 4648, section 4), in one form only: no blanks,
// no missing padding, no bits behind the end.
namespace cairn {

std::string Base64Encode(BytesView bytes);
std::optional<Bytes> Base64Decode(std::string_view text);

}  // namespace cairn
