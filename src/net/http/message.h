#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

// The parts of HTTP that are pure functions over text: what a request and a response are, and how a
// request target, a header value and a trace context are read.
namespace cairn::net {

// Header fields in order of appearance. Names compare without regard to case.
class HttpHeaders {
 public:
  using Field = std::pair<std::string, std::string>;

  HttpHeaders() = default;
  HttpHeaders(std::initializer_list<Field> fields) : fields_(fields) {}

  // The first field of that name, or nullopt. The view holds until the headers change.
  std::optional<std::string_view> Get(std::string_view name) const;
  bool Has(std::string_view name) const { return Get(name).has_value(); }
  void Add(std::string name, std::string value);
  // Replaces all fields of that name by one.
  void Set(std::string_view name, std::string value);
  void Remove(std::string_view name);

  const std::vector<Field>& fields() const { return fields_; }

 private:
  std::vector<Field> fields_;
};

// A W3C trace context, version 00 (https://www.w3.org/TR/trace-context/).
struct TraceParent {
  std::string trace_id;   // 32 lower-case hex digits, not all zero
  std::string parent_id;  // 16 lower-case hex digits, not all zero
  uint8_t flags = 0;      // bit 0: sampled

  std::string ToString() const;
  friend bool operator==(const TraceParent&, const TraceParent&) = default;
};

// nullopt for anything that is not a valid traceparent: the standard says to go on without it. A
// header of a later version is read by its first four fields.
std::optional<TraceParent> ParseTraceParent(std::string_view header);

// Whether a client's X-Request-Id can be used as it is: 1 to 128 printable ASCII characters, no
// space.
bool IsValidRequestId(std::string_view id);

// A request target in origin form, decoded.
struct HttpTarget {
  std::string path;                   // as sent, without the query
  std::vector<std::string> segments;  // percent-decoded; "/a/b%2Fc" is {"a", "b/c"}, "/" is {}
  std::vector<std::pair<std::string, std::string>> query;  // percent- and plus-decoded, in order
};

// Fails (kInvalid) if the target does not begin with a slash, holds a broken percent escape, a
// control character, or a segment that is "." or "..": such a path would mean different things to
// different readers. "//" gives an empty segment; one slash at the end gives none.
Result<HttpTarget> ParseTarget(std::string_view target);

// nullopt if an escape is broken.
std::optional<std::string> PercentDecode(std::string_view text);
// The same with "+" for a space, as in queries and forms.
std::optional<std::string> FormDecode(std::string_view text);
// Escapes everything but unreserved characters (letters, digits, "-._~").
std::string PercentEncode(std::string_view text);

// One request, complete. A value of its own: it stays valid after the connection is gone.
struct HttpRequest {
  std::string method;  // "GET"; upper case
  std::string target;  // as sent
  std::string path;
  std::vector<std::string> segments;
  std::vector<std::pair<std::string, std::string>> query;
  HttpHeaders headers;
  std::string body;
  std::string request_id;  // the client's if it sent a valid one, else a new one
  std::optional<TraceParent> trace_parent;
  std::string peer;  // "127.0.0.1:51234"
  bool tls = false;
  bool websocket = false;  // asks for an upgrade to WebSocket
  // What the handler found out about the head (HttpHandler::BodyLimit) and wants to have again with
  // the whole request. Nobody else looks at it.
  std::shared_ptr<const void> note = {};

  // The first query parameter of that name, or nullopt.
  std::optional<std::string_view> Query(std::string_view name) const;
};

// A response with its whole body. The server adds Content-Length, Date, X-Request-Id,
// Server-Timing, Connection and what a browser asks for (net/http/cors.h).
struct HttpResponse {
  int status = 200;
  HttpHeaders headers;
  std::string body;

  static HttpResponse Json(int status, std::string text);
  static HttpResponse Text(int status, std::string text);
  static HttpResponse Empty(int status);
};

// The body of an error the server itself reports:
// {"error":{"code":CODE,"message":MESSAGE,"request_id":ID}}
std::string HttpErrorBody(std::string_view code, std::string_view message,
                          std::string_view request_id);

// "OK" for 200, "Not Found" for 404, …; empty for a status without a name.
std::string_view HttpReason(int status);

}  // namespace cairn::net
