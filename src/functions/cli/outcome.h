#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "house/terminal.h"

namespace cairn::functions::cli {

// How an invocation ended, {"status","result","error","duration_ms"} and what more there is: the
// body to stdout, the rest to stderr. `id` is the activation's; empty: it has none.
void PrintOutcome(const boost::json::value& outcome, std::string_view id,
                  const house::Terminal& terminal);

// {"type","message","stack"} as lines.
std::string ErrorText(const boost::json::value& error);

}  // namespace cairn::functions::cli
