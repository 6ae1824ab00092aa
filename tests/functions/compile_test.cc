// Versions are compiled when they are published, and their code is stored: whoever runs one first
// only loads it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/functions/functions_server.h"
#include "tests/support/await.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

constexpr std::string_view kFunctions = "/v1/tenants/t_test01/namespaces/shop/functions";
constexpr std::string_view kManifest = R"({"schema":"cs.function.script.v1","runtime":"cs-js",
  "entry":"function.js","handler":"default",
  "limits":{"timeoutMs":10000,"memoryMb":64,"maxConcurrency":10},
  "capabilities":{"kv":{},"codeq":{},"http":{}}})";

using Sources = std::map<std::string, std::string>;

class CompileTest : public ::testing::Test {
 protected:
  CompileTest() {
    EXPECT_EQ(server_.Call("POST", std::string(kFunctions), R"({"name":"work"})").status, 201);
  }

  static std::string Body(const Sources& sources, std::string_view more = "") {
    json::object files{{"manifest.json", Base64(kManifest)}};
    for (const auto& [path, text] : sources) files[path] = Base64(text);
    return fmt::format(R"({{"files":{}{}}})", json::serialize(files), more);
  }
  JsonAnswer Publish(const Sources& sources) {
    return server_.Call("POST", fmt::format("{}/work/versions", kFunctions), Body(sources));
  }
  std::vector<std::string> OverResp(const Sources& sources) {
    std::vector<std::string> args = {"FN.PUBLISH",    "t_test01/shop/work",
                                     "FILES",         fmt::to_string(sources.size() + 1),
                                     "manifest.json", std::string(kManifest)};
    for (const auto& [path, text] : sources) args.insert(args.end(), {path, text});
    return args;
  }
  // A reply as text; what it says of an error begins with "(error)".
  std::string Run(const std::vector<std::string>& args) {
    auto client = server_.server().Connect();
    if (!client.ok()) return client.error().message;
    const auto reply = client->Command(args);
    return reply.ok() ? reply->ToString() : reply.error().message;
  }

  // What a version answers.
  std::string Answer(int version) {
    const JsonAnswer answer = server_.Call("POST", fmt::format("{}/work:invoke", kFunctions),
                                           fmt::format(R"({{"ref":{{"version":{}}}}})", version));
    const json::object* const body = answer.body.if_object();
    const json::value* const result = body == nullptr ? nullptr : body->if_contains("result");
    if (result == nullptr || !result->is_object()) return answer.text;
    return std::string(result->at("body").as_string());
  }

  int64_t Figure(std::string_view name) {
    const std::string text = server_.Call("GET", "/metrics").text;
    const size_t at = text.find(fmt::format("\n{} ", name));
    if (at == std::string::npos) return -1;
    return std::strtoll(text.c_str() + at + name.size() + 2, nullptr, 10);
  }
  int64_t Compiles() { return Figure("cs_sandbox_compiles_total"); }

  std::string Keys(std::string_view pattern) { return server_.server().Command({"KEYS", pattern}); }
  std::string CodeKey(int version) {
    const JsonAnswer meta =
        server_.Call("GET", fmt::format("{}/work/versions/{}", kFunctions, version));
    return "cs:fn:t_test01:shop:work:code:" + std::string(meta.body.at("sha256").as_string());
  }
  bool IsStored(int version) {
    return server_.server().Command({"EXISTS", CodeKey(version)}) == "(integer) 1";
  }

  FunctionsServer server_;
};

TEST_F(CompileTest, WhatDoesNotCompileIsNotPublished) {
  const std::string before = server_.server().Command({"DBSIZE"});
  struct Case {
    Sources sources;
    std::string_view told;
  };
  const std::vector<Case> cases = {
      {{{"function.js", "export default () => 1;\nlet x = ;"}}, "function.js:2: SyntaxError"},
      {{{"function.js", "\nimport './gone.js';"}},
       "function.js:2: there is no module \"./gone.js\""},
      {{{"function.js", "import 'left-pad';"}}, "there is no module \"left-pad\""},
      {{{"function.js", "import './a.js';"}, {"a.js", "import './b.js';"}}, "a.js:1: there is no"},
      {{{"function.js", "import {no} from './a.js';"}, {"a.js", "export const yes = 1;"}}, "no"},
      {{{"function.js", "import d from './d.json';"}, {"d.json", "{"}}, "d.json"},
  };
  for (const Case& one : cases) {
    const JsonAnswer answer = Publish(one.sources);
    EXPECT_EQ(answer.status, 400) << one.told << ": " << answer.text;
    EXPECT_EQ(answer.body.at("error").at("code").as_string(), "CS_VALIDATION_FAILED");
    EXPECT_THAT(std::string(answer.body.at("error").at("message").as_string()),
                HasSubstr(one.told));
    const std::string reply = Run(OverResp(one.sources));
    EXPECT_THAT(reply, HasSubstr("CS_VALIDATION_FAILED"));
    EXPECT_THAT(reply, HasSubstr(one.told));
  }
  EXPECT_EQ(server_.server().Command({"DBSIZE"}), before);
  EXPECT_EQ(Publish({{"function.js", "export default () => 'well'"}}).status, 201);
  EXPECT_EQ(Answer(1), R"("well")");
}

TEST_F(CompileTest, ADraftThatDoesNotCompileIsLeftAsItIs) {
  const auto upload = [&](const Sources& sources) {
    const JsonAnswer draft =
        server_.Call("PUT", fmt::format("{}/work/draft", kFunctions), Body(sources));
    return std::string(draft.body.at("draft_id").as_string());
  };
  const auto publish = [&](const std::string& draft) {
    return server_.Call("POST", fmt::format("{}/work/versions", kFunctions),
                        fmt::format(R"({{"draft_id":"{}"}})", draft));
  };
  const std::string broken = upload({{"function.js", "export default ("}});
  for (int i = 0; i < 2; ++i) {
    const JsonAnswer answer = publish(broken);
    EXPECT_EQ(answer.status, 400) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("function.js:1: SyntaxError"));
  }
  EXPECT_THAT(Run({"FN.PUBLISH", "t_test01/shop/work", "DRAFT", broken}),
              HasSubstr("function.js:1: SyntaxError"));
  const std::string good = upload({{"function.js", "export default () => 'good'"}});
  EXPECT_EQ(publish(good).status, 201);
  EXPECT_EQ(Answer(1), R"("good")");
  EXPECT_TRUE(IsStored(1));
  EXPECT_EQ(publish(good).status, 409);
  const std::string other = upload({{"function.js", "export default () => 'other'"}});
  EXPECT_THAT(Run({"FN.PUBLISH", "t_test01/shop/work", "DRAFT", other}), HasSubstr("version"));
  EXPECT_EQ(Answer(2), R"("other")");
}

TEST_F(CompileTest, TheFirstInvocationOnlyLoads) {
  const std::string large = "export const text = '" + std::string(200'000, 'x') + "';";
  ASSERT_EQ(
      Publish({{"function.js", "import {text} from './large.js'; export default () => text.length"},
               {"large.js", large}})
          .status,
      201);
  EXPECT_THAT(Run(OverResp({{"function.js", "export default () => 'two'"}})), HasSubstr("version"));
  EXPECT_EQ(Compiles(), 2);
  EXPECT_EQ(Answer(1), "200000");
  EXPECT_EQ(Answer(2), R"("two")");
  EXPECT_EQ(Compiles(), 2);
  EXPECT_EQ(Figure("cs_invoker_code_loads_total"), 2);
  EXPECT_EQ(Figure("cs_invoker_code_missing_total"), 0);
  // Nor does anybody compile after a restart.
  server_.Kill();
  EXPECT_EQ(Answer(1), "200000");
  EXPECT_EQ(Answer(2), R"("two")");
  EXPECT_EQ(Compiles(), 0);
  EXPECT_EQ(Figure("cs_invoker_code_missing_total"), 0);
}

TEST_F(CompileTest, InATransactionItIsCompiledAfterwards) {
  auto client = *server_.server().Connect();
  const auto run = [&](const std::vector<std::string>& args) {
    const auto reply = client.Command(args);
    return reply.ok() ? reply->ToString() : reply.error().message;
  };
  EXPECT_EQ(run({"MULTI"}), "OK");
  EXPECT_EQ(run(OverResp({{"function.js", "export default () => 'later'"}})), "QUEUED");
  EXPECT_EQ(run(OverResp({{"function.js", "export default ("}})), "QUEUED");
  EXPECT_THAT(run({"EXEC"}), HasSubstr("version"));
  Await("the code to be stored", [&] { return IsStored(1); });
  Await("both to have been compiled", [&] { return Compiles() == 2; });
  EXPECT_EQ(Answer(1), R"("later")");
  EXPECT_EQ(Compiles(), 2);
  // The broken one says so when it is invoked.
  EXPECT_THAT(Answer(2), HasSubstr("function.js:1: SyntaxError"));
  EXPECT_FALSE(IsStored(2));
}

TEST_F(CompileTest, CodeThatIsOfNoUseIsMadeAnew) {
  ASSERT_EQ(Publish({{"function.js", "export default () => 'one'"}}).status, 201);
  const std::string key = CodeKey(1);
  const std::string code = server_.server().Command({"GETRANGE", key, "0", "-1"});
  // Of another engine, a key of another type, and none at all.
  for (const std::vector<std::string>& damage :
       {std::vector<std::string>{"SET", key, "made by another engine"},
        std::vector<std::string>{"LPUSH", key, "x"}, std::vector<std::string>{"PING"}}) {
    server_.server().Command({"DEL", key});
    (void)Run(damage);
    server_.Kill();
    EXPECT_EQ(Answer(1), R"("one")") << damage.front();
    EXPECT_EQ(Compiles(), 1) << damage.front();
    EXPECT_EQ(server_.server().Command({"GETRANGE", key, "0", "-1"}), code) << damage.front();
  }
  // What only a process of the sandbox finds out about costs that process a little.
  EXPECT_NE(Run({"SETRANGE", key, "60", "damaged"}), "");
  server_.Kill();
  EXPECT_EQ(Answer(1), R"("one")");
  EXPECT_EQ(Compiles(), 0);
}

TEST_F(CompileTest, WhatOneFunctionHasStoredNoOtherRuns) {
  const std::string source = "export default () => 'mine'";
  server_.Publish("other", source);
  server_.Publish("theirs", source);
  EXPECT_EQ(server_.Invoke("other").body.at("result").at("body").as_string(), R"("mine")");
  EXPECT_EQ(server_.Invoke("theirs").body.at("result").at("body").as_string(), R"("mine")");
  // The same files, but each is loaded from what its own function has stored.
  EXPECT_EQ(Figure("cs_invoker_cache_items"), 2);
}

TEST_F(CompileTest, ConcurrentPublishesAllHaveTheirCode) {
  constexpr int kPublishers = 4;
  constexpr int kEach = 4;
  std::vector<std::set<int64_t>> versions(kPublishers);
  {
    std::vector<std::jthread> publishers;
    for (int who = 0; who < kPublishers; ++who) {
      publishers.emplace_back([&, who] {
        for (int i = 0; i < kEach; ++i) {
          const JsonAnswer answer =
              Publish({{"function.js", fmt::format("export default () => '{}.{}'", who, i)}});
          if (answer.status != 201) return;
          versions[who].insert(answer.body.at("version").as_int64());
        }
      });
    }
  }
  std::set<int64_t> all;
  for (const std::set<int64_t>& of_one : versions) all.insert(of_one.begin(), of_one.end());
  EXPECT_EQ(all.size(), kPublishers * kEach);
  EXPECT_EQ(*all.rbegin(), kPublishers * kEach);
  for (const int64_t version : all) EXPECT_TRUE(IsStored(static_cast<int>(version)));
  EXPECT_EQ(Compiles(), kPublishers * kEach);
  EXPECT_THAT(Answer(1), HasSubstr("."));
  EXPECT_EQ(Compiles(), kPublishers * kEach);
}

TEST_F(CompileTest, PurgingAFunctionRemovesItsCode) {
  ASSERT_EQ(Publish({{"function.js", "export default () => 1"}}).status, 201);
  EXPECT_THAT(Keys("cs:fn:t_test01:shop:work:code:*"), HasSubstr(CodeKey(1)));
  EXPECT_EQ(server_.Call("DELETE", fmt::format("{}/work", kFunctions)).status, 200);
  EXPECT_EQ(server_.Call("POST", fmt::format("{}/work/purge", kFunctions)).status, 200);
  EXPECT_EQ(Keys("cs:fn:t_test01:shop:work:*"), "[]");
}

}  // namespace
}  // namespace cairn::testing
