#include "net/address.h"

#include <gtest/gtest.h>

namespace cairn::net {
namespace {

Address Parsed(std::string_view text) {
  auto address = ParseAddress(text);
  EXPECT_TRUE(address.ok()) << text;
  return address.ok() ? *address : Address{};
}

TEST(AddressTest, ReadsHostAndPort) {
  EXPECT_EQ(Parsed("127.0.0.1:6666"), (Address{"127.0.0.1", 6666}));
  EXPECT_EQ(Parsed("localhost:0"), (Address{"localhost", 0}));
  EXPECT_EQ(Parsed("[::1]:65535"), (Address{"::1", 65535}));
  EXPECT_EQ(Parsed(":8080"), (Address{"0.0.0.0", 8080}));
}

TEST(AddressTest, WritesWhatItReads) {
  for (const std::string_view text : {"127.0.0.1:6666", "[::1]:1", "localhost:80"}) {
    EXPECT_EQ(ToString(Parsed(text)), text);
  }
}

TEST(AddressTest, RefusesWhatIsNoAddress) {
  for (const std::string_view text : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "1.2.3:80",
                                      "127.0.0.1:-1", "127.0.0.1:+1", "127.0.0.1:8x", "::1:80",
                                      "[127.0.0.1]:80", "example.com:80", "[]:80", "[:80"}) {
    const auto address = ParseAddress(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.error().code, ErrorCode::kInvalid);
    EXPECT_NE(address.error().message.find(text), std::string::npos);
  }
}

TEST(AddressTest, KnowsLoopback) {
  EXPECT_TRUE(IsLoopback(Parsed("127.0.0.1:1")));
  EXPECT_TRUE(IsLoopback(Parsed("127.8.9.1:1")));
  EXPECT_TRUE(IsLoopback(Parsed("localhost:1")));
  EXPECT_TRUE(IsLoopback(Parsed("[::1]:1")));
  EXPECT_FALSE(IsLoopback(Parsed(":1")));
  EXPECT_FALSE(IsLoopback(Parsed("10.0.0.1:1")));
  EXPECT_FALSE(IsLoopback(Parsed("[::]:1")));
}

}  // namespace
}  // namespace cairn::net
