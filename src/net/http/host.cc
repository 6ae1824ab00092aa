#include "net/http/host.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "net/address.h"

namespace cairn::net {
namespace {

bool IsNameByte(unsigned char c) {
  return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_' || c == ':';
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool IsPort(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

// The name in "name", "name:port", "[::1]" or "[::1]:port", in lower case and without the dot at
// the end that a full name may have. Nullopt for what is none of these.
std::optional<std::string> NameOf(std::string_view field) {
  const bool bracketed = field.starts_with('[');
  const size_t end = std::min(bracketed ? field.find(']') : field.find(':'), field.size());
  std::string_view name = field.substr(bracketed ? 1 : 0, end - (bracketed ? 1 : 0));
  std::string_view rest = field.substr(end);
  if (bracketed) {
    if (rest.empty()) return std::nullopt;
    rest.remove_prefix(1);
  }
  const bool port = rest.empty() || (rest.starts_with(':') && IsPort(rest.substr(1)));
  if (!port || !std::ranges::all_of(name, IsNameByte)) return std::nullopt;
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty()) return std::nullopt;
  return Lower(name);
}

}  // namespace

std::optional<AllowedHosts> ParseAllowedHosts(std::string_view text) {
  if (text == "*") return AllowedHosts{.any = true, .names = {}};
  AllowedHosts hosts;
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view name = text.substr(0, comma);
    if (name.empty() || !std::ranges::all_of(name, IsNameByte)) return std::nullopt;
    // One colon would be a port, which no name has.
    if (std::ranges::count(name, ':') == 1) return std::nullopt;
    hosts.names.push_back(Lower(name));
    if (comma == text.size()) return hosts;
    text.remove_prefix(comma + 1);
  }
}

std::string FormatAllowedHosts(const AllowedHosts& hosts) {
  return hosts.any ? "*" : fmt::format("{}", fmt::join(hosts.names, ","));
}

bool AllowsHost(const AllowedHosts& hosts, std::string_view host_field) {
  if (hosts.any) return true;
  const std::optional<std::string> name = NameOf(host_field);
  if (!name) return false;
  return name->ends_with(".localhost") || IsLoopback({.host = *name}) ||
         std::ranges::find(hosts.names, *name) != hosts.names.end();
}

}  // namespace cairn::net
