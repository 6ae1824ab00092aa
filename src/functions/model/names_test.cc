#include "functions/model/names.h"

#include <gtest/gtest.h>

#include <string>

#include "functions/model/errors.h"

namespace cairn::functions {
namespace {

std::string Repeat(char c, size_t count) { return std::string(count, c); }

TEST(NamesTest, GrammarsHoldAtTheirEdges) {
  EXPECT_TRUE(IsName(NameKind::kTenant, "t_abc123"));
  EXPECT_TRUE(IsName(NameKind::kTenant, "t_" + Repeat('0', 32)));
  EXPECT_FALSE(IsName(NameKind::kTenant, "t_abc12"));
  EXPECT_FALSE(IsName(NameKind::kTenant, "t_" + Repeat('0', 33)));
  EXPECT_FALSE(IsName(NameKind::kTenant, "t_ABC123"));
  EXPECT_FALSE(IsName(NameKind::kTenant, "x_abc123"));
  EXPECT_TRUE(IsName(NameKind::kFunction, "abc"));
  EXPECT_TRUE(IsName(NameKind::kFunction, "a" + Repeat('-', 63)));
  EXPECT_FALSE(IsName(NameKind::kFunction, "ab"));
  EXPECT_FALSE(IsName(NameKind::kFunction, "a" + Repeat('b', 64)));
  EXPECT_FALSE(IsName(NameKind::kFunction, "9bc"));
  EXPECT_FALSE(IsName(NameKind::kNamespace, "a:b"));
  EXPECT_FALSE(IsName(NameKind::kNamespace, std::string("ab\0c", 4)));
  EXPECT_TRUE(IsName(NameKind::kAlias, "a1"));
  EXPECT_FALSE(IsName(NameKind::kAlias, "a"));
  EXPECT_FALSE(IsName(NameKind::kAlias, "17"));
  EXPECT_FALSE(IsName(NameKind::kAlias, "a" + Repeat('b', 32)));
  EXPECT_TRUE(IsName(NameKind::kSchedule, "reconcile_30s"));
  EXPECT_TRUE(IsName(NameKind::kBinding, "payments-activities"));
  EXPECT_FALSE(IsName(NameKind::kSchedule, ""));
  EXPECT_TRUE(IsName(NameKind::kRequest, "req_01HZ"));
  EXPECT_FALSE(IsName(NameKind::kRequest, "req_01H"));
  EXPECT_TRUE(IsName(NameKind::kEnvironment, "_DATABASE_URL1"));
  EXPECT_FALSE(IsName(NameKind::kEnvironment, "1A"));
}

TEST(NamesTest, AnErrorSaysWhatTheNameMustLookLike) {
  const Error error = CheckName(NameKind::kFunction, "No!").error();
  EXPECT_TRUE(IsRefusal(error, Code::kNameInvalid));
  EXPECT_EQ(RefusalText(error),
            R"("No!" cannot be the name of a function: it must be [a-z][a-z0-9_-]{2,63})");
}

TEST(NamesTest, GeneratedIdsAreNamesOfTheirKind) {
  SeededRandom random(1);
  const Timestamp now = Timestamp::FromMillis(1'730'000'000'123);
  const std::string draft = NewDraftId(now, random);
  EXPECT_TRUE(IsName(NameKind::kDraft, draft));
  EXPECT_EQ(DraftTime(draft), now);
  EXPECT_TRUE(IsName(NameKind::kRequest, NewRequestId(random)));
  EXPECT_TRUE(IsName(NameKind::kActivation, NewActivationId(random)));
  EXPECT_TRUE(NewMessageId(now, random).starts_with("msg_"));
}

TEST(NamesTest, WhatIsNoDraftIdHasNoTime) {
  EXPECT_EQ(DraftTime("drf_"), std::nullopt);
  EXPECT_EQ(DraftTime("drf_8ZZZZZZZZZZZZZZZZZZZZZZZZZ"), std::nullopt);
  EXPECT_EQ(DraftTime("drf_0IZZZZZZZZZZZZZZZZZZZZZZZZ"), std::nullopt);
  EXPECT_NE(DraftTime("drf_7ZZZZZZZZZZZZZZZZZZZZZZZZZ"), std::nullopt);
}

TEST(NamesTest, ActivationIdsHaveOneSpelling) {
  EXPECT_TRUE(IsName(NameKind::kActivation, "2f0c5d0e-0d5b-4c8e-9d55-0a1b2c3d4e5f"));
  EXPECT_FALSE(IsName(NameKind::kActivation, "2F0C5D0E-0D5B-4C8E-9D55-0A1B2C3D4E5F"));
  EXPECT_FALSE(IsName(NameKind::kActivation, "2f0c5d0e0d5b4c8e9d550a1b2c3d4e5f"));
}

TEST(NamesTest, VersionsAreCountedFromOne) {
  EXPECT_EQ(ParseVersion("1"), 1U);
  EXPECT_EQ(ParseVersion("999999999999999999"), 999'999'999'999'999'999U);
  for (const char* wrong : {"", "0", "01", "-1", "1x", "1000000000000000000"}) {
    EXPECT_EQ(ParseVersion(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace cairn::functions
