#pragma once

#include <string>

#include "base/bytes.h"

namespace cairn::functions {

// SHA-256, 32 bytes, and the same in hexadecimal.
Bytes Sha256(BytesView bytes);
std::string Sha256Hex(BytesView bytes);

}  // namespace cairn::functions
