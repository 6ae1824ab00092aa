// All threads of a server with jobs at once: loops of both doors, the pool, the sequencer, timers,
// webhooks, the view, bulk actions and searches. tests/concurrency does the same to the real
// binary; this is what of it is compiled under ThreadSanitizer in every run of the tests.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "doors/http/route_table.h"
#include "doors/testing/test_server.h"
#include "doors/turn/route_store.h"
#include "jobs/http/routes.h"
#include "jobs/operations/due_timers.h"
#include "jobs/resp/commands.h"
#include "jobs/schedule/schedule.h"
#include "jobs/webhook/webhook_delivery.h"
#include "net/http/client.h"
#include "net/http/server.h"
#include "net/loop.h"
#include "store/timers.h"
#include "tests/support/load.h"
#include "tests/support/temp_directory.h"
#include "view/bulk.h"
#include "view/routes.h"
#include "view/view.h"

namespace cairn::view {
namespace {

using cairn::testing::ClientKind;
using cairn::testing::Door;
using cairn::testing::Listeners;
using cairn::testing::Load;
using cairn::testing::Pipelines;
using cairn::testing::Requests;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::chrono::milliseconds kMoment{100};

class ViewConcurrencyTest : public ::testing::Test {
 protected:
  ViewConcurrencyTest() {
    due_.Register(jobs::DueKind::kSchedule, schedules_);
    due_.RegisterWith(timers_);
    loops_.Start();
    timers_.Start();
    webhooks_.Start();
    view_.Start();
    bulk_.Start();
    const auto port = http_.Listen({"127.0.0.1", 0});
    EXPECT_TRUE(port.ok());
    target_.http.port = *port;
    target_.resp.port = server_.port();
  }

  ~ViewConcurrencyTest() override {
    http_.Drain(std::chrono::seconds(30));
    webhooks_.Stop();
    timers_.Stop();
    bulk_.Stop();
    view_.Stop();
    loops_.Stop();
    server_.instance().pools().store.Stop();
    searches_.Stop();
  }

  net::HttpHandlerFactory Factory() {
    jobs::AddJobRoutes({.store = routes_,
                        .clock = server_.clock(),
                        .random = random_,
                        .version = "1",
                        .webhook_targets = {.loopback = true}},
                       table_);
    AddViewRoutes({.view = view_,
                   .bulk = bulk_,
                   .store = routes_,
                   .pool = searches_,
                   .clock = server_.clock()},
                  table_);
    return [this](net::Loop& loop) { return table_.MakeHandler(loop); };
  }

  // Time moves while the clients run, so that leases lapse, retries come and schedules fire.
  void RunClients(const std::vector<ClientKind>& kinds, int milliseconds) {
    Load load(target_, kinds);
    for (int passed = 0; passed < milliseconds; ++passed) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      server_.clock().AdvanceMillis(1);
    }
    target_.stop = true;
    EXPECT_THAT(load.Join(), IsEmpty());
  }

  doors::testing::TestServer server_{
      {.add_commands = [](doors::Instance& instance) { jobs::AddJobCommands(instance); },
       .add_coroutine_commands = jobs::AddPushCommands,
       .loops = 2}};
  cairn::testing::TempDirectory directory_;
  SeededRandom random_{7};
  jobs::ScheduleTicks schedules_;
  jobs::DueTimers due_;
  store::TimerService timers_{server_.store(), server_.clock(), Log::Silent()};
  jobs::WebhookDelivery webhooks_{
      server_.store(), server_.clock(), random_, Log::Silent(), {.targets = {.loopback = true}}};
  View view_{server_.store(), directory_ / "view.sqlite", random_, Log::Silent()};
  Bulk bulk_{server_.store(), view_, server_.clock(), random_, Log::Silent()};
  ThreadPool searches_{{.name = "search", .threads = 2, .queue_limit = 1'000}};
  net::LoopGroup loops_{2};
  doors::RouteStore routes_{server_.instance().traffic().turns, loops_,
                            server_.instance().pools().store};
  doors::RouteTable table_;
  net::HttpServer http_{{}, loops_, Factory(), server_.clock(), random_, Log::Silent()};
  cairn::testing::Target target_;
};

TEST_F(ViewConcurrencyTest, ClientsOfBothDoorsMeetInTheQueues) {
  net::HttpClient client(target_.http);
  ASSERT_EQ(client
                .Post("/api/v1/webhooks",
                      fmt::format(R"({{"url":"http://{}/nowhere","events":["completed"]}})",
                                  net::ToString(target_.http)))
                ->status,
            201);
  ASSERT_EQ(
      client.Post("/api/v1/schedules", R"({"name":"tick","queue":"mail","cron":"* * * * * *"})")
          ->status,
      201);
  RunClients(
      {Pipelines("producers", 2,
                 {"JOB.ENQUEUE mail {\"n\":{r}} UNIQUE u{r} PERIOD 50 TAGS {\"t\":\"{r}\"}",
                  "JOB.ENQUEUE mail {r} DELAY 1{r}", "JOB.ENQUEUEM mail PAYLOADS 1 2 3",
                  "QUEUE.GET mail", "JOB.ENQUEUE slow {r} BASE 1{r} EXPIRE 2{r}0", "MULTI",
                  "JOB.ENQUEUE slow {r}", "QUEUE.LIST", "EXEC"}),
       Pipelines("queues", 1,
                 {"QUEUE.PAUSE slow", "QUEUE.RESUME slow", "QUEUE.CONCURRENCY mail 1{r}",
                  "QUEUE.CONFIG mail {\"max_retries\":2,\"retention_ms\":1{r}00}", "CLIENT LIST"}),
       cairn::testing::RespWorkers("resp workers", 2, "mail"),
       cairn::testing::HttpWorkers("http workers", 2, "mail"),
       Listeners("pushed to", 1, Door::kResp, "JOB.SUBSCRIBE COUNT 2 QUEUES slow\r\n", kMoment),
       Requests("http producers", 1,
                {R"(POST /api/v1/enqueue {"queue":"slow","payload":{"to":"ann{r}"}})",
                 "GET /api/v1/queues", "GET /api/v1/workers"}),
       Requests("searches", 2,
                {"GET /api/v1/jobs?queue=mail&limit=20", "GET /api/v1/search/fulltext?q=ann*",
                 "POST /api/v1/jobs/bulk "
                 "{\"action\":\"cancel\",\"filter\":{\"queue\":\"slow\"},\"async\":true}"}),
       Requests("rebuilding", 1, {"POST /api/v1/admin/rebuild-sqlite"}),
       Listeners("event streams", 1, Door::kHttp,
                 "GET /api/v1/events?last_event_id=0 HTTP/1.1\r\nHost: cairn\r\n\r\n", kMoment)},
      /*milliseconds=*/2'000);
  EXPECT_THAT(server_.Run({"JOB.VERIFY"}), HasSubstr(R"("sound":true)"));
}

}  // namespace
}  // namespace cairn::view
