#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "doors/http/route_table.h"
#include "functions/control/store_access.h"
#include "functions/http/control_routes.h"
#include "functions/model/keys.h"
#include "functions/model/records.h"
#include "store/scopes.h"

// What the routes of the control plane have in common: each is an operation in a transaction, whose
// answer is JSON.
namespace cairn::functions {

using SharedControl = std::shared_ptr<const ControlParts>;
using RouteReply = boost::asio::awaitable<Result<net::HttpReply>>;
// An answer as text, made inside a transaction.
using Maker = std::function<Result<std::string>(Context&)>;

inline NamespaceName NamespaceOf(const doors::RouteCall& call) {
  return {call.PathValue("tenant"), call.PathValue("namespace")};
}
// `limit` of the query.
Result<size_t> LimitOf(const doors::RouteCall& call);

net::HttpReply ErrorReply(const Error& error, const doors::RouteCall& call);
RouteReply Refused(Error error, const doors::RouteCall& call);

// Reads, and changes.
RouteReply Answer(SharedControl parts, const doors::RouteCall& call, Where where, Maker maker);
struct ChangeOptions {
  store::Scopes scopes;
  int status = 200;
  Where where = Where::kLoop;
};
RouteReply Apply(SharedControl parts, const doors::RouteCall& call, ChangeOptions options,
                 Maker maker);

template <typename Record>
Result<std::string> Encoded(const Result<Record>& record) {
  if (!record.ok()) return record.error();
  return Encode(*record);
}

template <typename Status>
Result<std::string> StatusText(const Result<Status>& done, std::string_view word) {
  if (!done.ok()) return done.error();
  return R"({"status":")" + std::string(word) + R"("})";
}

inline constexpr doors::QueryParameter kLimitParameter{
    "limit", "How many at most: 1 to 500, usually 100.", "integer"};
inline constexpr doors::QueryParameter kCursorParameter{"cursor", "The cursor of the page before."};
inline constexpr doors::QueryParameter kDeletedParameter{"include_deleted",
                                                         "Show deleted ones too.", "boolean"};

// Adds rows with what they have in common.
class ControlRows {
 public:
  using Function = RouteReply (*)(SharedControl, const doors::RouteCall&);

  ControlRows(SharedControl parts, doors::RouteTable& table)
      : parts_(std::move(parts)), table_(table) {}

  void Add(doors::Route route, Function function);

 private:
  SharedControl parts_;
  doors::RouteTable& table_;
};

}  // namespace cairn::functions
