#include "doors/access/grants.h"

#include <gtest/gtest.h>

namespace cairn::doors {
namespace {

Grants Example() {
  Grants grants;
  grants.Add("key", *NamePatterns::Parse("emails,reports.*"));
  grants.Add("event", *NamePatterns::Parse("summer"));
  return grants;
}

TEST(GrantsTest, NamesAreGrantedByKind) {
  const Grants grants = Example();
  EXPECT_TRUE(Allows(NamesOf(&grants, "key"), "reports.daily"));
  EXPECT_FALSE(Allows(NamesOf(&grants, "key"), "summer"));
  EXPECT_TRUE(Allows(NamesOf(&grants, "event"), "summer"));
  EXPECT_EQ(grants.Describe(), "event summer; key emails,reports.*");
}

TEST(GrantsTest, AKindThatIsNotListedIsClosed) {
  const Grants grants = Example();
  EXPECT_EQ(grants.Find("actor"), nullptr);
  EXPECT_FALSE(Allows(NamesOf(&grants, "actor"), "any"));
}

TEST(GrantsTest, WithoutGrantsEverythingIsOpen) {
  EXPECT_EQ(NamesOf(nullptr, "key"), nullptr);
  EXPECT_TRUE(Allows(NamesOf(nullptr, "key"), "any"));
  for (const Touches touches : {Touches::Anything(), Touches::Nothing(), Touches::Only("key")}) {
    EXPECT_TRUE(touches.OpenTo(nullptr));
  }
}

TEST(GrantsTest, ARowIsOpenIfItsKindIsGranted) {
  const Grants grants = Example();
  EXPECT_TRUE(Touches::Only("key").OpenTo(&grants));
  EXPECT_TRUE(Touches::Nothing().OpenTo(&grants));
  EXPECT_FALSE(Touches::Only("actor").OpenTo(&grants));
  EXPECT_FALSE(Touches::Anything().OpenTo(&grants));
}

}  // namespace
}  // namespace cairn::doors
