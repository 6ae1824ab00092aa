// What can be done with functions, drafts, versions and aliases: the rules of the storage schema.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "doors/access/name_patterns.h"
#include "functions/model/digest.h"
#include "functions/testing/control_fixture.h"
#include "tests/support/test_store.h"

namespace cairn::functions {
namespace {

using testing::ControlTest;
using testing::kFunction;
using testing::SmallFiles;

template <typename T>
Code CodeOf(const Result<T>& result) {
  EXPECT_FALSE(result.ok());
  return result.ok() ? Code::kInternal : CodeRowOf(result.error()).code;
}

const Ref kProd{"reconcile", "prod", std::nullopt};

// --- Functions ----------------------------------------------------------------------------------

TEST_F(ControlTest, AFunctionIsStoredUnderItsKey) {
  const Function function = *Create();
  EXPECT_EQ(Stored("cs:fn:t_abc123:payments:reconcile:meta"), Encode(function));
  EXPECT_EQ(function.created_at_ms, clock_.Now().millis());
  EXPECT_EQ(Stored("cs:fn:t_abc123:payments:reconcile:version_seq"), "(nil)");
}

TEST_F(ControlTest, ANameIsTakenUntilItsFunctionIsPurged) {
  ASSERT_TRUE(Create().ok());
  EXPECT_EQ(CodeOf(Create()), Code::kConflict);
  const auto purge = [&](Context& context) { return PurgeFunction(context, kFunction); };
  EXPECT_EQ(CodeOf(Do(purge)), Code::kConflict);
  PublishFiles(kFunction, "prod");
  ASSERT_TRUE(Upload(NewDraft()).ok());
  ASSERT_TRUE(Do([&](Context& context) { return DeleteFunction(context, kFunction); }).ok());
  EXPECT_EQ(CodeOf(Create()), Code::kConflict);
  ASSERT_TRUE(Do(purge).ok());
  EXPECT_EQ(CodeOf(Do(purge)), Code::kNotFound);
  const auto left = Do([&](Context& context) { return KeysBehind(context.transaction, "cs:"); });
  EXPECT_EQ(left->size(), 0U);
  ASSERT_TRUE(Create().ok());
  EXPECT_EQ(PublishFiles(), 1U);
}

TEST_F(ControlTest, ADeletedFunctionCannotBeUsedButKeepsItsVersions) {
  ASSERT_TRUE(Create().ok());
  const std::string draft = NewDraft();
  ASSERT_TRUE(Upload(draft).ok());
  PublishFiles(kFunction, "prod");
  clock_.AdvanceMillis(5);
  const auto remove = [&](Context& context) { return DeleteFunction(context, kFunction); };
  const Function deleted = *Do(remove);
  EXPECT_EQ(deleted.deleted_at_ms, clock_.Now().millis());
  clock_.AdvanceMillis(5);
  EXPECT_EQ(*Do(remove), deleted);
  EXPECT_EQ(CodeOf(Upload(NewDraft())), Code::kNotFound);
  EXPECT_EQ(CodeOf(PublishDraft(draft)), Code::kNotFound);
  EXPECT_EQ(CodeOf(Set("prod", {1, {}})), Code::kNotFound);
  EXPECT_EQ(CodeOf(Resolve(kProd)), Code::kNotFound);
  const auto describe = [&](Deleted shown) {
    return Do([&](Context& context) { return DescribeFunction(context, kFunction, shown); });
  };
  EXPECT_EQ(CodeOf(describe(Deleted::kHidden)), Code::kNotFound);
  EXPECT_EQ(describe(Deleted::kShown)->latest->version, 1U);
}

TEST_F(ControlTest, WithoutAFunctionThereIsNothingToPublish) {
  EXPECT_EQ(CodeOf(Upload(NewDraft())), Code::kNotFound);
  EXPECT_EQ(CodeOf(PublishDraft(NewDraft())), Code::kNotFound);
  EXPECT_EQ(CodeOf(Set("prod", {1, {}})), Code::kNotFound);
  EXPECT_EQ(CodeOf(Resolve(kProd)), Code::kNotFound);
}

TEST_F(ControlTest, ADisabledFunctionIsNotResolved) {
  ASSERT_TRUE(Create().ok());
  PublishFiles(kFunction, "prod");
  const auto enable = [&](bool on) {
    return Do([&](Context& context) { return SetEnabled(context, kFunction, on); });
  };
  ASSERT_TRUE(enable(false).ok());
  EXPECT_EQ(CodeOf(Resolve(kProd)), Code::kDisabled);
  ASSERT_TRUE(enable(true).ok());
  EXPECT_TRUE(Resolve(kProd).ok());
}

TEST_F(ControlTest, FunctionsAreListedByNameAPageAtATime) {
  for (const char* name : {"charlie", "alpha", "bravo", "delta"}) {
    ASSERT_TRUE(Create({"t_abc123", "payments", name}).ok());
  }
  ASSERT_TRUE(Create({"t_abc123", "payments2", "other"}).ok());
  const FunctionName bravo{"t_abc123", "payments", "bravo"};
  ASSERT_TRUE(Do([&](Context& context) { return DeleteFunction(context, bravo); }).ok());
  const auto list = [&](const Page& page, Deleted deleted) {
    const FunctionPage listed = *Do(
        [&](Context& context) { return ListFunctions(context, kFunction.in(), page, deleted); });
    std::string names;
    for (const Function& function : listed.functions) names += function.name + " ";
    return names + "| " + listed.cursor;
  };
  EXPECT_EQ(list({}, Deleted::kHidden), "alpha charlie delta | ");
  EXPECT_EQ(list({}, Deleted::kShown), "alpha bravo charlie delta | ");
  EXPECT_EQ(list({.limit = 1}, Deleted::kHidden), "alpha | alpha");
  EXPECT_EQ(list({.after = "alpha", .limit = 1}, Deleted::kHidden), "charlie | charlie");
  EXPECT_EQ(list({.after = "charlie", .limit = 1}, Deleted::kHidden), "delta | ");
  EXPECT_EQ(list({.after = "delta"}, Deleted::kHidden), "| ");
}

TEST_F(ControlTest, GrantsHideFunctionsAndRefuseThem) {
  ASSERT_TRUE(Create().ok());
  ASSERT_TRUE(Create({"t_abc123", "payments", "another"}).ok());
  const auto names = *doors::NamePatterns::Parse("t_abc123/payments/recon*");
  const auto limited = [&](auto operation) {
    return Do([&](Context& context) {
      context.names = &names;
      return operation(context);
    });
  };
  const auto listed = limited([&](Context& context) {
    return ListFunctions(context, kFunction.in(), {.limit = 1}, Deleted::kHidden);
  });
  ASSERT_EQ(listed->functions.size(), 1U);
  EXPECT_EQ(listed->functions[0].name, "reconcile");
  EXPECT_EQ(CodeOf(limited([&](Context& context) {
              return DeleteFunction(context, {"t_abc123", "payments", "another"});
            })),
            Code::kResourceMismatch);
  EXPECT_EQ(CodeOf(limited([&](Context& context) {
              return CreateFunction(context, {.name = {"t_xyz789", "payments", "reconcile"}});
            })),
            Code::kResourceMismatch);
}

TEST_F(ControlTest, FailuresGoToNoTopicThatThePublisherMayNotUse) {
  ASSERT_TRUE(Create().ok());
  const auto topics = *doors::NamePatterns::Parse("failed.*");
  const Package package = *MakePackage(SmallFiles());
  const auto publish = [&](std::string topic) {
    PublishRequest request{.package = package};
    request.config.on_failure = std::move(topic);
    return Do([&](Context& context) {
      context.topics = &topics;
      return Publish(context, kFunction, request);
    });
  };
  EXPECT_EQ(CodeOf(publish("orders")), Code::kResourceMismatch);
  EXPECT_EQ(Stored(VersionSeqKey(kFunction)), "(nil)");
  EXPECT_TRUE(publish("failed.orders").ok());
  EXPECT_TRUE(publish("").ok());
}

TEST_F(ControlTest, NamesThatAreNoneNeverReachAKey) {
  for (const FunctionName& wrong :
       {FunctionName{"abc123", "payments", "reconcile"}, FunctionName{"t_abc123", "p:x", "abc"},
        FunctionName{"t_abc123", "payments", "abc:ver:1"}}) {
    EXPECT_EQ(CodeOf(Create(wrong)), Code::kNameInvalid);
  }
}

// --- Drafts -------------------------------------------------------------------------------------

TEST_F(ControlTest, ADraftIsStoredWithItsDigestAndExpires) {
  ASSERT_TRUE(Create().ok());
  const std::string id = NewDraft();
  const UploadedDraft uploaded = *Upload(id);
  EXPECT_EQ(uploaded.sha256, Sha256Hex(*WriteBundle(SmallFiles())));
  EXPECT_EQ(uploaded.expires_at_ms, clock_.Now().millis() + kDraftTtlMs);
  const std::string key = "cs:fn:t_abc123:payments:reconcile:draft:" + id;
  EXPECT_EQ(DecodeDraft(Stored(key))->files, SmallFiles());
  clock_.AdvanceMillis(kDraftTtlMs - 1);
  EXPECT_NE(Stored(key), "(nil)");
  clock_.AdvanceMillis(1);
  EXPECT_EQ(Stored(key), "(nil)");
}

TEST_F(ControlTest, AnExpiredDraftIsGoneAndAnUnknownOneWasNeverThere) {
  ASSERT_TRUE(Create().ok());
  const std::string id = NewDraft();
  ASSERT_TRUE(Upload(id).ok());
  EXPECT_EQ(CodeOf(PublishDraft(NewDraft())), Code::kNotFound);
  clock_.AdvanceMillis(kDraftTtlMs);
  const Result<Published> published = PublishDraft(id);
  EXPECT_EQ(CodeOf(published), Code::kGone);
  EXPECT_EQ(
      RefusalText(published.error()),
      "the draft " + id + " has expired: drafts are kept for 24 hours; upload the files again");
  EXPECT_EQ(CodeOf(PublishDraft("drf_1")), Code::kNameInvalid);
}

TEST_F(ControlTest, ADraftIsPublishedOnce) {
  ASSERT_TRUE(Create().ok());
  const std::string id = NewDraft();
  ASSERT_TRUE(Upload(id).ok());
  EXPECT_EQ(PublishDraft(id)->version, 1U);
  EXPECT_EQ(CodeOf(PublishDraft(id)), Code::kConflict);
  // It goes when it would have gone anyway.
  const Draft draft = *DecodeDraft(Stored(DraftKey(kFunction, id)));
  EXPECT_TRUE(draft.consumed);
  EXPECT_TRUE(draft.files.empty());
  clock_.AdvanceMillis(kDraftTtlMs);
  EXPECT_EQ(Stored(DraftKey(kFunction, id)), "(nil)");
}

TEST_F(ControlTest, ADraftThatWasChangedIsNotPublished) {
  ASSERT_TRUE(Create().ok());
  const std::string id = NewDraft();
  ASSERT_TRUE(Upload(id).ok());
  Draft draft = *DecodeDraft(Stored(DraftKey(kFunction, id)));
  draft.files["function.js"] += "// changed";
  ASSERT_TRUE(Do([&](Context& context) {
                return WriteString(context.transaction, DraftKey(kFunction, id), Encode(draft),
                                   draft.expires_at_ms);
              }).ok());
  EXPECT_EQ(CodeOf(PublishDraft(id)), Code::kStoreReadFailed);
  EXPECT_EQ(Stored(VersionSeqKey(kFunction)), "(nil)");
}

TEST_F(ControlTest, DraftsAreLimited) {
  ASSERT_TRUE(Create().ok());
  for (size_t i = 0; i < kMaxDrafts; ++i) ASSERT_TRUE(Upload(NewDraft()).ok());
  EXPECT_EQ(CodeOf(Upload(NewDraft())), Code::kTooLarge);
  clock_.AdvanceMillis(kDraftTtlMs);
  EXPECT_TRUE(Upload(NewDraft()).ok());
}

// --- Versions -----------------------------------------------------------------------------------

TEST_F(ControlTest, APublishWritesAllItsRecordsTogether) {
  ASSERT_TRUE(Create().ok());
  const std::string id = NewDraft();
  ASSERT_TRUE(Upload(id).ok());
  const Published published = *PublishDraft(id, "prod");
  EXPECT_EQ(published.version, 1U);
  EXPECT_EQ(Stored("cs:fn:t_abc123:payments:reconcile:version_seq"), "1");
  const VersionMeta meta =
      *DecodeVersionMeta(Stored("cs:fn:t_abc123:payments:reconcile:ver:1:meta"));
  EXPECT_EQ(meta.sha256, published.sha256);
  EXPECT_EQ(meta.config.timeout_ms, 3000);
  EXPECT_EQ(Sha256Hex(Stored("cs:fn:t_abc123:payments:reconcile:ver:1:bundle")), meta.sha256);
  EXPECT_EQ(DecodeAlias(Stored("cs:fn:t_abc123:payments:reconcile:alias:prod"))->target.version,
            1U);
}

TEST_F(ControlTest, APublishThatFailsLeavesNothing) {
  ASSERT_TRUE(Create().ok());
  const std::string id = NewDraft();
  ASSERT_TRUE(Upload(id).ok());
  EXPECT_EQ(CodeOf(PublishDraft(id, "NOT AN ALIAS")), Code::kNameInvalid);
  EXPECT_EQ(Stored(VersionSeqKey(kFunction)), "(nil)");
  EXPECT_EQ(Stored(VersionKey(kFunction, 1)), "(nil)");
  EXPECT_EQ(Stored(BundleKey(kFunction, 1)), "(nil)");
  EXPECT_EQ(PublishDraft(id)->version, 1U);
}

TEST_F(ControlTest, AFailureAfterAllWritesLeavesNothing) {
  ASSERT_TRUE(Create().ok());
  const Package package = *MakePackage(SmallFiles());
  const auto failing = [&](Context& context) -> Result<Published> {
    CAIRN_ASSIGN_OR_RETURN(const Published published,
                           Publish(context, kFunction, {.package = package, .alias = "prod"}));
    EXPECT_EQ(published.version, 1U);
    return Error{ErrorCode::kInternal, "the body fails at its end"};
  };
  EXPECT_FALSE(Do(failing).ok());
  EXPECT_EQ(Stored(VersionSeqKey(kFunction)), "(nil)");
  EXPECT_EQ(Stored(AliasKey(kFunction, "prod")), "(nil)");
}

TEST_F(ControlTest, CodeIsStoredWithTheVersionThatItIsOf) {
  ASSERT_TRUE(Create().ok());
  const Package package = *MakePackage(SmallFiles());
  const auto code_of = [&](std::string sha256, std::string code) {
    return std::make_shared<const CompiledCode>(
        CompiledCode{.sha256 = std::move(sha256), .code = std::move(code)});
  };
  const auto publish = [&](SharedCode code) {
    return Do([&](Context& context) {
      return Publish(context, kFunction, {.package = package, .compiled = code});
    });
  };
  const std::string key = CodeKey(kFunction, package.sha256);
  EXPECT_EQ(CodeOf(publish(code_of(std::string(64, '0'), "code"))), Code::kConflict);
  EXPECT_EQ(Stored(VersionSeqKey(kFunction)), "(nil)");
  // What is too long, or could not be made, is left out.
  ASSERT_TRUE(publish(code_of(package.sha256, std::string(kMaxCodeBytes + 1, 'x'))).ok());
  ASSERT_TRUE(publish(code_of(package.sha256, "")).ok());
  EXPECT_EQ(Stored(key), "(nil)");
  ASSERT_TRUE(publish(code_of(package.sha256, "code")).ok());
  EXPECT_EQ(Stored(key), "code");

  const auto store = [&](uint64_t version, const std::string& sha256) {
    return Do([&](Context& context) {
      return StoreCode(context, kFunction, version, {.sha256 = sha256, .code = "new"});
    });
  };
  ASSERT_TRUE(store(9, package.sha256).ok());
  ASSERT_TRUE(store(1, std::string(64, '0')).ok());
  EXPECT_EQ(Stored(key), "code");
  ASSERT_TRUE(store(1, package.sha256).ok());
  EXPECT_EQ(Stored(key), "new");
  EXPECT_EQ(Stored(CodeKey(kFunction, std::string(64, '0'))), "(nil)");
  ASSERT_TRUE(Do([](Context& context) { return DeleteFunction(context, kFunction); }).ok());
  ASSERT_TRUE(Do([](Context& context) { return PurgeFunction(context, kFunction); }).ok());
  EXPECT_EQ(Stored(key), "(nil)");
}

TEST_F(ControlTest, ConcurrentPublishesGetDistinctVersionsWithoutHoles) {
  ASSERT_TRUE(Create().ok());
  const Package package = *MakePackage(SmallFiles());
  constexpr int kThreads = 4;
  constexpr int kEach = 8;
  std::vector<std::vector<uint64_t>> got(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      store::Scopes scopes;
      AddDraftScopes(kFunction, "", scopes);
      AddAliasScopes(kFunction, "prod", scopes);
      for (int n = 0; n < kEach; ++n) {
        uint64_t version = 0;
        const auto body = [&](store::Transaction& transaction) -> Result<void> {
          Context context{transaction};
          CAIRN_ASSIGN_OR_RETURN(
              const Published published,
              Publish(context, kFunction, {.package = package, .alias = "prod"}));
          version = published.version;
          return {};
        };
        const auto done = store_->Run(scopes, body);
        EXPECT_TRUE(done.ok()) << done.error().message;
        got[static_cast<size_t>(i)].push_back(version);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> all;
  for (const auto& versions : got) all.insert(versions.begin(), versions.end());
  EXPECT_EQ(all.size(), static_cast<size_t>(kThreads * kEach));
  EXPECT_EQ(*all.begin(), 1U);
  EXPECT_EQ(*all.rbegin(), static_cast<uint64_t>(kThreads * kEach));
  EXPECT_EQ(Resolve(kProd)->version.version, *all.rbegin());
}

TEST_F(ControlTest, WhatThePublishOverridesIsInForce) {
  ASSERT_TRUE(Create().ok());
  ConfigOverrides config;
  config.timeout_ms = 50;
  config.allow_hosts = {"api.example.com"};
  PublishFiles(kFunction, "", config);
  const Resolved resolved = *Resolve({"reconcile", "", 1});
  EXPECT_EQ(resolved.version.config.timeout_ms, 50);
  EXPECT_EQ(resolved.version.config.memory_mb, 64);
  EXPECT_EQ(resolved.version.config.capabilities.allow_hosts,
            std::vector<std::string>{"api.example.com"});
}

TEST_F(ControlTest, TheEnvironmentIsStoredEncrypted) {
  ASSERT_TRUE(Create().ok());
  ConfigOverrides config;
  config.env = {{"TOKEN", "correct-horse"}};
  config.secrets = {"TOKEN"};
  PublishFiles(kFunction, "", config);
  const std::vector<std::string> keys =
      *Do([](Context& context) { return KeysBehind(context.transaction, kFunctionsPrefix); });
  for (const std::string& key : keys) {
    if (key.ends_with(":index")) continue;
    EXPECT_EQ(Stored(std::string(kFunctionsPrefix) + key).find("correct-horse"), std::string::npos);
  }
  const auto env = Do([&](Context& context) -> Result<EnvMap> {
    CAIRN_ASSIGN_OR_RETURN(const VersionMeta meta,
                           LoadVersionMeta(context.transaction, kFunction, 1));
    return LoadEnv(context.transaction, kFunction, meta, secrets_);
  });
  EXPECT_EQ(*env, config.env);
}

TEST_F(ControlTest, AnEnvironmentNeedsAKey) {
  ASSERT_TRUE(Create().ok());
  secrets_ = SecretKeys();
  const Package package = *MakePackage(SmallFiles());
  ConfigOverrides config;
  config.env = {{"A", "b"}};
  EXPECT_EQ(CodeOf(Do([&](Context& context) {
              return Publish(context, kFunction, {.package = package, .config = config});
            })),
            Code::kSecretsUnavailable);
  EXPECT_EQ(Stored(VersionSeqKey(kFunction)), "(nil)");
}

TEST_F(ControlTest, VersionsAreListedTheNewestFirst) {
  ASSERT_TRUE(Create().ok());
  for (int i = 0; i < 5; ++i) PublishFiles();
  const auto list = [&](uint64_t before, size_t limit) {
    const VersionPage page =
        *Do([&](Context& context) { return ListVersions(context, kFunction, before, limit); });
    std::string numbers;
    for (const VersionMeta& meta : page.versions) numbers += fmt::format("{} ", meta.version);
    return numbers + fmt::format("| {}", page.cursor);
  };
  EXPECT_EQ(list(0, 10), "5 4 3 2 1 | 0");
  EXPECT_EQ(list(0, 2), "5 4 | 4");
  EXPECT_EQ(list(4, 2), "3 2 | 2");
  EXPECT_EQ(list(2, 2), "1 | 0");
  EXPECT_EQ(list(1, 2), "| 0");
  EXPECT_EQ(CodeOf(Do([&](Context& context) { return GetVersion(context, kFunction, 6); })),
            Code::kNotFound);
}

TEST_F(ControlTest, ALoadedBundleIsTheOneThatWasPublished) {
  ASSERT_TRUE(Create().ok());
  PublishFiles();
  const auto load = [&](Context& context) {
    return LoadVersion(context.transaction, kFunction, 1);
  };
  EXPECT_EQ(Do(load)->bundle, *WriteBundle(SmallFiles()));
  const auto write = [&](BytesView bytes) {
    return Do([&](Context& context) {
      return WriteString(context.transaction, BundleKey(kFunction, 1), bytes);
    });
  };
  ASSERT_TRUE(write("something else").ok());
  EXPECT_EQ(CodeOf(Do(load)), Code::kStoreReadFailed);
  EXPECT_EQ(Verify().problems().size(), 1U);
  ASSERT_TRUE(write(*WriteBundle(SmallFiles())).ok());
}

TEST_F(ControlTest, WhatIsPublishedSurvivesARestart) {
  ASSERT_TRUE(Create().ok());
  PublishFiles(kFunction, "prod");
  Restart();
  EXPECT_EQ(Resolve(kProd)->version.version, 1U);
  EXPECT_EQ(PublishFiles(), 2U);
}

// --- Aliases ------------------------------------------------------------------------------------

class AliasTest : public ControlTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Create().ok());
    for (int i = 0; i < 3; ++i) PublishFiles();
  }

  Result<Alias> RollBack(const std::string& alias = "prod") {
    return Do([&](Context& context) { return RollBackAlias(context, kFunction, alias); });
  }
  Result<Alias> Get() {
    return Do([&](Context& context) { return GetAlias(context, kFunction, "prod"); });
  }
  Result<Alias> StartIt(double max_error_rate, int64_t percent = 40) {
    return Do([&](Context& context) {
      return StartShift(context, kFunction,
                        {.alias = "prod",
                         .id = fmt::format("shift-{}", ++shifts_started_),
                         .to = 2,
                         .step_percent = percent,
                         .interval_seconds = 60,
                         .max_error_rate = max_error_rate});
    });
  }
  void Record(int count, bool failed) {
    const std::string shift = fmt::format("shift-{}", shifts_started_);
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(Do([&](Context& context) {
                    return RecordOutcome(
                        context.transaction,
                        {.function = kFunction, .alias = "prod", .shift = shift, .failed = failed});
                  }).ok());
    }
  }
  void NextStep() {
    clock_.AdvanceMillis(60 * kSecondMs);
    FireTimers();
  }
  // "1", or "1+40% 2".
  std::string TargetText() {
    const Target target = Get()->target;
    if (!target.second) return fmt::to_string(target.version);
    return fmt::format("{}+{}% {}", target.version, target.second->weight, target.second->version);
  }

  int shifts_started_ = 0;
};

TEST_F(AliasTest, AnAliasPointsToVersionsThatAreThere) {
  EXPECT_EQ(CodeOf(Set("prod", {4, {}})), Code::kNotFound);
  EXPECT_EQ(CodeOf(Set("prod", {1, Target::Weighted{4, 10}})), Code::kNotFound);
  EXPECT_EQ(CodeOf(Set("prod", {1, Target::Weighted{1, 10}})), Code::kValidation);
  EXPECT_EQ(CodeOf(Set("prod", {1, Target::Weighted{2, 100}})), Code::kValidation);
  EXPECT_EQ(CodeOf(Set("17", {1, {}})), Code::kNameInvalid);
  EXPECT_EQ(CodeOf(Resolve(kProd)), Code::kNotFound);
  ASSERT_TRUE(Set("prod", {1, {}}).ok());
  EXPECT_EQ(
      Stored("cs:fn:t_abc123:payments:reconcile:alias:prod"),
      fmt::format(R"({{"alias":"prod","version":1,"updated_at_ms":{}}})", clock_.Now().millis()));
}

TEST_F(AliasTest, AVersionWinsOverAnAlias) {
  ASSERT_TRUE(Set("prod", {1, {}}).ok());
  EXPECT_EQ(Resolve({"reconcile", "prod", 3})->version.version, 3U);
  EXPECT_EQ(CodeOf(Resolve({"reconcile", "", 9})), Code::kNotFound);
}

TEST_F(AliasTest, WeightsDecideByTheDraw) {
  ASSERT_TRUE(Set("prod", {1, Target::Weighted{2, 10}}).ok());
  int second = 0;
  for (uint64_t draw = 0; draw < 100; ++draw) {
    const Resolved resolved = *Resolve(kProd, draw);
    second += resolved.version.version == 2 ? 1 : 0;
    EXPECT_TRUE(resolved.shift.empty());
  }
  EXPECT_EQ(second, 10);
}

TEST_F(AliasTest, RollbackGoesBackThroughTheHistory) {
  ASSERT_TRUE(Set("prod", {1, {}}).ok());
  EXPECT_EQ(CodeOf(RollBack()), Code::kConflict);
  ASSERT_TRUE(Set("prod", {2, Target::Weighted{1, 50}}).ok());
  ASSERT_TRUE(Set("prod", {3, {}}).ok());
  ASSERT_TRUE(Set("prod", {3, {}}).ok());
  ASSERT_TRUE(RollBack().ok());
  EXPECT_EQ(TargetText(), "2+50% 1");
  ASSERT_TRUE(RollBack().ok());
  EXPECT_EQ(TargetText(), "1");
  EXPECT_EQ(CodeOf(RollBack()), Code::kConflict);
  EXPECT_EQ(CodeOf(RollBack("other")), Code::kNotFound);
}

TEST_F(AliasTest, TheHistoryIsShort) {
  for (size_t i = 0; i < kAliasHistory + 5; ++i) ASSERT_TRUE(Set("prod", {i % 3 + 1, {}}).ok());
  EXPECT_EQ(Get()->history.size(), kAliasHistory);
}

TEST_F(AliasTest, MinWarmStaysUntilItIsGivenAgain) {
  const auto set = [&](std::optional<int64_t> warm) {
    return Do([&](Context& context) {
      return SetAlias(context, kFunction,
                      {.alias = "prod", .target = {.version = 1}, .min_warm = warm});
    });
  };
  ASSERT_TRUE(set(2).ok());
  EXPECT_EQ(set(std::nullopt)->min_warm, 2);
  EXPECT_EQ(Resolve(kProd)->min_warm, 2);
  EXPECT_EQ(set(0)->min_warm, 0);
  EXPECT_EQ(CodeOf(set(kMaxWarm + 1)), Code::kValidation);
}

TEST_F(AliasTest, AliasesAreListedDeletedAndLimited) {
  for (size_t i = 0; i < kMaxAliases; ++i) ASSERT_TRUE(Set(fmt::format("a{}", i), {1, {}}).ok());
  EXPECT_EQ(CodeOf(Set("one-more", {1, {}})), Code::kTooLarge);
  EXPECT_TRUE(Set("a0", {2, {}}).ok());
  const auto remove = [&](Context& context) { return DeleteAlias(context, kFunction, "a0"); };
  ASSERT_TRUE(Do(remove).ok());
  EXPECT_EQ(CodeOf(Do(remove)), Code::kNotFound);
  EXPECT_EQ(Do([](Context& context) { return ListAliases(context, kFunction); })->size(),
            kMaxAliases - 1);
}

TEST_F(AliasTest, AShiftMovesStepByStep) {
  ASSERT_TRUE(Set("prod", {1, {}}).ok());
  ASSERT_TRUE(StartIt(0.1).ok());
  EXPECT_EQ(TargetText(), "1+40% 2");
  EXPECT_EQ(Resolve(kProd, 39)->shift, "shift-1");
  EXPECT_EQ(Resolve(kProd, 40)->shift, "");
  Record(20, false);
  ExpectSound();
  NextStep();
  EXPECT_EQ(TargetText(), "1+80% 2");
  FireTimers();
  EXPECT_EQ(TargetText(), "1+80% 2");
  NextStep();
  EXPECT_EQ(TargetText(), "2");
  EXPECT_EQ(Get()->last_shift->state, "completed");
  EXPECT_EQ(Stored(ShiftKey(kFunction, "prod")), "(nil)");
  ASSERT_TRUE(RollBack().ok());
  EXPECT_EQ(TargetText(), "1");
}

TEST_F(AliasTest, TooManyErrorsUndoAShiftAtOnce) {
  ASSERT_TRUE(Set("prod", {1, {}}).ok());
  ASSERT_TRUE(StartIt(0.2).ok());
  Record(8, false);
  Record(2, true);
  EXPECT_EQ(TargetText(), "1+40% 2");
  Record(1, true);
  EXPECT_EQ(TargetText(), "1");
  EXPECT_EQ(Get()->last_shift->state, "rolled_back");
  EXPECT_EQ(Get()->last_shift->reason,
            "3 of 11 invocations of version 2 failed, which is more than 0.2 of them");
  // Later outcomes, and its timer, do nothing.
  Record(5, true);
  NextStep();
  EXPECT_EQ(TargetText(), "1");
  EXPECT_EQ(CodeOf(RollBack()), Code::kConflict);
}

TEST_F(AliasTest, AFewErrorsUndoAShiftAtTheEndOfItsStep) {
  ASSERT_TRUE(Set("prod", {1, {}}).ok());
  ASSERT_TRUE(StartIt(0.2).ok());
  Record(1, true);
  EXPECT_EQ(TargetText(), "1+40% 2");
  NextStep();
  EXPECT_EQ(TargetText(), "1");
}

TEST_F(AliasTest, EachStepCountsItsOwnOutcomes) {
  ASSERT_TRUE(Set("prod", {1, {}}).ok());
  ASSERT_TRUE(StartIt(0.5).ok());
  Record(9, false);
  Record(4, true);
  NextStep();
  EXPECT_EQ(DecodeShiftOutcomes(Stored(ShiftKey(kFunction, "prod")))->total, 0);
  Record(9, true);
  EXPECT_EQ(TargetText(), "1+80% 2");
  Record(1, true);
  EXPECT_EQ(TargetText(), "1");
}

TEST_F(AliasTest, AShiftNeedsAnAliasThatPointsElsewhere) {
  EXPECT_EQ(CodeOf(StartIt(0.1)), Code::kNotFound);
  ASSERT_TRUE(Set("prod", {2, {}}).ok());
  EXPECT_EQ(CodeOf(StartIt(0.1)), Code::kConflict);
  ASSERT_TRUE(Set("prod", {1, Target::Weighted{3, 10}}).ok());
  EXPECT_EQ(CodeOf(StartIt(0.1)), Code::kConflict);
  ASSERT_TRUE(Set("prod", {1, {}}).ok());
  EXPECT_EQ(CodeOf(StartIt(1.5)), Code::kValidation);
  EXPECT_EQ(CodeOf(StartIt(0.1, 100)), Code::kValidation);
  ASSERT_TRUE(StartIt(0.1).ok());
  EXPECT_EQ(CodeOf(StartIt(0.1)), Code::kConflict);
}

TEST_F(AliasTest, WhoeverMovesTheAliasEndsItsShift) {
  ASSERT_TRUE(Set("prod", {1, {}}).ok());
  ASSERT_TRUE(StartIt(0.1).ok());
  ASSERT_TRUE(RollBack().ok());
  EXPECT_EQ(TargetText(), "1");
  EXPECT_EQ(Get()->last_shift->state, "cancelled");
  ASSERT_TRUE(StartIt(0.1).ok());
  ASSERT_TRUE(Set("prod", {3, {}}).ok());
  NextStep();
  EXPECT_EQ(TargetText(), "3");
  ASSERT_TRUE(RollBack().ok());
  EXPECT_EQ(TargetText(), "1");
  ASSERT_TRUE(StartIt(0.1).ok());
  ASSERT_TRUE(Do([](Context& context) { return DeleteAlias(context, kFunction, "prod"); }).ok());
  NextStep();
  EXPECT_EQ(CodeOf(Get()), Code::kNotFound);
}

TEST_F(AliasTest, AShiftGoesOnAfterARestart) {
  ASSERT_TRUE(Set("prod", {1, {}}).ok());
  ASSERT_TRUE(StartIt(0.1).ok());
  Restart();
  NextStep();
  EXPECT_EQ(TargetText(), "1+80% 2");
}

TEST_F(AliasTest, PurgingAFunctionEndsItsShifts) {
  ASSERT_TRUE(Set("prod", {1, {}}).ok());
  ASSERT_TRUE(StartIt(0.1).ok());
  ASSERT_TRUE(Do([](Context& context) { return DeleteFunction(context, kFunction); }).ok());
  ASSERT_TRUE(Do([](Context& context) { return PurgeFunction(context, kFunction); }).ok());
  for (const auto& [key, payload] : ScanAll(store::Range::All(store::Space::kTimers))) {
    EXPECT_NE(store::DecodeTimerKey(key)->kind, kTimerShift);
  }
  NextStep();
  EXPECT_EQ(Stored(AliasKey(kFunction, "prod")), "(nil)");
}

// --- The check ----------------------------------------------------------------------------------

TEST_F(AliasTest, TheCheckFindsWhatDoesNotAgree) {
  ASSERT_TRUE(Set("prod", {3, {}}).ok());
  const auto problem = [&](const std::string& key, std::string_view value) {
    const std::string before = Stored(key);
    const auto write = [&](std::string_view text) {
      return Do([&](Context& context) -> Result<void> {
        if (text != "(nil)") return WriteString(context.transaction, key, text);
        CAIRN_RETURN_IF_ERROR(RemoveKey(context.transaction, key));
        return {};
      });
    };
    EXPECT_TRUE(write(value).ok());
    const house::Verification found = Verify();
    EXPECT_TRUE(write(before).ok());
    ExpectSound();
    return found.sound() ? std::string() : found.problems().front();
  };
  const std::string name = "the function t_abc123/payments/reconcile ";
  EXPECT_EQ(problem(VersionKey(kFunction, 2), "(nil)"), name + "lacks version 2");
  EXPECT_EQ(problem(BundleKey(kFunction, 2), "(nil)"), name + "lacks version 2");
  EXPECT_EQ(problem(VersionSeqKey(kFunction), "2"),
            name + "has something of version 3, but version_seq is 2");
  EXPECT_EQ(
      problem(AliasKey(kFunction, "other"), R"({"alias":"other","version":9,"updated_at_ms":1})"),
      name + "has the alias other, which points to version 9; there is none");
  EXPECT_EQ(problem(CodeKey(kFunction, std::string(64, '0')), "x"),
            name + "has code of the bundle " + std::string(64, '0') + ", which no version has");
  EXPECT_EQ(problem(EnvKey(kFunction, 1), "x"),
            name + "has an environment for version 1, whose config says otherwise");
  EXPECT_EQ(problem(DraftKey(kFunction, NewDraft()), "x").substr(0, name.size() + 9),
            name + "has the d");
  EXPECT_EQ(problem(ShiftKey(kFunction, "prod"), "x"),
            name + "has outcomes of a shift of alias prod, which is not shifted");
  EXPECT_EQ(problem(FunctionPrefix(kFunction) + "more", "x"),
            name + "has a key that does not belong to it: cs:fn:t_abc123:payments:reconcile:more");
  EXPECT_EQ(problem("cs:fn:stray", "x"), "the key cs:fn:stray is none of a function");
  ASSERT_TRUE(Do([](Context& context) {
                return RemoveFromIndex(context.transaction, FunctionIndexKey(kFunction.in()),
                                       kFunction.name);
              }).ok());
  EXPECT_EQ(Verify().problems().front(), name + "is not in the index");
  ASSERT_TRUE(Do([](Context& context) -> Result<void> {
                CAIRN_RETURN_IF_ERROR(AddToIndex(context.transaction,
                                                 FunctionIndexKey(kFunction.in()), kFunction.name));
                return AddToIndex(context.transaction, FunctionIndexKey(kFunction.in()), "ghost");
              }).ok());
  EXPECT_EQ(Verify().problems().front(),
            "the index has t_abc123/payments/ghost, which is not a function");
  ASSERT_TRUE(Do([](Context& context) {
                return RemoveFromIndex(context.transaction, FunctionIndexKey(kFunction.in()),
                                       "ghost");
              }).ok());
}

}  // namespace
}  // namespace cairn::functions
