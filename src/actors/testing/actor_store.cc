#include "actors/testing/actor_store.h"

#include "actors/model/actor_key.h"
#include "actors/model/keys.h"
#include "actors/model/refusal.h"
#include "actors/operations/verify.h"
#include "base/log.h"
#include "house/verify.h"
#include "store/timers.h"
#include "tests/support/test_store.h"

namespace cairn::actors::testing {

ActorStore::ActorStore() {
  options_.directory = directory_ / "data";
  options_.memory = store::rocks::MemoryBudget::FromTotal(64 << 20);
  options_.log_pool = false;
  options_.durability = store::Durability::kOs;
  Open();
}

void ActorStore::Open() {
  auto opened = cairn::testing::OpenTestStore(options_, clock_);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  store_ = std::move(*opened);
}

void ActorStore::Reopen() {
  store_.reset();
  Open();
}

std::string ActorStore::ShortRefusal(const Error& error) {
  if (FindReason(error) == nullptr) return "not a refusal: " + error.message;
  const std::string& message = error.message;
  const size_t space = message.find(' ');
  const size_t end = message.compare(space + 1, 1, "[") == 0 ? message.find(']') + 1 : space;
  return message.substr(0, end);
}

ActorId ActorStore::Create(const std::string& key) {
  const std::vector<std::string> parts = {key};
  const CreateRequest request{.name = {"default", "thing", ActorKeyText(parts)}};
  const Result<ActorInfo> actor = Do(operations::kCreate, request);
  EXPECT_TRUE(actor.ok()) << actor.error().message;
  return actor.ok() ? actor.value().id : ActorId();
}

uint64_t ActorStore::Put(const ActorId& id, const Bytes& key, const Bytes& value) {
  return Must(operations::kPut, PutRequest{.actor = {.id = id}, .entries = {{key, value}}})
      .revision;
}

std::optional<Bytes> ActorStore::Get(const ActorId& id, const Bytes& key) {
  const auto found = Must(operations::kGet, KeysRequest{.actor = {.id = id}, .keys = {key}});
  if (found.empty() || !found.front()) return std::nullopt;
  return found.front()->value;
}

ActorState ActorStore::State(const ActorId& id) {
  const Result<ActorInfo> info = Do(operations::kLook, ActorRef{.id = id});
  EXPECT_TRUE(info.ok()) << info.error().message;
  return info.ok() ? info.value().state : ActorState();
}

std::vector<Bytes> ActorStore::Keys(const ListRequest& request) {
  std::vector<Bytes> keys;
  for (const Entry& entry : Must(operations::kList, request).entries) keys.push_back(entry.key);
  return keys;
}

void ActorStore::Grant(std::string_view patterns) {
  actors_.reset();
  if (patterns.empty()) return;
  auto parsed = doors::NamePatterns::Parse(patterns);
  ASSERT_TRUE(parsed.ok());
  actors_ = std::move(*parsed);
}

void ActorStore::Change(const std::function<void(store::Transaction&)>& change) {
  const auto done = store_->Run(store::Scopes::Exclusive(), [&](store::Transaction& txn) {
    change(txn);
    return Result<void>();
  });
  ASSERT_TRUE(done.ok()) << done.error().message;
}

size_t ActorStore::FireTimers() {
  PurgeTimers purge;
  store::TimerService timers(*store_, clock_, Log::Silent());
  timers.Register(kTimerPurge, purge);
  size_t total = 0;
  while (true) {
    const Result<size_t> fired = timers.RunDue();
    EXPECT_TRUE(fired.ok()) << fired.error().message;
    if (!fired.ok() || *fired == 0) return total;
    total += *fired;
  }
}

std::vector<std::string> ActorStore::Problems() {
  const auto snapshot = store_->Read();
  EXPECT_TRUE(snapshot.ok());
  house::Verification verification;
  const Result<void> done = VerifyActors(**snapshot, verification);
  EXPECT_TRUE(done.ok()) << done.error().message;
  return verification.problems();
}

}  // namespace cairn::actors::testing
