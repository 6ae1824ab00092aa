// What is malformed, too large or damaged is refused with a code that names it, and leaves nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/functions/functions_server.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

constexpr std::string_view kFunctions = "/v1/tenants/t_test01/namespaces/shop/functions";
constexpr size_t kMiB = 1024UL * 1024;

json::object Manifest() {
  return json::parse(R"({"schema":"cs.function.script.v1","runtime":"cs-js",
    "entry":"function.js","handler":"default",
    "limits":{"timeoutMs":3000,"memoryMb":64,"maxConcurrency":10},
    "capabilities":{"kv":{},"codeq":{},"http":{}}})")
      .as_object();
}

// {"files":{…}}, with the usual two and these.
std::string Files(const std::vector<std::pair<std::string, std::string>>& more) {
  json::object files{{"function.js", Base64("export default () => 1")},
                     {"manifest.json", Base64(json::serialize(Manifest()))}};
  for (const auto& [path, text] : more) files[path] = Base64(text);
  return json::serialize(json::object{{"files", files}});
}
// With a manifest that is the usual one but for a member.
std::string WithManifest(std::string_view name, std::string_view value) {
  json::object manifest = Manifest();
  if (value.empty()) {
    manifest.erase(name);
  } else {
    manifest[name] = json::parse(value);
  }
  return Files({{"manifest.json", json::serialize(manifest)}});
}

std::string Refusal(const JsonAnswer& answer) {
  const json::object* const body = answer.body.if_object();
  const json::value* const error = body == nullptr ? nullptr : body->if_contains("error");
  if (error == nullptr || !error->is_object())
    return fmt::format("{} {}", answer.status, answer.text);
  EXPECT_FALSE(error->at("message").as_string().empty());
  EXPECT_FALSE(error->at("request_id").as_string().empty());
  return fmt::format("{} {}", answer.status, std::string_view(error->at("code").as_string()));
}

class FunctionsBadInputTest : public ::testing::Test {
 protected:
  FunctionsBadInputTest() { server_.Publish("good", "export default () => 'well'"); }

  std::string Keys() { return server_.server().Command({"DBSIZE"}); }

  struct Case {
    std::string_view what;
    std::string body;
    std::string_view refusal;
  };
  void ExpectRefused(std::string_view method, const std::string& target,
                     const std::vector<Case>& cases) {
    for (const Case& one : cases) {
      const std::string before = Keys();
      EXPECT_EQ(Refusal(server_.Call(method, target, one.body)), one.refusal)
          << method << " " << target << ": " << one.what;
      EXPECT_EQ(Keys(), before) << one.what << " has left something";
    }
    EXPECT_EQ(server_.Invoke("good").body.at("result").at("body").as_string(), R"("well")");
  }

  FunctionsServer server_;
};

TEST_F(FunctionsBadInputTest, WhatIsPublishedIsCheckedWholly) {
  ASSERT_EQ(server_.Call("POST", std::string(kFunctions), R"({"name":"bad"})").status, 201);
  const std::string versions = std::string(kFunctions) + "/bad/versions";
  const auto file_text = [](std::string_view text) {
    return fmt::format(R"({{"files":{{"function.js":"{}","manifest.json":"{}"}}}})", text,
                       Base64(json::serialize(Manifest())));
  };
  const auto many = [](int count) {
    std::vector<std::pair<std::string, std::string>> files;
    for (int i = 0; i < count; ++i) files.emplace_back(fmt::format("lib/f{}.js", i), "1");
    return Files(files);
  };
  constexpr std::string_view kInvalid = "400 CS_VALIDATION_FAILED";
  constexpr std::string_view kManifest = "400 CS_VALIDATION_MANIFEST_INVALID";
  constexpr std::string_view kTooLarge = "413 CS_VALIDATION_BUNDLE_TOO_LARGE";
  ExpectRefused(
      "POST", versions,
      {
          {"nothing", "", kInvalid},
          {"no JSON", "{", kInvalid},
          {"a list", "[]", kInvalid},
          {"no files", "{}", kInvalid},
          {"files that are no object", R"({"files":[]})", kInvalid},
          {"a file that is no text", R"({"files":{"function.js":1}})", kInvalid},
          {"an unknown member", R"({"files":{},"nosuch":1})", kInvalid},
          {"a member twice", R"({"files":{},"files":{}})", kInvalid},
          {"JSON that is too deep", std::string(1'000, '[') + std::string(1'000, ']'), kInvalid},
          {"characters that are not base64", file_text("%%%%"), kInvalid},
          {"base64 that is cut", file_text("YWJ"), kInvalid},
          {"base64 with a line break", file_text("YWJj\\nYWJj"), kInvalid},
          {"base64 of URLs", file_text("_-_-"), kInvalid},
          {"base64 with spare bits", file_text("YR=="), kInvalid},
          {"both a draft and files", R"({"draft_id":"drf_x",)" + Files({}).substr(1), kInvalid},
          {"no function.js",
           fmt::format(R"({{"files":{{"manifest.json":"{}"}}}})",
                       Base64(json::serialize(Manifest()))),
           kInvalid},
          {"a path that leads out", Files({{"../x.js", "1"}}), kInvalid},
          {"an absolute path", Files({{"/x.js", "1"}}), kInvalid},
          {"a path with dots", Files({{"a/./x.js", "1"}}), kInvalid},
          {"a path with an empty part", Files({{"a//x.js", "1"}}), kInvalid},
          {"a path with a NUL", Files({{std::string("a\0b", 3), "1"}}), kInvalid},
          {"a file as a folder", Files({{"function.js/x.js", "1"}}), kInvalid},
          {"a long path", Files({{std::string(300, 'a'), "1"}}), kInvalid},
          {"too many files", many(1'100), kInvalid},
          {"a large file", Files({{"x.js", std::string(17 * kMiB, 'x')}}), kTooLarge},
          {"no manifest", file_text("MQ==").substr(0, 33) + "}}", kInvalid},
          {"a manifest that is no JSON", Files({{"manifest.json", "{"}}), kManifest},
          {"a manifest that is a list", Files({{"manifest.json", "[]"}}), kManifest},
          {"an empty manifest", Files({{"manifest.json", ""}}), kManifest},
          {"a large manifest", Files({{"manifest.json", std::string(300'000, ' ')}}), kManifest},
          {"another schema", WithManifest("schema", R"("cs.function.script.v2")"), kManifest},
          {"no schema", WithManifest("schema", ""), kManifest},
          {"another runtime", WithManifest("runtime", R"("node")"), kManifest},
          {"an entry that is not there", WithManifest("entry", R"("nosuch.js")"), kManifest},
          {"an entry that leads out", WithManifest("entry", R"("../function.js")"), kManifest},
          {"a handler that is no name", WithManifest("handler", "5"), kManifest},
          {"an empty handler", WithManifest("handler", R"("")"), kManifest},
          {"limits that are no object", WithManifest("limits", "[]"), kManifest},
          {"a time limit of nothing",
           WithManifest("limits", R"({"timeoutMs":0,"memoryMb":64,"maxConcurrency":1})"),
           kManifest},
          {"a time limit that is too long",
           WithManifest("limits", R"({"timeoutMs":900001,"memoryMb":64,"maxConcurrency":1})"),
           kManifest},
          {"memory that is too much",
           WithManifest("limits", R"({"timeoutMs":1,"memoryMb":1e300,"maxConcurrency":1})"),
           kManifest},
          {"memory below nothing",
           WithManifest("limits", R"({"timeoutMs":1,"memoryMb":-64,"maxConcurrency":1})"),
           kManifest},
          {"an unknown capability",
           WithManifest("capabilities", R"({"kv":{},"codeq":{},"http":{},"fs":{}})"), kManifest},
          {"an unknown operation",
           WithManifest("capabilities", R"({"kv":{"prefixes":["a"],"ops":["scan"]},"codeq":{},)"
                                        R"("http":{}})"),
           kManifest},
          {"a host that is a URL",
           WithManifest("capabilities",
                        R"({"kv":{},"codeq":{},"http":{"allowHosts":["http://a/"]}})"),
           kManifest},
          {"an isolation that is not known", WithManifest("isolation", R"("none")"), kManifest},
          {"an unknown member of it", WithManifest("nosuch", "1"), kManifest},
          {"an alias that is no name", R"({"alias":"NO",)" + Files({}).substr(1),
           "400 CS_VALIDATION_NAME_INVALID"},
          {"a config with an unknown member", R"({"config":{"nosuch":1},)" + Files({}).substr(1),
           kInvalid},
          {"env without a key", R"({"config":{"env":{"A":"b"}},)" + Files({}).substr(1),
           "409 CS_SECRETS_UNAVAILABLE"},
          {"a draft that is not there", R"({"draft_id":"drf_01HZZZZZZZZZZZZZZZZZZZZZZZ"})",
           "410 CS_GONE"},
          {"a draft whose name is none", R"({"draft_id":"x"})", "400 CS_VALIDATION_NAME_INVALID"},
      });
  ExpectRefused("POST", std::string(kFunctions) + "/nosuch/versions",
                {{"no such function", Files({}), "404 CS_NOT_FOUND"}});
  ExpectRefused("PUT", std::string(kFunctions) + "/bad/draft",
                {{"no files", "{}", kInvalid},
                 {"no base64", file_text("%"), kInvalid},
                 {"a bad path", Files({{"../x", "1"}}), kInvalid},
                 {"a bad manifest", Files({{"manifest.json", "{"}}), kManifest},
                 {"too large", Files({{"x", std::string(17 * kMiB, 'x')}}), kTooLarge}});
  const JsonAnswer found = server_.Call("GET", std::string(kFunctions) + "/bad");
  EXPECT_TRUE(found.body.at("latest_version").is_null()) << found.text;
}

TEST_F(FunctionsBadInputTest, NamesAndRequestsAreChecked) {
  constexpr std::string_view kInvalid = "400 CS_VALIDATION_FAILED";
  constexpr std::string_view kName = "400 CS_VALIDATION_NAME_INVALID";
  ExpectRefused("POST", std::string(kFunctions),
                {{"no name", "{}", kInvalid},
                 {"a name of large letters", R"({"name":"Bad"})", kName},
                 {"a name with a colon", R"({"name":"a:b:c"})", kName},
                 {"a long name", fmt::format(R"({{"name":"{}"}})", std::string(65, 'a')), kName},
                 {"a name with a NUL", R"({"name":"abc\u0000d"})", kName},
                 {"a name that is there", R"({"name":"good"})", "409 CS_CONFLICT"}});
  ExpectRefused("POST", "/v1/tenants/nosuch/namespaces/shop/functions",
                {{"a tenant that is none", R"({"name":"good"})", kName}});
  ExpectRefused("POST", "/v1/tenants/t_test01/namespaces/a%3Ab/functions",
                {{"a namespace that is none", R"({"name":"good"})", kName}});
  const std::string invoke = std::string(kFunctions) + "/good:invoke";
  ExpectRefused(
      "POST", invoke,
      {{"nothing", "", kInvalid},
       {"no JSON", "{\"ref\":", kInvalid},
       {"no ref", "{}", kInvalid},
       {"an empty ref", R"({"ref":{}})", kInvalid},
       {"a version of nothing", R"({"ref":{"version":0}})", kInvalid},
       {"a version that is too large", R"({"ref":{"version":1e30}})", kInvalid},
       {"an alias that is none", R"({"ref":{"alias":"a b"}})", kInvalid},
       {"another mode", R"({"ref":{"alias":"live"},"mode":"later"})", kInvalid},
       {"an unknown member", R"({"ref":{"alias":"live"},"nosuch":1})", kInvalid},
       {"a large event",
        fmt::format(R"({{"ref":{{"alias":"live"}},"event":"{}"}})", std::string(7 * kMiB, 'x')),
        "413 CS_TOO_LARGE"},
       {"a deep event",
        R"({"ref":{"alias":"live"},"event":)" + std::string(5'000, '[') + std::string(5'000, ']') +
            "}",
        kInvalid}});
  EXPECT_EQ(Refusal(server_.Call("POST", invoke, R"({"ref":{"alias":"live"}})",
                                 {{"Idempotency-Key", std::string(5'000, 'k')}})),
            kInvalid);
  EXPECT_EQ(
      server_.Call("GET", "/v1/web/t_test01/shop/good/live?" + std::string(17'000, 'q')).status /
          100,
      4);
  EXPECT_EQ(server_.Call("GET", "/v1/web/t_test01/shop/good/live/%ff%00").status / 100, 2);
  EXPECT_EQ(server_.Call("GET", "/v1/tenants/t_test01/activations/x").status, 400);
  EXPECT_EQ(
      server_
          .Call("GET", "/v1/web/t_test01/shop/good/live", "", {{"X-Bad", std::string("a\xFF", 2)}})
          .status,
      200);
}

// Whoever has access to the records can damage them; what is not what was published is not run.
TEST_F(FunctionsBadInputTest, ABundleThatIsDamagedInTheStoreIsNotRun) {
  const auto key = [](int version) {
    return fmt::format("cs:fn:t_test01:shop:bad:ver:{}:bundle", version);
  };
  const std::vector<std::string> damages = {"", "no tar", std::string(10'240, '\0')};
  int version = 0;
  const auto publish = [&] {
    server_.Publish("bad", fmt::format("export default () => {}", ++version));
    ASSERT_EQ(server_.server().Command({"EXISTS", key(version)}), "(integer) 1") << key(version);
  };
  const auto expect_refused = [&](std::string_view what) {
    const JsonAnswer answer = server_.Invoke("bad");
    EXPECT_EQ(answer.status, 200) << what << answer.text;
    EXPECT_EQ(answer.body.at("status").as_string(), "error") << what << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("CS_")) << what;
  };
  for (const std::string& damage : damages) {
    publish();
    server_.server().Command({"SET", key(version), damage});
    expect_refused("other bytes");
  }
  publish();
  server_.server().Command({"SETRANGE", key(version), "600", "X"});
  expect_refused("one byte");
  publish();
  server_.server().Command({"DEL", key(version)});
  expect_refused("nothing");
  publish();
  server_.server().Command({"DEL", key(version)});
  server_.server().Command({"HSET", key(version), "a", "b"});
  expect_refused("another type");
  publish();
  EXPECT_EQ(server_.Invoke("bad").body.at("status").as_string(), "success");
}

}  // namespace
}  // namespace cairn::testing
