#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "doors/http/route_table.h"
#include "functions/codeq/names.h"
#include "functions/http/codeq_routes.h"
#include "functions/model/errors.h"

// What the files of codeQ's routes share.
namespace cairn::functions {

using SharedCodeq = std::shared_ptr<const CodeqParts>;
using CodeqHandler = boost::asio::awaitable<Result<net::HttpReply>> (*)(SharedCodeq,
                                                                        const doors::RouteCall&);
// Adds a row whose handler is `function`, called with the parts as the caller may use them.
void AddCodeqRoute(const SharedCodeq& parts, doors::RouteTable& table, doors::Route route,
                   CodeqHandler function);
// codeQ's own API.
void AddCodeqTaskRoutes(const SharedCodeq& parts, doors::RouteTable& table);

// The permissions: to publish, to consume, to look at what is there, and to manage it.
inline constexpr std::string_view kCodeqPublish = "codeq.publish";
inline constexpr std::string_view kCodeqConsume = "codeq.consume";
inline constexpr std::string_view kCodeqRead = "codeq.read";
inline constexpr std::string_view kCodeqManage = "codeq.manage";

// Of a request that carries one message.
inline constexpr size_t kMaxMessageBodyBytes = kMaxMessageBytes + 64UL * 1024;
// Of several.
inline constexpr size_t kMaxMessagesBodyBytes = 64UL * 1024 * 1024;

// An error of the store as codeQ's clients know it: by what was not done because of it. Other
// errors stay as they are.
inline Error InWordsOf(Code code, const Error& error) {
  if (CodeRowOf(error).code != Code::kStoreUnavailable) return error;
  return Refuse(code, RefusalText(error));
}

// The time in milliseconds since 1970 of a time in nanoseconds.
inline int64_t MillisOf(uint64_t ns) { return static_cast<int64_t>(ns / 1'000'000); }

}  // namespace cairn::functions
