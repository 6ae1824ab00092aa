#include "functions/model/keys.h"

#include <gtest/gtest.h>

#include <set>

namespace cairn::functions {
namespace {

using Kind = FunctionKeyParts::Kind;

const FunctionName kFunction{"t_abc123", "payments", "reconcile"};
const NamespaceName kNamespace = kFunction.in();
constexpr std::string_view kDraftId = "drf_01JCZ5W2M8Q0S3B4X6V7K9T1RA";
constexpr std::string_view kId = "2f0c5d0e-0d5b-4c8e-9d55-0a1b2c3d4e5f";

TEST(FunctionKeysTest, KeysAreThoseOfTheSeed) {
  EXPECT_EQ(FunctionKey(kFunction), "cs:fn:t_abc123:payments:reconcile:meta");
  EXPECT_EQ(VersionSeqKey(kFunction), "cs:fn:t_abc123:payments:reconcile:version_seq");
  EXPECT_EQ(DraftKey(kFunction, kDraftId),
            "cs:fn:t_abc123:payments:reconcile:draft:drf_01JCZ5W2M8Q0S3B4X6V7K9T1RA");
  EXPECT_EQ(VersionKey(kFunction, 17), "cs:fn:t_abc123:payments:reconcile:ver:17:meta");
  EXPECT_EQ(BundleKey(kFunction, 17), "cs:fn:t_abc123:payments:reconcile:ver:17:bundle");
  EXPECT_EQ(AliasKey(kFunction, "prod"), "cs:fn:t_abc123:payments:reconcile:alias:prod");
  EXPECT_EQ(ScheduleKey(kNamespace, "every"), "cs:schedule:t_abc123:payments:every:meta");
  EXPECT_EQ(ScheduleIndexKey(kNamespace), "cs:schedule:t_abc123:payments:index");
  EXPECT_EQ(BindingKey(kNamespace, "acts"), "cs:cadence:t_abc123:payments:worker:acts:meta");
  EXPECT_EQ(BindingIndexKey(kNamespace), "cs:cadence:t_abc123:payments:workers:index");
  EXPECT_EQ(ActivationKey("t_abc123", kId),
            "cs:act:t_abc123:2f0c5d0e-0d5b-4c8e-9d55-0a1b2c3d4e5f:meta");
  EXPECT_EQ(LogChunkKey("t_abc123", kId, 7),
            "cs:log:t_abc123:2f0c5d0e-0d5b-4c8e-9d55-0a1b2c3d4e5f:000000000007");
  EXPECT_EQ(LogIndexKey("t_abc123", kId),
            "cs:log:t_abc123:2f0c5d0e-0d5b-4c8e-9d55-0a1b2c3d4e5f:chunks");
}

TEST(FunctionKeysTest, KeysBeyondTheSeed) {
  EXPECT_EQ(FunctionIndexKey(kNamespace), "cs:fn:t_abc123:payments:index");
  EXPECT_EQ(EnvKey(kFunction, 2), "cs:fn:t_abc123:payments:reconcile:ver:2:env");
  EXPECT_EQ(ShiftKey(kFunction, "prod"), "cs:fn:t_abc123:payments:reconcile:shift:prod");
  EXPECT_EQ(ActivationStatusKey("t_abc123", kId),
            "cs:act:t_abc123:2f0c5d0e-0d5b-4c8e-9d55-0a1b2c3d4e5f:status");
  EXPECT_EQ(RequestResultKey("t_abc123", "req_1234"), "cs:req:t_abc123:req_1234:result");
  EXPECT_EQ(ScheduleStateKey(kNamespace, "every"), "cs:schedule:t_abc123:payments:every:state");
  EXPECT_EQ(ScheduleInflightKey(kNamespace, "every"),
            "cs:schedule:t_abc123:payments:every:inflight");
  EXPECT_EQ(CadenceTaskKey(kNamespace, "00ff"), "cs:cadence:t_abc123:payments:task:00ff");
  EXPECT_EQ(KvPrefix(kNamespace), "cs:kv:t_abc123:payments:");
  EXPECT_EQ(ResourceName(kFunction), "t_abc123/payments/reconcile");
  EXPECT_EQ(ResourceName(kNamespace), "t_abc123/payments/*");
}

TEST(FunctionKeysTest, NoTwoKindsShareAKey) {
  const FunctionName index{"t_abc123", "payments", "index"};
  std::set<std::string> keys;
  size_t made = 0;
  for (const FunctionName& function : {kFunction, index}) {
    for (const std::string& key :
         {FunctionKey(function), VersionSeqKey(function), DraftKey(function, kDraftId),
          VersionKey(function, 1), BundleKey(function, 1), EnvKey(function, 1),
          AliasKey(function, "prod"), ShiftKey(function, "prod")}) {
      keys.insert(key);
      ++made;
    }
  }
  keys.insert(FunctionIndexKey(kNamespace));
  EXPECT_EQ(keys.size(), made + 1);
}

TEST(FunctionKeysTest, AKeySaysWhatItIsAbout) {
  const auto expect = [](const std::string& key, Kind kind, uint64_t version,
                         std::string_view name) {
    const auto parts = ParseFunctionKey(key);
    ASSERT_TRUE(parts) << key;
    EXPECT_EQ(*parts, (FunctionKeyParts{kFunction, kind, version, std::string(name)})) << key;
  };
  expect(FunctionKey(kFunction), Kind::kMeta, 0, "");
  expect(VersionSeqKey(kFunction), Kind::kVersionSeq, 0, "");
  expect(DraftKey(kFunction, kDraftId), Kind::kDraft, 0, kDraftId);
  expect(VersionKey(kFunction, 1), Kind::kVersion, 1, "");
  expect(BundleKey(kFunction, 65'536), Kind::kBundle, 65'536, "");
  expect(EnvKey(kFunction, 4'294'967'296), Kind::kEnv, 4'294'967'296, "");
  expect(AliasKey(kFunction, "prod"), Kind::kAlias, 0, "prod");
  expect(ShiftKey(kFunction, "prod"), Kind::kShift, 0, "prod");
  EXPECT_EQ(ParseFunctionKey(FunctionIndexKey(kNamespace))->kind, Kind::kIndex);
}

TEST(FunctionKeysTest, AKeyOfATriggerSaysWhatItIsAbout) {
  using TriggerKind = TriggerKeyParts::Kind;
  constexpr std::string_view kActivation = "2f0c5d0e-1c5a-4f6e-8a53-0f6d6a1f2b3c";
  EXPECT_EQ(TriggerKey(kNamespace, "mails"), "cs:trigger:t_abc123:payments:mails:meta");
  EXPECT_EQ(*ParseTriggerKey(TriggerSetKey(kNamespace)),
            (TriggerKeyParts{kNamespace, "", TriggerKind::kSet, ""}));
  // A trigger may be called "index", too.
  for (const char* name : {"mails", "index"}) {
    EXPECT_EQ(*ParseTriggerKey(TriggerKey(kNamespace, name)),
              (TriggerKeyParts{kNamespace, name, TriggerKind::kMeta, ""}));
    EXPECT_EQ(*ParseTriggerKey(TriggerStateKey(kNamespace, name)),
              (TriggerKeyParts{kNamespace, name, TriggerKind::kState, ""}));
    EXPECT_EQ(*ParseTriggerKey(TriggerBatchKey(kNamespace, name, kActivation)),
              (TriggerKeyParts{kNamespace, name, TriggerKind::kBatch, std::string(kActivation)}));
  }
  for (const char* key :
       {"", "cs:trigger:", "cs:trigger:index", "cs:trigger:t_abc123:payments:other",
        "cs:trigger:t_abc123:payments:mails:other", "cs:trigger:t_abc123:payments:x:meta",
        "cs:trigger:t_abc123:payments:mails:batch:1", "cs:trigger:t_abc123:payments:mails:batch",
        "cs:schedule:t_abc123:payments:mails:meta"}) {
    EXPECT_EQ(ParseTriggerKey(key), std::nullopt) << key;
  }
}

TEST(FunctionKeysTest, OtherKeysAreNotTakenForOnes) {
  for (const char* key :
       {"", "cs:fn:", "cs:fn:t_abc123", "cs:fn:t_abc123:payments", "cs:fn:t_abc123:payments:other",
        "cs:fn:t_abc123:payments:reconcile:", "cs:fn:t_abc123:payments:reconcile:met",
        "cs:fn:t_abc123:payments:reconcile:ver:0:meta",
        "cs:fn:t_abc123:payments:reconcile:ver:1:other",
        "cs:fn:t_abc123:payments:reconcile:alias:9", "cs:fn:T_abc123:payments:reconcile:meta",
        "cs:act:t_abc123:payments:reconcile:meta"}) {
    EXPECT_EQ(ParseFunctionKey(key), std::nullopt) << key;
  }
}

}  // namespace
}  // namespace cairn::functions
