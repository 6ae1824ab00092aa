#include "net/http/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cairn::net {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(HttpHeadersTest, NamesIgnoreCase) {
  HttpHeaders headers = {{"Content-Type", "text/plain"}, {"x-a", "1"}, {"X-A", "2"}};
  EXPECT_EQ(headers.Get("content-type"), "text/plain");
  EXPECT_EQ(headers.Get("X-a"), "1");
  EXPECT_FALSE(headers.Has("X-B"));
  headers.Set("x-A", "3");
  EXPECT_EQ(headers.Get("x-a"), "3");
  EXPECT_EQ(headers.fields().size(), 2U);
  headers.Remove("CONTENT-TYPE");
  EXPECT_FALSE(headers.Has("Content-Type"));
}

TEST(HttpTargetTest, SplitsAndDecodes) {
  const auto target = ParseTarget("/a/b%2Fc/%20?x=1&y=a+b%2B&flag&&=v&x=2");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->path, "/a/b%2Fc/%20");
  EXPECT_THAT(target->segments, ElementsAre("a", "b/c", " "));
  EXPECT_THAT(target->query, ElementsAre(Pair("x", "1"), Pair("y", "a b+"), Pair("flag", ""),
                                         Pair("", "v"), Pair("x", "2")));
}

TEST(HttpTargetTest, SlashesMakeSegments) {
  EXPECT_THAT(ParseTarget("/")->segments, IsEmpty());
  EXPECT_THAT(ParseTarget("/a")->segments, ElementsAre("a"));
  EXPECT_THAT(ParseTarget("/a/")->segments, ElementsAre("a"));
  EXPECT_THAT(ParseTarget("//a//b")->segments, ElementsAre("", "a", "", "b"));
}

TEST(HttpTargetTest, AcceptsTheFormOfProxies) {
  EXPECT_EQ(ParseTarget("http://example.com/a?b=1")->path, "/a");
  EXPECT_EQ(ParseTarget("HTTPS://example.com")->path, "/");
  const auto bare = ParseTarget("http://example.com?b=1");
  ASSERT_TRUE(bare.ok());
  EXPECT_EQ(bare->path, "/");
  EXPECT_THAT(bare->query, ElementsAre(Pair("b", "1")));
}

TEST(HttpTargetTest, RefusesWhatReadersCouldReadDifferently) {
  for (const std::string_view target :
       {"", "a", "*", "/%", "/%2", "/%zz", "/?a=%", "/?%=a", "/a\nb", "/a\x7f", "/..", "/a/../b",
        "/%2e%2E/b", "/./a", "/a/."}) {
    const auto parsed = ParseTarget(target);
    ASSERT_FALSE(parsed.ok()) << target;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
  }
}

TEST(PercentTest, EncodeIsUndoneByDecode) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  EXPECT_EQ(PercentDecode(PercentEncode(all)), all);
  EXPECT_EQ(PercentEncode("aZ09-._~ /"), "aZ09-._~%20%2F");
  EXPECT_EQ(PercentDecode("a+b"), "a+b");
  EXPECT_EQ(FormDecode("a+b%2b"), "a b+");
}

TEST(TraceParentTest, ReadsAValidOne) {
  const std::string text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const auto parsed = ParseTraceParent(text);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(parsed->parent_id, "00f067aa0ba902b7");
  EXPECT_EQ(parsed->flags, 1);
  EXPECT_EQ(parsed->ToString(), text);
}

TEST(TraceParentTest, ALaterVersionIsReadByItsFirstFields) {
  const std::string base = "-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  EXPECT_TRUE(ParseTraceParent("cc" + base).has_value());
  EXPECT_TRUE(ParseTraceParent("cc" + base + "-more").has_value());
  EXPECT_FALSE(ParseTraceParent("cc" + base + "more").has_value());
  EXPECT_FALSE(ParseTraceParent("00" + base + "-more").has_value());
  EXPECT_FALSE(ParseTraceParent("ff" + base).has_value());
}

TEST(TraceParentTest, IgnoresWhatIsInvalid) {
  for (const std::string_view text :
       {"", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}) {
    EXPECT_FALSE(ParseTraceParent(text).has_value()) << text;
  }
}

TEST(RequestIdTest, MustBePrintableAndShort) {
  EXPECT_TRUE(IsValidRequestId("abc-123_{}"));
  EXPECT_TRUE(IsValidRequestId(std::string(128, 'a')));
  EXPECT_FALSE(IsValidRequestId(""));
  EXPECT_FALSE(IsValidRequestId(std::string(129, 'a')));
  EXPECT_FALSE(IsValidRequestId("a b"));
  EXPECT_FALSE(IsValidRequestId("a\n"));
  EXPECT_FALSE(IsValidRequestId("\xc3\xa4"));
}

TEST(HttpErrorBodyTest, IsJsonWhateverTheMessage) {
  EXPECT_EQ(HttpErrorBody("invalid", "no \"such\"\n", "id"),
            R"({"error":{"code":"invalid","message":"no \"such\"\n","request_id":"id"}})");
}

}  // namespace
}  // namespace cairn::net
