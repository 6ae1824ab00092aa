// Every rule of the codeQ protocol, through both doors.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <thread>

#include "functions/http/codeq_support.h"
#include "functions/model/errors.h"
#include "functions/model/keys.h"
#include "functions/model/limits.h"
#include "functions/testing/codeq_server.h"
#include "tests/support/await.h"

namespace cairn::functions {
namespace {

namespace json = boost::json;
using testing::ActivationId;
using testing::CodeqServer;
using testing::kTenant;
using testing::MessageAround;
using testing::RequestId;
using testing::RequestMessage;
using testing::ResultMessage;

constexpr char kInvokeMessages[] = "/v1/codeq/topics/cs.invoke/messages";
constexpr char kResultMessages[] = "/v1/codeq/topics/cs.results/messages";

class CodeqTest : public ::testing::Test {
 protected:
  ~CodeqTest() override { server_.ExpectSound(); }

  std::string Publish(const std::string& topic, const std::string& message) {
    const json::value answer =
        server_.Json(202, "POST", "/v1/codeq/topics/" + topic + "/messages", message);
    return answer.is_object() && answer.as_object().contains("id")
               ? std::string(answer.at("id").as_string())
               : "";
  }
  json::array Claim(const std::string& topic, const std::string& options = "{}") {
    return server_.Json(200, "POST", "/v1/codeq/topics/" + topic + "/claim", options)
        .at("messages")
        .as_array();
  }
  std::string Finish(const json::value& message, const std::string& how,
                     const std::string& more = "") {
    const net::HttpResponse response =
        server_.Ask("POST", fmt::format("/v1/codeq/messages/{}/{}", Text(message, "id"), how),
                    fmt::format(R"({{"lease_token":"{}"{}}})", Text(message, "lease_token"), more));
    return response.status == 200 ? response.body : CodeqServer::Refusal(response);
  }
  static std::string Text(const json::value& value, std::string_view name) {
    return std::string(value.at(name).as_string());
  }
  json::array Letters(const std::string& topic) {
    return server_.Json(200, "GET", "/v1/codeq/dlq/" + topic).at("letters").as_array();
  }
  // As the invoker keeps it, as far as correlation is concerned.
  void PutActivation(int number) {
    server_.Run({"SET", ActivationKey(kTenant, ActivationId(number)),
                 fmt::format(R"({{"activation_id":"{}","request_id":"{}","status":"running"}})",
                             ActivationId(number), RequestId(number))});
  }
  std::string ResultPath(int number, const std::string& query = "") {
    return fmt::format("/v1/codeq/results/{}/{}{}", kTenant, RequestId(number), query);
  }
  int64_t Ready(const std::string& topic) {
    return server_.Json(200, "GET", "/v1/codeq/topics/" + topic).at("ready").as_int64();
  }

  CodeqServer server_;
};

// --- Publishing and consuming --------------------------------------------------------------------

TEST_F(CodeqTest, AMessageComesOutAsItWentIn) {
  const std::string id = Publish("cs.invoke", RequestMessage(1));
  const json::array messages = Claim("cs.invoke");
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(Text(messages[0], "id"), id);
  EXPECT_EQ(messages[0].at("attempt"), 1);
  EXPECT_EQ(messages[0].at("message"), json::parse(RequestMessage(1)));
  EXPECT_EQ(Finish(messages[0], "ack"), R"({"status":"ok"})");
  EXPECT_EQ(server_.Run({"JOB.GET", id}), "(nil)") << "nothing of it is kept";
}

TEST_F(CodeqTest, SeveralArePublishedTogetherAndTheWrongOnesAnsweredAlone) {
  const json::value answer =
      server_.Json(200, "POST", kInvokeMessages,
                   fmt::format(R"({{"messages":[{},{},{}]}})", RequestMessage(1),
                               RequestMessage(2, "deadline_ms"), RequestMessage(3)));
  const json::array& messages = answer.at("messages").as_array();
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(Text(messages[0], "message_id"), "msg_1");
  EXPECT_EQ(Text(messages[1].at("error"), "code"), "CS_VALIDATION_FAILED");
  EXPECT_EQ(Text(messages[2], "message_id"), "msg_3");
  EXPECT_EQ(Claim("cs.invoke", R"({"count":5})").size(), 2U);
  EXPECT_EQ(Letters("cs.invoke").size(), 1U);
}

TEST_F(CodeqTest, AClaimThatWaitsIsWokenByTheCommitOfAMessage) {
  net::HttpClient client = server_.NewClient();
  std::string body;
  std::atomic<bool> answered{false};
  std::thread waiting([&] {
    const auto response =
        client.Request("POST", "/v1/codeq/topics/cs.invoke/claim", R"({"wait_ms":60000})", {});
    if (response.ok()) body = response->body;
    answered = true;
  });
  cairn::testing::Await("a claim in line, or its answer",
                        [&] { return server_.store().waiters().count() != 0 || answered; });
  Publish("cs.invoke", RequestMessage(1));
  waiting.join();
  EXPECT_EQ(json::parse(body).at("messages").as_array().size(), 1U) << body;
}

TEST_F(CodeqTest, AMessageGivenBackIsClaimedAgainAfterItsDelay) {
  Publish("cs.invoke", RequestMessage(1));
  const json::array first = Claim("cs.invoke");
  EXPECT_EQ(Finish(first[0], "nack", R"(,"delay_ms":5000,"reason":"busy")"),
            R"({"status":"requeued","delay_ms":5000})");
  EXPECT_TRUE(Claim("cs.invoke").empty());
  server_.Advance(5000);
  const json::array second = Claim("cs.invoke");
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].at("attempt"), 2);
  EXPECT_EQ(Finish(first[0], "ack").substr(0, 15), "409 CS_CONFLICT") << "its lease has passed on";
}

TEST_F(CodeqTest, ALeaseThatIsExtendedDoesNotLapse) {
  Publish("cs.invoke", RequestMessage(1));
  const json::array messages = Claim("cs.invoke", R"({"lease_ms":1000})");
  EXPECT_EQ(Finish(messages[0], "extend", R"(,"lease_ms":60000)"),
            R"({"lease_expires_at_ms":1700000060000})");
  server_.Advance(30'000);
  EXPECT_TRUE(Claim("cs.invoke").empty());
  server_.Advance(30'000);
  EXPECT_EQ(Claim("cs.invoke").size(), 1U);
}

TEST_F(CodeqTest, AMessageWhoseConsumersHaveGivenUpIsADeadLetter) {
  Publish("cs.invoke", RequestMessage(1));
  server_.Run({"QUEUE.CONFIG", "cs.invoke", R"({"max_retries":0})"});
  const std::string second = Publish("cs.invoke", RequestMessage(2));
  const json::array messages = Claim("cs.invoke", R"({"count":2})");
  ASSERT_EQ(Text(messages[1], "id"), second);
  EXPECT_EQ(Finish(messages[1], "nack", R"(,"reason":"no such alias")").substr(0, 16),
            R"({"status":"dead")");
  const json::array letters = Letters("cs.invoke");
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(Text(letters[0], "reason"),
            "CS_CODEQ_SUBSCRIBE_FAILED given up after 1 attempts: no such alias");
  EXPECT_EQ(letters[0].at("original"), json::parse(RequestMessage(2)));
}

TEST_F(CodeqTest, ATopicOfUsersTakesAnyJson) {
  Publish("orders", R"({"total":12345678901234567890})");
  Publish("orders", R"([1,2])");
  Publish("orders", MessageAround("Order", R"({"mine":true})"));
  const json::array messages = Claim("orders", R"({"count":5})");
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(Text(messages[0].at("message"), "schema"), "cs.envelope.v1");
  EXPECT_EQ(json::serialize(messages[0].at("message").at("body")),
            R"({"total":12345678901234567890})");
  EXPECT_EQ(json::serialize(messages[1].at("message").at("body")), R"({"payload":[1,2]})");
  EXPECT_EQ(Text(messages[2].at("message"), "type"), "Order");
}

TEST_F(CodeqTest, AJobOfUsersIsClaimedInAnEnvelope) {
  server_.Run({"JOB.ENQUEUE", "orders", R"({"total":1})"});
  const json::array messages = Claim("orders");
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(Text(messages[0].at("message"), "type"), "Job");
  EXPECT_EQ(json::serialize(messages[0].at("message").at("body")), R"({"total":1})");
}

TEST_F(CodeqTest, TheSameIdempotencyKeyIsTheSameMessage) {
  const net::HttpHeaders headers = {{"Idempotency-Key", "k1"}};
  const json::value first = server_.Json(202, "POST", kInvokeMessages, RequestMessage(1), headers);
  const json::value again = server_.Json(202, "POST", kInvokeMessages, RequestMessage(1), headers);
  EXPECT_EQ(first.at("id"), again.at("id"));
  EXPECT_EQ(again.at("existing"), true);
  EXPECT_EQ(Ready("cs.invoke"), 1);
}

TEST_F(CodeqTest, AMessageOfAnEventAsLargeAsItMayBePasses) {
  const std::string event = fmt::format("\"event\":\"{}\"", std::string(8 << 20, 'A'));
  Publish("cs.invoke", RequestMessage(1, "event", event));
  const json::array messages = Claim("cs.invoke");
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].at("message").at("body").at("event").as_string().size(), 8U << 20);
}

// --- Validation ----------------------------------------------------------------------------------

struct Fault {
  std::string what;
  std::string message;
  std::string names;  // the error begins with this
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.what; }

std::vector<Fault> RequestFaults() {
  std::vector<Fault> faults = {
      {"not JSON", "{", "it is not JSON"},
      {"no envelope", "{}", "schema"},
      {"another schema", R"({"schema":"cs.envelope.v2"})", "schema"},
      {"another type", MessageAround("InvocationResult", "{}"), "type"},
      {"a foreign tenant", RequestMessage(1, "tenant", R"("tenant":"t_other12")"), "body.tenant"},
      {"no deadline", RequestMessage(1, "deadline_ms"), "body.deadline_ms"},
      {"a deadline of text", RequestMessage(1, "deadline_ms", R"("deadline_ms":"soon")"),
       "body.deadline_ms"},
      {"no activation", RequestMessage(1, "activation_id"), "body.activation_id"},
      {"an activation that is no UUID",
       RequestMessage(1, "activation_id", R"("activation_id":"a1")"), "body.activation_id"},
      {"no request", RequestMessage(1, "request_id"), "body.request_id"},
      {"no namespace", RequestMessage(1, "namespace"), "body.namespace"},
      {"no function", RequestMessage(1, "ref", R"("ref":{"alias":"prod"})"), "body.ref.function"},
      {"neither alias nor version", RequestMessage(1, "ref", R"("ref":{"function":"reconcile"})"),
       "body.ref.alias"},
      {"version 0", RequestMessage(1, "ref", R"("ref":{"function":"reconcile","version":0})"),
       "body.ref.version"},
      {"an unknown trigger", RequestMessage(1, "trigger", R"("trigger":{"type":"mail"})"),
       "body.trigger.type"},
      {"a member that is not known", RequestMessage(1, "", R"("colour":"red")"), "body.colour"},
  };
  for (const std::string_view member : {"id", "ts_ms", "tenant", "type", "body"}) {
    json::object message = json::parse(RequestMessage(1)).as_object();
    message.erase(member);
    faults.push_back({fmt::format("no {}", member), json::serialize(message), std::string(member)});
  }
  return faults;
}

class RequestFaultTest : public CodeqTest, public ::testing::WithParamInterface<Fault> {};

TEST_P(RequestFaultTest, IsADeadLetterAndItsPublisherIsTold) {
  const net::HttpResponse response = server_.Ask("POST", kInvokeMessages, GetParam().message);
  const std::string expected = "400 CS_VALIDATION_FAILED " + GetParam().names;
  EXPECT_EQ(CodeqServer::Refusal(response).substr(0, expected.size()), expected) << response.body;
  const json::array letters = Letters("cs.dlq.invoke");
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].at("id"), json::parse(response.body).at("dead_letter"));
  EXPECT_EQ(Text(letters[0], "reason").substr(0, 21 + GetParam().names.size()),
            "CS_VALIDATION_FAILED " + GetParam().names);
  EXPECT_EQ(letters[0].at("received_at_ms"), 1'700'000'000'000);
  EXPECT_TRUE(Claim("cs.invoke").empty());
}

INSTANTIATE_TEST_SUITE_P(Faults, RequestFaultTest, ::testing::ValuesIn(RequestFaults()));

std::vector<Fault> ResultFaults() {
  return {
      {"no status", ResultMessage(1, "status"), "body.status"},
      {"a status that is none", ResultMessage(1, "status", R"("status":"running")"), "body.status"},
      {"no duration", ResultMessage(1, "duration_ms"), "body.duration_ms"},
      {"a negative duration", ResultMessage(1, "duration_ms", R"("duration_ms":-1)"),
       "body.duration_ms"},
      {"a success without a result", ResultMessage(1, "result"), "body.result"},
      {"an error without an error", ResultMessage(1, "status", R"("status":"error")"),
       "body.error"},
      {"a stack that is too long",
       ResultMessage(1, "",
                     fmt::format(R"("error":{{"type":"E","stack":"{}"}})",
                                 std::string(kMaxStackBytes + 1, 's'))),
       "body.error.stack"},
      {"another type", MessageAround("InvocationRequest", "{}"), "type"},
  };
}

class ResultFaultTest : public CodeqTest, public ::testing::WithParamInterface<Fault> {};

TEST_P(ResultFaultTest, IsADeadLetterAndItsPublisherIsTold) {
  PutActivation(1);
  const net::HttpResponse response = server_.Ask("POST", kResultMessages, GetParam().message);
  const std::string expected = "400 CS_VALIDATION_FAILED " + GetParam().names;
  EXPECT_EQ(CodeqServer::Refusal(response).substr(0, expected.size()), expected) << response.body;
  EXPECT_EQ(Letters("cs.dlq.results").size(), 1U);
  EXPECT_EQ(server_.Run({"EXISTS", RequestResultKey(kTenant, RequestId(1))}), "(integer) 0");
}

INSTANTIATE_TEST_SUITE_P(Faults, ResultFaultTest, ::testing::ValuesIn(ResultFaults()));

TEST(CodeqWordsTest, WhatTheStoreCannotDoIsToldByWhatWasNotDone) {
  const Error away{ErrorCode::kUnavailable, "writes are stopped"};
  const Error published = InWordsOf(Code::kPublishFailed, away);
  EXPECT_TRUE(IsRefusal(published, Code::kPublishFailed));
  EXPECT_EQ(CodeRowOf(published).http_status, 503);
  EXPECT_EQ(RefusalText(published), "writes are stopped");
  EXPECT_TRUE(IsRefusal(InWordsOf(Code::kSubscribeFailed, away), Code::kSubscribeFailed));
  const Error refused = Refuse(Code::kConflict, "no");
  EXPECT_EQ(InWordsOf(Code::kPublishFailed, refused), refused);
}

TEST_F(CodeqTest, AMessageThatWasPutIntoTheQueueUncheckedIsADeadLetterWhenItIsClaimed) {
  Publish("cs.invoke", RequestMessage(1));
  server_.Run({"JOB.ENQUEUE", "cs.invoke", R"({"not":"an envelope"})"});
  Publish("cs.invoke", RequestMessage(2));
  const json::array messages = Claim("cs.invoke", R"({"count":2})");
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(Text(messages[1].at("message"), "id"), "msg_2");
  const json::array letters = Letters("cs.invoke");
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(json::serialize(letters[0].at("original")), R"({"not":"an envelope"})");
}

TEST_F(CodeqTest, AMessageThatIsTooLargeLeavesNothing) {
  const net::HttpResponse response =
      server_.Ask("POST", kInvokeMessages, std::string(kMaxMessageBytes + 1, ' '));
  EXPECT_EQ(CodeqServer::Refusal(response).substr(0, 16), "413 CS_TOO_LARGE");
  EXPECT_TRUE(Letters("cs.invoke").empty());
}

TEST_F(CodeqTest, NobodyPublishesDeadLetters) {
  const net::HttpResponse response =
      server_.Ask("POST", "/v1/codeq/topics/cs.dlq.invoke/messages", RequestMessage(1));
  EXPECT_EQ(CodeqServer::Refusal(response).substr(0, 24), "400 CS_VALIDATION_FAILED");
  EXPECT_TRUE(Letters("cs.invoke").empty());
}

// --- Dead letters --------------------------------------------------------------------------------

TEST_F(CodeqTest, DeadLettersAreListedInPages) {
  for (int i = 0; i < 5; ++i) server_.Ask("POST", kInvokeMessages, fmt::format("{{\"n\":{}}}", i));
  std::string seen;
  std::string cursor;
  int pages = 0;
  do {
    const json::value page = server_.Json(
        200, "GET", fmt::format("/v1/codeq/dlq/cs.dlq.invoke?limit=2&cursor={}", cursor));
    for (const json::value& letter : page.at("letters").as_array()) {
      seen += fmt::to_string(letter.at("original").at("n").as_int64());
    }
    cursor = page.as_object().contains("next") ? Text(page, "next") : "";
    ++pages;
  } while (!cursor.empty());
  EXPECT_EQ(seen, "01234");
  EXPECT_EQ(pages, 3);
}

TEST_F(CodeqTest, ADeadLetterOfBytesThatAreNoTextIsKeptAsText) {
  server_.Ask("POST", kInvokeMessages, std::string("\xff\x00{", 3));
  const json::array letters = Letters("cs.invoke");
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_TRUE(letters[0].at("original").is_string());
}

TEST_F(CodeqTest, RedrivingPublishesWhatValidatesNowAndKeepsTheRest) {
  server_.Ask("POST", kInvokeMessages, R"({"wrong":"for ever"})");
  Publish("cs.invoke", RequestMessage(1));
  server_.Run({"QUEUE.CONFIG", "cs.invoke", R"({"max_retries":0})"});
  Publish("cs.invoke", RequestMessage(2));
  const json::array messages = Claim("cs.invoke", R"({"count":2})");
  Finish(messages[0], "ack");
  Finish(messages[1], "nack");
  const json::value answer = server_.Json(200, "POST", "/v1/codeq/dlq/cs.dlq.invoke/redrive", "{}");
  EXPECT_EQ(answer.at("redriven"), 1);
  EXPECT_EQ(answer.at("kept"), 1);
  EXPECT_EQ(Text(answer.at("refused"), "code"), "CS_VALIDATION_FAILED");
  EXPECT_EQ(Letters("cs.invoke").size(), 1U);
  const json::array again = Claim("cs.invoke");
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(Text(again[0].at("message"), "id"), "msg_2");
}

TEST_F(CodeqTest, OneLetterIsShownRedrivenAndPurgedByItsName) {
  const auto dead_letter = [&](const std::string& message) {
    return Text(json::parse(server_.Ask("POST", kInvokeMessages, message).body), "dead_letter");
  };
  const std::string first = dead_letter(R"({"n":1})");
  const std::string second = dead_letter(R"({"n":2})");
  EXPECT_EQ(Text(server_.Json(200, "GET", "/v1/codeq/dlq/cs.invoke/" + first), "id"), first);
  EXPECT_EQ(CodeqServer::Refusal(server_.Ask("POST", "/v1/codeq/dlq/cs.invoke/redrive",
                                             fmt::format(R"({{"id":"{}"}})", first)))
                .substr(0, 24),
            "400 CS_VALIDATION_FAILED");
  server_.Json(200, "DELETE", "/v1/codeq/dlq/cs.invoke/" + first);
  ASSERT_EQ(Letters("cs.invoke").size(), 1U);
  EXPECT_EQ(Text(Letters("cs.invoke")[0], "id"), second);
  EXPECT_EQ(server_.Ask("GET", "/v1/codeq/dlq/cs.invoke/" + first).status, 404);
  EXPECT_EQ(server_.Json(200, "DELETE", "/v1/codeq/dlq/cs.invoke").at("purged"), 1);
  EXPECT_TRUE(Letters("cs.invoke").empty());
}

TEST_F(CodeqTest, DeadLettersAreGoneAfterSevenDays) {
  server_.Ask("POST", kInvokeMessages, "{}");
  server_.Advance(7 * kDayMs - 1);
  EXPECT_EQ(Letters("cs.invoke").size(), 1U);
  server_.Advance(1);
  EXPECT_TRUE(Letters("cs.invoke").empty());
}

TEST_F(CodeqTest, ATopicWithoutDeadLettersHasNone) {
  EXPECT_EQ(server_.Ask("GET", "/v1/codeq/dlq/orders").status, 404);
}

// --- Results -------------------------------------------------------------------------------------

TEST_F(CodeqTest, AResultIsKeptForItsRequestForTenMinutes) {
  PutActivation(1);
  EXPECT_EQ(server_.Ask("GET", ResultPath(1)).status, 404);
  Publish("cs.results", ResultMessage(1));
  EXPECT_EQ(server_.Json(200, "GET", ResultPath(1)), json::parse(ResultMessage(1)).at("body"));
  server_.Advance(kRequestResultTtlMs - 1);
  EXPECT_EQ(server_.Ask("GET", ResultPath(1)).status, 200);
  server_.Advance(1);
  EXPECT_EQ(server_.Ask("GET", ResultPath(1)).status, 404);
}

TEST_F(CodeqTest, AResultThatNobodyConsumesLeavesItsTopicAfterTenMinutes) {
  PutActivation(1);
  Publish("cs.results", ResultMessage(1));
  server_.Advance(kRequestResultTtlMs - 1);
  EXPECT_EQ(Ready("cs.results"), 1);
  server_.Advance(1);
  EXPECT_EQ(Ready("cs.results"), 0);
  server_.Advance(1'000);  // what has expired is removed with the next sweep
  const json::value stats = server_.Json(200, "GET", "/v1/codeq/topics/cs.results");
  EXPECT_EQ(stats.at("dead"), 0) << "nor is it kept as a dead job";
}

TEST_F(CodeqTest, WhoWaitsForAResultIsWokenByItsCommit) {
  PutActivation(1);
  net::HttpClient client = server_.NewClient();
  net::HttpResponse answer;
  std::thread waiting([&] {
    const auto response = client.Request("GET", ResultPath(1, "?wait_ms=60000"), "", {});
    if (response.ok()) answer = *response;
  });
  Publish("cs.results", ResultMessage(1));
  waiting.join();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(json::parse(answer.body), json::parse(ResultMessage(1)).at("body"));
}

TEST_F(CodeqTest, AResultIsPublishedOnce) {
  PutActivation(1);
  Publish("cs.results", ResultMessage(1));
  const json::value again = server_.Json(202, "POST", kResultMessages,
                                         ResultMessage(1, "duration_ms", R"("duration_ms":99)"));
  EXPECT_EQ(again.at("existing"), true);
  EXPECT_EQ(Ready("cs.results"), 1);
  EXPECT_EQ(server_.Json(200, "GET", ResultPath(1)).at("duration_ms"), 12);
}

TEST_F(CodeqTest, AResultOfAnUnknownActivationIsADeadLetter) {
  const net::HttpResponse response = server_.Ask("POST", kResultMessages, ResultMessage(1));
  EXPECT_EQ(CodeqServer::Refusal(response).substr(0, 35), "404 CS_NOT_FOUND body.activation_id");
  const json::array letters = Letters("cs.results");
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(Text(letters[0], "reason").substr(0, 31), "CS_NOT_FOUND body.activation_id");
  // Once the activation is known the letter can go where it was meant to.
  PutActivation(1);
  EXPECT_EQ(server_.Json(200, "POST", "/v1/codeq/dlq/cs.results/redrive").at("redriven"), 1);
  EXPECT_EQ(server_.Ask("GET", ResultPath(1)).status, 200);
  EXPECT_TRUE(Letters("cs.results").empty());
}

TEST_F(CodeqTest, AResultForAnotherRequestIsADeadLetter) {
  PutActivation(1);
  const net::HttpResponse response = server_.Ask(
      "POST", kResultMessages, ResultMessage(1, "request_id", R"("request_id":"req_other123")"));
  EXPECT_EQ(CodeqServer::Refusal(response).substr(0, 32), "404 CS_NOT_FOUND body.request_id");
  EXPECT_EQ(Letters("cs.results").size(), 1U);
}

TEST_F(CodeqTest, WhoNamesTheActivationNeverGetsTheResultOfAnother) {
  PutActivation(1);
  Publish("cs.results", ResultMessage(1));
  EXPECT_EQ(server_.Ask("GET", ResultPath(1, "?activation_id=" + ActivationId(2))).status, 404);
  EXPECT_EQ(server_.Ask("GET", ResultPath(1, "?activation_id=" + ActivationId(1))).status, 200);
}

// --- The other door ------------------------------------------------------------------------------

TEST_F(CodeqTest, PublishingAndWritingDataAreOneCommit) {
  server_.Run({"MULTI"});
  server_.Run({"SET", "order:1", "paid"});
  server_.Run({"CODEQ.PUBLISH", "cs.invoke", RequestMessage(1)});
  server_.Run({"DISCARD"});
  EXPECT_TRUE(Claim("cs.invoke").empty());
  server_.Run({"MULTI"});
  server_.Run({"SET", "order:1", "paid"});
  server_.Run({"CODEQ.PUBLISH", "cs.invoke", RequestMessage(1)});
  server_.Run({"EXEC"});
  EXPECT_EQ(server_.Run({"GET", "order:1"}), "\"paid\"");
  EXPECT_EQ(Claim("cs.invoke").size(), 1U);
}

TEST_F(CodeqTest, AScriptPublishes) {
  server_.Run(
      {"EVAL", "return redis.call('CODEQ.PUBLISH', 'cs.invoke', ARGV[1])", "0", RequestMessage(1)});
  EXPECT_EQ(Claim("cs.invoke").size(), 1U);
}

TEST_F(CodeqTest, TheCommandsClaimAndFinish) {
  server_.Run({"CODEQ.PUBLISH", "orders", R"({"n":1})", "TENANT", "t_shop123"});
  const net::RespValue claimed = server_.server().Connect().RunValue(
      {"CODEQ.CLAIM", "COUNT", "2", "LEASE", "1000", "TOPICS", "cs.invoke", "orders"});
  ASSERT_EQ(claimed.items.size(), 1U) << claimed.ToString();
  const std::vector<net::RespValue>& message = claimed.items[0].items;
  const std::string id = message[1].text;
  const std::string token = message[3].text;
  EXPECT_EQ(Text(json::parse(message[11].text), "tenant"), "t_shop123");
  EXPECT_EQ(server_.Run({"CODEQ.EXTEND", id, token, "LEASE", "5000"}), "(integer) 1700000005000");
  EXPECT_EQ(server_.Run({"CODEQ.NACK", id, token, "DELAY", "0"}), R"(["requeued", (integer) 0])");
  EXPECT_EQ(server_.Run({"CODEQ.ACK", id, token}).substr(0, 19), "(error) CS_CONFLICT");
}

TEST_F(CodeqTest, TheCommandsShowRedriveAndPurgeDeadLetters) {
  EXPECT_EQ(server_.Run({"CODEQ.PUBLISH", "cs.invoke", "{}"}).substr(0, 35),
            "(error) CS_VALIDATION_FAILED schema");
  const net::RespValue page =
      server_.server().Connect().RunValue({"CODEQ.DLQ", "LIST", "cs.invoke"});
  ASSERT_EQ(page.items.size(), 2U) << page.ToString();
  ASSERT_EQ(page.items[1].items.size(), 1U) << page.ToString();
  const net::RespValue redriven =
      server_.server().Connect().RunValue({"CODEQ.DLQ", "REDRIVE", "cs.dlq.invoke"});
  EXPECT_EQ(redriven.items[1].ToString(), "(integer) 1");
  EXPECT_EQ(server_.Run({"CODEQ.DLQ", "PURGE", "cs.invoke"}), "[(integer) 1, (integer) 0]");
}

}  // namespace
}  // namespace cairn::functions
