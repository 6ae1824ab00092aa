#pragma once

#include <string_view>

// What a request is told over HTTP that is refused for its key or password. An API whose clients
// compare codes finds its own by these texts (functions/http/error_form.cc): the server has one
// code for all of them.
namespace cairn::doors {

inline constexpr std::string_view kMissingKey =
    "present the password or a key as Authorization: Bearer or X-API-Key";
inline constexpr std::string_view kWrongKey =
    "nobody has this password or key; present one as Authorization: Bearer or X-API-Key";
inline constexpr std::string_view kExpiredKey = "the key has expired; ask for another";

}  // namespace cairn::doors
