// What verify finds: rows that were changed behind the back of the operations.

#include "actors/operations/verify.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/testing/actor_store.h"

namespace cairn::actors {
namespace {

using testing::ActorStore;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class VerifyActorsTest : public ::testing::Test {
 protected:
  void Delete(const Bytes& key) {
    actors_.Change([&](store::Transaction& txn) { txn.Delete(InActors(key)); });
  }
  void Put(const Bytes& key, const Bytes& value) {
    actors_.Change([&](store::Transaction& txn) { txn.Put(InActors(key), value); });
  }

  ActorStore actors_;
  const ActorId id_ = actors_.Create();
  const EntryKeys keys_{id_};
};

TEST_F(VerifyActorsTest, SoundActorsHaveNoProblems) {
  actors_.Put(id_, "a", Bytes(25'000, 'v'));
  actors_.Put(id_, "", "");
  EXPECT_THAT(actors_.Problems(), ElementsAre());
}

TEST_F(VerifyActorsTest, FindsChunksWithoutMetadata) {
  actors_.Put(id_, "a", "v");
  Delete(keys_.Metadata("a"));
  EXPECT_THAT(actors_.Problems(), Contains(HasSubstr("entry 'a'")).Times(1));
  EXPECT_THAT(actors_.Problems(), Contains(HasSubstr("chunks without metadata")));
  EXPECT_THAT(actors_.Problems(), Contains(HasSubstr("counts 1 of 2")));
}

TEST_F(VerifyActorsTest, FindsAMissingChunk) {
  actors_.Put(id_, "a", Bytes(25'000, 'v'));
  Delete(keys_.Chunk("a", 1));
  EXPECT_THAT(actors_.Problems(), Contains(HasSubstr("lacks chunk 1")));
  // A reader is told, too, and not given what is left.
  const auto found = actors_.Do(operations::kGet, KeysRequest{.actor = {.id = id_}, .keys = {"a"}});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kCorruption);
  for (const bool reverse : {false, true}) {
    const auto page =
        actors_.Do(operations::kList, ListRequest{.actor = {.id = id_}, .reverse = reverse});
    ASSERT_FALSE(page.ok());
    EXPECT_EQ(page.error().code, ErrorCode::kCorruption);
  }
}

TEST_F(VerifyActorsTest, FindsAChangedByte) {
  actors_.Put(id_, "a", "value");
  Put(keys_.Chunk("a", 0), "Value");
  EXPECT_THAT(actors_.Problems(), ElementsAre(HasSubstr("fails its checksum")));
  EXPECT_FALSE(actors_.Do(operations::kGet, KeysRequest{.actor = {.id = id_}, .keys = {"a"}}).ok());
}

TEST_F(VerifyActorsTest, FindsMetadataThatCannotBeRead) {
  actors_.Put(id_, "a", "v");
  Put(keys_.Metadata("a"), "?");
  EXPECT_THAT(actors_.Problems(), ElementsAre(HasSubstr("cannot be read")));
}

TEST_F(VerifyActorsTest, FindsCountersThatDisagree) {
  actors_.Put(id_, "a", "v");
  ActorState state = actors_.State(id_);
  state.bytes = 7;
  Put(StateKey(id_), EncodeState(state));
  EXPECT_THAT(actors_.Problems(),
              ElementsAre(HasSubstr("has 1 entries of 2 bytes, and counts 1 of 7"),
                          "there are 7 bytes, and the counter says 2"));
}

TEST_F(VerifyActorsTest, FindsADirectoryWithoutAnActor) {
  Delete(RecordKey(id_));
  EXPECT_THAT(actors_.Problems(), Contains(HasSubstr("which is another or none")));
  EXPECT_THAT(actors_.Problems(), Contains(HasSubstr("has a state and no record")));
  EXPECT_THAT(actors_.Problems(), Contains("there are 0 actors, and the counter says 1"));
}

TEST_F(VerifyActorsTest, FindsAnActorThatTheDirectoryLacks) {
  Delete(DirectoryKey("default", "thing", "a"));
  EXPECT_THAT(actors_.Problems(), ElementsAre(HasSubstr("is not in the directory")));
}

TEST_F(VerifyActorsTest, FindsEntriesOfNoActor) {
  SeededRandom random(99);
  const ActorId nobody = ActorId::New(random);
  Put(EntryKeys(nobody).Chunk("k", 0), "v");
  EXPECT_THAT(
      actors_.Problems(),
      ElementsAre(fmt::format("there are entries of actor {}, which is none", nobody.ToString())));
}

TEST_F(VerifyActorsTest, FindsADestroyedActorWithoutItsTimer) {
  SeededRandom random(99);
  const ActorId nobody = ActorId::New(random);
  Put(PurgeKey(nobody), Bytes(8, '\0'));
  EXPECT_THAT(actors_.Problems(), ElementsAre(HasSubstr("have no timer")));
}

TEST_F(VerifyActorsTest, FindsAnIdempotencyIdWithoutItsAge) {
  BatchRequest request{.actor = {.id = id_}, .idempotency_id = "t"};
  actors_.Must(operations::kBatch, request);
  EXPECT_THAT(actors_.Problems(), ElementsAre());
  Delete(TokenAgeKey(id_, actors_.clock().Now().millis(), "t"));
  EXPECT_THAT(actors_.Problems(),
              ElementsAre(HasSubstr("remembers 1 idempotency ids, 0 with an age, and counts 1")));
}

}  // namespace
}  // namespace cairn::actors
