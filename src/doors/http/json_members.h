#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cairn::doors {

// The name of a member that the JSON object `text` has twice; nullopt if there is none, or the text
// is no object. Readers of JSON differ in which of the two they go by, so a request that has both
// means one thing to whoever checks it and another to whoever carries it out. What members hold is
// not looked at: it may be a client's own data.
std::optional<std::string> FindRepeatedMember(std::string_view text);

}  // namespace cairn::doors
