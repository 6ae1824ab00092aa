#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http/message.h"

// What a handler reads from a request. Bodies have been checked against their schema: a member that
// is there has the type that the schema says. A body that was left out has no members, and a member
// that is null counts as missing.
namespace cairn::doors {

// Null: it is missing.
const boost::json::value* MemberOf(const boost::json::value& body, std::string_view name);
// Empty: it is missing.
std::string TextOf(const boost::json::value& body, std::string_view name);
// A number that does not fit is the largest that does, which is out of every bound.
std::optional<int64_t> NumberOf(const boost::json::value& body, std::string_view name);
// Seconds, a fraction allowed, as milliseconds.
std::optional<int64_t> SecondsOf(const boost::json::value& body, std::string_view name);
// False: it is missing.
bool SwitchOf(const boost::json::value& body, std::string_view name);
std::vector<std::string> StringsOf(const boost::json::value& body, std::string_view name);

// A number behind the question mark, `otherwise` if it is not there. kInvalid out of bounds.
Result<int64_t> QueryNumber(const net::HttpRequest& request, std::string_view name,
                            int64_t otherwise, int64_t least, int64_t most);

// "a,b" as {"a","b"}; empty parts are left out.
std::vector<std::string> SplitList(std::string_view text);

}  // namespace cairn::doors
