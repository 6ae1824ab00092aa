// Random operations on functions against a trivial model: maps from names to versions, drafts and
// aliases. Time is moved by hand, the store is closed and opened again now and then, and after
// every step what is stored is compared, and all of it verified.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "functions/testing/control_fixture.h"

namespace cairn::functions {
namespace {

using testing::ControlTest;
using testing::SmallFiles;

constexpr int kSteps = 150;
constexpr uint64_t kNames = 3;
constexpr uint64_t kAliasNames = 3;

struct ModelAlias {
  Target target;
  std::vector<Target> earlier;  // the last one first
};

struct ModelFunction {
  bool deleted = false;
  bool enabled = true;
  uint64_t versions = 0;
  std::map<std::string, ModelAlias> aliases;
};

struct ModelDraft {
  FunctionName function;
  int64_t expires_ms = 0;
  bool consumed = false;
};

class FunctionModelTest : public ControlTest, public ::testing::WithParamInterface<uint64_t> {
 protected:
  FunctionModelTest() : choices_(GetParam()) {}

  void Step() {
    switch (choices_.Below(14)) {
      case 0:
      case 1:
        return StepCreate();
      case 2:
        return StepDelete();
      case 3:
        return StepPurge();
      case 4:
      case 5:
        return StepUpload();
      case 6:
      case 7:
      case 8:
        return StepPublish();
      case 9:
      case 10:
        return StepSetAlias();
      case 11:
        return StepRollBack();
      case 12:
        return StepEnable();
      default:
        clock_.AdvanceMillis(static_cast<int64_t>(choices_.Below(kDraftTtlMs / 4)));
    }
  }

  void Compare() {
    std::string expected;
    for (const auto& [name, function] : functions_) {
      if (!function.deleted) expected += name.name + " ";
    }
    const FunctionPage page = *Do([&](Context& context) {
      return ListFunctions(context, AnyFunction().in(), {}, Deleted::kHidden);
    });
    std::string listed;
    for (const Function& function : page.functions) listed += function.name + " ";
    ASSERT_EQ(listed, expected);
    for (const auto& [name, function] : functions_) CompareOne(name, function);
    ExpectSound();
  }

 private:
  FunctionName AnyFunction() {
    return {"t_abc123", "payments", fmt::format("fn{}", choices_.Below(kNames))};
  }
  std::string AnyAlias() { return fmt::format("alias{}", choices_.Below(kAliasNames)); }
  ModelFunction* Live(const FunctionName& name) {
    const auto found = functions_.find(name);
    return found == functions_.end() || found->second.deleted ? nullptr : &found->second;
  }

  void CompareOne(const FunctionName& name, const ModelFunction& function) {
    const FunctionDetail detail =
        *Do([&](Context& context) { return DescribeFunction(context, name, Deleted::kShown); });
    ASSERT_EQ(detail.function.deleted_at_ms.has_value(), function.deleted);
    ASSERT_EQ(detail.function.enabled, function.enabled);
    ASSERT_EQ(detail.latest ? detail.latest->version : 0, function.versions);
    ASSERT_EQ(detail.aliases.size(), function.aliases.size());
    for (const Alias& alias : detail.aliases) {
      const ModelAlias& modelled = function.aliases.at(alias.alias);
      ASSERT_EQ(alias.target, modelled.target) << alias.alias;
      ASSERT_EQ(alias.history.size(), modelled.earlier.size());
      for (size_t i = 0; i < alias.history.size(); ++i) {
        ASSERT_EQ(alias.history[i].target, modelled.earlier[i]);
      }
    }
  }

  void StepCreate() {
    const FunctionName name = AnyFunction();
    ASSERT_EQ(Create(name).ok(), !functions_.contains(name));
    functions_.try_emplace(name);
  }

  void StepDelete() {
    const FunctionName name = AnyFunction();
    const auto done = Do([&](Context& context) { return DeleteFunction(context, name); });
    ASSERT_EQ(done.ok(), functions_.contains(name));
    if (done.ok()) functions_[name].deleted = true;
  }

  void StepPurge() {
    const FunctionName name = AnyFunction();
    const auto done = Do([&](Context& context) { return PurgeFunction(context, name); });
    ASSERT_EQ(done.ok(), functions_.contains(name) && functions_[name].deleted);
    if (!done.ok()) return;
    functions_.erase(name);
    std::erase_if(drafts_, [&](const auto& draft) { return draft.second.function == name; });
  }

  void StepUpload() {
    const FunctionName name = AnyFunction();
    const std::string id = NewDraft();
    const bool done = Upload(id, name, fmt::format("export default {}", choices_.Next())).ok();
    ASSERT_EQ(done, Live(name) != nullptr);
    if (done) drafts_[id] = {name, clock_.Now().millis() + kDraftTtlMs};
  }

  // Of a draft if there is one, else of files; sometimes with an alias.
  void StepPublish() {
    FunctionName name = AnyFunction();
    PublishRequest request;
    ModelDraft* draft = nullptr;
    if (!drafts_.empty() && choices_.Below(3) != 0) {
      auto chosen = drafts_.begin();
      std::advance(chosen, static_cast<ptrdiff_t>(choices_.Below(drafts_.size())));
      draft = &chosen->second;
      name = draft->function;
      request.draft_id = chosen->first;
    } else {
      request.package = *MakePackage(SmallFiles());
    }
    if (choices_.Below(2) == 0) request.alias = AnyAlias();
    ModelFunction* function = Live(name);
    const bool usable =
        draft == nullptr || (!draft->consumed && clock_.Now().millis() < draft->expires_ms);
    const auto done = Do([&](Context& context) { return Publish(context, name, request); });
    ASSERT_EQ(done.ok(), function != nullptr && usable);
    if (!done.ok()) return;
    ASSERT_EQ(done->version, ++function->versions);
    if (draft != nullptr) draft->consumed = true;
    if (!request.alias.empty()) Point(*function, request.alias, {done->version, {}});
  }

  static void Point(ModelFunction& function, const std::string& name, const Target& target) {
    const auto [alias, is_new] = function.aliases.try_emplace(name);
    ModelAlias& modelled = alias->second;
    if (!is_new && modelled.target != target) {
      modelled.earlier.insert(modelled.earlier.begin(), modelled.target);
      if (modelled.earlier.size() > kAliasHistory) modelled.earlier.pop_back();
    }
    modelled.target = target;
  }

  void StepSetAlias() {
    const FunctionName name = AnyFunction();
    const std::string alias = AnyAlias();
    Target target{.version = choices_.Below(5) + 1};
    if (choices_.Below(3) == 0) {
      target.second =
          Target::Weighted{choices_.Below(5) + 1, static_cast<int64_t>(choices_.Below(99) + 1)};
    }
    ModelFunction* function = Live(name);
    const bool valid = function != nullptr && target.version <= function->versions &&
                       (!target.second || (target.second->version <= function->versions &&
                                           target.second->version != target.version));
    const auto done = Do([&](Context& context) {
      return SetAlias(context, name, {.alias = alias, .target = target});
    });
    ASSERT_EQ(done.ok(), valid);
    if (valid) Point(*function, alias, target);
  }

  void StepRollBack() {
    const FunctionName name = AnyFunction();
    const std::string alias = AnyAlias();
    ModelFunction* function = Live(name);
    ModelAlias* modelled = nullptr;
    if (function != nullptr && function->aliases.contains(alias)) {
      modelled = &function->aliases[alias];
    }
    const auto done = Do([&](Context& context) { return RollBackAlias(context, name, alias); });
    ASSERT_EQ(done.ok(), modelled != nullptr && !modelled->earlier.empty());
    if (!done.ok()) return;
    modelled->target = modelled->earlier.front();
    modelled->earlier.erase(modelled->earlier.begin());
  }

  void StepEnable() {
    const FunctionName name = AnyFunction();
    const bool enabled = choices_.Below(2) == 0;
    ModelFunction* function = Live(name);
    const auto done = Do([&](Context& context) { return SetEnabled(context, name, enabled); });
    ASSERT_EQ(done.ok(), function != nullptr);
    if (done.ok()) function->enabled = enabled;
  }

  SeededRandom choices_;
  std::map<FunctionName, ModelFunction> functions_;
  std::map<std::string, ModelDraft> drafts_;
};

TEST_P(FunctionModelTest, WhatIsStoredIsWhatTheModelSays) {
  for (int step = 0; step < kSteps; ++step) {
    Step();
    if (step % 50 == 49) Restart();
    Compare();
    if (HasFatalFailure()) FAIL() << "step " << step << " of seed " << GetParam();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FunctionModelTest, ::testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace cairn::functions
