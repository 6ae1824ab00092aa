#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Under which names a server may be asked.
//
// A web site can make its own name point to 127.0.0.1 once its page has been loaded (DNS
// rebinding). To the browser the server on this machine is then the page's own origin, and CORS
// (cors.h) does not keep them apart. But the browser still says the site's name in Host.
namespace cairn::net {

// The names that are allowed beside localhost and addresses of the loopback interface, which
// nobody can make point elsewhere.
struct AllowedHosts {
  bool any = false;
  std::vector<std::string> names;  // in lower case, without ports: "cairn.internal", "::1"

  friend bool operator==(const AllowedHosts&, const AllowedHosts&) = default;
};

// Reads "*" or a list such as "cairn.internal,10.0.0.7". Nullopt for all else.
std::optional<AllowedHosts> ParseAllowedHosts(std::string_view text);
// What ParseAllowedHosts reads as these.
std::string FormatAllowedHosts(const AllowedHosts& hosts);

// Whether a request with this Host field, "localhost:8080", may be answered.
bool AllowsHost(const AllowedHosts& hosts, std::string_view host_field);

}  // namespace cairn::net
