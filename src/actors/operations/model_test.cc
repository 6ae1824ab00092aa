// Random operations against a trivial model: a map from keys to values for each actor. The store is
// closed and opened now and then; everything is compared and verified after every few steps.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "actors/testing/actor_store.h"
#include "base/random.h"

namespace cairn::actors {
namespace {

using testing::ActorStore;
using Kind = BatchChange::Kind;
using Map = std::map<Bytes, Bytes>;

constexpr int kSteps = 400;

struct ModelActor {
  ActorId id;
  Map entries;
  uint64_t generation = 0;
};

class Model {
 public:
  explicit Model(uint64_t seed) : random_(seed) {}

  void Step() {
    if (actors_.size() < 2 || random_.Below(40) == 0) return CreateOne();
    switch (random_.Below(20)) {
      case 0:
        return Destroy();
      case 1:
        return Start();
      case 2:
        store_.clock().AdvanceMillis(1'000);
        store_.FireTimers();
        return;
      case 3:
        return store_.Reopen();
      case 4:
      case 5:
      case 6:
        return List();
      default:
        return Batch();
    }
  }

  void Compare() {
    for (const auto& [key, actor] : actors_) {
      const ActorState state = store_.State(actor.id);
      uint64_t bytes = 0;
      for (const auto& [name, value] : actor.entries) bytes += name.size() + value.size();
      ASSERT_EQ(state.entries, actor.entries.size());
      ASSERT_EQ(state.bytes, bytes);
      ASSERT_EQ(state.generation, actor.generation);
      ASSERT_EQ(Read({.actor = {.id = actor.id}}), actor.entries);
    }
    ASSERT_EQ(store_.Problems(), std::vector<std::string>());
  }

 private:
  // Few keys, of bytes that matter to the encoding.
  Bytes RandomKey() {
    constexpr char kBytes[] = {'\0', '\x01', 'a', 'b', '\xFE', '\xFF'};
    Bytes key(random_.Below(4), '\0');
    for (char& c : key) c = kBytes[random_.Below(std::size(kBytes))];
    return key;
  }
  Bytes RandomValue() {
    constexpr uint64_t kSizes[] = {0, 1, 100, 9'999, 10'000, 10'001, 20'000, 34'567};
    Bytes value(kSizes[random_.Below(std::size(kSizes))], '\0');
    for (char& c : value) c = static_cast<char>(random_.Next());
    return value;
  }
  ModelActor& Any() {
    auto at = actors_.begin();
    std::advance(at, random_.Below(actors_.size()));
    return at->second;
  }

  void CreateOne() {
    const std::string key = fmt::format("{}", random_.Below(5));
    const CreateRequest request{.name = {"default", "thing", key}};
    const Result<MadeActor> made = store_.Do(operations::kGetOrCreate, request);
    ASSERT_TRUE(made.ok()) << made.error().message;
    ASSERT_EQ(made.value().created, !actors_.contains(key));
    if (made.value().created) actors_[key] = {.id = made.value().actor.id, .entries = {}};
    ASSERT_EQ(actors_[key].id, made.value().actor.id);
  }

  void Destroy() {
    auto at = actors_.begin();
    std::advance(at, random_.Below(actors_.size()));
    store_.Must(operations::kDestroy, ActorRef{.id = at->second.id});
    ASSERT_EQ(store_.Refusal(operations::kLook, ActorRef{.id = at->second.id}), "NO_SUCH_ACTOR");
    actors_.erase(at);
  }

  void Start() {
    ModelActor& actor = Any();
    ++actor.generation;
    ASSERT_EQ(store_.Must(operations::kStart, ActorRef{.id = actor.id}), actor.generation);
  }

  BatchChange RandomChange() {
    switch (random_.Below(10)) {
      case 0:
        return {.kind = Kind::kDeleteRange, .key = RandomKey(), .end = RandomKey()};
      case 1:
      case 2:
      case 3:
        return {.kind = Kind::kDelete, .key = RandomKey()};
      case 4:
        if (random_.Below(5) == 0) return {.kind = Kind::kDrop};
        [[fallthrough]];
      default:
        return {.key = RandomKey(), .value = RandomValue()};
    }
  }

  static void ApplyTo(Map& entries, const BatchChange& change) {
    switch (change.kind) {
      case Kind::kPut:
        entries[change.key] = change.value;
        return;
      case Kind::kDelete:
        entries.erase(change.key);
        return;
      case Kind::kDeleteRange:
        if (change.key < change.end) {
          entries.erase(entries.lower_bound(change.key), entries.lower_bound(change.end));
        }
        return;
      case Kind::kDrop:
        entries.clear();
        return;
    }
  }

  void Batch() {
    ModelActor& actor = Any();
    BatchRequest request{.actor = {.id = actor.id}};
    Map after = actor.entries;
    for (uint64_t i = 1 + random_.Below(8); i > 0; --i) {
      request.changes.push_back(RandomChange());
      ApplyTo(after, request.changes.back());
    }
    if (random_.Below(3) == 0) request.actor.generation = actor.generation;
    if (random_.Below(8) == 0) request.actor.generation = actor.generation + 1;
    const bool stale = request.actor.generation.value_or(actor.generation) != actor.generation;
    bool holds = true;
    if (random_.Below(3) == 0) {
      const Bytes key = RandomKey();
      request.conditions.push_back({.key = key});
      holds = !actor.entries.contains(key);
    }
    if (random_.Below(4) == 0) request.idempotency_id = fmt::format("{}", ++tokens_);
    const Result<BatchAnswer> answer = store_.Do(operations::kBatch, request);
    ASSERT_EQ(answer.ok(), holds && !stale) << (answer.ok() ? "done" : answer.error().message);
    if (!answer.ok()) return;
    actor.entries = std::move(after);
    if (request.idempotency_id.empty()) return;
    const Result<BatchAnswer> again = store_.Do(operations::kBatch, request);
    ASSERT_TRUE(again.ok() && again.value().repeated);
    ASSERT_EQ(again.value().revision, answer.value().revision);
  }

  // All pages of a list.
  Map Read(ListRequest request) {
    Map found;
    for (int pages = 0; pages < 10'000; ++pages) {
      const EntryPage page = store_.Must(operations::kList, request);
      for (const Entry& entry : page.entries) found[entry.key] = entry.value;
      if (!page.more) return found;
      request.after = page.entries.back().key;
    }
    ADD_FAILURE() << "the list has no end";
    return found;
  }

  void List() {
    const ModelActor& actor = Any();
    ListRequest request{.actor = {.id = actor.id},
                        .prefix = random_.Below(2) == 0 ? RandomKey() : Bytes(),
                        .reverse = random_.Below(2) == 0,
                        .limit = static_cast<int64_t>(1 + random_.Below(4)),
                        .bytes = static_cast<int64_t>(1 + random_.Below(60'000))};
    if (random_.Below(2) == 0) request.begin = RandomKey();
    if (random_.Below(2) == 0) request.end = RandomKey();
    request.end_exclusive = random_.Below(2) == 0;
    Map expected;
    for (const auto& [key, value] : actor.entries) {
      if (!key.starts_with(request.prefix)) continue;
      if (request.begin && key < *request.begin) continue;
      if (request.end && (key > *request.end || (request.end_exclusive && key == *request.end))) {
        continue;
      }
      expected[key] = value;
    }
    ASSERT_EQ(Read(request), expected);
  }

  ActorStore store_;
  SeededRandom random_;
  std::map<std::string, ModelActor> actors_;
  int tokens_ = 0;
};

class ActorModelTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(ActorModelTest, EveryActorKeepsWhatTheModelKeeps) {
  Model model(GetParam());
  for (int step = 0; step < kSteps && !HasFatalFailure(); ++step) {
    SCOPED_TRACE(step);
    model.Step();
    if (step % 10 == 0) model.Compare();
  }
  if (!HasFatalFailure()) model.Compare();
}

INSTANTIATE_TEST_SUITE_P(Seeds, ActorModelTest, ::testing::Range<uint64_t>(1, 7));

}  // namespace
}  // namespace cairn::actors
