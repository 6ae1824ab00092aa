#include "functions/cadence/grpc_frame.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace cairn::functions::grpc {
namespace {

outside::HttpAnswer AnswerWith(std::string body, int status = kOk) {
  return {.status = 200,
          .headers = {{"content-type", "application/grpc+proto"}},
          .trailers = {{"grpc-status", std::to_string(status)}},
          .body = std::move(body)};
}

TEST(GrpcFrameTest, AMessageStandsBehindFiveBytes) {
  EXPECT_EQ(Frame("abc"), Bytes("\0\0\0\0\3abc", 8));
  EXPECT_EQ(Frame(""), Bytes("\0\0\0\0\0", 5));
  for (const size_t size : {0UL, 1UL, 255UL, 256UL, 65'535UL, 65'536UL}) {
    const Bytes message(size, '\xFF');
    EXPECT_EQ(*Unframe(Frame(message)), message) << size;
  }
}

TEST(GrpcFrameTest, EveryOtherBodyIsRefusedForAReason) {
  const struct {
    Bytes body;
    std::string_view reason;
  } cases[] = {
      {"", "ends before its message"},
      {Bytes("\0\0\0\0", 4), "ends before its message"},
      {Bytes("\1\0\0\0\0", 5), "compressed"},
      {Bytes("\2\0\0\0\0", 5), "unknown flags"},
      {Bytes("\0\0\0\0\2a", 6), "shorter than it says"},
      {Bytes("\0\xFF\xFF\xFF\xFF"
             "a",
             6),
       "shorter than it says"},
      {Frame("a") + "b", "more than one message"},
      {Frame("a") + Frame("b"), "more than one message"},
  };
  for (const auto& [body, reason] : cases) {
    const Result<Bytes> read = Unframe(body);
    ASSERT_FALSE(read.ok()) << reason;
    EXPECT_EQ(read.error().code, ErrorCode::kCorruption);
    EXPECT_NE(read.error().message.find(reason), std::string::npos) << read.error().message;
  }
}

TEST(GrpcFrameTest, TheTrailersSayHowACallHasEnded) {
  EXPECT_EQ(*ReadAnswer(AnswerWith(Frame("abc"))), "abc");
  outside::HttpAnswer gone = AnswerWith("", kNotFound);
  gone.trailers.emplace_back("grpc-message", "task%20gone%0A%zz%2");
  const Error error = ReadAnswer(gone).error();
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.message, "the server answered with gRPC status 5: task gone\\x0a%zz%2");
  EXPECT_EQ(ReadAnswer(AnswerWith("", kInvalidArgument)).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(ReadAnswer(AnswerWith("", kDeadlineExceeded)).error().code, ErrorCode::kIo);
  EXPECT_EQ(ReadAnswer(AnswerWith("", 14)).error().code, ErrorCode::kUnavailable);
}

TEST(GrpcFrameTest, AnAnswerOfTrailersAloneHasThemAsHeaders) {
  const outside::HttpAnswer answer{
      .status = 200, .headers = {{"content-type", "application/grpc"}, {"grpc-status", "5"}}};
  EXPECT_EQ(ReadAnswer(answer).error().code, ErrorCode::kNotFound);
  // A header that says so is no trailer where there is a body.
  outside::HttpAnswer body = answer;
  body.body = Frame("abc");
  EXPECT_EQ(ReadAnswer(body).error().code, ErrorCode::kCorruption);
}

TEST(GrpcFrameTest, WhatIsNoAnswerOfGrpcIsNoTaskThatIsGone) {
  outside::HttpAnswer proxy{.status = 404, .body = "<html>"};
  EXPECT_EQ(ReadAnswer(proxy).error().code, ErrorCode::kUnavailable);
  proxy.status = 200;
  EXPECT_EQ(ReadAnswer(proxy).error().code, ErrorCode::kCorruption);
  for (const std::string_view status : {"", "x", "-1", "0x", "99999999999999999999"}) {
    outside::HttpAnswer odd = AnswerWith(Frame("abc"));
    odd.trailers = {{"grpc-status", std::string(status)}};
    EXPECT_EQ(ReadAnswer(odd).error().code, ErrorCode::kCorruption) << status;
  }
  outside::HttpAnswer text = AnswerWith(Frame("abc"));
  text.headers = {{"content-type", "text/html"}};
  EXPECT_EQ(ReadAnswer(text).error().code, ErrorCode::kCorruption);
}

TEST(GrpcFrameTest, LongMessagesAreCutAndTimeoutsHaveAUnit) {
  outside::HttpAnswer answer = AnswerWith("", 13);
  answer.trailers.emplace_back("grpc-message", std::string(10'000, 'x'));
  EXPECT_LT(ReadAnswer(answer).error().message.size(), 400U);
  EXPECT_EQ(TimeoutText(std::chrono::seconds(70)), "70000m");
}

}  // namespace
}  // namespace cairn::functions::grpc
