#pragma once

#include <jsapi.h>

#include <string>
#include <string_view>

#include "functions/protocol/program.h"

namespace cairn::functions {

// A stack, or a line of a log that may have one in it, with the places in files of the bundle that
// have a source map replaced by those in the sources.
std::string WithSources(JSContext* cx, std::string_view text);

// What was thrown, as type, message and stack within the limits. Asks the thrown value for its name
// and message, which may run code of the function; what that throws is ignored.
RunError DescribeThrown(JSContext* cx, JS::HandleValue thrown, JS::HandleObject stack);

// The same of the exception that is pending, which is taken off. If none is (memory ran out, or the
// activation was stopped), the error says so.
RunError TakeException(JSContext* cx);

// "file:line: message" of the exception that is pending, which is taken off: for errors in a
// bundle's text, which no code of the bundle has thrown.
std::string TakeSyntaxError(JSContext* cx);

}  // namespace cairn::functions
