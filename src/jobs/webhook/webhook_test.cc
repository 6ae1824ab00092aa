// Webhooks against a real HTTP server on the loopback.

#include "jobs/webhook/webhook.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "jobs/model/limits.h"
#include "jobs/testing/route_server.h"
#include "jobs/webhook/webhook_delivery.h"
#include "jobs/webhook/webhook_loop.h"
#include "tests/support/await.h"

namespace cairn::jobs {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Who is told: keeps what arrives, and answers as it is told to.
class Receiver {
 public:
  Receiver()
      : http_(
            {}, loops_, [this](net::Loop&) { return std::make_unique<Handler>(*this); }, clock_,
            random_, Log::Silent()) {
    loops_.Start();
    port_ = *http_.Listen({"127.0.0.1", 0});
  }
  ~Receiver() {
    http_.Drain(std::chrono::seconds(30));
    loops_.Stop();
  }

  uint16_t port() const { return port_; }
  std::string url() const { return fmt::format("http://127.0.0.1:{}/hook", port_); }

  // The next requests get these statuses, those after them 200.
  void AnswerWith(std::vector<int> statuses) {
    const std::lock_guard lock(mutex_);
    statuses_ = std::move(statuses);
  }

  // Waits for `count` requests since the last call and returns them.
  std::vector<net::HttpRequest> Take(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(arrived_.wait_for(lock, cairn::testing::kAwaitLimit,
                                  [&] { return requests_.size() >= count; }))
        << "waited for " << count << " requests";
    EXPECT_EQ(requests_.size(), count);
    return std::exchange(requests_, {});
  }
  // "type number" of the events of `count` requests.
  std::vector<std::string> TakeEvents(size_t count) {
    std::vector<std::string> events;
    for (const net::HttpRequest& request : Take(count)) {
      const json::value event = json::parse(request.body).at("event");
      events.push_back(fmt::format("{} {}", std::string_view(event.at("type").as_string()),
                                   std::string_view(event.at("queue").as_string())));
    }
    return events;
  }

 private:
  class Handler final : public net::HttpHandler {
   public:
    explicit Handler(Receiver& receiver) : receiver_(receiver) {}
    boost::asio::awaitable<net::HttpReply> Handle(net::HttpRequest request) override {
      net::HttpResponse answer = net::HttpResponse::Empty(receiver_.Keep(std::move(request)));
      if (answer.status / 100 == 3) answer.headers.Add("Location", receiver_.url());
      co_return answer;
    }

   private:
    Receiver& receiver_;
  };

  int Keep(net::HttpRequest request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(request));
    arrived_.notify_all();
    if (statuses_.empty()) return 200;
    const int status = statuses_.front();
    statuses_.erase(statuses_.begin());
    return status;
  }

  ManualClock clock_;
  SeededRandom random_{3};
  net::LoopGroup loops_{1};
  net::HttpServer http_;
  uint16_t port_ = 0;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<net::HttpRequest> requests_;
  std::vector<int> statuses_;
};

class WebhookTest : public ::testing::Test {
 protected:
  WebhookTest() { Start(); }
  ~WebhookTest() override { Stop(); }

  void Start() {
    delivery_ = std::make_unique<WebhookDelivery>(
        server_.server().store(), server_.server().clock(), random_, Log::Silent(),
        WebhookDeliveryOptions{.connect_timeout = std::chrono::seconds(30),
                               .timeout = std::chrono::seconds(30),
                               .first_pause = std::chrono::milliseconds(1),
                               .longest_pause = std::chrono::milliseconds(8),
                               .targets = targets_,
                               .origin = std::string(testing::RouteServer::kOrigin),
                               .gaps = gaps_});
    delivery_->Start();
  }
  void Stop() { delivery_.reset(); }

  std::string Create(const std::string& more = "") {
    const json::value made = server_.PostOk(
        "/webhooks",
        fmt::format(R"({{"url":"{}"{}{}}})", receiver_.url(), more.empty() ? "" : ",", more));
    return std::string(made.at("id").as_string());
  }
  json::value Show(const std::string& id) { return server_.GetOk("/webhooks/" + id); }
  // Waits until the webhook says so.
  void Await(const std::string& id, std::string_view name, int64_t value) {
    cairn::testing::Await(fmt::format("{} of the webhook to be {}", name, value),
                          [&] { return Show(id).at(name).as_int64() == value; });
  }

  SeededRandom random_{5};
  std::shared_ptr<EventGaps> gaps_ = std::make_shared<EventGaps>();
  WebhookTargets targets_{.loopback = true};
  testing::RouteServer server_;
  Receiver receiver_;
  std::unique_ptr<WebhookDelivery> delivery_;
};

TEST_F(WebhookTest, EventsAreToldInTheirOrderAndSigned) {
  server_.Enqueue("before");
  const std::string id = Create(R"("secret":"s3cret")");
  for (int i = 0; i < 20; ++i) server_.Enqueue(fmt::format("q{}", i));
  const std::vector<net::HttpRequest> requests = receiver_.Take(20);
  for (int i = 0; i < 20; ++i) {
    const net::HttpRequest& request = requests[i];
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.headers.Get("X-Cairn-Webhook-ID"), id);
    EXPECT_EQ(request.headers.Get("X-Cairn-Webhook-Event"), "enqueued");
    EXPECT_EQ(request.headers.Get("X-Cairn-Signature"), SignWebhook("s3cret", request.body));
    EXPECT_EQ(request.headers.Get("X-Corvo-Signature"), SignWebhook("s3cret", request.body));
    const json::value body = json::parse(request.body);
    EXPECT_EQ(body.at("webhook_id").as_string(), std::string_view(id));
    EXPECT_EQ(body.at("event").at("queue").as_string(), std::string_view(fmt::format("q{}", i)));
    EXPECT_TRUE(body.as_object().contains("sent_at"));
  }
  Await(id, "delivered", 20);
}

TEST(WebhookSignatureTest, IsTheHmacOfTheBody) {
  // printf '{"a":1}' | openssl dgst -sha256 -hmac key
  EXPECT_EQ(SignWebhook("key", R"({"a":1})"),
            "sha256=88a67f24bbcdaed0e6c997404bb79a743baf44c6bab2f4c27328e3009d22e342");
}

TEST_F(WebhookTest, OnlyTheWantedKindsAreTold) {
  const std::string id = Create(R"("events":["completed","dead"])");
  const std::string job = server_.Enqueue("q");
  server_.Fetch("q");
  server_.PostOk("/ack/" + job);
  EXPECT_THAT(receiver_.TakeEvents(1), ElementsAre("completed q"));
  EXPECT_TRUE(receiver_.Take(0).empty());
}

TEST_F(WebhookTest, AFailureIsTriedAgainBeforeTheNextEvent) {
  const std::string id = Create(R"("retry_limit":5)");
  receiver_.AnswerWith({500, 302, 404});
  server_.Enqueue("a");
  server_.Enqueue("b");
  EXPECT_THAT(receiver_.TakeEvents(5),
              ElementsAre("enqueued a", "enqueued a", "enqueued a", "enqueued a", "enqueued b"));
  Await(id, "delivered", 2);
  EXPECT_EQ(Show(id).at("last_status_code").as_int64(), 200);
  EXPECT_EQ(Show(id).at("dead").as_int64(), 0);
}

TEST_F(WebhookTest, WhatIsTriedInVainIsKeptAndCanBeTriedAgain) {
  const std::string id = Create(R"("retry_limit":2)");
  receiver_.AnswerWith({500, 500, 500, 500});
  server_.Enqueue("a");
  server_.Enqueue("b");
  server_.Enqueue("c");
  receiver_.Take(5);
  Await(id, "delivered", 1);
  const json::value dead = server_.GetOk("/webhooks/" + id + "/dead");
  ASSERT_EQ(dead.at("dead").as_array().size(), 2U);
  const json::value& first = dead.at("dead").at(0);
  EXPECT_EQ(first.at("event").at("queue").as_string(), "a");
  EXPECT_EQ(first.at("tries").as_int64(), 2);
  EXPECT_EQ(first.at("status_code").as_int64(), 500);
  EXPECT_THAT(json::serialize(first.at("error")), HasSubstr("500"));
  // One of them, and then all.
  server_.PostOk("/webhooks/" + id + "/redeliver",
                 fmt::format(R"({{"seq":{}}})", dead.at("dead").at(1).at("seq").as_int64()));
  EXPECT_THAT(receiver_.TakeEvents(1), ElementsAre("enqueued b"));
  Await(id, "delivered", 2);
  EXPECT_EQ(server_.PostOk("/webhooks/" + id + "/redeliver").at("count").as_int64(), 1);
  EXPECT_THAT(receiver_.TakeEvents(1), ElementsAre("enqueued a"));
  Await(id, "delivered", 3);
  EXPECT_EQ(Show(id).at("dead").as_int64(), 0);
  EXPECT_EQ(server_.Refusal(server_.Post("/webhooks/" + id + "/redeliver", R"({"seq":1})")),
            "404 NOT_FOUND");
}

TEST_F(WebhookTest, APageOfLargeDeadDeliveriesEndsEarlyAndAllOfThemAreTriedAgain) {
  constexpr uint64_t kDead = 80;
  const std::string id = Create();
  Stop();
  for (uint64_t number = 1; number <= kDead; ++number) {
    const DeadDelivery dead{
        .number = number,
        .event = fmt::format(R"({{"seq":{},"type":"completed","job_id":"j","queue":"q","at_ns":1,)"
                             R"("data":{{"result":"{}"}}}})",
                             number, std::string(250'000, 'r')),
        .error = "answered 500",
        .status_code = 500,
        .tries = 3,
        .failed_ns = 1};
    const auto buried = server_.server().store().Run(
        store::Scopes::Exclusive(), [&](store::Transaction& transaction) -> Result<void> {
          CAIRN_ASSIGN_OR_RETURN(WebhookState state, LoadWebhookState(transaction, id));
          CAIRN_RETURN_IF_ERROR(Bury(transaction, id, dead, state));
          PutWebhookState(transaction, id, state);
          return {};
        });
    ASSERT_TRUE(buried.ok()) << buried.error().message;
  }
  uint64_t found = 0;
  int pages = 0;
  for (std::string after = "0";; ++pages) {
    const net::HttpResponse answer =
        server_.Get(fmt::format("/webhooks/{}/dead?limit=1000&after_seq={}", id, after));
    ASSERT_EQ(answer.status, 200);
    EXPECT_LT(answer.body.size(), kMaxAnswerBytes + 1'000'000);
    const json::value page = json::parse(answer.body);
    if (page.at("dead").as_array().empty()) break;
    found += page.at("dead").as_array().size();
    after = json::serialize(page.at("next_seq"));
  }
  EXPECT_EQ(found, kDead);
  EXPECT_EQ(pages, 2);
  EXPECT_EQ(server_.PostOk("/webhooks/" + id + "/redeliver").at("count").as_int64(),
            static_cast<int64_t>(kDead));
  EXPECT_EQ(Show(id).at("dead").as_int64(), 0);
  // All of them arrive, though they are read in steps.
  Start();
  Await(id, "delivered", static_cast<int64_t>(kDead));
}

TEST_F(WebhookTest, WhatHappenedWhileNobodyDeliveredIsToldOnce) {
  const std::string id = Create();
  server_.Enqueue("a");
  receiver_.Take(1);
  Await(id, "delivered", 1);
  Stop();
  server_.Enqueue("b");
  server_.Enqueue("c");
  Start();
  EXPECT_THAT(receiver_.TakeEvents(2), ElementsAre("enqueued b", "enqueued c"));
  Await(id, "delivered", 3);
}

TEST_F(WebhookTest, WhatTheLogLostBeforeItWasToldIsNotLostInSilence) {
  const std::string id = Create();
  server_.Enqueue("a");
  receiver_.Take(1);
  Await(id, "delivered", 1);
  EXPECT_EQ(Show(id).at("gaps").as_int64(), 0);
  const int64_t seen = Show(id).at("cursor").as_int64();
  Stop();
  for (const char* queue : {"b", "c", "d"}) server_.Enqueue(queue);
  server_.KeepEvents(1);
  Start();
  EXPECT_THAT(receiver_.TakeEvents(1), ElementsAre("enqueued d"));
  Await(id, "delivered", 2);
  const json::value shown = Show(id);
  EXPECT_EQ(shown.at("gaps").as_int64(), 1);
  EXPECT_EQ(shown.at("last_gap").at("missed_from").as_int64(), seen + 1);
  EXPECT_EQ(shown.at("last_gap").at("missed_to").as_int64(), seen + 2);
  EXPECT_EQ(gaps_->webhooks, 1U);
  // Once is enough.
  Stop();
  Start();
  server_.Enqueue("e");
  EXPECT_THAT(receiver_.TakeEvents(1), ElementsAre("enqueued e"));
  Await(id, "delivered", 3);
  EXPECT_EQ(Show(id).at("gaps").as_int64(), 1);
}

TEST_F(WebhookTest, OneThatCannotBeReachedDoesNotHoldUpOthers) {
  const json::value away =
      server_.PostOk("/webhooks", R"({"id":"away","url":"http://127.0.0.1:1/x","retry_limit":1})");
  Create();
  server_.Enqueue("a");
  EXPECT_THAT(receiver_.TakeEvents(1), ElementsAre("enqueued a"));
  Await("away", "dead", 1);
  EXPECT_THAT(json::serialize(Show("away").at("last_error")), Not(HasSubstr("answer")));
}

TEST_F(WebhookTest, OneIsChangedSwitchedOffAndDeleted) {
  const std::string id = Create(R"("id":"mine","secret":"first")");
  EXPECT_EQ(id, "mine");
  // Its secret is not shown, and kept when it is not given again.
  EXPECT_THAT(server_.Get("/webhooks").body, Not(HasSubstr("first")));
  EXPECT_EQ(server_
                .Post("/webhooks",
                      fmt::format(R"({{"id":"mine","url":"{}","enabled":false}})", receiver_.url()))
                .status,
            200);
  server_.Enqueue("silent");
  Create(R"("id":"mine","enabled":true,"events":["enqueued"])");
  // What happened meanwhile is told too: the cursor stood still.
  const std::vector<net::HttpRequest> requests = receiver_.Take(1);
  EXPECT_EQ(requests[0].headers.Get("X-Cairn-Signature"), SignWebhook("first", requests[0].body));
  Await(id, "delivered", 1);
  EXPECT_EQ(server_.Delete("/webhooks/mine").status, 200);
  EXPECT_EQ(server_.Refusal(server_.Delete("/webhooks/mine")), "404 NOT_FOUND");
  EXPECT_EQ(server_.Refusal(server_.Get("/webhooks/mine/dead")), "404 NOT_FOUND");
  EXPECT_EQ(server_.GetOk("/webhooks").as_array().size(), 0U);
}

// Stored by somebody who could, or before the setting: what counts is the address that is asked.
TEST_F(WebhookTest, AnAddressThatIsNotAllowedIsNotAsked) {
  Stop();
  targets_ = {};
  Start();
  const auto store = [&](const std::string& id, const std::string& url) {
    const auto stored = server_.server().store().Run(
        AllWebhooksScopes(id), [&](store::Transaction& transaction) -> Result<void> {
          return PutWebhook(transaction, {.id = id, .url = url, .retry_limit = 1});
        });
    ASSERT_TRUE(stored.ok());
  };
  store("number", receiver_.url());
  // A name all of whose addresses are refused.
  store("name", fmt::format("http://localhost:{}/hook", receiver_.port()));
  store("any", fmt::format("http://0.0.0.0:{}/hook", receiver_.port()));
  server_.Enqueue("q");
  for (const std::string id : {"number", "name", "any"}) {
    Await(id, "dead", 1);
    EXPECT_THAT(json::serialize(Show(id).at("last_error")), HasSubstr("webhooks.allow")) << id;
  }
  EXPECT_TRUE(receiver_.Take(0).empty());
  // The same addresses, allowed by number; the name has one of them.
  Stop();
  targets_.networks.push_back(*IpNetwork::Parse("127.0.0.0/8"));
  Start();
  server_.Enqueue("q");
  EXPECT_THAT(receiver_.TakeEvents(2), ElementsAre("enqueued q", "enqueued q"));
  Await("name", "delivered", 1);
  Await("number", "delivered", 1);
  Await("any", "dead", 2);
}

TEST_F(WebhookTest, OneThatLeadsBackToTheServerIsCut) {
  server_.PostOk("/webhooks", fmt::format(R"({{"id":"loop","retry_limit":1,"events":["enqueued"],)"
                                          R"("url":"http://127.0.0.1:{}/api/v1/webhooks/echo"}})",
                                          server_.port()));
  server_.Enqueue("q");
  Await("loop", "dead", 1);
  EXPECT_EQ(Show("loop").at("last_status_code").as_int64(), 508);
  EXPECT_EQ(server_.Refusal(server_.Get("/queues/echo")), "404 NOT_FOUND");
  // What another store sends is welcome.
  EXPECT_EQ(server_
                .Ask("POST", "/api/v1/webhooks/echo", "{}",
                     net::HttpHeaders{{std::string(kWebhookOriginHeader), "another"}})
                .status,
            201);
}

TEST_F(WebhookTest, RedirectsAreNotFollowed) {
  const std::string id = Create(R"("retry_limit":1)");
  receiver_.AnswerWith({307});
  server_.Enqueue("a");
  Await(id, "dead", 1);
  EXPECT_EQ(receiver_.Take(1).size(), 1U);
}

TEST_F(WebhookTest, CredentialsInUrlsAreNotShown) {
  const std::string url =
      fmt::format("http://ann:s3cret@127.0.0.1:{}/hook?token=t0ken&x", receiver_.port());
  const net::HttpResponse made =
      server_.Post("/webhooks", fmt::format(R"({{"id":"mine","url":"{}"}})", url));
  EXPECT_EQ(made.status, 201);
  const std::string shown(Show("mine").at("url").as_string());
  EXPECT_EQ(shown, fmt::format("http://***@127.0.0.1:{}/hook?token=***&***", receiver_.port()));
  for (const std::string& text : {made.body, server_.Get("/webhooks").body}) {
    EXPECT_THAT(text, Not(HasSubstr("s3cret")));
    EXPECT_THAT(text, Not(HasSubstr("t0ken")));
  }
  // They are used, and kept by whoever sends back what they were shown.
  server_.PostOk("/webhooks", fmt::format(R"({{"id":"mine","url":"{}","retry_limit":2}})", shown));
  server_.Enqueue("q");
  const std::vector<net::HttpRequest> requests = receiver_.Take(1);
  EXPECT_EQ(requests[0].headers.Get("Authorization"), "Basic YW5uOnMzY3JldA==");
  EXPECT_EQ(requests[0].Query("token"), "t0ken");
  Await("mine", "delivered", 1);
}

TEST_F(WebhookTest, AnAddressThatIsNotAllowedIsRefusedAtOnce) {
  for (const std::string host :
       {"10.0.0.1", "192.168.1.1", "172.31.0.1", "100.64.0.1", "169.254.169.254", "[fe80::1]",
        "[fd00::1]", "[::ffff:10.0.0.1]", "[::]", "0.0.0.0", "224.0.0.1", "[64:ff9b::a00:1]"}) {
    const net::HttpResponse refused =
        server_.Post("/webhooks", fmt::format(R"({{"url":"http://{}/x"}})", host));
    EXPECT_EQ(server_.Refusal(refused), "400 VALIDATION_ERROR") << host;
    EXPECT_THAT(refused.body, HasSubstr("webhooks.allow")) << host;
  }
}

TEST_F(WebhookTest, WhatMakesNoSenseIsRefused) {
  for (const std::string body :
       {"{}", R"({"url":"ftp://x"})", R"({"url":"http://a b"})",
        R"({"url":"http://x","events":[]})", R"({"url":"http://x","events":["exploded"]})",
        R"({"url":"http://x","retry_limit":0})", R"({"url":"http://x","id":"a/b"})",
        R"({"url":"http://x","colour":1})", R"({"url":"http://"})",
        R"({"url":"http://x:99999/"})"}) {
    EXPECT_EQ(server_.Refusal(server_.Post("/webhooks", body)), "400 VALIDATION_ERROR") << body;
  }
  EXPECT_EQ(server_.GetOk("/webhooks").as_array().size(), 0U);
}

}  // namespace
}  // namespace cairn::jobs
