#include "functions/model/errors.h"

#include <gtest/gtest.h>

namespace cairn::functions {
namespace {

TEST(FunctionErrorsTest, ARefusalBecomesTheBodyOfAnAnswer) {
  const Error error = Refuse(Code::kNotFound, "there is no function \"abc\"");
  EXPECT_EQ(CodeRowOf(error).http_status, 404);
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(ErrorBody(error, "req_1"),
            R"({"error":{"code":"CS_NOT_FOUND","message":"there is no function \"abc\"",)"
            R"("request_id":"req_1"}})");
}

TEST(FunctionErrorsTest, GeneralErrorsHaveACodeToo) {
  const auto name = [](ErrorCode code) { return CodeRowOf(Error{code, "why"}).name; };
  EXPECT_EQ(name(ErrorCode::kInvalid), "CS_VALIDATION_FAILED");
  EXPECT_EQ(name(ErrorCode::kUnauthorized), "CS_AUTHN_INVALID_TOKEN");
  EXPECT_EQ(name(ErrorCode::kForbidden), "CS_AUTHZ_DENIED");
  EXPECT_EQ(name(ErrorCode::kTooMany), "CS_RATE_LIMITED");
  EXPECT_EQ(name(ErrorCode::kUnavailable), "CS_KVROCKS_UNAVAILABLE");
  EXPECT_EQ(name(ErrorCode::kInternal), "CS_INTERNAL");
  EXPECT_EQ(RefusalText(Error{ErrorCode::kInvalid, "why not"}), "why not");
}

TEST(FunctionErrorsTest, AWordOfAnotherErrorIsNotTakenForACode) {
  const Error error{ErrorCode::kInternal, "CS_NOT_FOUND by accident"};
  EXPECT_EQ(CodeRowOf(error).name, "CS_INTERNAL");
  EXPECT_FALSE(IsRefusal(error, Code::kNotFound));
}

TEST(FunctionErrorsTest, StatusesAreThoseOfTheApi) {
  EXPECT_EQ(CodeRowOf(Code::kConflict).http_status, 409);
  EXPECT_EQ(CodeRowOf(Code::kGone).http_status, 410);
  EXPECT_EQ(CodeRowOf(Code::kBundleTooLarge).http_status, 413);
  EXPECT_EQ(CodeRowOf(Code::kRateLimited).http_status, 429);
  EXPECT_EQ(CodeRowOf(Code::kConcurrencyLimited).http_status, 429);
  EXPECT_EQ(CodeRowOf(Code::kCorrelationTimeout).http_status, 504);
}

}  // namespace
}  // namespace cairn::functions
