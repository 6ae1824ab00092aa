#include "functions/cadence/bindings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "functions/cadence/requests.h"
#include "functions/cadence/verify.h"
#include "functions/control/values.h"
#include "functions/model/errors.h"
#include "functions/model/limits.h"
#include "functions/testing/control_fixture.h"

namespace cairn::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kFunction;

// Bindings on a store of the test's own. Each test begins with a function that has one version,
// under the alias "prod", and ends with the check of bindings.
class BindingTest : public testing::ControlTest {
 protected:
  BindingTest() {
    EXPECT_TRUE(Create().ok());
    EXPECT_EQ(PublishFiles(kFunction, "prod"), 1U);
  }
  void TearDown() override {
    EXPECT_THAT(Problems(), ElementsAre());
    ControlTest::TearDown();
  }

  static BindingName Named(std::string_view name) { return {kFunction.in(), std::string(name)}; }
  static WorkerBinding Usual() {
    return {.domain = "payments",
            .tasklist = "payments-activities",
            .worker_id = "cs-payments-01",
            .activity_map = {{"SousInvokeActivity", {.function = "reconcile", .alias = "prod"}}},
            .pollers = 8};
  }
  Result<WorkerBinding> Make(std::string_view name, const WorkerBinding& binding = Usual()) {
    return Do([&](Context& context) { return CreateBinding(context, Named(name), binding); });
  }
  Result<WorkerBinding> Update(std::string_view name, const BindingUpdate& update) {
    return Do([&](Context& context) { return UpdateBinding(context, Named(name), update); });
  }
  Result<WorkerBinding> Look(std::string_view name) {
    return Do([&](Context& context) { return GetBinding(context, Named(name)); });
  }
  Result<void> Remove(std::string_view name) {
    return Do([&](Context& context) { return DeleteBinding(context, Named(name)); });
  }
  std::vector<std::string> EnabledNames() {
    const auto found = Do([&](Context& context) { return EnabledBindings(context.transaction); });
    EXPECT_TRUE(found.ok());
    std::vector<std::string> names;
    for (const WorkerBinding& binding : *found) names.push_back(binding.name);
    return names;
  }
  Result<void> Put(std::string_view key, std::string_view value) {
    return Do([&](Context& context) { return WriteString(context.transaction, key, value); });
  }
  std::vector<std::string> Problems() {
    house::Verification verification;
    EXPECT_TRUE(VerifyBindings(*store_, verification).ok());
    return verification.problems();
  }
};

std::string TextOf(const Error& error) { return std::string(RefusalText(error)); }

TEST_F(BindingTest, TheRecordIsThatOfTheSeed) {
  const auto made = Make("payments-activities");
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(Stored("cs:cadence:t_abc123:payments:worker:payments-activities:meta"),
            R"({"name":"payments-activities","domain":"payments","tasklist":"payments-activities",)"
            R"("worker_id":"cs-payments-01","activity_map":{"SousInvokeActivity":)"
            R"({"function":"reconcile","alias":"prod"}},"pollers":{"activity":8},)"
            R"("limits":{"max_inflight_tasks":256},"enabled":true,"tenant":"t_abc123",)"
            R"("namespace":"payments"})");
  const auto listed = Do([&](Context& context) {
    return NamesInSet(context.transaction, "cs:cadence:t_abc123:payments:workers:index");
  });
  EXPECT_THAT(*listed, ElementsAre("payments-activities"));
}

TEST_F(BindingTest, OneIsMadeChangedAndDeleted) {
  ASSERT_TRUE(Make("acts").ok());
  EXPECT_TRUE(IsRefusal(Make("acts").error(), Code::kConflict));
  const auto changed = Update("acts", {.tasklist = "other", .pollers = 2});
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  EXPECT_EQ(changed->tasklist, "other");
  EXPECT_EQ(changed->pollers, 2);
  EXPECT_EQ(changed->domain, "payments");
  EXPECT_EQ(*Look("acts"), *changed);
  ASSERT_TRUE(Update("acts", {.enabled = false}).ok());
  EXPECT_THAT(EnabledNames(), ElementsAre());
  ASSERT_TRUE(Update("acts", {.enabled = true}).ok());
  EXPECT_THAT(EnabledNames(), ElementsAre("acts"));
  ASSERT_TRUE(Remove("acts").ok());
  EXPECT_TRUE(IsRefusal(Remove("acts").error(), Code::kNotFound));
  EXPECT_TRUE(IsRefusal(Look("acts").error(), Code::kNotFound));
  EXPECT_TRUE(IsRefusal(Update("acts", {}).error(), Code::kNotFound));
  EXPECT_EQ(Stored("cs:cadence:t_abc123:payments:worker:acts:meta"), "(nil)");
}

TEST_F(BindingTest, WhatCannotWorkIsRefusedAndWritesNothing) {
  const auto refused = [&](auto change) {
    WorkerBinding binding = Usual();
    change(binding);
    const auto made = Make("acts", binding);
    EXPECT_FALSE(made.ok());
    return made.ok() ? "" : TextOf(made.error());
  };
  EXPECT_THAT(refused([](auto& b) { b.domain = ""; }), HasSubstr("domain must have 1 to 128"));
  EXPECT_THAT(refused([](auto& b) { b.tasklist = std::string(129, 'x'); }),
              HasSubstr("tasklist must have"));
  EXPECT_THAT(refused([](auto& b) { b.worker_id = ""; }), HasSubstr("worker_id must have"));
  EXPECT_THAT(refused([](auto& b) { b.pollers = 257; }), HasSubstr("pollers.activity must be"));
  EXPECT_THAT(refused([](auto& b) { b.pollers = 0; }), HasSubstr("pollers.activity must be"));
  EXPECT_THAT(refused([](auto& b) { b.max_inflight_tasks = 100'001; }),
              HasSubstr("limits.max_inflight_tasks must be"));
  EXPECT_THAT(refused([](auto& b) { b.activity_map.clear(); }),
              HasSubstr("activity_map must have 1 to 256"));
  EXPECT_THAT(refused([](auto& b) { b.activity_map.push_back(b.activity_map[0]); }),
              HasSubstr("names \"SousInvokeActivity\" twice"));
  EXPECT_THAT(refused([](auto& b) { b.activity_map[0].first = ""; }),
              HasSubstr("an activity's name must have"));
  EXPECT_THAT(refused([](auto& b) { b.activity_map[0].second.function = "nobody"; }),
              HasSubstr("there is no function \"nobody\""));
  EXPECT_THAT(refused([](auto& b) { b.activity_map[0].second.alias = "nosuch"; }),
              HasSubstr("nosuch"));
  EXPECT_THAT(refused([](auto& b) {
                b.activity_map[0].second.alias = "";
                b.activity_map[0].second.version = 99;
              }),
              HasSubstr("99"));
  EXPECT_THAT(refused([](auto& b) { b.activity_map[0].second.alias = ""; }),
              HasSubstr("alias or version must be there"));
  EXPECT_TRUE(IsRefusal(Make("x").error(), Code::kNameInvalid));
  EXPECT_TRUE(IsRefusal(Make("a:b:c").error(), Code::kNameInvalid));
  EXPECT_EQ(Stored("cs:cadence:t_abc123:payments:worker:acts:meta"), "(nil)");
  EXPECT_THAT(EnabledNames(), ElementsAre());
}

TEST_F(BindingTest, TheyAreListedInPages) {
  for (const char* const name : {"cee", "aay", "bee"}) ASSERT_TRUE(Make(name).ok());
  const auto page = [&](const std::string& after, size_t limit) {
    const auto listed = Do([&](Context& context) {
      return ListBindings(context, kFunction.in(), {.after = after, .limit = limit});
    });
    EXPECT_TRUE(listed.ok());
    return *listed;
  };
  const BindingPage first = page("", 2);
  ASSERT_EQ(first.bindings.size(), 2U);
  EXPECT_EQ(first.bindings[0].name, "aay");
  EXPECT_EQ(first.cursor, "bee");
  const BindingPage last = page(first.cursor, 2);
  ASSERT_EQ(last.bindings.size(), 1U);
  EXPECT_EQ(last.bindings[0].name, "cee");
  EXPECT_EQ(last.cursor, "");
  EXPECT_THAT(PageText(last), HasSubstr(R"("cursor":null)"));
}

TEST_F(BindingTest, OneIsOnlyForThoseWhoMayUseAllItsFunctions) {
  const FunctionName other{kFunction.tenant, kFunction.ns, "other"};
  ASSERT_TRUE(Create(other).ok());
  ASSERT_EQ(PublishFiles(other), 1U);
  WorkerBinding binding = Usual();
  binding.activity_map.push_back({"Other", {.function = "other", .alias = "", .version = 1}});
  ASSERT_TRUE(Make("both", binding).ok());
  ASSERT_TRUE(Make("mine").ok());
  const doors::NamePatterns names = *doors::NamePatterns::Parse({"t_abc123/payments/reconcile"});
  const auto as_other = [&](auto operation) {
    return Do([&](Context& context) {
      Context limited = context;
      limited.names = &names;
      return operation(limited);
    });
  };
  EXPECT_TRUE(as_other([](Context& c) { return GetBinding(c, Named("mine")); }).ok());
  EXPECT_TRUE(IsRefusal(as_other([](Context& c) { return GetBinding(c, Named("both")); }).error(),
                        Code::kNotFound));
  EXPECT_TRUE(
      IsRefusal(as_other([](Context& c) { return DeleteBinding(c, Named("both")); }).error(),
                Code::kNotFound));
  EXPECT_TRUE(IsRefusal(
      as_other([&](Context& c) { return CreateBinding(c, Named("more"), binding); }).error(),
      Code::kResourceMismatch));
  const auto listed = as_other([](Context& c) { return ListBindings(c, kFunction.in(), {}); });
  ASSERT_EQ(listed->bindings.size(), 1U);
  EXPECT_EQ(listed->bindings[0].name, "mine");
}

TEST_F(BindingTest, EnabledOnesOfAllNamespacesAreFoundBetweenOtherKeys) {
  const FunctionName elsewhere{"t_abc123", "zoo", "reconcile"};
  ASSERT_TRUE(Create(elsewhere).ok());
  ASSERT_EQ(PublishFiles(elsewhere, "prod"), 1U);
  ASSERT_TRUE(Make("acts").ok());
  ASSERT_TRUE(Make("off").ok());
  ASSERT_TRUE(Update("off", {.enabled = false}).ok());
  ASSERT_TRUE(Do([&](Context& context) {
                return CreateBinding(context, {elsewhere.in(), "animals"}, Usual());
              }).ok());
  EXPECT_THAT(EnabledNames(), ElementsAre("acts", "animals"));
}

TEST_F(BindingTest, ARecordAsTheSeedHasItIsPolledToo) {
  ASSERT_TRUE(Make("acts").ok());
  ASSERT_TRUE(Put("cs:cadence:t_abc123:payments:worker:acts:meta",
                  R"({"name":"acts","domain":"d","tasklist":"l","worker_id":"w","activity_map":)"
                  R"({"A":{"function":"reconcile","alias":"prod"}},"pollers":{"activity":1},)"
                  R"("limits":{"max_inflight_tasks":1},"enabled":true})")
                  .ok());
  const auto found = Do([&](Context& context) { return EnabledBindings(context.transaction); });
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().tenant, "t_abc123");
  EXPECT_EQ(found->front().ns, "payments");
  ASSERT_TRUE(Update("acts", {.enabled = false}).ok());
  ASSERT_TRUE(Remove("acts").ok());
}

TEST_F(BindingTest, VerifyNamesWhatIsWrong) {
  ASSERT_TRUE(Make("acts").ok());
  const std::string key = "cs:cadence:t_abc123:payments:worker:acts:meta";
  const std::string record = Stored(key);
  ASSERT_TRUE(Put(key, "{").ok());
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("acts is damaged")));
  EXPECT_THAT(EnabledNames(), ElementsAre());
  ASSERT_TRUE(Do([&](Context& context) { return RemoveKey(context.transaction, key); }).ok());
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("which is not one")));
  ASSERT_TRUE(Put("cs:cadence:t_abc123:payments:worker:stray:meta", record).ok());
  EXPECT_THAT(Problems(), ::testing::Contains(HasSubstr("is not in the index")));
  EXPECT_THAT(Problems(), ::testing::Contains(HasSubstr("has the record of")));
  ASSERT_TRUE(Put("cs:cadence:t_abc123:payments:what", "x").ok());
  EXPECT_THAT(Problems(), ::testing::Contains(HasSubstr("is none of a worker binding or a task")));
  for (const char* const stray :
       {"cs:cadence:t_abc123:payments:what", "cs:cadence:t_abc123:payments:worker:stray:meta",
        "cs:cadence:t_abc123:payments:workers:index"}) {
    ASSERT_TRUE(Do([&](Context& context) { return RemoveKey(context.transaction, stray); }).ok());
  }
}

TEST(BindingRequestTest, ObjectsAreClosedAndFaultsAreNamed) {
  const NamespaceName ns = kFunction.in();
  const auto fault = [&](std::string_view text) {
    const auto parsed = ParseNewBinding(ns, text);
    return parsed.ok() ? "" : TextOf(parsed.error());
  };
  EXPECT_THAT(fault("{"), HasSubstr("not JSON"));
  EXPECT_THAT(fault("{}"), HasSubstr("name"));
  EXPECT_THAT(fault(R"({"name":"acts","domain":"d","tasklist":"l","worker_id":"w"})"),
              HasSubstr("activity_map is missing"));
  constexpr std::string_view kHead =
      R"({"name":"acts","domain":"d","tasklist":"l","worker_id":"w",)";
  const auto with = [&](std::string_view rest) {
    return fault(std::string(kHead) + std::string(rest));
  };
  EXPECT_THAT(with(R"("activity_map":{"A":{"function":"f"}}})"), HasSubstr("activity_map.A"));
  EXPECT_THAT(with(R"("activity_map":{"A":{"function":"f","alias":"p","x":1}}})"), HasSubstr("x"));
  EXPECT_THAT(with(R"("activity_map":{"A":7}})"), HasSubstr("activity_map.A"));
  EXPECT_THAT(with(R"("activity_map":{},"pollers":{"activity":"8"}})"),
              HasSubstr("pollers.activity"));
  EXPECT_THAT(with(R"("activity_map":{},"pollers":{"decision":1}})"), HasSubstr("decision"));
  EXPECT_THAT(with(R"("activity_map":{},"limits":{"max_inflight_tasks":0}})"),
              HasSubstr("limits.max_inflight_tasks"));
  EXPECT_THAT(with(R"("activity_map":{},"enabeld":true})"), HasSubstr("enabeld"));
  EXPECT_EQ(with(R"("activity_map":{"A":{"function":"fun","alias":"prod"}}})"), "");
}

}  // namespace
}  // namespace cairn::functions
