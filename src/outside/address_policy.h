#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sockaddr;

namespace cairn::outside {

// An IPv4 or IPv6 address; IPv4 as ::ffff:a.b.c.d, so that both forms of one address are one.
struct IpAddress {
  std::array<uint8_t, 16> bytes = {};

  // nullopt for text that is not a numeric address, and for other families.
  static std::optional<IpAddress> Parse(std::string_view text);
  static std::optional<IpAddress> Of(const sockaddr& address);
  bool is_v4() const;
  std::string ToString() const;  // "10.0.0.1", "fe80::1"
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

struct IpNetwork {
  IpAddress address;
  size_t bits = 128;  // of the sixteen bytes

  // "10.0.0.0/8", "fd00::/8", or a single address.
  static std::optional<IpNetwork> Parse(std::string_view text);
  bool Contains(const IpAddress& other) const;
  std::string ToString() const;
  friend bool operator==(const IpNetwork&, const IpNetwork&) = default;
};

enum class AddressKind : uint8_t {
  kPublic,
  kLoopback,
  kPrivate,    // also unique-local, and shared by carriers
  kLinkLocal,  //
  kMetadata,   // where clouds tell machines their credentials
  kMulticast,
  kReserved,  // unspecified, documentation, and all else that is nobody's
};
// Of the IPv4 address inside it, for an IPv6 address that stands for one.
AddressKind KindOf(const IpAddress& address);

// Which addresses the server may send requests to. Whoever chooses the address of a request makes
// the server send it from where it stands, which may be inside a network that its clients are
// outside of: so addresses that are not public are refused unless the operator allows them.
struct AddressPolicy {
  bool loopback = false;
  bool private_networks = false;
  std::vector<IpNetwork> networks;  // allowed whatever they are

  // "public", or a list of `loopback`, `private` and networks: "loopback,10.1.0.0/16".
  static std::optional<AddressPolicy> Parse(std::string_view text);
  std::string ToString() const;

  // What this address is, if it may not be asked: "10.0.0.1, a private address". nullopt if it may.
  std::optional<std::string> WhyRefused(const IpAddress& address) const;
  // The same for the host of a URL, as far as it tells without being looked up: the address that a
  // name has is only known, and checked, when it is asked.
  std::optional<std::string> WhyUrlRefused(const std::string& url) const;

  friend bool operator==(const AddressPolicy&, const AddressPolicy&) = default;
};

// Whether libcurl, which is to ask it, can take the URL apart.
bool IsUrl(const std::string& url);
// The host that libcurl would ask, without the brackets of IPv6; empty if it cannot take the URL
// apart.
std::string HostOfUrl(const std::string& url);

// What is shown in the place of what is secret in a URL.
inline constexpr std::string_view kHiddenInUrl = "***";
// The URL without the user and password, and without the values of its query:
//   https://***@host/hook?token=***
std::string HideCredentials(std::string_view url);

}  // namespace cairn::outside
