// Everything at once: clients of all layers and both doors, on several event loops, meeting at the
// same keys, queues and seats, while others change settings, look at the server from outside, come
// and go; and a stop in the middle of it. The server is one with a sanitizer, which ends it at the
// first report; what is stored is sound all the while.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/load.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr seconds kLoad{6};
constexpr milliseconds kMoment{300};
constexpr seconds kUntilClosed{120};

constexpr std::string_view kLoadFunction =
    "FUNCTION LOAD REPLACE | #!lua name=meet\n"
    "redis.register_function('meet', function(keys) return redis.call('INCR', keys[1]) end)";
constexpr std::string_view kBook =
    "POST /v1/events/hall/bookings "
    R"({"booking_id":"h{c}{r}{r}","section":"A-1","quantity":1,"hold_seconds":1})";

// Small values and one of many rows of every type, in pipelines and in transactions.
std::vector<ClientKind> DataClients() {
  return {
      Pipelines("types", 3,
                {"SET s{r} value{c} EX 100",
                 "GET s{r}",
                 "INCR n{r}",
                 "APPEND a{c} x",
                 "DEL a{r}",
                 "HSET h{r} f{r} v",
                 "HINCRBY h{r} n{r} 1",
                 "HGETALL h{r}",
                 "SADD u{r} {r} {c}",
                 "SPOP u{r}",
                 "SINTER u{r} u{r}",
                 "ZADD z{r} {r} m{r}",
                 "ZRANGE z{r} 0 -1",
                 "ZREMRANGEBYRANK z{r} 5 -1",
                 "SETBIT b{r} 1{r}00{r} 1",
                 "BITCOUNT b{r}",
                 "PFADD p{r} {r}{c}",
                 "GEOADD g{r} 1{r}.5 5{r} place{c}",
                 "XADD x{r} MAXLEN 50 * f v",
                 "XRANGE x{r} - + COUNT 5",
                 "JSON.SET j1 $ | {\"n\":{r},\"list\":[1,2]}",
                 "JSON.NUMINCRBY j1 $.n 1",
                 "JSON.GET j1",
                 "MGET s{r} s{r} s{r}",
                 "EXPIRE h{r} 100",
                 "PEXPIRE u{r} {r}",
                 "UNLINK z{r}",
                 "RANDOMKEY",
                 "DBSIZE",
                 "SCAN 0 COUNT 20",
                 "OBJECT ENCODING s{c}",
                 "DUMP s{r}",
                 "SORT u{r} ALPHA"}),
      Pipelines("transactions", 2,
                {"WATCH n{r}", "GET n{r}", "MULTI", "INCR n{r}", "HSET h{r} f{r} v",
                 "LPUSH q{r} job", "PUBLISH news changed", "EXEC"}),
      Pipelines("scripts", 2,
                {"EVAL return(redis.call('INCR',KEYS[1])) 1 n{r}", "SCRIPT LOAD | return 1",
                 "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0", std::string(kLoadFunction),
                 "FCALL meet 1 n{r}", "SCRIPT EXISTS abc", "FUNCTION LIST", "SCRIPT KILL",
                 "SCRIPT FLUSH"},
                {"NOSCRIPT", "NOTBUSY"}),
      Pipelines("pushing", 2,
                {"LPUSH q{r} a b", "ZADD w{r} 1 a", "XADD y{r} MAXLEN 20 * f v",
                 "BLMOVE q{r} q{r} LEFT RIGHT 0.01", "LTRIM q{r} 0 20"}),
      Pipelines("blocked", 4,
                {"BLPOP q{r} q{r} 0.05", "BZPOPMIN w{r} 0.05", "XREAD BLOCK 20 STREAMS y{r} $"}),
      Pipelines("groups", 2,
                {"XGROUP CREATE y{r} workers $ MKSTREAM",
                 "XREADGROUP GROUP workers c{c} COUNT 5 BLOCK 10 STREAMS y{r} >"},
                {"BUSYGROUP", "NOGROUP"}),
      Pipelines(
          "publishing", 2,
          {"PUBLISH news{r} hello", "SPUBLISH shard{r} hello", "PUBSUB CHANNELS", "PUBSUB NUMPAT"}),
      Listeners(
          "subscribed", 3, Door::kResp,
          "SUBSCRIBE news news1 news2 seats:hall\r\nPSUBSCRIBE news* __key*__:*\r\nSSUBSCRIBE "
          "shard1\r\n",
          kMoment),
      Listeners("subscribed to the end", 1, Door::kResp, "PSUBSCRIBE *\r\n", kUntilClosed),
  };
}

// Who changes and looks at the server itself.
std::vector<ClientKind> OperatorClients(const std::string& backups) {
  return {
      Pipelines(
          "settings", 1,
          {"CONFIG SET slowlog-log-slower-than {r}", "CONFIG SET slowlog-max-len 1{r}",
           "CONFIG SET latency-monitor-threshold {r}", "CONFIG SET notify-keyspace-events KEA",
           "CONFIG SET maxclients 500{r}", "CONFIG SET timeout 6{r}", "CONFIG GET *",
           "CONFIG RESETSTAT", "CONFIG SET notify-keyspace-events Kg$"}),
      Pipelines("clients", 1,
                {"CLIENT LIST", "CLIENT INFO", "CLIENT SETNAME operator", "CLIENT GETNAME",
                 "CLIENT KILL TYPE pubsub SKIPME yes", "CLIENT PAUSE {r} WRITE", "CLIENT UNPAUSE",
                 "CLIENT UNBLOCK 1{r}", "CLIENT NO-TOUCH off"}),
      Pipelines("users", 1,
                {"ACL SETUSER guest{r} on >secret ~s* &news* +@read +ping", "ACL GETUSER guest{r}",
                 "ACL LIST", "ACL DRYRUN guest{r} GET s1", "ACL LOG", "ACL DELUSER guest{r}",
                 "ACL WHOAMI"},
                {"ERR User"}),
      Listeners(
          "guests", 2, Door::kResp,
          "AUTH guest1 secret\r\nGET s1\r\nSET s1 v\r\nPUBLISH other x\r\n*3\r\n$3\r\nSET\r\n$1",
          kMoment),
      Pipelines("statistics", 1,
                {"INFO everything", "SLOWLOG GET 10", "SLOWLOG RESET", "LATENCY LATEST",
                 "LATENCY HISTOGRAM", "LATENCY RESET", "MEMORY USAGE h1", "COMMAND COUNT",
                 "COMMAND DOCS get", "LASTSAVE", "TIME"}),
      Listeners("monitors", 1, Door::kResp, "MONITOR\r\n", kMoment),
      Requests("metrics", 1,
               {"GET /metrics", "GET /readyz", "GET /healthz", "GET /openapi.json", "GET /docs",
                "POST /v1/admin/backup {\"directory\":\"" + backups + "/{r}{r}{r}{r}\"}"}),
  };
}

std::vector<ClientKind> SeatClients() {
  return {
      Pipelines("seats", 2,
                {"SEAT.RESERVE hall b{c}{r}{r}{r}{r} A-1 BUYER ann HOLD 1 BEST 2",
                 "SEAT.RESERVE hall b{c}{r} A-2 HOLD 1 BEST 1", "SEAT.PAY hall b{c}{r} SECTION A-2",
                 "SEAT.RELEASE hall b{c}{r}", "SEAT.STATE hall", "SEAT.MAP hall A-1",
                 "SEAT.BLOCK hall A-2 1-1{r}", "SEAT.UNBLOCK hall A-2 1-1{r}"},
                {"NOT_ENOUGH_SEATS", "BOOKING_CONFLICT", "NOT_HELD", "ALREADY_PAID", "HOLD_EXPIRED",
                 "NO_SUCH_BOOKING", "SEAT_NOT_BLOCKED", "SEAT_TAKEN"}),
      Requests("bookings", 2,
               {std::string(kBook), "GET /v1/events/hall", "GET /v1/events",
                "POST /v1/bookings/h{c}{r}{r}/pay",
                "POST /v1/bookings/h{c}{r}{r}/refund {\"reason\":\"rain\"}",
                "GET /v1/events/hall/sections/A-1/seats"}),
      Listeners("seat streams", 2, Door::kHttp,
                "GET /v1/events/hall/stream HTTP/1.1\r\nHost: cairn\r\n\r\n", kMoment),
      Listeners("a seat stream to the end", 1, Door::kHttp,
                "GET /v1/events/hall/stream HTTP/1.1\r\nHost: cairn\r\n\r\n", kUntilClosed),
  };
}

std::vector<ClientKind> JobClients() {
  return {
      Pipelines(
          "producers", 2,
          {"JOB.ENQUEUE mail {\"n\":{r}} UNIQUE u{r} PERIOD 50 TAGS {\"t\":\"{r}\"}",
           "JOB.ENQUEUE mail {r} DELAY 1{r}", "JOB.ENQUEUE mail {r} CONCURRENCY k{r} GROUP g{r}",
           "JOB.ENQUEUEM mail PAYLOADS 1 2 3", "QUEUE.LIST", "QUEUE.GET mail",
           "JOB.ENQUEUE slow {r} BASE 1{r} EXPIRE 2{r}0"}),
      Pipelines("queues", 1,
                {"QUEUE.PAUSE slow", "QUEUE.RESUME slow", "QUEUE.CONCURRENCY mail 1{r}",
                 "QUEUE.THROTTLE slow 100 10", "QUEUE.UNTHROTTLE slow", "QUEUE.WORKERS",
                 "QUEUE.CONFIG mail {\"max_retries\":2,\"retention_ms\":1{r}00}"}),
      Pipelines(
          "checkouts", 2,
          {"MULTI", "SET order{r} waiting", "JOB.ENQUEUE slow {r}", "SEAT.STATE hall", "EXEC"}),
      RespWorkers("resp workers", 2, "mail"),
      HttpWorkers("http workers", 2, "mail"),
      HttpWorkers("slow workers", 1, "slow"),
      Requests(
          "http producers", 2,
          {R"(POST /api/v1/enqueue {"queue":"slow","payload":{"to":"ann{r}"},"max_retries":1})",
           "POST /api/v1/enqueue/batch {\"jobs\":[{\"queue\":\"mail\"},{\"queue\":\"slow\"}]}",
           "GET /api/v1/queues", "GET /api/v1/workers", "GET /api/v1/metrics/throughput",
           "GET /api/v1/cluster/events?after_seq=0&limit=50"}),
      Requests("searches", 2,
               {"GET /api/v1/jobs?queue=mail&limit=20",
                "POST /api/v1/jobs/search {\"state\":[\"pending\",\"completed\"],\"limit\":20}",
                "GET /api/v1/search/fulltext?q=ann*",
                "POST /api/v1/jobs/bulk "
                "{\"action\":\"cancel\",\"filter\":{\"queue\":\"slow\"},\"async\":true}"}),
      Requests("rebuilding", 1, {"POST /api/v1/admin/rebuild-sqlite", "GET /api/v1/jobs?limit=5"}),
      Listeners("event streams", 2, Door::kHttp,
                "GET /api/v1/events?last_event_id=0 HTTP/1.1\r\nHost: cairn\r\n\r\n", kMoment),
      Listeners("an event stream to the end", 1, Door::kHttp,
                "GET /api/v1/events?queues=mail HTTP/1.1\r\nHost: cairn\r\n\r\n", kUntilClosed),
  };
}

class EverythingTest : public ::testing::Test {
 protected:
  // A server with a house to sell, and a webhook of its own: what arrives there becomes a job of a
  // queue that nobody works on.
  Server Start(const std::string& drain_timeout) {
    Server server =
        Server::MustStart({.data = directory_ / "data",
                           .flags = {"--io-threads", "3", "--pool-threads", "4", "--drain-timeout",
                                     drain_timeout, "--backup-directory", backups_.path()}});
    server.Command(
        {"SEAT.CREATE", "hall",
         R"({"sections":[{"name":"A","subsections":2,"rows":20,"cols":20,"price":1}]})"});
    EXPECT_EQ(server.Http()
                  .Post("/api/v1/webhooks",
                        fmt::format(
                            R"({{"url":"http://{}/api/v1/webhooks/heard","events":["completed"]}})",
                            net::ToString(server.http())))
                  ->status,
              201);
    return server;
  }

  std::vector<ClientKind> AllClients() const {
    std::vector<ClientKind> kinds = DataClients();
    for (auto& more : {OperatorClients(backups_.path()), SeatClients(), JobClients()}) {
      kinds.insert(kinds.end(), more.begin(), more.end());
    }
    return kinds;
  }

  static void ExpectGoodEnd(Server& server, const ExitStatus& end) {
    EXPECT_TRUE(end.ok()) << server.process().err();
    EXPECT_THAT(server.process().err(), Not(HasSubstr("Sanitizer")));
  }

  // The layers' own checks of what is stored.
  static void ExpectSound(const Server& server) {
    EXPECT_THAT(server.Command({"JOB.VERIFY"}), HasSubstr(R"("sound":true)"));
    EXPECT_THAT(server.Command({"SEAT.VERIFY", "hall"}), HasSubstr(R"("sound":true)"));
  }

  TempDirectory directory_;
  TempDirectory backups_;
};

TEST_F(EverythingTest, ClientsOfAllLayersMeet) {
  // The second time most reads find a cold cache, and go to the pool.
  for (int life = 0; life < 2; ++life) {
    Server server = Start("10s");
    Target target{.resp = server.resp(), .http = server.http()};
    Load load(target, AllClients());
    std::this_thread::sleep_for(kLoad);
    EXPECT_TRUE(server.process().running()) << server.process().err();
    if (server.process().running()) ExpectSound(server);
    target.stop = true;
    const ExitStatus end = server.Stop();
    EXPECT_THAT(load.Join(), IsEmpty());
    ExpectGoodEnd(server, end);
  }
}

TEST_F(EverythingTest, AStopThatWaitsForNobodyFindsAllOfThemAtWork) {
  Server server = Start("0s");
  Target target{.resp = server.resp(), .http = server.http()};
  Load load(target, AllClients());
  std::this_thread::sleep_for(kLoad / 2);
  target.stop = true;
  const ExitStatus end = server.Stop();
  (void)load.Join();  // some were cut off in their first step
  ExpectGoodEnd(server, end);
}

}  // namespace
}  // namespace cairn::testing
