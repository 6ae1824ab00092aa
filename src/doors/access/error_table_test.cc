#include "doors/access/error_table.h"

#include <gtest/gtest.h>

namespace cairn::doors {
namespace {

TEST(ErrorTableTest, EveryCodeHasARow) {
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    const ErrorRow& row = ErrorRowOf(static_cast<ErrorCode>(code));
    EXPECT_FALSE(row.resp_prefix.empty());
    EXPECT_GE(row.http_status, 400);
  }
}

TEST(ErrorTableTest, TellsTheSameErrorAtBothDoors) {
  const Error error{ErrorCode::kConflict, "the seat is taken"};
  EXPECT_EQ(RespErrorText(error), "CONFLICT the seat is taken");
  EXPECT_EQ(HttpErrorJson(error, "r-1"),
            R"({"error":{"code":"conflict","message":"the seat is taken","request_id":"r-1"}})");
}

}  // namespace
}  // namespace cairn::doors
