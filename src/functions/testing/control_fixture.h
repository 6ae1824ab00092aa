#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "functions/control/aliases.h"
#include "functions/control/functions.h"
#include "functions/control/values.h"
#include "functions/control/verify.h"
#include "functions/control/versions.h"
#include "functions/model/manifest.h"
#include "functions/model/names.h"
#include "house/verify.h"
#include "store/testing/fixture.h"
#include "store/timers.h"

namespace cairn::functions::testing {

inline const FunctionName kFunction{"t_abc123", "payments", "reconcile"};

// The files of a small function; `source` tells versions apart.
inline Files SmallFiles(std::string_view source = "export default () => 1") {
  return {{std::string(kFunctionFile), Bytes(source)},
          {std::string(kManifestFile),
           ManifestText({.timeout_ms = 3000, .memory_mb = 64, .max_concurrency = 10})}};
}

// Operations one at a time on a store of the test's own. Each test ends with the check of all
// functions.
class ControlTest : public store::testing::StoreTest {
 protected:
  ControlTest() { StartTimers(); }
  void TearDown() override { ExpectSound(); }

  void StartTimers() {
    timers_ = std::make_unique<store::TimerService>(*store_, clock_, Log::Silent());
    timers_->Register(kTimerShift, shifts_);
  }
  void Restart() {
    timers_.reset();
    Reopen();
    StartTimers();
  }
  void FireTimers() { EXPECT_TRUE(timers_->RunDue().ok()); }

  // Runs `operation`, which takes a Context and returns a Result, in a transaction of its own.
  template <typename Operation>
  auto Do(Operation operation) -> decltype(operation(std::declval<Context&>())) {
    using Outcome = decltype(operation(std::declval<Context&>()));
    std::optional<Outcome> outcome;
    const auto body = [&](store::Transaction& transaction) -> Result<void> {
      Context context{.transaction = transaction, .secrets = &secrets_, .random = &random_};
      outcome = operation(context);
      if (!outcome->ok()) return outcome->error();
      return {};
    };
    const Result<store::Commit> done = store_->Run(store::Scopes::Exclusive(), body);
    if (!done.ok()) return done.error();
    return *std::move(outcome);
  }

  Result<Function> Create(const FunctionName& name = kFunction) {
    return Do([&](Context& context) { return CreateFunction(context, {.name = name}); });
  }
  std::string NewDraft() { return NewDraftId(clock_.Now(), random_); }
  Result<UploadedDraft> Upload(const std::string& draft, const FunctionName& name = kFunction,
                               std::string_view source = "export default () => 1") {
    CAIRN_ASSIGN_OR_RETURN(const Package package, MakePackage(SmallFiles(source)));
    return Do([&](Context& context) { return UploadDraft(context, name, draft, package); });
  }
  Result<Published> PublishDraft(const std::string& draft, const std::string& alias = "") {
    return Do([&](Context& context) {
      return Publish(context, kFunction, {.draft_id = draft, .alias = alias});
    });
  }
  // Publishes a small function; its number, or 0.
  uint64_t PublishFiles(const FunctionName& name = kFunction, const std::string& alias = "",
                        const ConfigOverrides& config = {}) {
    const Result<Package> package = MakePackage(SmallFiles());
    const Result<Published> published = Do([&](Context& context) {
      return Publish(context, name, {.package = *package, .config = config, .alias = alias});
    });
    EXPECT_TRUE(published.ok()) << published.error().message;
    return published.ok() ? published->version : 0;
  }
  Result<Alias> Set(const std::string& alias, const Target& target) {
    return Do([&](Context& context) {
      return SetAlias(context, kFunction, {.alias = alias, .target = target});
    });
  }
  Result<Resolved> Resolve(const Ref& ref, uint64_t draw = 0) {
    return Do([&](Context& context) {
      return ResolveRef(context.transaction, kFunction.in(), ref, draw);
    });
  }
  // What GET would show.
  std::string Stored(std::string_view key) {
    const Result<std::optional<Bytes>> value =
        Do([&](Context& context) { return ReadString(context.transaction, key); });
    EXPECT_TRUE(value.ok());
    return value.ok() ? value->value_or("(nil)") : "(error)";
  }

  house::Verification Verify() {
    house::Verification verification;
    EXPECT_TRUE(VerifyFunctions(*store_, verification).ok());
    return verification;
  }
  void ExpectSound() {
    const house::Verification verification = Verify();
    EXPECT_TRUE(verification.sound()) << verification.problems().front();
  }

  SeededRandom random_{7};
  SecretKeys secrets_ = *SecretKeys::Parse("0123456789abcdef0123456789abcdef");
  ShiftTimers shifts_;
  std::unique_ptr<store::TimerService> timers_;
};

}  // namespace cairn::functions::testing
