#pragma once

#include <jsapi.h>

namespace cairn::functions {

// Adds the functions to `host` by which a chunk sends an answer as it is made (README.md has the
// contract). False with an exception pending if memory ran out.
bool DefineAnswerFunctions(JSContext* cx, JS::HandleObject host);

}  // namespace cairn::functions
