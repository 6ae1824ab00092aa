#include "house/api_client.h"

#include <boost/json/parse.hpp>
#include <utility>

namespace cairn::house {

namespace json = boost::json;

ApiClient::ApiClient(const ServerAccess& server, std::chrono::milliseconds timeout)
    : headers_(RequestHeaders(server.password)),
      client_(server.url.address,
              {.tls = server.url.tls, .ca_file = server.ca_file, .timeout = timeout}) {}

namespace {

constexpr int kFirstServerFailure = 500;

ErrorCode CodeOf(int status) {
  switch (status) {
    case 401:
      return ErrorCode::kUnauthorized;
    case 403:
      return ErrorCode::kForbidden;
    case 404:
      return ErrorCode::kNotFound;
    case 409:
    case 410:
      return ErrorCode::kConflict;
    case 413:
      return ErrorCode::kTooLarge;
    case 429:
      return ErrorCode::kTooMany;
    default:
      return status < kFirstServerFailure ? ErrorCode::kInvalid : ErrorCode::kUnavailable;
  }
}

Error ErrorOf(const net::HttpResponse& response) {
  return {CodeOf(response.status), MessageOf(response)};
}

net::HttpHeaders Joined(net::HttpHeaders headers, const net::HttpHeaders& more) {
  for (const auto& [name, value] : more.fields()) headers.Add(name, value);
  return headers;
}

}  // namespace

Result<void> ApiClient::Download(const std::string& path, const net::HttpClient::TakePiece& take,
                                 const net::HttpHeaders& more) {
  CAIRN_ASSIGN_OR_RETURN(const net::HttpResponse response,
                         client_.Download(path, Joined(headers_, more), take));
  if (response.status >= 300) return ErrorOf(response);
  return {};
}

Result<json::value> ApiClient::Request(std::string_view method, const std::string& path,
                                       std::string body, const net::HttpHeaders& more) {
  const Result<net::HttpResponse> response =
      client_.Request(method, path, std::move(body), Joined(headers_, more));
  if (!response.ok()) return response.error();
  if (response->status >= 300) return ErrorOf(*response);
  boost::system::error_code failure;
  json::value answer = json::parse(response->body, failure);
  if (failure) return Error{ErrorCode::kUnavailable, "the server's answer is not JSON"};
  return answer;
}

}  // namespace cairn::house
