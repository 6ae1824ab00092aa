#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "actors/operations/operation.h"
#include "base/clock.h"
#include "base/random.h"
#include "store/rocks/open.h"
#include "store/store.h"
#include "tests/support/temp_directory.h"

namespace cairn::actors::testing {

// Actors in a store of a test's own, on the engine that CAIRN_TEST_ENGINE names, without doors.
// Time stands still unless the test moves it.
class ActorStore {
 public:
  ActorStore();

  void Reopen();

  // Runs an operation as a door does: under its scopes, and again with those it asks for.
  template <typename Request, typename Answer>
  Result<Answer> Do(const Operation<Request, Answer>& operation, const Request& request) {
    store::Scopes scopes;
    operation.scopes(request, scopes);
    doors::HeldScopes held{.exclusive = scopes.exclusive()};
    std::optional<Result<Answer>> answer;
    while (true) {
      const auto done = store_->Run(scopes, [&](store::Transaction& txn) -> Result<void> {
        held.wanted.Clear();
        Context context{txn, held, policy_, actors_ ? &*actors_ : nullptr};
        answer.emplace(operation.run(context, request));
        if (!answer->ok()) return answer->error();
        return {};
      });
      if (done.ok()) return *answer;
      if (!held.Widen(scopes)) return done.error();
    }
  }
  // The same for one that must succeed.
  template <typename Request, typename Answer>
  Answer Must(const Operation<Request, Answer>& operation, const Request& request) {
    Result<Answer> answer = Do(operation, request);
    EXPECT_TRUE(answer.ok()) << answer.error().message;
    if constexpr (!std::is_void_v<Answer>) return answer.ok() ? std::move(*answer) : Answer();
  }
  // The word and the fields of a refusal: "QUOTA_EXCEEDED [limit=1,size=2]".
  template <typename Request, typename Answer>
  std::string Refusal(const Operation<Request, Answer>& operation, const Request& request) {
    const Result<Answer> answer = Do(operation, request);
    return answer.ok() ? "it was done" : ShortRefusal(answer.error());
  }
  static std::string ShortRefusal(const Error& error);

  // An actor default/thing with a key of one part.
  ActorId Create(const std::string& key = "a");
  uint64_t Put(const ActorId& id, const Bytes& key, const Bytes& value);
  std::optional<Bytes> Get(const ActorId& id, const Bytes& key);
  ActorState State(const ActorId& id);
  // The keys of one page.
  std::vector<Bytes> Keys(const ListRequest& request);

  // What callers may use from now on; empty: everything.
  void Grant(std::string_view patterns);
  void SetQuota(uint64_t bytes) { policy_.quota_bytes = bytes; }
  // Changes rows behind the back of the operations.
  void Change(const std::function<void(store::Transaction&)>& change);
  size_t FireTimers();
  std::vector<std::string> Problems();
  void ExpectSound() { EXPECT_EQ(Problems(), std::vector<std::string>()); }

  store::Store& store() { return *store_; }
  ManualClock& clock() { return clock_; }

 private:
  void Open();

  cairn::testing::TempDirectory directory_;
  ManualClock clock_;
  SeededRandom random_{11};
  store::rocks::Options options_;
  std::unique_ptr<store::Store> store_;
  Policy policy_{.random = random_};
  std::optional<doors::NamePatterns> actors_;
};

}  // namespace cairn::actors::testing
