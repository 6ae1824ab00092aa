#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "doors/access/audit_log.h"
#include "doors/access/principal.h"
#include "doors/http/error_form.h"
#include "doors/http/json_schema.h"
#include "doors/http/route.h"
#include "doors/http/route_tree.h"
#include "net/http/server.h"

namespace cairn::net {
class Loop;
}

namespace cairn::doors {

// What the OpenAPI document says about itself.
struct ApiInfo {
  std::string title = "Cairn";
  std::string version = "0.0.0";
};

// The routes as one loop sees them.
class RouteDoor : public net::HttpHandler {
 public:
  // Answers as Handle does, but 403 to what `principal` may not. It need not be the one of the
  // request before.
  virtual boost::asio::awaitable<net::HttpReply> HandleFor(
      std::shared_ptr<const Principal> principal, net::HttpRequest request) = 0;
};

// Keeps or counts an entry of the audit log, and returns when it is kept.
using AuditSink = std::function<boost::asio::awaitable<void>(AuditEntry)>;

// All routes of the server. Filled at start by one thread, layer by layer; from MakeHandler on it
// does not change and may be used from any thread. Answers /openapi.json itself.
class RouteTable {
 public:
  explicit RouteTable(ApiInfo info = {});
  RouteTable(const RouteTable&) = delete;
  RouteTable& operator=(const RouteTable&) = delete;

  // A row that contradicts itself, or whose method and path are taken, is a bug of the caller and
  // stops the process.
  void Add(Route route);

  // Errors of paths with the form's prefix are told so, also those of no route at all. A prefix
  // that is taken is a bug of the caller and stops the process.
  void SetErrorForm(ErrorForm form);

  // What a principal does by one of `which` rows, refused or not, is kept before it is answered.
  // The table is complete, and `clock` outlives its use.
  void SetAudit(const std::function<bool(const Route&)>& which, const Clock& clock, AuditSink sink);

  // Finds the row for each request, checks the request against it, and runs it. 404 for an unknown
  // path, 405 with Allow for an unknown method of a known one, 400 for what does not fit the row;
  // all told as the path's ErrorForm says. The table outlives the handler. Handle lets everybody do
  // everything.
  std::unique_ptr<RouteDoor> MakeHandler(net::Loop& loop);

  // The OpenAPI 3.0 document of all rows.
  std::string OpenApi() const;

  const ApiInfo& info() const { return info_; }
  size_t size() const { return rows_.size(); }
  const Route& row(size_t index) const { return rows_[index].route; }
  // The schema of a row's response with that status, which for an error is that of the path's
  // ErrorForm unless the row says otherwise; null if the row does not name the status.
  const JsonSchema* ResponseSchema(size_t index, int status) const;

 private:
  friend class RouteHttpHandler;

  struct Row {
    Route route;
    std::vector<std::string_view> segments;  // of route.path
    std::optional<JsonSchema> request_schema;
    std::vector<std::optional<JsonSchema>> response_schemas;  // beside route.responses
    bool audited = false;
  };

  void AddErrorForm(ErrorForm form);
  // The one with the longest prefix; the standard one if there is none.
  const ErrorForm& FormOf(std::string_view path) const;

  // The row for the request's method and path; null: there is none.
  const Row* Find(const net::HttpRequest& request) const;
  const std::string& OpenApiOnce() const;

  const ApiInfo info_;
  std::deque<Row> rows_;
  RouteTree tree_;                         // of rows_, by index
  std::vector<ErrorForm> error_forms_;     // the first has no prefix: the standard one
  std::vector<JsonSchema> error_schemas_;  // beside error_forms_
  AuditSink audit_;
  const Clock* audit_clock_ = nullptr;
  mutable std::once_flag open_api_made_;
  mutable std::string open_api_;
};

}  // namespace cairn::doors
