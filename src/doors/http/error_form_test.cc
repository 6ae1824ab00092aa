#include "doors/http/error_form.h"

#include <gtest/gtest.h>

namespace cairn::doors {
namespace {

TEST(ErrorFormTest, ACodeIsInSmallLettersAndTextsAreEscaped) {
  EXPECT_EQ(StandardErrorBody(
                {.code = "TOO_DEEP", .is_refusal = true, .message = "a \"b\"", .request_id = "r"}),
            R"({"error":{"code":"too_deep","message":"a \"b\"","request_id":"r"}})");
}

TEST(ErrorFormTest, ASubjectIsAMemberOfItsOwn) {
  EXPECT_EQ(
      StandardErrorBody({.code = "SEAT_TAKEN", .message = "m", .request_id = "r", .subject = "1-5"},
                        "seat"),
      R"({"error":{"code":"seat_taken","message":"m","request_id":"r","seat":"1-5"}})");
}

TEST(ErrorFormTest, ABodyThatIsNotJsonIsInvalid) {
  EXPECT_EQ(StandardErrorBody({.code = "not_json", .message = "m", .request_id = "r"}),
            R"({"error":{"code":"invalid","message":"m","request_id":"r"}})");
}

}  // namespace
}  // namespace cairn::doors
