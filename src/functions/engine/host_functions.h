#pragma once

#include <jsapi.h>

namespace cairn::functions {

// The `host` object of README.md, in the current realm. Null, with an exception pending, if memory
// ran out.
JSObject* MakeHostObject(JSContext* cx);

// Loads what the host functions would else load at their first use, when files can no longer be
// opened.
void WarmHostFunctions();

}  // namespace cairn::functions
