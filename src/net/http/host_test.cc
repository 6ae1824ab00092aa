#include "net/http/host.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::net {
namespace {

TEST(AllowedHostsTest, NamesOfThisMachineAreAllowedWhateverThePort) {
  const AllowedHosts none;
  for (const char* field :
       {"localhost", "localhost:8080", "LocalHost:1", "localhost.", "app.localhost:3000",
        "127.0.0.1", "127.0.0.1:8080", "127.8.8.8:8080", "[::1]", "[::1]:8080"}) {
    EXPECT_TRUE(AllowsHost(none, field)) << field;
  }
}

TEST(AllowedHostsTest, OtherNamesAreNot) {
  const AllowedHosts none;
  for (const char* field : {"evil.example",
                            "evil.example:8080",
                            "localhost.evil.example",
                            "127.0.0.1.evil.example:8080",
                            "notlocalhost",
                            "10.0.0.7",
                            "0.0.0.0:8080",
                            "[::2]:8080",
                            "[::1",
                            "::1",
                            "",
                            ":",
                            ".",
                            ":8080",
                            "localhost:x",
                            "evil.example:@localhost",
                            "localhost@evil.example",
                            "[]:1",
                            "localhost evil",
                            "evil.example#localhost"}) {
    EXPECT_FALSE(AllowsHost(none, field)) << field;
  }
}

TEST(AllowedHostsTest, ConfiguredNamesAreAllowedBesideThem) {
  const auto hosts = ParseAllowedHosts("Cairn.Internal,10.0.0.7,fd00::7");
  ASSERT_TRUE(hosts.has_value());
  for (const char* field : {"cairn.internal:8080", "CAIRN.internal", "10.0.0.7:1", "[fd00::7]:8080",
                            "localhost", "127.0.0.1"}) {
    EXPECT_TRUE(AllowsHost(*hosts, field)) << field;
  }
  EXPECT_FALSE(AllowsHost(*hosts, "x.cairn.internal"));
  const auto any = ParseAllowedHosts("*");
  ASSERT_TRUE(any.has_value());
  EXPECT_TRUE(AllowsHost(*any, "evil.example"));
}

TEST(AllowedHostsTest, WhatIsReadIsWrittenBack) {
  for (const char* text : {"*", "a", "a.example,b.example"}) {
    const auto hosts = ParseAllowedHosts(text);
    ASSERT_TRUE(hosts.has_value()) << text;
    EXPECT_EQ(FormatAllowedHosts(*hosts), text);
  }
  for (const char* text : {"", ",", "a,", "a:8080", "http://a", "a b", "a,*"}) {
    EXPECT_FALSE(ParseAllowedHosts(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace cairn::net
