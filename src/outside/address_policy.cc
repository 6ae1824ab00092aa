#include "outside/address_policy.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

namespace cairn::outside {
namespace {

constexpr std::array<uint8_t, 12> kV4Prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
constexpr size_t kV4Bits = 96;

struct KindRow {
  std::string_view network;
  AddressKind kind;
};
// The first that fits counts. What fits none is public if it is IPv4, or in 2000::/3.
constexpr std::array kKinds = {
    KindRow{"169.254.169.254", AddressKind::kMetadata},
    KindRow{"100.100.100.200", AddressKind::kMetadata},
    KindRow{"168.63.129.16", AddressKind::kMetadata},
    KindRow{"fd00:ec2::254", AddressKind::kMetadata},
    KindRow{"127.0.0.0/8", AddressKind::kLoopback},
    KindRow{"::1", AddressKind::kLoopback},
    KindRow{"10.0.0.0/8", AddressKind::kPrivate},
    KindRow{"172.16.0.0/12", AddressKind::kPrivate},
    KindRow{"192.168.0.0/16", AddressKind::kPrivate},
    KindRow{"100.64.0.0/10", AddressKind::kPrivate},
    KindRow{"fc00::/7", AddressKind::kPrivate},
    KindRow{"fec0::/10", AddressKind::kPrivate},
    KindRow{"169.254.0.0/16", AddressKind::kLinkLocal},
    KindRow{"fe80::/10", AddressKind::kLinkLocal},
    KindRow{"224.0.0.0/4", AddressKind::kMulticast},
    KindRow{"ff00::/8", AddressKind::kMulticast},
    KindRow{"0.0.0.0/8", AddressKind::kReserved},
    KindRow{"192.0.0.0/24", AddressKind::kReserved},
    KindRow{"192.0.2.0/24", AddressKind::kReserved},
    KindRow{"192.88.99.0/24", AddressKind::kReserved},
    KindRow{"198.18.0.0/15", AddressKind::kReserved},
    KindRow{"198.51.100.0/24", AddressKind::kReserved},
    KindRow{"203.0.113.0/24", AddressKind::kReserved},
    KindRow{"240.0.0.0/4", AddressKind::kReserved},
    KindRow{"2001::/23", AddressKind::kReserved},
    KindRow{"2001:db8::/32", AddressKind::kReserved},
    KindRow{"3fff::/20", AddressKind::kReserved},
};

struct KnownNetwork {
  IpNetwork network;
  AddressKind kind;
};
const std::vector<KnownNetwork>& KnownNetworks() {
  static const std::vector<KnownNetwork> known = [] {
    std::vector<KnownNetwork> rows;
    for (const KindRow& row : kKinds) {
      rows.push_back({IpNetwork::Parse(row.network).value(), row.kind});
    }
    return rows;
  }();
  return known;
}

IpAddress FromV4(const uint8_t* bytes) {
  IpAddress address;
  std::ranges::copy(kV4Prefix, address.bytes.begin());
  std::copy_n(bytes, 4, address.bytes.begin() + kV4Prefix.size());
  return address;
}

// The IPv4 address that an IPv6 address leads to by translation: 64:ff9b::a.b.c.d, 2002:ab:cd::.
IpAddress Translated(const IpAddress& address) {
  static const IpNetwork nat64 = IpNetwork::Parse("64:ff9b::/96").value();
  static const IpNetwork six_to_four = IpNetwork::Parse("2002::/16").value();
  if (nat64.Contains(address)) return FromV4(address.bytes.data() + 12);
  if (six_to_four.Contains(address)) return FromV4(address.bytes.data() + 2);
  return address;
}

std::string_view KindName(AddressKind kind) {
  switch (kind) {
    case AddressKind::kPublic:
      return "a public address";
    case AddressKind::kLoopback:
      return "a loopback address";
    case AddressKind::kPrivate:
      return "a private address";
    case AddressKind::kLinkLocal:
      return "a link-local address";
    case AddressKind::kMetadata:
      return "the address of a cloud's metadata service";
    case AddressKind::kMulticast:
      return "a multicast address";
    case AddressKind::kReserved:
      return "a reserved address";
  }
  return "";
}

std::string Refusal(std::string_view host, AddressKind kind) {
  return fmt::format("{}, {}", host, KindName(kind));
}

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
struct FreeText {
  void operator()(char* text) const { curl_free(text); }
};

// As libcurl understands it, without the brackets of IPv6; empty if it does not.
std::string HostOf(const std::string& url) {
  const std::unique_ptr<CURLU, FreeUrl> parts(curl_url());
  if (curl_url_set(parts.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return "";
  char* text = nullptr;
  if (curl_url_get(parts.get(), CURLUPART_HOST, &text, 0) != CURLUE_OK) return "";
  const std::unique_ptr<char, FreeText> owned(text);
  std::string host(text);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host.substr(0, host.find('%'));  // a zone
}

bool IsLocalhost(std::string host) {
  std::ranges::transform(host, host.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  if (host.ends_with('.')) host.pop_back();
  return host == "localhost" || host.ends_with(".localhost");
}

}  // namespace

std::optional<IpAddress> IpAddress::Parse(std::string_view text) {
  const std::string terminated(text);
  std::array<uint8_t, 4> v4;
  if (inet_pton(AF_INET, terminated.c_str(), v4.data()) == 1) return FromV4(v4.data());
  IpAddress address;
  if (inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) == 1) return address;
  return std::nullopt;
}

std::optional<IpAddress> IpAddress::Of(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &address, sizeof(v4));
    std::array<uint8_t, 4> bytes;
    std::memcpy(bytes.data(), &v4.sin_addr, bytes.size());
    return FromV4(bytes.data());
  }
  if (address.sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6;
  std::memcpy(&v6, &address, sizeof(v6));
  IpAddress found;
  std::memcpy(found.bytes.data(), &v6.sin6_addr, found.bytes.size());
  return found;
}

bool IpAddress::is_v4() const {
  return std::equal(kV4Prefix.begin(), kV4Prefix.end(), bytes.begin());
}

std::string IpAddress::ToString() const {
  std::array<char, INET6_ADDRSTRLEN> text;
  const int family = is_v4() ? AF_INET : AF_INET6;
  const uint8_t* const begin = bytes.data() + (is_v4() ? kV4Prefix.size() : 0);
  return inet_ntop(family, begin, text.data(), text.size());
}

std::optional<IpNetwork> IpNetwork::Parse(std::string_view text) {
  const size_t slash = text.find('/');
  const std::optional<IpAddress> address = IpAddress::Parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  IpNetwork network{.address = *address};
  if (slash == std::string_view::npos) return network;
  const std::string_view digits = text.substr(slash + 1);
  size_t bits = 0;
  const auto [end, failure] = std::from_chars(digits.begin(), digits.end(), bits);
  // An IPv4 address in its IPv6 form has bits of that form.
  const bool dotted = address->is_v4() && text.find(':') == std::string_view::npos;
  if (failure != std::errc() || end != digits.end() || bits > (dotted ? 32 : 128)) {
    return std::nullopt;
  }
  network.bits = bits + (dotted ? kV4Bits : 0);
  return network;
}

bool IpNetwork::Contains(const IpAddress& other) const {
  const size_t whole = bits / 8;
  if (!std::equal(other.bytes.begin(), other.bytes.begin() + static_cast<ptrdiff_t>(whole),
                  address.bytes.begin())) {
    return false;
  }
  if (bits % 8 == 0) return true;
  const auto mask = static_cast<uint8_t>(0xFF << (8 - bits % 8));
  return (other.bytes[whole] & mask) == (address.bytes[whole] & mask);
}

std::string IpNetwork::ToString() const {
  if (bits == 128) return address.ToString();
  const bool v4 = address.is_v4() && bits >= kV4Bits;
  return fmt::format("{}/{}", address.ToString(), v4 ? bits - kV4Bits : bits);
}

AddressKind KindOf(const IpAddress& given) {
  const IpAddress address = Translated(given);
  for (const KnownNetwork& known : KnownNetworks()) {
    if (known.network.Contains(address)) return known.kind;
  }
  static const IpNetwork unicast = IpNetwork::Parse("2000::/3").value();
  return address.is_v4() || unicast.Contains(address) ? AddressKind::kPublic
                                                      : AddressKind::kReserved;
}

std::optional<AddressPolicy> AddressPolicy::Parse(std::string_view text) {
  AddressPolicy targets;
  if (text == "public") return targets;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    if (word == "loopback") {
      targets.loopback = true;
    } else if (word == "private") {
      targets.private_networks = true;
    } else if (const std::optional<IpNetwork> network = IpNetwork::Parse(word)) {
      targets.networks.push_back(*network);
    } else {
      return std::nullopt;
    }
    if (comma == std::string_view::npos) return targets;
    text.remove_prefix(comma + 1);
  }
}

std::string AddressPolicy::ToString() const {
  std::vector<std::string> words;
  if (loopback) words.emplace_back("loopback");
  if (private_networks) words.emplace_back("private");
  for (const IpNetwork& network : networks) words.push_back(network.ToString());
  return words.empty() ? "public" : fmt::format("{}", fmt::join(words, ","));
}

std::optional<std::string> AddressPolicy::WhyRefused(const IpAddress& address) const {
  const auto holds = [&](const IpNetwork& network) {
    return network.Contains(address) || network.Contains(Translated(address));
  };
  if (std::ranges::any_of(networks, holds)) return std::nullopt;
  const AddressKind kind = KindOf(address);
  if (kind == AddressKind::kPublic || (kind == AddressKind::kLoopback && loopback) ||
      (kind == AddressKind::kPrivate && private_networks)) {
    return std::nullopt;
  }
  return Refusal(address.ToString(), kind);
}

std::optional<std::string> AddressPolicy::WhyUrlRefused(const std::string& url) const {
  const std::string host = HostOf(url);
  if (const std::optional<IpAddress> address = IpAddress::Parse(host)) return WhyRefused(*address);
  if (!IsLocalhost(host)) return std::nullopt;
  const auto refused = [this](std::string_view text) {
    return WhyRefused(IpAddress::Parse(text).value()).has_value();
  };
  if (!refused("127.0.0.1") || !refused("::1")) return std::nullopt;
  return Refusal(host, AddressKind::kLoopback);
}

std::string HostOfUrl(const std::string& url) { return HostOf(url); }

bool IsUrl(const std::string& url) {
  const std::unique_ptr<CURLU, FreeUrl> parts(curl_url());
  return curl_url_set(parts.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK;
}

std::string HideCredentials(std::string_view url) {
  constexpr std::string_view kScheme = "://";
  const size_t scheme = url.find(kScheme);
  if (scheme == std::string_view::npos) return std::string(url);
  const size_t begin = scheme + kScheme.size();
  const size_t end = std::min(url.find_first_of("/?#", begin), url.size());
  const std::string_view authority = url.substr(begin, end - begin);
  std::string shown(url.substr(0, begin));
  const size_t at = authority.rfind('@');
  if (at == std::string_view::npos) {
    shown.append(authority);
  } else {
    shown.append(kHiddenInUrl).append(authority.substr(at));
  }
  const size_t query = url.find('?', end);
  shown.append(url.substr(end, query == std::string_view::npos ? query : query + 1 - end));
  if (query == std::string_view::npos) return shown;
  std::string_view rest = url.substr(query + 1);
  while (true) {
    const size_t next = rest.find('&');
    const std::string_view pair = rest.substr(0, next);
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) {
      if (!pair.empty()) shown.append(kHiddenInUrl);  // a token may stand there alone
    } else {
      shown.append(pair.substr(0, equals + 1)).append(kHiddenInUrl);
    }
    if (next == std::string_view::npos) return shown;
    shown.push_back('&');
    rest.remove_prefix(next + 1);
  }
}

}  // namespace cairn::outside
