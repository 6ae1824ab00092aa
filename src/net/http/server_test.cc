#include "net/http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/buffer_budget.h"
#include "net/testing/http_fixture.h"

namespace cairn::net::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

size_t Count(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST_F(HttpServerTest, AnswersARequest) {
  Start();
  HttpClient client = Client();
  const auto response = client.Post("/echo", "hello");
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "hello");
  EXPECT_EQ(response->headers.Get("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(response->headers.Get("Content-Length"), "5");
  EXPECT_EQ(response->headers.Get("Date"), "Tue, 14 Nov 2023 22:13:20 GMT");
  EXPECT_TRUE(response->headers.Has("X-Request-Id"));
}

TEST_F(HttpServerTest, SaysHowLongARequestTook) {
  Start();
  std::thread client(
      [&] { EXPECT_EQ(Client().Get("/wait")->headers.Get("Server-Timing"), "proc;dur=12.000"); });
  WaitUntil([&] { return log_.handled == 1; });
  clock_.AdvanceMillis(12);
  Proceed();
  client.join();
  for (const char* target : {"/nothing", "/throw", "/events/1", "/.."}) {
    EXPECT_EQ(Client().Get(target)->headers.Get("Server-Timing"), "proc;dur=0.000") << target;
  }
}

TEST_F(HttpServerTest, OptionsIsAnsweredOnEveryPath) {
  Start();
  const auto response = Client().Request("OPTIONS", "/nothing", "", {});
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->headers.Get("Allow"), "GET, POST, PUT, PATCH, DELETE, OPTIONS");
  EXPECT_EQ(log_.handled, 0);
}

TEST_F(HttpServerTest, HandsOverWhatArrived) {
  Start();
  HttpClient client = Client();
  const auto response =
      client.Get("/describe/a%20b?x=1&y=%2B",
                 {{"X-Request-Id", "my-id"},
                  {"X-Test", "value"},
                  {"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}});
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->body,
            "GET /describe/a%20b\nx=1\ny=+\nid my-id\n"
            "trace 4bf92f3577b34da6a3ce929d0e0e4736\nplain\nx-test value\ncookie -\n");
  EXPECT_EQ(response->headers.Get("X-Request-Id"), "my-id");
}

TEST_F(HttpServerTest, AnInvalidRequestIdIsReplaced) {
  Start();
  HttpClient client = Client();
  const auto response = client.Get("/echo", {{"X-Request-Id", std::string(129, 'a')}});
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->headers.Get("X-Request-Id")->size(), 36U);
}

TEST_F(HttpServerTest, KeepsConnectionsOpen) {
  Start();
  HttpClient client = Client();
  for (int i = 0; i < 100; ++i) {
    const auto response = client.Post("/echo", std::to_string(i));
    ASSERT_TRUE(response.ok());
    EXPECT_EQ(response->body, std::to_string(i));
  }
  EXPECT_EQ(server_->stats().connections_received, 1U);
  EXPECT_EQ(server_->stats().requests, 100U);
}

TEST_F(HttpServerTest, PipelinedRequestsAreAnsweredInOrder) {
  Start();
  std::string requests;
  for (int i = 0; i < 50; ++i) {
    const std::string body = "<" + std::to_string(i) + ">";
    requests += "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body;
  }
  requests += "GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const std::string answer = Exchange(requests);
  EXPECT_EQ(Count(answer, "HTTP/1.1 200 OK\r\n"), 51U);
  size_t at = 0;
  for (int i = 0; i < 50; ++i) {
    at = answer.find("<" + std::to_string(i) + ">", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST_F(HttpServerTest, OldClientsAreAnsweredAndClosed) {
  Start();
  EXPECT_THAT(Exchange("GET /status/200 HTTP/1.0\r\n\r\n"), HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(Exchange("GET /status/200 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
                       "GET /status/201 HTTP/1.0\r\n\r\n"),
              HasSubstr("HTTP/1.1 201 Created"));
}

TEST_F(HttpServerTest, HeadHasNoBodyButItsLength) {
  Start();
  const std::string answer = Exchange(
      "HEAD /big/1000 HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /status/204 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 1000\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("xxx")));
  EXPECT_THAT(answer, HasSubstr("HTTP/1.1 204 No Content"));
  EXPECT_EQ(Count(answer, "Content-Length"), 1U);
}

TEST_F(HttpServerTest, LargeBodiesPassUnchanged) {
  Start();
  HttpClient client = Client();
  const std::string body(1024 * 1024, 'b');
  const auto echoed = client.Post("/echo", body);
  ASSERT_TRUE(echoed.ok());
  EXPECT_TRUE(echoed->body == body);
  const auto big = client.Get("/big/20000000");
  ASSERT_TRUE(big.ok());
  EXPECT_EQ(big->body.size(), 20'000'000U);
}

TEST_F(HttpServerTest, ChunkedBodiesAreJoined) {
  Start();
  EXPECT_THAT(Exchange("POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n"
                       "3;name=value\r\nabc\r\n4\r\ndefg\r\n0\r\nTrailer: t\r\n\r\n"),
              EndsWith("\r\n\r\nabcdefg"));
}

TEST_F(HttpServerTest, ExpectationsAreMet) {
  Start();
  RespClient client = Raw();
  ASSERT_TRUE(client
                  .SendRaw("POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                           "Content-Length: 4\r\nExpect: 100-continue\r\n\r\n")
                  .ok());
  // The body is sent only after the server asked for it.
  std::string received;
  while (!received.ends_with("\r\n\r\n")) {
    char byte = 0;
    if (recv(client.fd(), &byte, 1, 0) == 1) received.push_back(byte);
  }
  EXPECT_EQ(received, "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(client.SendRaw("body").ok());
  EXPECT_THAT(All(client), EndsWith("\r\n\r\nbody"));
}

TEST_F(HttpServerTest, ABodyThatIsTooLargeIsNotAskedFor) {
  Start();
  const std::string answer = Exchange(
      "POST /limit/10 HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413 "));
}

TEST_F(HttpServerTest, EachRouteHasItsBodyLimit) {
  Start();
  HttpClient client = Client();
  EXPECT_EQ(client.Post("/limit/10", std::string(10, 'a'))->body, "10");
  EXPECT_EQ(client.Post("/limit/10", std::string(11, 'a'))->status, 413);
  EXPECT_EQ(client.Post("/limit/3000000", std::string(3'000'000, 'a'))->body, "3000000");
  EXPECT_EQ(client.Post("/echo", std::string(kDefaultBodyLimit + 1, 'a'))->status, 413);
  EXPECT_THAT(Exchange("POST /limit/4 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
}

TEST_F(HttpServerTest, AnExceptionOfTheHandlerGives500) {
  Start();
  HttpClient client = Client();
  const auto response = client.Get("/throw", {{"X-Request-Id", "abc"}});
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 500);
  EXPECT_EQ(response->body,
            R"({"error":{"code":"internal","message":"internal error","request_id":"abc"}})");
  EXPECT_EQ(client.Get("/status/200")->status, 200);
}

TEST_F(HttpServerTest, AnsweringWithAWebSocketWithoutBeingAskedGives500) {
  Start();
  EXPECT_EQ(Client().Get("/socket")->status, 500);
}

TEST_F(HttpServerTest, RequestsOfDifferentConnectionsInterleave) {
  Start();
  std::thread waiting([&] { EXPECT_EQ(Client().Get("/wait")->body, "waited"); });
  WaitUntil([&] { return log_.handled == 1; });
  EXPECT_EQ(Client().Get("/status/200")->status, 200);
  Proceed();
  waiting.join();
}

TEST_F(HttpServerTest, TheClientReconnectsWhenTheServerClosed) {
  HttpServerOptions options;
  options.idle_timeout = milliseconds(20);
  Start(options);
  HttpClient client = Client();
  EXPECT_EQ(client.Get("/status/200")->status, 200);
  WaitUntil([&] { return server_->stats().connections_open == 0; });
  EXPECT_EQ(client.Get("/status/200")->status, 200);
  EXPECT_EQ(server_->stats().connections_received, 2U);
}

TEST_F(HttpServerTest, SeveralLoopsServe) {
  Start({}, nullptr, 3);
  std::vector<HttpClient> clients;
  for (int i = 0; i < 9; ++i) clients.push_back(Client());
  for (HttpClient& client : clients) EXPECT_EQ(client.Get("/status/200")->status, 200);
  EXPECT_EQ(server_->stats().connections_open, 9U);
}

// --- Draining -----------------------------------------------------------------------------------

TEST_F(HttpServerTest, DrainFinishesWhatRunsAndClosesWhatIsIdle) {
  Start();
  HttpClient idle = Client();
  ASSERT_TRUE(idle.Get("/status/200").ok());
  std::string waited;
  std::thread waiting([&] {
    waited = Exchange("GET /wait HTTP/1.1\r\nHost: x\r\n\r\nGET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  });
  WaitUntil([&] { return log_.handled == 2; });
  std::thread drain([&] { server_->Drain(seconds(60)); });
  WaitUntil([&] { return server_->stats().connections_open == 1; });
  EXPECT_FALSE(RespClient::Connect(address()).ok());
  Proceed();
  waiting.join();
  drain.join();
  EXPECT_THAT(waited, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(waited, EndsWith("waited"));
  EXPECT_EQ(Count(waited, "HTTP/1.1"), 1U) << "the request after it is not begun";
}

TEST_F(HttpServerTest, DrainClosesWhatIsLeftAtItsLimit) {
  Start();
  RespClient client = Raw();
  ASSERT_TRUE(client.SendRaw("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n").ok());
  WaitUntil([&] { return log_.handled == 1; });
  server_->Drain(milliseconds(20));
  EXPECT_EQ(All(client), "");
  Proceed();
  WaitUntil([&] { return server_->stats().connections_open == 0; });
}

TEST_F(HttpServerTest, AServerMayEndWhileAHandlerWaits) {
  Start();
  RespClient client = Raw();
  ASSERT_TRUE(client.SendRaw("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n").ok());
  WaitUntil([&] { return log_.handled == 1; });
  server_.reset();
  EXPECT_TRUE(client.ReceiveUntilClosed().ok());
}

TEST_F(HttpServerTest, AServerMayEndAfterItsLoops) {
  Start();
  RespClient client = Raw();
  ASSERT_TRUE(client.SendRaw("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n").ok());
  WaitUntil([&] { return log_.handled == 1; });
  loops_->Stop();
  server_.reset();
}

// --- Abuse --------------------------------------------------------------------------------------

class HttpAbuseTest : public HttpServerTest {
 protected:
  void TearDown() override {
    if (server_ != nullptr) {
      EXPECT_EQ(Client().Get("/status/200")->status, 200);
    }
  }
};

TEST_F(HttpAbuseTest, MalformedRequestsGet400WithAJsonBody) {
  Start();
  for (const std::string_view request : {
           "garbage\r\n\r\n",
           "GET\r\n\r\n",
           "GET / HTTP/1.1\r\nHost x\r\n\r\n",
           "GET / HTTP/1.1\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
           "GET noslash HTTP/1.1\r\nHost: x\r\n\r\n",
           "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n",
           "GET /../etc HTTP/1.1\r\nHost: x\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: x\r\nBad Name: 1\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
       }) {
    const std::string answer = Exchange(request);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 Bad Request\r\n")) << request;
    EXPECT_THAT(answer, HasSubstr("Connection: close\r\n")) << request;
    EXPECT_THAT(answer, HasSubstr(R"({"error":{"code":"invalid","message":")")) << request;
  }
  EXPECT_EQ(log_.handled, 0);
}

TEST_F(HttpAbuseTest, WhatIsNotSpokenHereIsNamed) {
  Start();
  EXPECT_THAT(Exchange("GET / HTTP/1.2\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 505 "));
  EXPECT_THAT(Exchange("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
              StartsWith("HTTP/1.1 501 "));
  EXPECT_THAT(Exchange("POST / HTTP/1.1\r\nHost: x\r\nExpect: magic\r\n\r\n"),
              StartsWith("HTTP/1.1 417 "));
}

TEST_F(HttpAbuseTest, AnOversizedHeadGets431) {
  Start();
  EXPECT_THAT(Exchange("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(17 * 1024, 'a') + "\r\n"),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(Exchange("GET /" + std::string(17 * 1024, 'a')), StartsWith("HTTP/1.1 431 "));
}

TEST_F(HttpAbuseTest, TheAnswerArrivesEvenIfTheBodyIsStillBeingSent) {
  Start();
  HttpClient client = Client();
  EXPECT_EQ(client.Post("/limit/10", std::string(8 * 1024 * 1024, 'a'))->status, 413);
}

TEST_F(HttpAbuseTest, ASlowHeadGets408) {
  HttpServerOptions options;
  options.header_timeout = milliseconds(50);
  Start(options);
  EXPECT_THAT(Exchange("GET / HTTP/1.1\r\nHost: x\r\nX: "), StartsWith("HTTP/1.1 408 "));
}

TEST_F(HttpAbuseTest, AHeadThatTricklesGets408All) {
  HttpServerOptions options;
  options.header_timeout = milliseconds(100);
  Start(options);
  RespClient client = Raw();
  // A byte now and then does not move the deadline.
  std::thread trickle([&] {
    std::string_view head = "GET / HTTP/1.1\r\nHost: x\r\n";
    while (client.SendRaw(head.substr(0, 1)).ok() && head.size() > 1) head.remove_prefix(1);
    while (client.SendRaw("X").ok()) std::this_thread::sleep_for(milliseconds(5));
  });
  EXPECT_THAT(All(client), StartsWith("HTTP/1.1 408 "));
  shutdown(client.fd(), SHUT_RDWR);
  trickle.join();
}

TEST_F(HttpAbuseTest, ASlowBodyGets408) {
  HttpServerOptions options;
  options.body_timeout = milliseconds(50);
  Start(options);
  EXPECT_THAT(Exchange("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf"),
              StartsWith("HTTP/1.1 408 "));
}

TEST_F(HttpAbuseTest, ASilentConnectionIsClosed) {
  HttpServerOptions options;
  options.idle_timeout = milliseconds(50);
  Start(options);
  EXPECT_EQ(Exchange(""), "");
}

TEST_F(HttpAbuseTest, WhoDoesNotReadIsClosed) {
  HttpServerOptions options;
  options.write_timeout = milliseconds(50);
  Start(options);
  RespClient client = Raw();
  ASSERT_TRUE(client.SendRaw("GET /big/100000000 HTTP/1.1\r\nHost: x\r\n\r\n").ok());
  WaitUntil([&] { return log_.handled == 1 && server_->stats().connections_open == 0; });
}

TEST_F(HttpAbuseTest, AConnectionBetweenRequestsMakesRoomForANewOne) {
  HttpServerOptions options;
  options.max_connections = 3;
  Start(options);
  std::vector<RespClient> idle;
  for (int i = 0; i < 20; ++i) {
    idle.push_back(Raw());
    HttpClient client = Client();
    const auto answer = client.Get("/status/200");
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->status, 200);
  }
  EXPECT_EQ(server_->stats().connections_rejected, 0U);
  EXPECT_EQ(idle.front().ReceiveUntilClosed().value(), "");
}

TEST_F(HttpAbuseTest, WhoNeverAsksAnythingIsClosedSoon) {
  HttpServerOptions options;
  options.stranger_timeout = milliseconds(50);
  Start(options);
  HttpClient known = Client();
  ASSERT_TRUE(known.Get("/status/200").ok());
  RespClient stranger = Raw();
  EXPECT_EQ(stranger.ReceiveUntilClosed().value(), "");
  WaitUntil([&] { return server_->stats().connections_open == 1; });
  EXPECT_TRUE(known.Get("/status/200").ok()) << "who was answered may stay longer";
}

TEST_F(HttpAbuseTest, TheLargestIsClosedWhenMemoryIsUsedUp) {
  HttpServerOptions options;
  options.budget = std::make_shared<BufferBudget>(50'000'000);
  Start(options);
  std::vector<RespClient> unread;
  for (int i = 0; i < 3; ++i) {
    unread.push_back(Raw());
    ASSERT_TRUE(unread.back().SendRaw("GET /big/30000000 HTTP/1.1\r\nHost: x\r\n\r\n").ok());
  }
  WaitUntil([&] { return options.budget->disconnected() == 2; });
  WaitUntil([&] { return server_->stats().connections_open == 1; });
}

TEST_F(HttpAbuseTest, TooManyConnectionsGet503) {
  HttpServerOptions options;
  options.max_connections = 2;
  Start(options);
  {
    // Both are in the middle of a request, as the server's word shows.
    std::vector<RespClient> busy;
    for (int i = 0; i < 2; ++i) {
      busy.push_back(Raw());
      ASSERT_TRUE(busy.back()
                      .SendRaw("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                               "Expect: 100-continue\r\n\r\n")
                      .ok());
      char first = 0;
      WaitUntil([&] { return recv(busy.back().fd(), &first, 1, MSG_DONTWAIT) == 1; });
    }
    EXPECT_THAT(Exchange(""), StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
    EXPECT_EQ(server_->stats().connections_rejected, 1U);
  }
  WaitUntil([&] { return server_->stats().connections_open == 0; });
}

TEST_F(HttpAbuseTest, ClientsThatVanishLeaveNothingBehind) {
  Start();
  for (int round = 0; round < 100; ++round) {
    RespClient client = Raw();
    const std::string_view request =
        "POST /big/1000000 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
    ASSERT_TRUE(client.SendRaw(request.substr(0, static_cast<size_t>(round))).ok());
  }
  WaitUntil([&] { return server_->stats().connections_open == 0; });
}

}  // namespace
}  // namespace cairn::net::testing
