#include "functions/cadence/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "functions/cadence/grpc_frame.h"
#include "functions/cadence/grpc_wire.h"
#include "functions/cadence/json_wire.h"
#include "functions/cadence/limits.h"

namespace cairn::functions {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// A field of protobuf whose value is bytes, shorter than 128.
Bytes Field(int number, std::string_view value) {
  Bytes bytes(1, static_cast<char>(number << 3 | 2));
  bytes += static_cast<char>(value.size());
  return bytes.append(value);
}
Bytes Number(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}

outside::HttpAnswer GrpcAnswer(BytesView message) {
  return {.status = 200,
          .headers = {{"content-type", "application/grpc"}},
          .trailers = {{"grpc-status", "0"}},
          .body = grpc::Frame(message)};
}
outside::HttpAnswer JsonAnswer(std::string body, int status = 200) {
  return {.status = status, .body = std::move(body)};
}

const std::unique_ptr<Wire> kGrpc = MakeGrpcWire("http://cadence:7833");
const std::unique_ptr<Wire> kJson = MakeJsonWire("http://flow:7933");

TEST(WireTest, AnAddressBecomesAUrl) {
  EXPECT_EQ(FrontendUrl("cadence:7833"), "http://cadence:7833");
  EXPECT_EQ(FrontendUrl("https://cadence.example:7833/"), "https://cadence.example:7833");
  EXPECT_EQ(FrontendUrl("http://[::1]:7833"), "http://[::1]:7833");
  EXPECT_EQ(FrontendUrl(""), "");
  for (const std::string_view bad :
       {"ftp://cadence", "http://", "http://a b", "http://u:p@h", "http://h/?x=1", "://"}) {
    EXPECT_EQ(FrontendUrl(bad), std::nullopt) << bad;
  }
}

TEST(WireTest, AGrpcPollIsWhatCadenceExpects) {
  const outside::HttpCall call = kGrpc->Poll({"payments", "acts", "w-1"});
  EXPECT_EQ(call.url, "http://cadence:7833/uber.cadence.api.v1.WorkerAPI/PollForActivityTask");
  EXPECT_EQ(call.version, outside::HttpCall::Version::kHttp2);
  for (const char* const header :
       {"content-type: application/grpc", "te: trailers", "grpc-timeout: 70000m",
        "rpc-caller: cairn", "rpc-service: cadence-frontend", "rpc-encoding: proto"}) {
    EXPECT_THAT(call.headers, Contains(header));
  }
  EXPECT_EQ(*grpc::Unframe(call.body),
            Field(1, "payments") + Field(2, Field(1, "acts") + Number(2, 1)) + Field(3, "w-1"));
}

TEST(WireTest, AGrpcTaskIsReadAndUnknownFieldsAreSkipped) {
  const Bytes message = Field(1, "tok") + Field(2, Field(1, "wf") + Field(2, "run")) +
                        Field(3, "act-1") + Field(4, Field(1, "Pay")) +
                        Field(5, Field(1, BytesView("\0\xFF", 2))) + Field(6, "\x08\x01") +
                        Field(9, Number(1, 7)) + Number(11, 3) + Field(15, "payments");
  const auto task = kGrpc->ReadPoll(GrpcAnswer(message));
  ASSERT_TRUE(task.ok()) << task.error().message;
  const ActivityTask expected{.token = "tok",
                              .workflow_id = "wf",
                              .run_id = "run",
                              .activity_id = "act-1",
                              .activity_type = "Pay",
                              .attempt = 3,
                              .input = Bytes("\0\xFF", 2),
                              .timeout_ms = 7'000};
  EXPECT_EQ(**task, expected);
}

TEST(WireTest, APollThatHasFoundNothingIsNoError) {
  EXPECT_EQ(*kGrpc->ReadPoll(GrpcAnswer("")), std::nullopt);
  EXPECT_EQ(*kJson->ReadPoll(JsonAnswer(R"({"task":null})")), std::nullopt);
  EXPECT_EQ(*kJson->ReadPoll(JsonAnswer("{}")), std::nullopt);
}

TEST(WireTest, GrpcAnswersSayHowATaskHasEnded) {
  const TaskRef task{.token = "tok", .worker_id = "w-1"};
  const outside::HttpCall done = kGrpc->Respond(task, {.text = R"({"n":1})"});
  EXPECT_THAT(done.url, HasSubstr("/RespondActivityTaskCompleted"));
  EXPECT_EQ(*grpc::Unframe(done.body),
            Field(1, "tok") + Field(2, Field(1, R"({"n":1})")) + Field(3, "w-1"));
  const outside::HttpCall failed =
      kGrpc->Respond(task, {.failed = true, .reason = "timeout", .text = "{}"});
  EXPECT_THAT(failed.url, HasSubstr("/RespondActivityTaskFailed"));
  EXPECT_EQ(*grpc::Unframe(failed.body),
            Field(1, "tok") + Field(2, Field(1, "timeout") + Field(2, "{}")) + Field(3, "w-1"));
  const outside::HttpCall beat = kGrpc->Heartbeat(task, "7");
  EXPECT_THAT(beat.url, HasSubstr("/RecordActivityTaskHeartbeat"));
  EXPECT_EQ(*grpc::Unframe(beat.body), Field(1, "tok") + Field(2, Field(1, "7")) + Field(3, "w-1"));
  EXPECT_TRUE(kGrpc->ReadRespond(GrpcAnswer("")).ok());
  EXPECT_FALSE(*kGrpc->ReadHeartbeat(GrpcAnswer("")));
  EXPECT_TRUE(*kGrpc->ReadHeartbeat(GrpcAnswer(Number(1, 1))));
}

TEST(WireTest, AMalformedMessageIsRefused) {
  // Wire types that do not exist, lengths beyond the end, endless varints.
  for (const Bytes& bad : {Bytes("\x0A\x7F", 2), Bytes("\x0F", 1), Bytes(11, '\xFF'),
                           Field(2, "\x0A\x05"), Bytes("\x08", 1)}) {
    const auto task = kGrpc->ReadPoll(GrpcAnswer(bad));
    ASSERT_FALSE(task.ok());
    EXPECT_EQ(task.error().code, ErrorCode::kCorruption);
  }
}

TEST(WireTest, ATaskThatIsTooLargeIsRefused) {
  ActivityTask task{.token = Bytes(kMaxTaskTokenBytes, 't'),
                    .workflow_id = std::string(kMaxTaskTextBytes, 'w')};
  EXPECT_TRUE(CheckTask(task).ok());
  task.token += 't';
  EXPECT_EQ(CheckTask(task).error().code, ErrorCode::kTooLarge);
  task.token.pop_back();
  task.workflow_id += 'w';
  EXPECT_EQ(CheckTask(task).error().code, ErrorCode::kTooLarge);
}

TEST(WireTest, AnAbsurdTimeoutIsBounded) {
  const Bytes long_time = Bytes("\x08") + Bytes(9, '\xFF') + Bytes("\x01");  // -1 seconds
  const auto negative = kGrpc->ReadPoll(GrpcAnswer(Field(1, "t") + Field(9, long_time)));
  EXPECT_EQ((**negative).timeout_ms, 0);
  const Bytes huge = Bytes("\x08") + Bytes(8, '\xFF') + Bytes("\x7F");
  const auto bounded = kGrpc->ReadPoll(GrpcAnswer(Field(1, "t") + Field(9, huge)));
  EXPECT_EQ((**bounded).timeout_ms, 24LL * 60 * 60 * 1000);
}

TEST(WireTest, TheJsonFacadeIsThatOfCodeFlow) {
  const outside::HttpCall poll = kJson->Poll({"payments", "acts", "w-1"});
  EXPECT_EQ(poll.url, "http://flow:7933/v1/poll-activity-task");
  EXPECT_EQ(poll.body, R"({"domain":"payments","tasklist":"acts","worker_id":"w-1"})");
  EXPECT_EQ(poll.timeout, kJsonPollTimeout);
  const auto task = kJson->ReadPoll(JsonAnswer(
      R"({"task":{"task_token":"tok","domain":"payments","tasklist":"acts","workflow_id":"wf",)"
      R"("run_id":"run","activity_id":"a","activity_type":"Pay","attempt":2,)"
      R"("input_base64":"AP8=","more":1}})"));
  ASSERT_TRUE(task.ok()) << task.error().message;
  const ActivityTask expected{.token = "tok",
                              .workflow_id = "wf",
                              .run_id = "run",
                              .activity_id = "a",
                              .activity_type = "Pay",
                              .attempt = 2,
                              .input = Bytes("\0\xFF", 2)};
  EXPECT_EQ(**task, expected);
  const TaskRef ref{.token = "tok", .worker_id = "w-1"};
  const outside::HttpCall done = kJson->Respond(ref, {.text = "{}"});
  EXPECT_EQ(done.url, "http://flow:7933/v1/respond-activity-completed");
  EXPECT_EQ(done.body, R"({"task_token":"tok","payload_base64":"e30="})");
  const outside::HttpCall failed =
      kJson->Respond(ref, {.failed = true, .reason = "error", .text = "{}"});
  EXPECT_EQ(failed.url, "http://flow:7933/v1/respond-activity-failed");
  EXPECT_EQ(failed.body, R"({"task_token":"tok","reason":"error","details_base64":"e30="})");
  EXPECT_EQ(kJson->Heartbeat(ref, "7").body, R"({"task_token":"tok","details_base64":"Nw=="})");
  EXPECT_FALSE(*kJson->ReadHeartbeat(JsonAnswer("")));
  EXPECT_TRUE(*kJson->ReadHeartbeat(JsonAnswer(R"({"cancel_requested":true})")));
}

TEST(WireTest, WhatTheFacadeShouldNotSayIsRefused) {
  for (const char* const bad :
       {"", "null", "[]", R"({"task":7})", R"({"task":{}})", R"({"task":{"task_token":""}})",
        R"({"task":{"task_token":"t","input_base64":"!"}})",
        R"({"task":{"task_token":"t","attempt":-1}})"}) {
    const auto task = kJson->ReadPoll(JsonAnswer(bad));
    ASSERT_FALSE(task.ok()) << bad;
    EXPECT_EQ(task.error().code, ErrorCode::kCorruption) << bad;
  }
  EXPECT_EQ(kJson->ReadRespond(JsonAnswer("", 404)).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(kJson->ReadRespond(JsonAnswer("", 410)).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(kJson->ReadRespond(JsonAnswer("", 400)).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(kJson->ReadRespond(JsonAnswer("", 503)).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(kJson->ReadHeartbeat(JsonAnswer("x")).error().code, ErrorCode::kCorruption);
}

}  // namespace
}  // namespace cairn::functions
