#include "net/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <charconv>

namespace cairn::net {
namespace {

bool IsNumericV4(const std::string& host) {
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1;
}

bool IsNumericV6(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

Error Malformed(std::string_view text, std::string_view why) {
  return {ErrorCode::kInvalid, fmt::format("address \"{}\": {}", text, why)};
}

}  // namespace

Result<Address> ParseAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return Malformed(text, "expected HOST:PORT");

  Address address;
  const std::string_view port = text.substr(colon + 1);
  const auto [end, failure] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (failure != std::errc{} || end != port.data() + port.size()) {
    return Malformed(text, "the port must be a number from 0 to 65535");
  }

  std::string_view host = text.substr(0, colon);
  if (host.empty()) {
    address.host = "0.0.0.0";
    return address;
  }
  if (host.front() == '[' && host.back() == ']') {
    address.host = host.substr(1, host.size() - 2);
    if (!IsNumericV6(address.host)) return Malformed(text, "not an IPv6 address in brackets");
    return address;
  }
  address.host = host;
  if (address.host != "localhost" && !IsNumericV4(address.host)) {
    return Malformed(text, "the host must be a numeric address or \"localhost\"");
  }
  return address;
}

std::string ToString(const Address& address) {
  if (address.host.find(':') != std::string::npos) {
    return fmt::format("[{}]:{}", address.host, address.port);
  }
  return fmt::format("{}:{}", address.host, address.port);
}

bool IsLoopback(const Address& address) {
  if (address.host == "localhost" || address.host == "::1") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, address.host.c_str(), &v4) != 1) return false;
  return (ntohl(v4.s_addr) >> 24) == 127;
}

}  // namespace cairn::net
