#include "base/id.h"

#include <gtest/gtest.h>

#include <set>

namespace cairn {
namespace {

TEST(UuidTest, V4HasVersionAndVariantAndPrintsAndParses) {
  SeededRandom random(1);
  for (int i = 0; i < 100; ++i) {
    const Uuid uuid = Uuid::V4(random);
    EXPECT_EQ(uuid.version(), 4);
    EXPECT_EQ(uuid.bytes()[8] & 0xc0, 0x80);
    EXPECT_EQ(Uuid::Parse(uuid.ToString()), uuid);
  }
}

TEST(UuidTest, V7SortsByTime) {
  SeededRandom random(1);
  const Uuid older = Uuid::V7(Timestamp::FromMillis(1'700'000'000'000), random);
  const Uuid newer = Uuid::V7(Timestamp::FromMillis(1'700'000'000'001), random);
  EXPECT_EQ(older.version(), 7);
  EXPECT_LT(older, newer);
  EXPECT_LT(older.ToString(), newer.ToString());
  EXPECT_EQ(older.ToString().substr(0, 13), "018bcfe5-6800");
}

TEST(UuidTest, ParseRejectsWhatIsNoUuid) {
  EXPECT_TRUE(Uuid::Parse("00112233-4455-6677-8899-AABBCCDDEEFF"));
  for (const char* text :
       {"", "0011", "00112233-4455-6677-8899-aabbccddeef", "00112233x4455-6677-8899-aabbccddeeff",
        "0011223344-55-6677-8899-aabbccddeeff", "g0112233-4455-6677-8899-aabbccddeeff",
        "00112233-4455-6677-8899-aabbccddeefff"}) {
    EXPECT_FALSE(Uuid::Parse(text)) << text;
  }
}

TEST(UlidTest, IsTwentySixCharactersInTimeOrder) {
  SeededRandom random(1);
  const std::string older = NewUlid(Timestamp::FromMillis(1'469'922'850'259), random);
  const std::string newer = NewUlid(Timestamp::FromMillis(1'469'922'850'260), random);
  EXPECT_EQ(older.size(), 26u);
  EXPECT_EQ(older.substr(0, 10), "01ARZ3NDEK");  // the time part, a published example
  EXPECT_LT(older, newer);
  EXPECT_EQ(older.find_first_not_of("0123456789ABCDEFGHJKMNPQRSTVWXYZ"), std::string::npos);
}

}  // namespace
}  // namespace cairn
