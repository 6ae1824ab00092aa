#include "net/http/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "base/json_text.h"

namespace cairn::net {
namespace {

char Lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool SameName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsLowerHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsAllZero(std::string_view text) {
  return text.find_first_not_of('0') == std::string_view::npos;
}

bool IsUnreserved(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_' ||
         c == '~';
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

Error BadTarget(std::string_view why) {
  return {ErrorCode::kInvalid, fmt::format("malformed request target: {}", why)};
}

// Proxies send "http://host/path"; what counts is the path.
std::string_view WithoutAuthority(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (target.size() < scheme.size() || !SameName(target.substr(0, scheme.size()), scheme)) {
      continue;
    }
    const size_t path = target.find_first_of("/?", scheme.size());
    return path == std::string_view::npos ? "/" : target.substr(path);
  }
  return target;
}

Result<std::vector<std::string>> ParseSegments(std::string_view path) {
  std::vector<std::string> segments;
  std::string_view rest = path.substr(1);
  while (!rest.empty()) {
    const size_t slash = rest.find('/');
    auto segment = PercentDecode(rest.substr(0, slash));
    if (!segment) return BadTarget("a broken percent escape");
    if (*segment == "." || *segment == "..") return BadTarget("a \".\" or \"..\" segment");
    segments.push_back(*std::move(segment));
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  }
  return segments;
}

Result<std::vector<std::pair<std::string, std::string>>> ParseQuery(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> parameters;
  while (!query.empty()) {
    const size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    auto name = FormDecode(pair.substr(0, equals));
    auto value = equals == std::string_view::npos ? std::optional<std::string>("")
                                                  : FormDecode(pair.substr(equals + 1));
    if (!name || !value) return BadTarget("a broken percent escape");
    parameters.emplace_back(*std::move(name), *std::move(value));
  }
  return parameters;
}

}  // namespace

std::optional<std::string_view> HttpHeaders::Get(std::string_view name) const {
  for (const auto& [field, value] : fields_) {
    if (SameName(field, name)) return value;
  }
  return std::nullopt;
}

void HttpHeaders::Add(std::string name, std::string value) {
  fields_.emplace_back(std::move(name), std::move(value));
}

void HttpHeaders::Set(std::string_view name, std::string value) {
  Remove(name);
  Add(std::string(name), std::move(value));
}

void HttpHeaders::Remove(std::string_view name) {
  std::erase_if(fields_, [name](const Field& field) { return SameName(field.first, name); });
}

std::string TraceParent::ToString() const {
  return fmt::format("00-{}-{}-{:02x}", trace_id, parent_id, flags);
}

std::optional<TraceParent> ParseTraceParent(std::string_view header) {
  // version "-" trace id "-" parent id "-" flags, at fixed places.
  constexpr size_t kLength = 2 + 1 + 32 + 1 + 16 + 1 + 2;
  if (header.size() < kLength) return std::nullopt;
  const std::string_view version = header.substr(0, 2);
  const std::string_view trace_id = header.substr(3, 32);
  const std::string_view parent_id = header.substr(36, 16);
  const std::string_view flags = header.substr(53, 2);
  if (header[2] != '-' || header[35] != '-' || header[52] != '-') return std::nullopt;
  if (!IsLowerHex(version) || !IsLowerHex(trace_id) || !IsLowerHex(parent_id) ||
      !IsLowerHex(flags)) {
    return std::nullopt;
  }
  if (version == "ff" || IsAllZero(trace_id) || IsAllZero(parent_id)) return std::nullopt;
  if (header.size() > kLength && (version == "00" || header[kLength] != '-')) return std::nullopt;
  return TraceParent{std::string(trace_id), std::string(parent_id),
                     static_cast<uint8_t>(HexDigit(flags[0]) * 16 + HexDigit(flags[1]))};
}

bool IsValidRequestId(std::string_view id) {
  constexpr size_t kMaxLength = 128;
  return !id.empty() && id.size() <= kMaxLength &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

Result<HttpTarget> ParseTarget(std::string_view target) {
  HttpTarget parsed;
  if (std::any_of(target.begin(), target.end(), IsControl)) {
    return BadTarget("a control character");
  }
  target = WithoutAuthority(target);
  const size_t question = target.find('?');
  parsed.path = target.substr(0, question);
  if (parsed.path.empty() && question == 0) parsed.path = "/";
  if (!parsed.path.starts_with('/')) return BadTarget("it does not begin with a slash");
  CAIRN_ASSIGN_OR_RETURN(parsed.segments, ParseSegments(parsed.path));
  if (question != std::string_view::npos) {
    CAIRN_ASSIGN_OR_RETURN(parsed.query, ParseQuery(target.substr(question + 1)));
  }
  return parsed;
}

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i]);
      continue;
    }
    const int high = i + 1 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    decoded.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return decoded;
}

std::optional<std::string> FormDecode(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return PercentDecode(spaced);
}

std::string PercentEncode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (IsUnreserved(c)) {
      encoded.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded.push_back('%');
      encoded.push_back(kDigits[byte >> 4]);
      encoded.push_back(kDigits[byte & 15]);
    }
  }
  return encoded;
}

std::optional<std::string_view> HttpRequest::Query(std::string_view name) const {
  for (const auto& [parameter, value] : query) {
    if (parameter == name) return value;
  }
  return std::nullopt;
}

HttpResponse HttpResponse::Json(int status, std::string text) {
  return {status, {{"Content-Type", "application/json"}}, std::move(text)};
}

HttpResponse HttpResponse::Text(int status, std::string text) {
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::move(text)};
}

HttpResponse HttpResponse::Empty(int status) { return {status, {}, {}}; }

std::string HttpErrorBody(std::string_view code, std::string_view message,
                          std::string_view request_id) {
  return fmt::format(R"({{"error":{{"code":{},"message":{},"request_id":{}}}}})", JsonString(code),
                     JsonString(message), JsonString(request_id));
}

std::string_view HttpReason(int status) {
  static constexpr std::pair<int, std::string_view> kReasons[] = {
      {100, "Continue"},
      {101, "Switching Protocols"},
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {206, "Partial Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {308, "Permanent Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {411, "Length Required"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {415, "Unsupported Media Type"},
      {416, "Range Not Satisfiable"},
      {417, "Expectation Failed"},
      {421, "Misdirected Request"},
      {422, "Unprocessable Content"},
      {426, "Upgrade Required"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
      {507, "Insufficient Storage"},
  };
  for (const auto& [known, reason] : kReasons) {
    if (known == status) return reason;
  }
  return "";
}

}  // namespace cairn::net
