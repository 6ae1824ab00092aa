#pragma once

#include <string_view>

namespace cairn::testing {

// What both servers hold before a bad request: a key of each type, named after it.
extern const std::string_view kDataSet;

// A good request or two for each command, one per line, against that data set. A line that starts
// with ! stands for a command that must not run, or not with other arguments: only its number of
// arguments is made wrong.
extern const std::string_view kValidRequests;

}  // namespace cairn::testing
