#include "functions/model/message.h"

#include <gtest/gtest.h>

#include <string>

#include "base/bytes.h"
#include "functions/model/limits.h"

namespace cairn::functions {
namespace {

constexpr std::string_view kRequest =
    R"({"activation_id":"2f0c5d0e-0d5b-4c8e-9d55-0a1b2c3d4e5f","request_id":"req_01HZX",)"
    R"("tenant":"t_abc123","namespace":"payments",)"
    R"("ref":{"function":"reconcile","alias":"prod","version":17},)"
    R"("trigger":{"type":"http","source":{"a":1}},)"
    R"("principal":{"sub":"user:123","roles":["role:app"]},)"
    R"("deadline_ms":1730000003000,"event":{"n":12345678901234567890, "x":[1.0]}})";

constexpr std::string_view kResult =
    R"({"activation_id":"2f0c5d0e-0d5b-4c8e-9d55-0a1b2c3d4e5f","request_id":"req_01HZX",)"
    R"("status":"success","duration_ms":12,)"
    R"("result":{"statusCode":200,"headers":{"content-type":"application/json"},)"
    R"("body":"eyJvayI6dHJ1ZX0=","isBase64Encoded":true},"error":null})";

std::string Changed(std::string_view text, std::string_view from, std::string_view to) {
  std::string changed(text);
  const size_t at = changed.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return changed.replace(at, from.size(), to);
}

template <typename T>
std::string ProblemOf(const Result<T>& parsed) {
  return parsed.ok() ? "none" : std::string(RefusalText(parsed.error()));
}

std::string RequestProblem(std::string_view from, std::string_view to) {
  return ProblemOf(ParseInvocationRequest(Changed(kRequest, from, to)));
}

std::string ResultProblem(std::string_view from, std::string_view to) {
  return ProblemOf(ParseInvocationResult(Changed(kResult, from, to)));
}

TEST(MessageTest, AnEnvelopeCarriesItsBodyUntouched) {
  const Envelope envelope{.id = "msg_01HZX",
                          .ts_ms = 1'730'000'000'000,
                          .tenant = "t_abc123",
                          .type = "InvocationRequest",
                          .body = std::string(kRequest)};
  const std::string text = EnvelopeText(envelope);
  EXPECT_EQ(*ParseEnvelope(text), envelope);
  const auto problem = [&](std::string_view from, std::string_view to) {
    return ProblemOf(ParseEnvelope(Changed(text, from, to)));
  };
  EXPECT_EQ(problem("envelope.v1", "envelope.v2"), "schema must be cs.envelope.v1");
  EXPECT_EQ(problem(R"("ts_ms":1730000000000)", R"("ts_ms":0)"),
            "ts_ms must be an integer from 1 to 9000000000000000");
  EXPECT_EQ(problem(R"("id":)", R"("extra":1,"id":)"), "extra is not a member that is known here");
  EXPECT_EQ(
      ProblemOf(ParseEnvelope(
          R"({"schema":"cs.envelope.v1","id":"m","ts_ms":1,"tenant":"t_abc123","type":"x"})")),
      "body is missing");
}

TEST(MessageTest, ARequestIsReadAndWrittenAgain) {
  const InvocationRequest request = *ParseInvocationRequest(kRequest);
  EXPECT_EQ(request.ref.version, 17U);
  EXPECT_EQ(request.trigger.type, TriggerType::kHttp);
  EXPECT_EQ(request.trigger.source, R"({"a":1})");
  EXPECT_EQ(request.event, R"({"n":12345678901234567890, "x":[1.0]})");
  EXPECT_EQ(InvocationRequestText(request), kRequest);
}

TEST(MessageTest, AVersionOrAnAliasIsEnough) {
  EXPECT_EQ(RequestProblem(R"("alias":"prod","version":17)", R"("alias":"prod")"), "none");
  EXPECT_EQ(RequestProblem(R"("alias":"prod","version":17)", R"("version":17)"), "none");
  EXPECT_EQ(RequestProblem(R"(,"alias":"prod","version":17)", ""),
            "ref.alias or version must be there");
}

TEST(MessageTest, FaultsOfARequestNameTheMember) {
  EXPECT_EQ(RequestProblem("2f0c", "zf0c").substr(0, 23), "activation_id is wrong:");
  EXPECT_EQ(RequestProblem("req_01HZX", "short").substr(0, 20), "request_id is wrong:");
  EXPECT_EQ(RequestProblem("t_abc123", "acme").substr(0, 16), "tenant is wrong:");
  EXPECT_EQ(RequestProblem("\"payments\"", "\"p:x\"").substr(0, 19), "namespace is wrong:");
  EXPECT_EQ(RequestProblem("\"prod\"", "\"PROD\"").substr(0, 19), "ref.alias is wrong:");
  EXPECT_EQ(RequestProblem("\"version\":17", "\"version\":0").substr(0, 27),
            "ref.version must be an inte");
  EXPECT_EQ(RequestProblem("\"http\"", "\"smoke\""),
            "trigger.type must be http or schedule or cadence or api or queue or event");
  EXPECT_EQ(RequestProblem(R"({"a":1})", "[]"), "trigger.source must be a JSON object");
  EXPECT_EQ(RequestProblem("1730000003000", "-1"),
            "deadline_ms must be an integer from 1 to 9000000000000000");
  EXPECT_EQ(RequestProblem(R"("deadline_ms":1730000003000,)", ""), "deadline_ms is missing");
  EXPECT_EQ(RequestProblem(R"(,"event":{"n":12345678901234567890, "x":[1.0]})", ""),
            "event is missing");
  EXPECT_EQ(RequestProblem(R"("sub":)", R"("name":1,"sub":)"),
            "principal.name is not a member that is known here");
  EXPECT_EQ(RequestProblem("role:app", ""),
            "principal.roles[0] must be a string of 1 to 256 bytes");
}

TEST(MessageTest, NestingIsBounded) {
  const auto nested = [](size_t depth) {
    return Changed(kRequest, "[1.0]", std::string(depth, '[') + std::string(depth, ']'));
  };
  EXPECT_EQ(ProblemOf(ParseInvocationRequest(nested(kMaxJsonDepth - 2))), "none");
  EXPECT_EQ(ProblemOf(ParseInvocationRequest(nested(kMaxJsonDepth + 1))),
            "it is not JSON, or nested too deeply");
}

TEST(MessageTest, AResultIsReadAndWrittenAgain) {
  const InvocationResult result = *ParseInvocationResult(kResult);
  EXPECT_EQ(result.result->headers.front().second, "application/json");
  EXPECT_EQ(InvocationResultText(result), kResult);
  const InvocationResult failed{.activation_id = result.activation_id,
                                .request_id = result.request_id,
                                .status = Status::kTimeout,
                                .duration_ms = 0,
                                .error = FunctionError{"Timeout", "3000 ms are over", ""}};
  EXPECT_EQ(*ParseInvocationResult(InvocationResultText(failed)), failed);
}

TEST(MessageTest, FaultsOfAResultNameTheMember) {
  EXPECT_EQ(ResultProblem("\"success\"", "\"running\""),
            "status must be success or error or timeout");
  EXPECT_EQ(ResultProblem("\"success\"", "\"error\""),
            "error is missing from what did not succeed");
  EXPECT_EQ(ResultProblem("12,", "-12,").substr(0, 29), "duration_ms must be an intege");
  EXPECT_EQ(ResultProblem("200", "99"), "result.statusCode must be an integer from 100 to 599");
  EXPECT_EQ(ResultProblem("200", "600"), "result.statusCode must be an integer from 100 to 599");
  EXPECT_EQ(ResultProblem("\"application/json\"", "7").substr(0, 35),
            "result.headers.content-type must be");
  EXPECT_EQ(
      ResultProblem("\"error\":null", R"("error":{"type":")" + std::string(129, 'x') + R"("})"),
      "error.type must be a string of 0 to 128 bytes");
}

TEST(MessageTest, LongResultsAreCutTheSameWay) {
  FunctionResult text{.headers = {{"a", "b"}}, .body = Bytes(kMaxResultBytes, 'x') + "\xC3\xA4"};
  EXPECT_TRUE(Truncate(text));
  EXPECT_EQ(text.body.size(), kMaxResultBytes - 2);
  EXPECT_FALSE(Truncate(text));
  FunctionResult coded{.body = Bytes(kMaxResultBytes + 4, 'A'), .is_base64 = true};
  EXPECT_TRUE(Truncate(coded));
  EXPECT_EQ(coded.body.size(), kMaxResultBytes);
  FunctionResult exact{.body = Bytes(kMaxResultBytes, 'x')};
  EXPECT_FALSE(Truncate(exact));
  FunctionResult cookies{.cookies = {"a=1", Bytes(kMaxResultBytes, 'b'), "c=3"}, .body = "x"};
  EXPECT_TRUE(Truncate(cookies));
  EXPECT_EQ(cookies.cookies, std::vector<std::string>{"a=1"});
  EXPECT_EQ(cookies.body, "x");
  FunctionError error{
      .type = Bytes(200, 't'), .message = Bytes(70'000, 'm'), .stack = Bytes(9000, 's')};
  Truncate(error);
  EXPECT_EQ(error.type.size(), kMaxErrorTypeBytes);
  EXPECT_EQ(error.message.size(), kMaxErrorMessageBytes);
  EXPECT_EQ(error.stack.size(), kMaxStackBytes);
}

}  // namespace
}  // namespace cairn::functions
