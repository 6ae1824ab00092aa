#include "net/http/cors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "net/address.h"

namespace cairn::net {
namespace {

constexpr std::string_view kMethods = "GET, POST, PUT, PATCH, DELETE, OPTIONS";
// What clients send that a browser would not let them send unasked.
constexpr std::string_view kRequestHeaders =
    "Content-Type, Authorization, X-API-Key, X-Corvo-Namespace, X-Cairn-Commit, X-Request-Id, "
    "Idempotency-Key, Last-Event-ID, Traceparent";
// What a browser would not let a page see.
constexpr std::string_view kResponseHeaders =
    "X-Request-Id, X-Cairn-Commit, Server-Timing, Retry-After";
// For how many seconds a browser need not ask again.
constexpr std::string_view kMaxAge = "600";

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

struct Origin {
  std::string_view scheme;     // "http"
  std::string_view authority;  // "[::1]:8080"
  std::string_view host;       // "::1"
};

bool IsPort(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool IsHost(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_' || c == ':';
  });
}

// Nullopt for what is not scheme://host[:port], "null" for example.
std::optional<Origin> ParseOrigin(std::string_view text) {
  const size_t end = text.find("://");
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  Origin origin{.scheme = text.substr(0, end), .authority = text.substr(end + 3), .host = {}};
  const bool bracketed = origin.authority.starts_with('[');
  const size_t host_end = bracketed ? origin.authority.find(']') : origin.authority.find(':');
  origin.host = origin.authority.substr(0, host_end);
  std::string_view rest = origin.authority.substr(origin.host.size());
  if (bracketed) {
    if (rest.empty()) return std::nullopt;
    origin.host.remove_prefix(1);
    rest.remove_prefix(1);
  }
  const bool has_port = rest.starts_with(':');
  if (has_port ? !IsPort(rest.substr(1)) : !rest.empty()) return std::nullopt;
  if (!IsHost(origin.host)) return std::nullopt;
  return origin;
}

bool IsLocal(const Origin& origin) {
  return (origin.scheme == "http" || origin.scheme == "https") &&
         IsLoopback({.host = std::string(origin.host)});
}

std::string_view Trim(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

}  // namespace

std::optional<CorsPolicy> ParseCorsPolicy(std::string_view text) {
  if (text == "none") return CorsPolicy();
  if (text == "*") return CorsPolicy{.any = true};
  CorsPolicy policy;
  while (true) {
    const size_t comma = text.find(',');
    const std::string item = Lower(Trim(text.substr(0, comma)));
    if (item == "local") {
      policy.local = true;
    } else if (ParseOrigin(item)) {
      policy.origins.push_back(item);
    } else {
      return std::nullopt;
    }
    if (comma == std::string_view::npos) return policy;
    text.remove_prefix(comma + 1);
  }
}

std::string FormatCorsPolicy(const CorsPolicy& policy) {
  if (policy.any) return "*";
  std::vector<std::string> items = policy.origins;
  if (policy.local) items.insert(items.begin(), "local");
  return items.empty() ? "none" : fmt::format("{}", fmt::join(items, ","));
}

std::string ForeignOrigin(const HttpHeaders& request) {
  const auto sent = request.Get("Origin");
  if (!sent) return {};
  std::string text = Lower(*sent);
  const std::optional<Origin> origin = ParseOrigin(text);
  if (origin && origin->authority == Lower(request.Get("Host").value_or(""))) return {};
  return text;
}

bool Allows(const CorsPolicy& policy, std::string_view origin) {
  if (policy.any || std::ranges::find(policy.origins, origin) != policy.origins.end()) return true;
  const std::optional<Origin> parsed = ParseOrigin(origin);
  return policy.local && parsed && IsLocal(*parsed);
}

void AddCorsHeaders(const CorsPolicy& policy, std::string_view foreign_origin,
                    HttpHeaders& response) {
  if (policy.any) {
    response.Add("Access-Control-Allow-Origin", "*");
  } else {
    // A cache must not give one page the answer that allows another.
    response.Add("Vary", "Origin");
    if (foreign_origin.empty() || !Allows(policy, foreign_origin)) return;
    response.Add("Access-Control-Allow-Origin", std::string(foreign_origin));
  }
  response.Add("Access-Control-Expose-Headers", std::string(kResponseHeaders));
}

HttpResponse OptionsResponse() {
  HttpResponse response = HttpResponse::Empty(200);
  response.headers = {{"Allow", std::string(kMethods)},
                      {"Access-Control-Allow-Methods", std::string(kMethods)},
                      {"Access-Control-Allow-Headers", std::string(kRequestHeaders)},
                      {"Access-Control-Max-Age", std::string(kMaxAge)}};
  return response;
}

}  // namespace cairn::net
