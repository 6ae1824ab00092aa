// Which actors there are: created, found, listed, started, destroyed.

#include "actors/operations/identity.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "actors/testing/actor_store.h"

namespace cairn::actors {
namespace {

using testing::ActorStore;

CreateRequest Named(const std::string& key, const std::string& name = "thing",
                    const std::string& name_space = "default") {
  return {.name = {name_space, name, key}};
}

class IdentityTest : public ::testing::Test {
 protected:
  ~IdentityTest() override { actors_.ExpectSound(); }

  ActorStore actors_;
};

TEST_F(IdentityTest, AnActorIsFoundByIdAndByKey) {
  const auto made = actors_.Do(operations::kCreate, Named("a/b"));
  ASSERT_TRUE(made.ok());
  const ActorId id = made.value().id;
  const auto found = actors_.Do(operations::kFind, DirectoryEntry{"default", "thing", "a/b"});
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found.value().id, id);
  EXPECT_EQ(found.value().record,
            (ActorRecord{"default", "thing", "a/b", actors_.clock().Now().millis()}));
  EXPECT_EQ(actors_.State(id), ActorState());
}

TEST_F(IdentityTest, ATakenKeyIsRefusedWithTheIdOfItsActor) {
  const ActorId id = actors_.Create("a");
  EXPECT_EQ(actors_.Refusal(operations::kCreate, Named("a")),
            fmt::format("DUPLICATE_KEY [existing_actor_id={}]", id.ToString()));
  // Another name, or another namespace, has keys of its own.
  EXPECT_TRUE(actors_.Do(operations::kCreate, Named("a", "other")).ok());
  EXPECT_TRUE(actors_.Do(operations::kCreate, Named("a", "thing", "other")).ok());
}

TEST_F(IdentityTest, GetOrCreateCreatesOnce) {
  const auto first = actors_.Do(operations::kGetOrCreate, Named("a"));
  const auto second = actors_.Do(operations::kGetOrCreate, Named("a"));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(first.value().created);
  EXPECT_FALSE(second.value().created);
  EXPECT_EQ(first.value().actor.id, second.value().actor.id);
}

TEST_F(IdentityTest, TheInputIsThatOfTheCreation) {
  CreateRequest request = Named("a");
  request.input = "hello";
  const auto made = actors_.Do(operations::kGetOrCreate, request);
  ASSERT_TRUE(made.ok());
  request.input = "other";
  ASSERT_TRUE(actors_.Do(operations::kGetOrCreate, request).ok());
  const ActorRef actor{.id = made.value().actor.id};
  EXPECT_EQ(actors_.Must(operations::kInput, actor), "hello");
  EXPECT_EQ(actors_.Must(operations::kInput, ActorRef{.id = actors_.Create("b")}), std::nullopt);
  request.name.key = "large";
  request.input = Bytes(kMaxInputBytes, 'x');
  EXPECT_TRUE(actors_.Do(operations::kCreate, request).ok());
  request.name.key = "larger";
  request.input->push_back('x');
  EXPECT_EQ(actors_.Refusal(operations::kCreate, request),
            "PAYLOAD_TOO_LARGE [limit=4194304,size=4194305]");
}

TEST_F(IdentityTest, BadNamesAndKeysAreRefused) {
  EXPECT_EQ(actors_.Refusal(operations::kCreate, Named("a", "")), "BAD_NAME");
  EXPECT_EQ(actors_.Refusal(operations::kCreate, Named("a", "x/y")), "BAD_NAME");
  EXPECT_EQ(actors_.Refusal(operations::kCreate, Named("a", "x", "ö")), "BAD_NAME");
  EXPECT_EQ(actors_.Refusal(operations::kCreate, Named("")), "BAD_KEY");
  EXPECT_EQ(actors_.Refusal(operations::kCreate, Named(std::string(129, 'k'))),
            "BAD_KEY [limit=128]");
  EXPECT_EQ(actors_.Refusal(operations::kFind, DirectoryEntry{"default", "thing", "nobody"}),
            "NO_SUCH_ACTOR");
}

TEST_F(IdentityTest, AStartFencesOffTheGenerationsBefore) {
  const ActorId id = actors_.Create();
  EXPECT_EQ(actors_.Must(operations::kStart, ActorRef{.id = id}), 1U);
  const PutRequest first{.actor = {.id = id, .generation = 1}, .entries = {{"k", "1"}}};
  actors_.Must(operations::kPut, first);
  EXPECT_EQ(actors_.Must(operations::kStart, ActorRef{.id = id}), 2U);
  // Nothing of the instance that was replaced works any more.
  const ActorRef stale{.id = id, .generation = 1};
  EXPECT_EQ(actors_.Refusal(operations::kPut, first), "STALE_GENERATION [generation=2]");
  EXPECT_EQ(actors_.Refusal(operations::kDrop, stale), "STALE_GENERATION [generation=2]");
  EXPECT_EQ(actors_.Refusal(operations::kStart, stale), "STALE_GENERATION [generation=2]");
  EXPECT_EQ(actors_.Refusal(operations::kDestroy, stale), "STALE_GENERATION [generation=2]");
  EXPECT_EQ(actors_.Refusal(operations::kGet, KeysRequest{.actor = stale, .keys = {"k"}}),
            "STALE_GENERATION [generation=2]");
  EXPECT_EQ(actors_.Refusal(operations::kBatch, BatchRequest{.actor = stale}),
            "STALE_GENERATION [generation=2]");
  EXPECT_EQ(actors_.Get(id, "k"), "1");
  const ActorRef newest{.id = id, .generation = 2};
  actors_.Must(operations::kDrop, newest);
  actors_.Reopen();
  EXPECT_EQ(actors_.State(id).generation, 2U);
}

TEST_F(IdentityTest, ADestroyedActorIsGoneAndItsKeyIsFree) {
  const ActorId id = actors_.Create("a");
  actors_.Put(id, "k", Bytes(30'000, 'v'));
  actors_.Must(operations::kDestroy, ActorRef{.id = id});
  EXPECT_EQ(actors_.Refusal(operations::kLook, ActorRef{.id = id}), "NO_SUCH_ACTOR");
  EXPECT_EQ(actors_.Refusal(operations::kDestroy, ActorRef{.id = id}), "NO_SUCH_ACTOR");
  const PutRequest put{.actor = {.id = id}, .entries = {{"k", "v"}}};
  EXPECT_EQ(actors_.Refusal(operations::kPut, put), "NO_SUCH_ACTOR");
  const ActorId next = actors_.Create("a");
  EXPECT_NE(next, id);
  EXPECT_EQ(actors_.Get(next, "k"), std::nullopt);
  EXPECT_EQ(actors_.FireTimers(), 0U);  // it was small
}

TEST_F(IdentityTest, WhatALargeActorLeavesIsRemovedByTimers) {
  const ActorId id = actors_.Create("a");
  BatchRequest batch{.actor = {.id = id}, .idempotency_id = "once"};
  for (int i = 0; i < 2'000; ++i) {
    batch.changes.push_back({.key = fmt::format("k{:05}", i), .value = "v"});
  }
  actors_.Must(operations::kBatch, batch);
  actors_.Must(operations::kDestroy, ActorRef{.id = id});
  actors_.ExpectSound();  // rows without an actor have a timer
  const ActorId next = actors_.Create("a");
  actors_.Put(next, "k", "v");
  actors_.Reopen();
  EXPECT_GE(actors_.FireTimers(), 3U);
  actors_.ExpectSound();
  size_t rows = 0;
  const auto snapshot = actors_.store().Read();
  ASSERT_TRUE(snapshot.ok());
  const auto range = store::Range::Prefix(store::Space::kActors, EntriesPrefix());
  ASSERT_TRUE((*snapshot)
                  ->Scan(range, {},
                         [&](BytesView, BytesView) {
                           ++rows;
                           return true;
                         })
                  .ok());
  EXPECT_EQ(rows, 2U);  // the new actor's
}

// --- Lists ---------------------------------------------------------------------------------------

class ListActorsTest : public IdentityTest {
 protected:
  // "name/key" of each, page by page.
  std::vector<std::string> All(ListActorsRequest request) {
    std::vector<std::string> names;
    for (int pages = 0; pages < 1'000; ++pages) {
      const ActorsPage page = actors_.Must(operations::kListActors, request);
      EXPECT_LE(page.actors.size(), static_cast<size_t>(request.limit));
      for (const ActorInfo& actor : page.actors) {
        names.push_back(actor.record.name + "/" + actor.record.key);
      }
      if (page.next.empty()) return names;
      request.after = page.next;
    }
    ADD_FAILURE() << "the list has no end";
    return names;
  }
};

TEST_F(ListActorsTest, PagesHaveEveryActorOnce) {
  std::vector<std::string> expected;
  for (const char* name : {"a", "a-b", "b"}) {
    for (const char* key : {"/", "1", "1/2", "2"}) {
      actors_.Must(operations::kGetOrCreate, Named(key, name));
      expected.push_back(fmt::format("{}/{}", name, key));
    }
  }
  actors_.Must(operations::kGetOrCreate, Named("x", "a", "another"));
  for (const int64_t limit : {1, 2, 5, 12, 100}) {
    EXPECT_EQ(All({.name_space = "default", .limit = limit}), expected) << limit;
  }
  EXPECT_EQ(All({.name_space = "default", .name = "a", .limit = 3}),
            (std::vector<std::string>{"a//", "a/1", "a/1/2", "a/2"}));
  EXPECT_EQ(All({.name_space = "nobody"}), std::vector<std::string>());
}

TEST_F(ListActorsTest, BadRequestsAreRefused) {
  EXPECT_EQ(actors_.Refusal(operations::kListActors, ListActorsRequest{.name_space = ""}),
            "BAD_NAME");
  EXPECT_EQ(actors_.Refusal(operations::kListActors,
                            ListActorsRequest{.name_space = "default", .limit = 0}),
            "BAD_REQUEST");
  EXPECT_EQ(actors_.Refusal(operations::kListActors,
                            ListActorsRequest{.name_space = "default", .limit = 1'001}),
            "BAD_REQUEST");
  EXPECT_EQ(actors_.Refusal(operations::kListActors,
                            ListActorsRequest{.name_space = "default", .after = "nonsense"}),
            "BAD_REQUEST");
  EXPECT_EQ(
      actors_.Refusal(operations::kListActors,
                      ListActorsRequest{.name_space = "default", .name = "a", .after = "b/k"}),
      "BAD_REQUEST");
}

TEST_F(ListActorsTest, GrantsBoundWhatIsThere) {
  const ActorId mine = actors_.Must(operations::kGetOrCreate, Named("1", "mine")).actor.id;
  const ActorId other = actors_.Must(operations::kGetOrCreate, Named("1", "other")).actor.id;
  actors_.Must(operations::kGetOrCreate, Named("2", "mine-too"));
  actors_.Grant("default/mine*");
  EXPECT_EQ(All({.name_space = "default", .limit = 1}),
            (std::vector<std::string>{"mine/1", "mine-too/2"}));
  actors_.Put(mine, "k", "v");
  // An id of another's actor tells nothing, not even that there is one.
  EXPECT_EQ(actors_.Refusal(operations::kLook, ActorRef{.id = other}), "NO_SUCH_ACTOR");
  const PutRequest put{.actor = {.id = other}, .entries = {{"k", "v"}}};
  EXPECT_EQ(actors_.Refusal(operations::kPut, put), "NO_SUCH_ACTOR");
  EXPECT_EQ(actors_.Refusal(operations::kDestroy, ActorRef{.id = other}), "NO_SUCH_ACTOR");
  EXPECT_EQ(actors_.Refusal(operations::kCreate, Named("2", "other")), "FORBIDDEN");
  EXPECT_EQ(actors_.Refusal(operations::kFind, DirectoryEntry{"default", "other", "1"}),
            "FORBIDDEN");
  actors_.Grant("");
  EXPECT_EQ(actors_.State(other), ActorState());
}

}  // namespace
}  // namespace cairn::actors
