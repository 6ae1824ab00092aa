#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cairn::net {

// Where to listen or connect: a numeric IPv4 or IPv6 address, or "localhost", and a port.
struct Address {
  std::string host = "127.0.0.1";
  uint16_t port = 0;  // when listening, 0 lets the system choose

  friend bool operator==(const Address&, const Address&) = default;
};

// Reads "HOST:PORT", "[IPV6]:PORT" or ":PORT" (all IPv4 interfaces). The host must be numeric or
// "localhost": a server that listens by name would depend on a resolver to start.
Result<Address> ParseAddress(std::string_view text);

// "127.0.0.1:6666", "[::1]:6666".
std::string ToString(const Address& address);

// Whether only this machine can reach the address: 127.0.0.0/8, ::1 or "localhost".
bool IsLoopback(const Address& address);

}  // namespace cairn::net
