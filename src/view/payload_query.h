#pragma once

#include <string_view>

#include "base/result.h"
#include "view/condition.h"

namespace cairn::view {

// A question about a job's payload, in a small part of jq's language:
//
//   .user.plan == "pro"        == != > >= < <=, with a string, a number, true, false or null
//   .items[0]."a b" != null    a missing member is null
//   .email | startswith("x")
//   .labels | contains("x")    of an array: x is one of its elements; of a string: x is part of it
//   .items | length > 3        of an array, an object or a string
//   .                          the payload itself
//
// Values of different types are different, and neither is larger. kInvalid says where it stops
// making sense.
Result<Condition> ParsePayloadQuery(std::string_view text);

}  // namespace cairn::view
