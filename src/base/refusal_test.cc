#include "base/refusal.h"

#include <gtest/gtest.h>

#include <array>

namespace cairn {
namespace {

enum class Reason { kTaken, kGone };

constexpr std::array kRows = {
    ReasonRow<Reason>{Reason::kTaken, "TAKEN", ErrorCode::kConflict, 409, "it is taken", true},
    ReasonRow<Reason>{Reason::kGone, "GONE", ErrorCode::kNotFound, 410, "it is gone"},
};
constexpr RefusalTable<Reason> kTable{kRows};

TEST(RefusalTest, ARefusalIsReadBackAsItWasMade) {
  const Error error = kTable.Refuse(Reason::kTaken, "1-5 is sold");
  EXPECT_EQ(error, (Error{ErrorCode::kConflict, "TAKEN 1-5 is sold"}));
  const auto refusal = kTable.Read(error);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason, "TAKEN");
  EXPECT_EQ(refusal->http_status, 409);
  EXPECT_EQ(refusal->subject, "1-5");
  EXPECT_EQ(refusal->text, "1-5 is sold");
  EXPECT_EQ(kTable.TextOf(error), "1-5 is sold");
}

TEST(RefusalTest, OnlyReasonsThatSaySoNameASubject) {
  EXPECT_EQ(kTable.Read(kTable.Refuse(Reason::kGone, "for ever"))->subject, "");
}

TEST(RefusalTest, OtherErrorsAreNotRefusals) {
  EXPECT_EQ(kTable.Find({ErrorCode::kIo, "TAKEN by the disk"}), nullptr);
  EXPECT_EQ(kTable.Find({ErrorCode::kConflict, "TAKENBY x"}), nullptr);
  EXPECT_EQ(kTable.TextOf({ErrorCode::kIo, "TAKEN by the disk"}), "TAKEN by the disk");
}

TEST(RefusalTest, AReasonWithoutATextHasAnEmptyOne) {
  EXPECT_EQ(kTable.Read({ErrorCode::kNotFound, "GONE"})->text, "");
}

}  // namespace
}  // namespace cairn
