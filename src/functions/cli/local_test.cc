#include "functions/cli/local.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "functions/model/errors.h"

namespace cairn::functions::cli {
namespace {

using Operation = KvCall::Operation;

class LocalKvTest : public ::testing::Test {
 protected:
  std::string Run(const KvCall& call) {
    const Result<std::string> reply = kv_.Run(call);
    return reply.ok() ? *reply : std::string(CodeRowOf(reply.error()).name);
  }
  std::string Get(const std::string& key) { return Run({Operation::kGet, key}); }
  std::string Set(const std::string& key, std::string json,
                  std::optional<int64_t> ttl_seconds = std::nullopt) {
    return Run({Operation::kSet, key, std::move(json), ttl_seconds});
  }

  ManualClock clock_;
  LocalKv kv_{clock_};
};

TEST_F(LocalKvTest, AValueIsThereUntilItIsDeleted) {
  EXPECT_EQ(Get("a"), R"({"value":null})");
  EXPECT_EQ(Set("a", "[1]"), "{}");
  EXPECT_EQ(Get("a"), R"({"value":[1]})");
  EXPECT_EQ(Run({Operation::kDelete, "a"}), R"({"deleted":true})");
  EXPECT_EQ(Run({Operation::kDelete, "a"}), R"({"deleted":false})");
  EXPECT_EQ(Get("a"), R"({"value":null})");
}

TEST_F(LocalKvTest, AValueWithATimeExpiresAndANewOneHasItsOwn) {
  Set("a", "1", 10);
  clock_.AdvanceMillis(9'999);
  EXPECT_EQ(Get("a"), R"({"value":1})");
  Set("a", "2");
  clock_.AdvanceMillis(10'000);
  EXPECT_EQ(Get("a"), R"({"value":2})");
  Set("a", "3", 1);
  clock_.AdvanceMillis(1'000);
  EXPECT_EQ(Get("a"), R"({"value":null})");
}

TEST_F(LocalKvTest, WhatIsKeptIsBounded) {
  const std::string large = "\"" + std::string(1024UL * 1024 - 2, 'x') + "\"";
  int kept = 0;
  while (Set("k" + std::to_string(kept), large) == "{}") ++kept;
  EXPECT_EQ(kept, 63);                // the keys take some too
  EXPECT_EQ(Set("k0", large), "{}");  // in the place of what was there
  EXPECT_EQ(Set("more", large), "CS_TOO_LARGE");
  Run({Operation::kDelete, "k0"});
  EXPECT_EQ(Set("more", large), "{}");
}

}  // namespace
}  // namespace cairn::functions::cli
