#include "functions/model/manifest.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::functions {
namespace {

constexpr std::string_view kText =
    R"({"schema":"cs.function.script.v1","runtime":"cs-js","entry":"function.js",)"
    R"("handler":"default","limits":{"timeoutMs":3000,"memoryMb":64,"maxConcurrency":10},)"
    R"("capabilities":{"kv":{"prefixes":["ctr:"],"ops":["get","set"]},)"
    R"("codeq":{"publishTopics":["jobs.*"]},)"
    R"("http":{"allowHosts":["api.example.com"],"timeoutMs":1500}}})";

std::string With(std::string_view from, std::string_view to) {
  std::string text(kText);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void ExpectFault(std::string_view from, std::string_view to, std::string_view problem) {
  const Result<Manifest> manifest = ParseManifest(With(from, to));
  ASSERT_FALSE(manifest.ok()) << to;
  EXPECT_TRUE(IsRefusal(manifest.error(), Code::kManifestInvalid));
  EXPECT_EQ(RefusalText(manifest.error()), problem);
}

TEST(ManifestTest, AllMembersAreRead) {
  const Manifest manifest = *ParseManifest(kText);
  EXPECT_EQ(manifest.timeout_ms, 3000);
  EXPECT_EQ(manifest.memory_mb, 64);
  EXPECT_EQ(manifest.max_concurrency, 10);
  EXPECT_EQ(manifest.capabilities,
            (Capabilities{{"ctr:"}, {"get", "set"}, {"jobs.*"}, {"api.example.com"}, 1500}));
  EXPECT_EQ(manifest.isolation, Isolation::kActivation);
  EXPECT_EQ(*ParseManifest(ManifestText(manifest)), manifest);
}

TEST(ManifestTest, IsolationMayBePerVersion) {
  const auto manifest = ParseManifest(With(R"("runtime":)", R"("isolation":"version","runtime":)"));
  EXPECT_EQ(manifest->isolation, Isolation::kVersion);
  ExpectFault(R"("runtime":)", R"("isolation":"none","runtime":)",
              "isolation must be activation or version");
}

TEST(ManifestTest, AnswersThatStreamMayBeBoundedFurther) {
  const auto plain = ParseManifest(kText);
  EXPECT_EQ(plain->stream_bytes, kMaxStreamBytes);
  EXPECT_EQ(plain->stream_idle_ms, kMaxStreamIdleMs);
  const auto manifest = ParseManifest(With("10}", R"(10,"streamBytes":2048,"streamIdleMs":500})"));
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(manifest->stream_bytes, 2048);
  EXPECT_EQ(*ParseManifest(ManifestText(*manifest)), *manifest);
  const auto config = EffectiveConfig(*manifest, *ParseOverrides(R"({"stream_idle_ms":50})"));
  EXPECT_EQ(config.stream_bytes, 2048);
  EXPECT_EQ(config.stream_idle_ms, 50);
  EXPECT_FALSE(ParseOverrides(R"({"stream_bytes":1023})").ok());
  EXPECT_FALSE(ParseOverrides(R"({"stream_idle_ms":120001})").ok());
  ExpectFault("10}", R"(10,"streamIdleMs":9})",
              "limits.streamIdleMs must be an integer from 10 to 120000");
  ExpectFault("10}", R"(10,"streamBytes":268435457})",
              "limits.streamBytes must be an integer from 1024 to 268435456");
}

TEST(ManifestTest, FaultsNameTheMember) {
  ExpectFault("cs.function.script.v1", "cs.function.script.v2",
              "schema must be cs.function.script.v1");
  ExpectFault("cs-js", "node", "runtime must be cs-js");
  ExpectFault("\"default\"", "\"main\"", "handler must be default");
  ExpectFault("3000", "0", "limits.timeoutMs must be an integer from 1 to 900000");
  ExpectFault("3000", "900001", "limits.timeoutMs must be an integer from 1 to 900000");
  ExpectFault("64", "15", "limits.memoryMb must be an integer from 16 to 4096");
  ExpectFault("64", "16.5", "limits.memoryMb must be an integer from 16 to 4096");
  ExpectFault("10}", "101}", "limits.maxConcurrency must be an integer from 1 to 100");
  ExpectFault(R"("set"])", R"("scan"])", "capabilities.kv.ops may name get, set and del");
  ExpectFault(R"(["ctr:"])", R"([""])",
              "capabilities.kv.prefixes[0] must be a string of 1 to 256 bytes");
  ExpectFault("1500", "30001", "capabilities.http.timeoutMs must be an integer from 1 to 30000");
  ExpectFault(R"("codeq":{"publishTopics":["jobs.*"]},)", "", "capabilities.codeq is missing");
  ExpectFault(R"("runtime":)", R"("colour":1,"runtime":)",
              "colour is not a member that is known here");
  ExpectFault(R"("memoryMb")", R"("cpu":1,"memoryMb")",
              "limits.cpu is not a member that is known here");
  ExpectFault(R"("runtime":)", R"("schema":"cs.function.script.v1","runtime":)",
              "schema is there twice");
}

TEST(ManifestTest, TheEntryIsAFileOfTheBundle) {
  for (const char* wrong :
       {"../function.js", "/function.js", "a//b.js", "./a.js", "a b.js", "a\\\\b"}) {
    ExpectFault(R"("entry":"function.js")", std::string(R"("entry":")") + wrong + '"',
                "entry must be the path of a file in the bundle, of [a-zA-Z0-9._/-]");
  }
  EXPECT_EQ(ParseManifest(With("function.js", "src/main.js"))->entry, "src/main.js");
}

TEST(ManifestTest, WhatIsNoJsonIsRefused) {
  for (const std::string& wrong : {std::string(), std::string("{"), std::string("[]"),
                                   std::string(kText) + "x", std::string(200, '[')}) {
    EXPECT_TRUE(IsRefusal(ParseManifest(wrong).error(), Code::kManifestInvalid)) << wrong;
  }
}

TEST(ManifestTest, WhatThePublishSaysIsInForce) {
  const Manifest manifest = *ParseManifest(kText);
  const ConfigOverrides none = *ParseOverrides("");
  EXPECT_EQ(EffectiveConfig(manifest, none).timeout_ms, 3000);
  EXPECT_EQ(EffectiveConfig(manifest, none).capabilities, manifest.capabilities);
  const ConfigOverrides some = *ParseOverrides(
      R"({"timeout_ms":50,"memory_mb":0,"isolation":"version",)"
      R"("capabilities":{"http":{"allow_hosts":[]},"kv":{"prefixes":["a:"],"ops":["del"]}},)"
      R"("authz":{"invoke_http_roles":["role:app"],"invoke_cadence_roles":[]},)"
      R"("max_retries":2,"on_failure":"failed","rate_limit":20,)"
      R"("env":{"TOKEN":"s3cr3t","MODE":"x"},"secrets":["TOKEN"]})");
  const VersionConfig config = EffectiveConfig(manifest, some);
  EXPECT_EQ(config.timeout_ms, 50);
  EXPECT_EQ(config.memory_mb, 64);
  EXPECT_EQ(config.isolation, Isolation::kVersion);
  EXPECT_EQ(config.capabilities, (Capabilities{{"a:"}, {"del"}, {"jobs.*"}, {}, 1500}));
  EXPECT_EQ(config.roles.http, (std::vector<std::string>{"role:app"}));
  EXPECT_EQ(config.roles.schedule, std::nullopt);
  EXPECT_EQ(config.roles.cadence, std::vector<std::string>());
  EXPECT_EQ(config.env_names, (std::vector<std::string>{"TOKEN", "MODE"}));
  EXPECT_EQ(config.secrets, (std::vector<std::string>{"TOKEN"}));
  std::string text;
  AppendConfig(config, text);
  EXPECT_EQ(text.find("s3cr3t"), std::string::npos);
}

TEST(ManifestTest, OverridesKeepToTheirBounds) {
  const auto problem = [](std::string_view text) {
    const Result<ConfigOverrides> overrides = ParseOverrides(text);
    return overrides.ok() ? std::string("none") : std::string(RefusalText(overrides.error()));
  };
  EXPECT_EQ(problem("{}"), "none");
  EXPECT_EQ(problem(R"({"timeout_ms":900001})"), "timeout_ms must be an integer from 0 to 900000");
  EXPECT_EQ(problem(R"({"memory_mb":3})"), "memory_mb must be an integer from 16 to 4096");
  EXPECT_EQ(problem(R"({"max_concurrency":101})"),
            "max_concurrency must be an integer from 0 to 100");
  EXPECT_EQ(problem(R"({"memory":3})"), "memory is not a member that is known here");
  EXPECT_EQ(problem(R"({"env":{"1A":"x"}})"), "env.1A is not a name such as DATABASE_URL");
  EXPECT_EQ(problem(R"({"env":{"A":1}})"), "env.A must be a string of 0 to 65536 bytes");
  EXPECT_EQ(problem(R"({"env":{"A":"x"},"secrets":["B"]})"),
            "secrets names B, which env does not have");
  EXPECT_EQ(problem(R"({"capabilities":{"kv":{"op":[]}}})"),
            "capabilities.kv.op is not a member that is known here");
}

}  // namespace
}  // namespace cairn::functions
