#include "outside/address_policy.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

namespace cairn::outside {
namespace {

IpAddress Address(std::string_view text) { return IpAddress::Parse(text).value(); }

TEST(AddressPolicyTest, EveryAddressIsOfAKind) {
  const std::vector<std::pair<const char*, AddressKind>> kinds = {
      {"8.8.8.8", AddressKind::kPublic},
      {"172.15.255.255", AddressKind::kPublic},
      {"172.32.0.0", AddressKind::kPublic},
      {"100.63.255.255", AddressKind::kPublic},
      {"100.128.0.0", AddressKind::kPublic},
      {"2606:4700::1", AddressKind::kPublic},
      {"::ffff:8.8.8.8", AddressKind::kPublic},
      {"64:ff9b::808:808", AddressKind::kPublic},
      {"127.0.0.1", AddressKind::kLoopback},
      {"127.255.255.255", AddressKind::kLoopback},
      {"::1", AddressKind::kLoopback},
      {"::ffff:127.0.0.1", AddressKind::kLoopback},
      {"64:ff9b::7f00:1", AddressKind::kLoopback},
      {"2002:7f00:1::", AddressKind::kLoopback},
      {"10.0.0.0", AddressKind::kPrivate},
      {"172.16.0.0", AddressKind::kPrivate},
      {"172.31.255.255", AddressKind::kPrivate},
      {"192.168.0.1", AddressKind::kPrivate},
      {"100.64.0.0", AddressKind::kPrivate},
      {"100.127.255.255", AddressKind::kPrivate},
      {"fc00::1", AddressKind::kPrivate},
      {"fdff::1", AddressKind::kPrivate},
      {"::ffff:10.1.2.3", AddressKind::kPrivate},
      {"2002:a00:1::1", AddressKind::kPrivate},
      {"169.254.0.1", AddressKind::kLinkLocal},
      {"fe80::1", AddressKind::kLinkLocal},
      {"febf::1", AddressKind::kLinkLocal},
      {"169.254.169.254", AddressKind::kMetadata},
      {"::ffff:169.254.169.254", AddressKind::kMetadata},
      {"fd00:ec2::254", AddressKind::kMetadata},
      {"100.100.100.200", AddressKind::kMetadata},
      {"224.0.0.1", AddressKind::kMulticast},
      {"ff02::1", AddressKind::kMulticast},
      {"0.0.0.0", AddressKind::kReserved},
      {"::", AddressKind::kReserved},
      {"::127.0.0.1", AddressKind::kReserved},
      {"255.255.255.255", AddressKind::kReserved},
      {"192.0.2.1", AddressKind::kReserved},
      {"2001:db8::1", AddressKind::kReserved},
      {"2001::1", AddressKind::kReserved},
      {"4000::1", AddressKind::kReserved},
  };
  for (const auto& [text, kind] : kinds) EXPECT_EQ(KindOf(Address(text)), kind) << text;
}

TEST(AddressPolicyTest, AddressesAreReadFromSockets) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  ASSERT_EQ(inet_pton(AF_INET, "10.1.2.3", &v4.sin_addr), 1);
  EXPECT_EQ(IpAddress::Of(reinterpret_cast<const sockaddr&>(v4)), Address("10.1.2.3"));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  ASSERT_EQ(inet_pton(AF_INET6, "::ffff:10.1.2.3", &v6.sin6_addr), 1);
  EXPECT_EQ(IpAddress::Of(reinterpret_cast<const sockaddr&>(v6)), Address("10.1.2.3"));
  sockaddr other{};
  other.sa_family = AF_UNIX;
  EXPECT_FALSE(IpAddress::Of(other));
}

TEST(AddressPolicyTest, OnlyWhatIsAllowedMayBeAsked) {
  const auto refused = [](const char* allowed, const char* address) {
    return AddressPolicy::Parse(allowed).value().WhyRefused(Address(address)).has_value();
  };
  for (const char* address :
       {"127.0.0.1", "10.0.0.1", "169.254.1.1", "0.0.0.0", "::", "224.0.0.1"}) {
    EXPECT_TRUE(refused("public", address)) << address;
  }
  EXPECT_FALSE(refused("public", "8.8.8.8"));
  EXPECT_FALSE(refused("loopback", "::ffff:127.0.0.1"));
  EXPECT_TRUE(refused("loopback", "10.0.0.1"));
  EXPECT_FALSE(refused("private", "fd00::1"));
  EXPECT_TRUE(refused("private", "127.0.0.1"));
  // Not by a word that means something else.
  EXPECT_TRUE(refused("loopback,private", "169.254.169.254"));
  EXPECT_TRUE(refused("loopback,private", "100.100.100.200"));
  EXPECT_TRUE(refused("loopback,private", "fd00:ec2::254"));
  EXPECT_FALSE(refused("169.254.169.254", "169.254.169.254"));
  EXPECT_FALSE(refused("10.1.0.0/16", "::ffff:10.1.2.3"));
  EXPECT_FALSE(refused("10.1.0.0/16", "64:ff9b::a01:203"));
  EXPECT_TRUE(refused("10.1.0.0/16", "10.2.0.0"));
  EXPECT_FALSE(refused("10.0.0.0/12", "10.15.255.255"));
  EXPECT_TRUE(refused("10.0.0.0/12", "10.16.0.0"));
  EXPECT_FALSE(refused("0.0.0.0/0", "127.0.0.1"));
  EXPECT_TRUE(refused("0.0.0.0/0", "::1"));
}

TEST(AddressPolicyTest, TheHostOfAUrlIsCheckedAsFarAsItTells) {
  const AddressPolicy none;
  for (const std::string url :
       {"http://127.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f000001/",
        "http://[::1]:80/", "http://[::ffff:7f00:1]/", "http://user:pw@10.0.0.1/",
        "http://localhost/", "http://LOCALHOST./", "http://a.localhost:81/", "http://0/"}) {
    EXPECT_TRUE(none.WhyUrlRefused(url).has_value()) << url;
  }
  for (const std::string url : {"http://example.com/", "http://8.8.8.8/", "http://localhost.de/"}) {
    EXPECT_FALSE(none.WhyUrlRefused(url).has_value()) << url;
  }
  EXPECT_FALSE(AddressPolicy{.loopback = true}.WhyUrlRefused("http://localhost/").has_value());
  EXPECT_EQ(none.WhyUrlRefused("http://ann:s3cret@10.0.0.1/"), "10.0.0.1, a private address");
  EXPECT_EQ(none.WhyUrlRefused("http://localhost/"), "localhost, a loopback address");
}

TEST(AddressPolicyTest, IsWrittenAsItIsRead) {
  for (const std::string text : {"public", "loopback", "loopback,private",
                                 "10.1.0.0/16,fd00::/8,127.0.0.1,::1", "private,0.0.0.0/0"}) {
    EXPECT_EQ(AddressPolicy::Parse(text).value().ToString(), text);
  }
  for (const std::string text : {"", "all", "loopback,", "10.0.0.0/33", "10.0.0.0/", "::/129",
                                 "10.0.0.0/-1", "public,loopback", "10.0.0"}) {
    EXPECT_FALSE(AddressPolicy::Parse(text)) << text;
  }
}

TEST(AddressPolicyTest, CredentialsAreHiddenInUrls) {
  const std::vector<std::pair<std::string, std::string>> urls = {
      {"https://host/path", "https://host/path"},
      {"https://ann:pw@host:8/p", "https://***@host:8/p"},
      {"https://token@host", "https://***@host"},
      {"https://a@b:c@host/p@q", "https://***@host/p@q"},
      {"https://host?key=1&b=2", "https://host?key=***&b=***"},
      {"https://host/p?t0ken", "https://host/p?***"},
      {"https://u:p@host/p?a=b=c#frag", "https://***@host/p?a=***"},
      {"https://host/?", "https://host/?"},
  };
  for (const auto& [url, shown] : urls) {
    EXPECT_EQ(HideCredentials(url), shown);
    EXPECT_EQ(HideCredentials(shown), shown);
  }
}

}  // namespace
}  // namespace cairn::outside
