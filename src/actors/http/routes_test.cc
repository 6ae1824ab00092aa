// The HTTP door of actors: every answer is checked against the schema of its row.

#include "actors/http/routes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>

#include "actors/testing/actor_server.h"
#include "base/base64.h"
#include "net/http/message.h"

namespace cairn::actors {
namespace {

namespace json = boost::json;
using testing::ActorServer;

class ActorRoutesTest : public ::testing::Test {
 protected:
  ~ActorRoutesTest() override { server_.ExpectSound(); }

  std::string Path(const std::string& rest = "") const { return "/v1/actors/" + id_ + rest; }
  static std::string B(std::string_view bytes) { return Base64Encode(bytes); }
  static std::string Query(std::string_view bytes) { return net::PercentEncode(B(bytes)); }
  void Put(std::string_view key, std::string_view value) {
    server_.Ok("POST", Path("/put"),
               fmt::format(R"({{"entries":[{{"key":"{}","value":"{}"}}]}})", B(key), B(value)));
  }
  // "a=1,b=2" of a list or of several entries; "-" for one that is absent.
  static std::string Shown(const json::value& answer) {
    std::string text;
    for (const json::value& entry : answer.at("entries").as_array()) {
      if (!text.empty()) text.push_back(',');
      if (entry.is_null()) {
        text.push_back('-');
        continue;
      }
      text += fmt::format("{}={}", *Base64Decode(entry.at("key").as_string()),
                          *Base64Decode(entry.at("value").as_string()));
    }
    return text;
  }

  ActorServer server_;
  const std::string id_ = server_.Create();
};

TEST_F(ActorRoutesTest, ActorsAreMadeFoundListedAndDestroyed) {
  const std::string body =
      R"({"namespace":"default","name":"thing","key":["b","c/d"],"input":"aGk="})";
  const json::value made = server_.Ok("PUT", "/v1/actors", body);
  EXPECT_TRUE(made.at("created").as_bool());
  const std::string id(made.at("actor").at("actor_id").as_string());
  EXPECT_FALSE(server_.Ok("PUT", "/v1/actors", body).at("created").as_bool());
  EXPECT_EQ(server_.Refusal("POST", "/v1/actors", body),
            fmt::format(R"(409 duplicate_key {{"existing_actor_id":"{}"}})", id));
  const json::value found =
      server_.Ok("GET", "/v1/actors/find?namespace=default&name=thing&key=b%2Fc%5C%2Fd");
  EXPECT_EQ(found.at("actor_id").as_string(), id);
  EXPECT_EQ(json::serialize(found.at("key")), R"(["b","c/d"])");
  EXPECT_EQ(server_.Ok("GET", "/v1/actors/" + id + "/input").at("input").as_string(), "aGk=");
  const json::value page = server_.Ok("GET", "/v1/actors?namespace=default&limit=1");
  EXPECT_EQ(page.at("next").as_string(), "thing/a");
  EXPECT_EQ(server_.Ok("GET", "/v1/actors?namespace=default&after=thing%2Fa")
                .at("actors")
                .as_array()
                .size(),
            1U);
  EXPECT_EQ(server_.Ok("POST", "/v1/actors/" + id + "/start").at("generation").as_int64(), 1);
  EXPECT_EQ(server_.Refusal("DELETE", "/v1/actors/" + id + "@0"),
            R"(409 stale_generation {"generation":"1"})");
  server_.Ok("DELETE", "/v1/actors/" + id + "@1");
  EXPECT_EQ(server_.Refusal("GET", "/v1/actors/" + id), "404 no_such_actor {}");
}

TEST_F(ActorRoutesTest, EntriesAreReadAndWritten) {
  Put("a", "1");
  Put("b", "2");
  const json::value one = server_.Ok("GET", Path("/entries/" + Query("a")));
  EXPECT_EQ(one.at("value").as_string(), B("1"));
  EXPECT_EQ(one.at("revision").as_int64(), 1);
  EXPECT_EQ(server_.Refusal("GET", Path("/entries/" + Query("x"))), "404 no_such_entry {}");
  EXPECT_EQ(
      Shown(server_.Ok("POST", Path("/get"),
                       fmt::format(R"({{"keys":["{}","{}","{}"]}})", B("b"), B("x"), B("a")))),
      "b=2,-,a=1");
  server_.Ok("POST", Path("/delete"), fmt::format(R"({{"keys":["{}"]}})", B("a")));
  EXPECT_EQ(Shown(server_.Ok("GET", Path("/entries"))), "b=2");
  server_.Ok("POST", Path("/delete_range"), fmt::format(R"({{"begin":"","end":"{}"}})", B("c")));
  EXPECT_EQ(Shown(server_.Ok("GET", Path("/entries"))), "");
  Put("a", "1");
  EXPECT_EQ(server_.Ok("POST", Path("/drop")).at("revision").as_int64(), 6);
  EXPECT_EQ(Shown(server_.Ok("GET", Path("/entries"))), "");
}

TEST_F(ActorRoutesTest, AListHasAllItsParameters) {
  for (const char* key : {"a", "ab", "b", "c"}) Put(key, "v");
  const json::value page = server_.Ok("GET", Path("/entries?limit=2"));
  EXPECT_EQ(Shown(page), "a=v,ab=v");
  EXPECT_EQ(page.at("next").as_string(), B("ab"));
  EXPECT_EQ(Shown(server_.Ok("GET", Path("/entries?after=" + Query("ab")))), "b=v,c=v");
  EXPECT_EQ(Shown(server_.Ok("GET", Path("/entries?prefix=" + Query("a") + "&reverse=true"))),
            "ab=v,a=v");
  const std::string range = "/entries?begin=" + Query("ab") + "&end=" + Query("c");
  EXPECT_EQ(Shown(server_.Ok("GET", Path(range))), "ab=v,b=v,c=v");
  EXPECT_EQ(Shown(server_.Ok("GET", Path(range + "&exclusive=true&bytes=3"))), "ab=v");
  EXPECT_EQ(server_.Refusal("GET", Path("/entries?prefix=%21")), "400 bad_request {}");
  EXPECT_EQ(server_.Refusal("GET", Path("/entries?limit=20000")).substr(0, 3), "400");
}

TEST_F(ActorRoutesTest, ABatchIsAllOrNothing) {
  const std::string body = fmt::format(
      R"({{"idempotency_id":"one","conditions":[{{"key":"{0}","revision":0}}],"changes":[)"
      R"({{"op":"put","key":"{0}","value":"{1}"}},{{"op":"delete","key":"{1}"}},)"
      R"({{"op":"delete_range","begin":"{1}","end":"{1}"}}]}})",
      B("a"), B("b"));
  EXPECT_EQ(json::serialize(server_.Ok("POST", Path("/batch"), body)),
            R"({"revision":1,"repeated":false})");
  EXPECT_EQ(json::serialize(server_.Ok("POST", Path("/batch"), body)),
            R"({"revision":1,"repeated":true})");
  const std::string other = fmt::format(
      R"({{"conditions":[{{"key":"{}","revision":9}}],"changes":[{{"op":"drop"}}]}})", B("a"));
  EXPECT_EQ(server_.Refusal("POST", Path("/batch"), other),
            R"(409 precondition_failed {"condition":"0","revision":"1"})");
  EXPECT_EQ(Shown(server_.Ok("GET", Path("/entries"))), "a=b");
  EXPECT_EQ(server_.Refusal("POST", Path("/batch"), R"({"changes":[{"op":"put","key":""}]})"),
            "400 bad_request {}");
}

// Elsewhere a client gets a text, and guesses.
TEST_F(ActorRoutesTest, ErrorsHaveAGroupACodeAndFields) {
  const net::HttpResponse response = server_.Ask(
      "POST", Path("/put"),
      fmt::format(R"({{"entries":[{{"key":"{}","value":""}}]}})", B(std::string(2'047, 'k'))));
  EXPECT_EQ(response.status, 413);
  const json::value error = json::parse(response.body).at("error");
  EXPECT_EQ(error.at("group").as_string(), "actor");
  EXPECT_EQ(error.at("code").as_string(), "key_too_long");
  EXPECT_EQ(json::serialize(error.at("fields")), R"({"limit":"2046","size":"2047"})");
  EXPECT_EQ(error.at("message").as_string(),
            "the key of an entry has 2047 bytes; at most 2046 are allowed");
  EXPECT_EQ(server_.Refusal("GET", "/v1/actors/nonsense"), "400 bad_id {}");
  EXPECT_EQ(server_.Refusal("POST", Path("/put"), "{"), "400 invalid {}");
  EXPECT_EQ(server_.Refusal("POST", Path("/put"), R"({"entries":[{"key":"%","value":""}]})"),
            "400 bad_request {}");
  EXPECT_EQ(server_.Refusal("POST", "/v1/actors", R"({"namespace":"","name":"a","key":[]})"),
            "400 bad_name {}");
}

TEST_F(ActorRoutesTest, LimitsAreTold) {
  EXPECT_EQ(server_.Ok("GET", "/v1/actors/limits").at("key_bytes").as_int64(), 2'046);
}

}  // namespace
}  // namespace cairn::actors
