// Logs as a stream of events, byte by byte, and over and over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>

#include "tests/functions/functions_server.h"
#include "tests/support/await.h"

namespace cairn::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Goes on behind its first line when the test says so.
constexpr std::string_view kWriter = R"(
  export default async (event) => {
    console.log('line 1');
    while (event.waits && !(await cs.kv.get('a:go'))) {
      await new Promise((done) => setTimeout(done, 20));
    }
    console.log('line 2');
    console.log('last');
  })";

class LogStreamTest : public ::testing::Test {
 protected:
  LogStreamTest() { server_.Publish("writer", kWriter); }

  static std::string PathOf(const std::string& id) {
    return "/v1/tenants/t_test01/activations/" + id + "/logs";
  }
  // All that a stream says, until it ends or `enough` is true of what has come.
  std::string Stream(const std::string& target, const net::HttpHeaders& more = {},
                     const std::function<bool(const std::string&)>& enough = {}) {
    net::HttpHeaders headers = more;
    headers.Set("Accept", "text/event-stream");
    std::string text;
    net::HttpClient client = server_.server().Http();
    const auto take = [&](std::string_view piece) -> Result<void> {
      text += piece;
      if (enough && enough(text)) return Error{ErrorCode::kUnavailable, "that was enough"};
      return {};
    };
    (void)client.Download(target, headers, take);
    return text;
  }

  FunctionsServer server_;
};

TEST_F(LogStreamTest, EachChunkIsAnEventWithTheCursorBehindIt) {
  const std::string id = server_.InvokeLater("writer", "{}");
  ASSERT_NE(id, "");
  const std::string text = Stream(PathOf(id));
  EXPECT_THAT(text, AllOf(HasSubstr("id: 1\nevent: log\ndata: [info] line 1\n"),
                          HasSubstr("data: [info] line 2\n"), HasSubstr("data: [info] last\n")));
  EXPECT_THAT(text, HasSubstr("event: end\n"));
  EXPECT_THAT(text, EndsWith("\n\n"));
  // Once it has ended, the same again, at once.
  EXPECT_EQ(Stream(PathOf(id)), text);
}

TEST_F(LogStreamTest, WhoComesBackGoesOnWhereTheStreamWasCut) {
  const std::string id = server_.InvokeLater("writer", R"({"waits":true})");
  ASSERT_NE(id, "");
  // While it runs: the first chunk, and then the line is cut.
  const std::string cut = Stream(PathOf(id), {}, [](const std::string& text) {
    return text.find("line 1") != std::string::npos && text.ends_with("\n\n");
  });
  EXPECT_THAT(cut, HasSubstr("id: 1\n"));
  server_.server().Command({"SET", "cs:kv:t_test01:shop:a:go", "true"});
  (void)server_.Ended(id);
  const std::string rest = Stream(PathOf(id) + "?cursor=1");
  EXPECT_THAT(rest, AllOf(StartsWith("id: 2\n"), HasSubstr("line 2"), HasSubstr("last"),
                          Not(HasSubstr("line 1")), HasSubstr("event: end\n")));
  // As a browser does it by itself.
  EXPECT_EQ(Stream(PathOf(id), {{"Last-Event-ID", "1"}}), rest);
  EXPECT_EQ(Stream(PathOf(id) + "?cursor=0", {{"Last-Event-ID", "1"}}), rest);
  const JsonAnswer bad = server_.Call("GET", PathOf(id), "",
                                      {{"Accept", "text/event-stream"}, {"Last-Event-ID", "x"}});
  EXPECT_EQ(bad.status, 400);
  EXPECT_THAT(bad.text, HasSubstr("Last-Event-ID"));
}

}  // namespace
}  // namespace cairn::testing
