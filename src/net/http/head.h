#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <string>
#include <variant>

#include "net/http/message.h"

namespace cairn::net {

// Why a request cannot be served as it stands, and the status that says so.
struct HttpRefusal {
  int status = 400;
  std::string message;
};

// Turns a request head that Beast has parsed into a request without body, peer and request id; or
// refuses it: no or several Host fields, a version other than 1.0 and 1.1, a malformed target, a
// transfer coding other than chunked, an expectation other than 100-continue. A request id that the
// client sent and that is valid is taken over.
std::variant<HttpRequest, HttpRefusal> ReadHead(
    const boost::beast::http::request_header<boost::beast::http::fields>& head);

// The code that stands for `status` in the body of an error, "invalid" or "too_large" for example.
std::string_view HttpErrorCode(int status);

// A response's head as it goes over the wire. Line breaks in a header value become spaces, so that
// a value can never end its field.
std::string SerializeHead(int status, const HttpHeaders& headers);

}  // namespace cairn::net
