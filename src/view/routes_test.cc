// The HTTP door of the view: jobs that were enqueued over HTTP are listed, found and changed.
#include "view/routes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "doors/testing/test_server.h"
#include "doors/turn/route_store.h"
#include "jobs/http/routes.h"
#include "jobs/ledger/verify.h"
#include "jobs/operations/operations.h"
#include "net/http/client.h"
#include "net/http/server.h"
#include "net/loop.h"
#include "tests/support/await.h"
#include "tests/support/temp_directory.h"
#include "view/sqlite.h"

namespace cairn::view {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Less than the test's own time.
View::Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(150); }

class ViewRoutesTest : public ::testing::Test {
 protected:
  ViewRoutesTest()
      : view_(server_.store(), dir_ / "view.sqlite", random_, Log::Silent()),
        bulk_(server_.store(), view_, server_.clock(), random_, Log::Silent()),
        store_(server_.instance().traffic().turns, loops_, server_.instance().pools().store),
        http_({}, loops_, Factory(), server_.clock(), random_, Log::Silent()) {
    view_.Start();
    bulk_.Start();
    loops_.Start();
    const auto port = http_.Listen({"127.0.0.1", 0});
    EXPECT_TRUE(port.ok());
    port_ = *port;
    client_ = Connect();
  }
  ~ViewRoutesTest() override {
    client_.reset();
    http_.Drain(std::chrono::seconds(30));
    bulk_.Stop();
    view_.Stop();
    loops_.Stop();
    server_.instance().pools().store.Stop();
    pool_.Stop();
  }

  std::unique_ptr<net::HttpClient> Connect() const {
    return std::make_unique<net::HttpClient>(net::Address{"127.0.0.1", port_});
  }

  net::HttpHandlerFactory Factory() {
    jobs::AddJobRoutes(
        {.store = store_, .clock = server_.clock(), .random = random_, .version = "1"}, table_);
    AddViewRoutes(
        {.view = view_, .bulk = bulk_, .store = store_, .pool = pool_, .clock = server_.clock()},
        table_);
    return [this](net::Loop& loop) { return table_.MakeHandler(loop); };
  }

  net::HttpResponse Ask(std::string_view method, const std::string& path,
                        const std::string& body = "", const net::HttpHeaders& headers = {}) {
    // However busy the machine is, and longer than a route would wait: an answer of before is not
    // what a test looks for.
    const auto current = view_.WaitUntilCurrent(Soon());
    EXPECT_TRUE(current.ok()) << current.error().message;
    const auto response = client_->Request(method, "/api/v1" + path, body, headers);
    EXPECT_TRUE(response.ok()) << response.error().message;
    if (!response.ok()) return {};
    CheckSchema(method, path, *response);
    return *response;
  }
  json::value Ok(std::string_view method, const std::string& path, const std::string& body = "") {
    const net::HttpResponse response = Ask(method, path, body);
    EXPECT_LT(response.status, 300) << path << ' ' << response.body;
    return json::parse(response.body);
  }
  // "400 VALIDATION_ERROR text"
  std::string Refusal(std::string_view method, const std::string& path,
                      const std::string& body = "", const net::HttpHeaders& headers = {}) {
    const net::HttpResponse response = Ask(method, path, body, headers);
    EXPECT_GE(response.status, 400) << response.body;
    const json::value error = json::parse(response.body);
    return fmt::format("{} {} {}", response.status, error.at("code").as_string().c_str(),
                       error.at("error").as_string().c_str());
  }
  void CheckSchema(std::string_view method, const std::string& path,
                   const net::HttpResponse& response) {
    const std::string plain = "/api/v1" + path.substr(0, path.find('?'));
    for (size_t i = 0; i < table_.size(); ++i) {
      if (table_.row(i).method != method || table_.row(i).path != plain) continue;
      const doors::JsonSchema* const schema = table_.ResponseSchema(i, response.status);
      ASSERT_NE(schema, nullptr) << plain << ' ' << response.status << ' ' << response.body;
      const auto fault = schema->FindFault(json::parse(response.body));
      EXPECT_FALSE(fault) << *fault << "\n" << response.body;
    }
  }

  // Into the queue q.
  void EnqueueMany(int count) {
    std::string jobs;
    for (int i = 0; i < count; ++i) jobs += fmt::format(R"({}{{"queue":"q"}})", i == 0 ? "" : ",");
    Ok("POST", "/enqueue/batch", R"({"jobs":[)" + jobs + "]}");
  }
  std::string Enqueue(const std::string& body) {
    return std::string(Ok("POST", "/enqueue", body).at("job_id").as_string());
  }
  static std::vector<std::string> Ids(const json::value& answer, std::string_view list = "jobs") {
    std::vector<std::string> ids;
    for (const json::value& job : answer.at(list).as_array()) {
      ids.emplace_back(job.at("id").as_string());
    }
    return ids;
  }
  void ExpectSound() {
    const auto snapshot = server_.store().Read();
    ASSERT_TRUE(snapshot.ok());
    const auto report = jobs::Verify(**snapshot);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(report->sound()) << report->ToJson();
  }
  json::value Finished(const std::string& task) {
    const View::Deadline deadline = Soon();
    while (std::chrono::steady_clock::now() < deadline) {
      json::value progress = Ok("GET", "/bulk/" + task);
      if (progress.as_object().contains("finished_at")) return progress;
    }
    ADD_FAILURE() << task << " does not end";
    return Ok("GET", "/bulk/" + task);
  }

  cairn::testing::TempDirectory dir_;
  doors::testing::TestServer server_;
  SeededRandom random_{7};
  View view_;
  Bulk bulk_;
  ThreadPool pool_{{.name = "search", .threads = 2}};
  net::LoopGroup loops_{1};
  doors::RouteTable table_;
  doors::RouteStore store_;
  net::HttpServer http_;
  uint16_t port_ = 0;
  std::unique_ptr<net::HttpClient> client_;
};

TEST_F(ViewRoutesTest, ReadsItsOwnWrites) {
  const std::string a = Enqueue(R"({"queue":"mail","payload":{"to":"ann"},"tags":{"team":"x"}})");
  EXPECT_THAT(Ids(Ok("GET", "/jobs")), ElementsAre(a));
  const std::string b = Enqueue(R"({"queue":"sms","payload":{"to":"bob"},"priority":"high"})");
  EXPECT_THAT(Ids(Ok("GET", "/jobs?queue=sms&state=pending,active&limit=10")), ElementsAre(b));
  EXPECT_THAT(Ids(Ok("POST", "/jobs/search", R"({"payload_jq":".to == \"ann\""})")),
              ElementsAre(a));
  EXPECT_THAT(Ids(Ok("GET", "/search/fulltext?q=bob"), "results"), ElementsAre(b));
  const net::HttpResponse cancelled = Ask("POST", "/jobs/" + a + "/cancel");
  EXPECT_EQ(cancelled.status, 200);
  EXPECT_THAT(Ids(Ok("GET", "/jobs?state=cancelled")), ElementsAre(a));
}

TEST_F(ViewRoutesTest, FindsEscapedTextAndShowsItAsItWasGiven) {
  const std::string payload = R"({"t":"hellox\nworldx","to":"gr\u00fc\u00dfgott"})";
  const std::string id = Enqueue(R"({"queue":"mail","payload":)" + payload + "}");
  for (const char* word : {"worldx", "gr%C3%BC%C3%9Fgott", "GR%C3%9C%C3%9FGOTT"}) {
    const json::value answer = Ok("GET", std::string("/search/fulltext?q=") + word);
    ASSERT_THAT(Ids(answer, "results"), ElementsAre(id)) << word;
    EXPECT_EQ(answer.at("results").at(0).at("payload").as_string(), payload);
  }
  const net::HttpResponse found = Ask("POST", "/jobs/search", R"({"payload_contains":"GRÜßGOTT"})");
  EXPECT_THAT(Ids(json::parse(found.body)), ElementsAre(id));
  EXPECT_THAT(found.body, HasSubstr(payload));
}

TEST_F(ViewRoutesTest, SaysHowNewItIsAndCanBeAskedToBe) {
  Enqueue(R"({"queue":"mail"})");
  const net::HttpResponse first = Ask("GET", "/jobs");
  const std::string commit(first.headers.Get("X-Cairn-Commit").value_or(""));
  EXPECT_NE(commit, "");
  EXPECT_EQ(Ask("GET", "/jobs", "", {{"X-Cairn-Commit", commit}}).status, 200);
  EXPECT_EQ(Ask("GET", "/jobs", "", {{"X-Cairn-Commit", "latest"}}).status, 200);
  EXPECT_THAT(Refusal("GET", "/jobs", "", {{"X-Cairn-Commit", "99999999"}}),
              HasSubstr("400 VALIDATION_ERROR there is no event 99999999 yet"));
  EXPECT_THAT(Refusal("GET", "/jobs", "", {{"X-Cairn-Commit", "new"}}),
              HasSubstr("400 VALIDATION_ERROR"));
}

// While the view cannot be written, more searches wait for it than there are threads for searches.
TEST_F(ViewRoutesTest, ASearchThatWaitsForTheViewHoldsNoThread) {
  constexpr int kSearches = 4;
  const std::string first = Enqueue(R"({"queue":"q"})");
  EXPECT_EQ(Ok("GET", "/jobs").at("total").as_int64(), 1);
  Result<Database> database = Database::Open(view_.file(), OpenMode::kReadWrite);
  ASSERT_TRUE(database.ok()) << database.error().message;
  ASSERT_TRUE(database->Execute("BEGIN IMMEDIATE").ok());
  const auto enqueued = client_->Request("POST", "/api/v1/enqueue", R"({"queue":"q"})", {});
  ASSERT_TRUE(enqueued.ok());

  const uint64_t before = http_.stats().requests;
  std::vector<std::future<std::string>> searches;
  for (int i = 0; i < kSearches; ++i) {
    searches.push_back(std::async(std::launch::async, [this] {
      net::HttpHeaders latest;
      latest.Add("X-Cairn-Commit", "latest");
      const auto found = Connect()->Request("GET", "/api/v1/jobs", "", latest);
      return found.ok() ? found->body : found.error().message;
    }));
  }
  cairn::testing::Await("the searches to arrive",
                        [&] { return http_.stats().requests >= before + kSearches; });
  const std::string hold = fmt::format(R"({{"action":"hold","job_ids":["{}"]}})", first);
  const auto held = client_->Request("POST", "/api/v1/jobs/bulk", hold, {});
  ASSERT_TRUE(held.ok()) << held.error().message;
  EXPECT_EQ(json::parse(held->body).at("affected").as_int64(), 1) << held->body;
  for (const std::future<std::string>& search : searches) {
    EXPECT_EQ(search.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  }

  ASSERT_TRUE(database->Execute("ROLLBACK").ok());
  for (std::future<std::string>& search : searches) {
    EXPECT_THAT(search.get(), HasSubstr(R"("total":2)"));
  }
}

TEST_F(ViewRoutesTest, PagesFollowCursors) {
  std::set<std::string> expected;
  for (int i = 0; i < 25; ++i) expected.insert(Enqueue(R"({"queue":"q"})"));
  std::set<std::string> seen;
  std::string cursor;
  do {
    const json::value page =
        Ok("GET", "/jobs?limit=10" + (cursor.empty() ? "" : "&cursor=" + cursor));
    EXPECT_EQ(page.at("total").as_int64(), 25);
    for (const std::string& id : Ids(page)) EXPECT_TRUE(seen.insert(id).second);
    const bool more = page.at("has_more").as_bool();
    cursor = more ? page.at("cursor").as_string() : "";
  } while (!cursor.empty());
  EXPECT_EQ(seen, expected);
}

TEST_F(ViewRoutesTest, RefusesWhatMakesNoSense) {
  EXPECT_THAT(Refusal("GET", "/jobs?state=gone"),
              HasSubstr("400 VALIDATION_ERROR state: expected"));
  EXPECT_THAT(Refusal("GET", "/jobs?colour=red"), HasSubstr("400 VALIDATION_ERROR"));
  EXPECT_THAT(Refusal("GET", "/jobs?limit=0"), HasSubstr("400 VALIDATION_ERROR"));
  EXPECT_THAT(Refusal("POST", "/jobs/search", R"({"payload_jq":"drop table jobs"})"),
              HasSubstr("400 VALIDATION_ERROR payload_jq: expected"));
  EXPECT_THAT(Refusal("POST", "/jobs/search", "[]"), HasSubstr("400"));
  EXPECT_THAT(Refusal("GET", "/search/fulltext"), HasSubstr("400"));
  EXPECT_THAT(Refusal("POST", "/jobs/bulk", R"({"action":"explode","job_ids":[]})"),
              HasSubstr("400"));
  EXPECT_THAT(Refusal("POST", "/jobs/bulk", R"({"action":"cancel"})"),
              HasSubstr("400 VALIDATION_ERROR give either job_ids or filter"));
  EXPECT_THAT(Refusal("POST", "/jobs/bulk", R"({"action":"move","job_ids":[]})"),
              HasSubstr("400 VALIDATION_ERROR move_to_queue: is missing"));
  EXPECT_THAT(Refusal("POST", "/jobs/bulk", R"({"action":"change_priority","filter":{}})"),
              HasSubstr("400 VALIDATION_ERROR priority"));
  EXPECT_THAT(Refusal("POST", "/jobs/bulk", R"({"action":"cancel","filter":{"state":"x"}})"),
              HasSubstr("400 VALIDATION_ERROR filter: state"));
  EXPECT_EQ(Ask("GET", "/bulk/bulk_none").status, 404);
  EXPECT_EQ(Ask("GET", "/bulk/bulk_none/progress").status, 404);
}

TEST_F(ViewRoutesTest, BulkActionsOnNamedJobs) {
  const std::string a = Enqueue(R"({"queue":"q"})");
  const std::string b = Enqueue(R"({"queue":"q"})");
  const auto bulk = [&](const std::string& action, const std::string& more = "") {
    const json::value done =
        Ok("POST", "/jobs/bulk",
           fmt::format(R"({{"action":"{}","job_ids":["{}","{}"]{}}})", action, a, b, more));
    return fmt::format("{} {}", done.at("affected").as_int64(), done.at("errors").as_int64());
  };
  EXPECT_EQ(bulk("change_priority", R"(,"priority":"critical")"), "2 0");
  EXPECT_THAT(Ids(Ok("GET", "/jobs?priority=critical")), ::testing::SizeIs(2));
  EXPECT_EQ(bulk("move", R"(,"move_to_queue":"r")"), "2 0");
  EXPECT_THAT(Ids(Ok("GET", "/jobs?queue=r")), ::testing::SizeIs(2));
  EXPECT_EQ(bulk("hold"), "2 0");
  EXPECT_EQ(bulk("hold"), "0 2");
  EXPECT_EQ(bulk("approve"), "2 0");
  EXPECT_EQ(bulk("cancel"), "2 0");
  EXPECT_EQ(bulk("retry"), "2 0");
  EXPECT_EQ(bulk("delete"), "2 0");
  EXPECT_EQ(bulk("delete"), "0 2");
  ExpectSound();
}

TEST_F(ViewRoutesTest, ABulkActionTouchesEveryMatchAndNoOther) {
  for (int i = 0; i < 30; ++i) {
    std::string jobs;
    for (int j = 0; j < 100; ++j) {
      jobs += fmt::format(R"({}{{"queue":"{}","unique_key":"u{}-{}"}})", j == 0 ? "" : ",",
                          j < 90 ? "many" : "other", i, j);
    }
    Ok("POST", "/enqueue/batch", R"({"jobs":[)" + jobs + "]}");
  }
  const json::value started =
      Ok("POST", "/jobs/bulk", R"({"action":"cancel","filter":{"queue":"many"}})");
  EXPECT_EQ(started.at("estimated_total").as_int64(), 2'700);
  const std::string task(started.at("bulk_operation_id").as_string());
  const json::value finished = Finished(task);
  EXPECT_EQ(finished.at("status").as_string(), "completed");
  EXPECT_EQ(finished.at("affected").as_int64(), 2'700);
  EXPECT_EQ(finished.at("errors").as_int64(), 0);
  EXPECT_EQ(Ok("GET", "/jobs?state=cancelled").at("total").as_int64(), 2'700);
  EXPECT_EQ(Ok("GET", "/jobs?state=pending").at("total").as_int64(), 300);
  ExpectSound();

  const json::value small =
      Ok("POST", "/jobs/bulk", R"({"action":"delete","filter":{"queue":"other"}})");
  EXPECT_EQ(small.at("affected").as_int64(), 300);
  ExpectSound();

  // The stream of a task that is over tells its end.
  const auto stream = client_->Request("GET", "/api/v1/bulk/" + task + "/progress", "", {});
  ASSERT_TRUE(stream.ok());
  EXPECT_THAT(stream->body, HasSubstr("event: bulk.async.completed"));
  EXPECT_THAT(stream->body, HasSubstr(R"("percent":100.0)"));
}

TEST_F(ViewRoutesTest, ATaskGoesOnAfterAnEndInTheMiddle) {
  EnqueueMany(1'200);
  // Nobody runs it: this process ends before it begins.
  bulk_.Stop();
  const json::value started =
      Ok("POST", "/jobs/bulk", R"({"action":"hold","filter":{"queue":"q"}})");
  const std::string task(started.at("bulk_operation_id").as_string());
  EXPECT_EQ(Ok("GET", "/bulk/" + task).at("status").as_string(), "queued");
  server_.clock().AdvanceMillis(61'000);  // where servers share a store, it has to look forgotten
  Bulk next(server_.store(), view_, server_.clock(), random_, Log::Silent());
  next.Start();
  const json::value finished = Finished(task);
  EXPECT_EQ(finished.at("affected").as_int64(), 1'200);
  next.Stop();
  ExpectSound();
}

TEST_F(ViewRoutesTest, ATaskIsListedAndCancelled) {
  EnqueueMany(1'200);
  const auto start = [&](const std::string& action) {
    const json::value started = Ok(
        "POST", "/jobs/bulk", fmt::format(R"({{"action":"{}","filter":{{"queue":"q"}}}})", action));
    return std::string(started.at("bulk_operation_id").as_string());
  };
  bulk_.Stop();  // nobody runs them
  const std::string first = start("hold");
  server_.clock().AdvanceMillis(1'000);
  const std::string second = start("delete");
  EXPECT_THAT(Ids(Ok("GET", "/bulk"), "operations"), ElementsAre(second, first));
  EXPECT_THAT(Ids(Ok("GET", "/bulk?limit=1"), "operations"), ElementsAre(second));

  const json::value cancelled = Ok("POST", "/bulk/" + second + "/cancel");
  EXPECT_EQ(cancelled.at("status").as_string(), "cancelled");
  EXPECT_TRUE(cancelled.as_object().contains("finished_at"));
  EXPECT_EQ(Ok("POST", "/bulk/" + second + "/cancel"), cancelled);  // again does nothing

  server_.clock().AdvanceMillis(61'000);
  Bulk next(server_.store(), view_, server_.clock(), random_, Log::Silent());
  next.Start();
  EXPECT_EQ(Finished(first).at("affected").as_int64(), 1'200);
  EXPECT_EQ(Ok("GET", "/jobs?state=held").at("total").as_int64(), 1'200);
  EXPECT_THAT(Refusal("POST", "/bulk/" + first + "/cancel"),
              HasSubstr("400 CANCEL_ERROR the bulk operation has ended already: completed"));
  EXPECT_EQ(Ok("GET", "/bulk/" + second).at("processed").as_int64(), 0);
  next.Stop();
  const auto stream = client_->Request("GET", "/api/v1/bulk/" + second + "/progress", "", {});
  ASSERT_TRUE(stream.ok());
  EXPECT_THAT(stream->body, HasSubstr("event: bulk.async.cancelled"));
  EXPECT_EQ(Ask("POST", "/bulk/bulk_none/cancel").status, 404);
  ExpectSound();
}

// Wherever the end finds it, the record says what was done.
TEST_F(ViewRoutesTest, ATaskThatIsCancelledWhileItRunsStaysAtWhatItHasDone) {
  EnqueueMany(5'000);
  const json::value started =
      Ok("POST", "/jobs/bulk", R"({"action":"hold","filter":{"queue":"q"}})");
  const std::string path = "/bulk/" + std::string(started.at("bulk_operation_id").as_string());
  cairn::testing::Await("the task to begin",
                        [&] { return Ok("GET", path).at("processed").as_int64() != 0; });
  const net::HttpResponse answer = Ask("POST", path + "/cancel");
  EXPECT_TRUE(answer.status == 200 || answer.status == 400) << answer.body;
  bulk_.Stop();
  const json::value ended = Ok("GET", path);
  EXPECT_EQ(ended.at("status").as_string(), answer.status == 200 ? "cancelled" : "completed");
  EXPECT_EQ(Ok("GET", "/jobs?state=held").at("total").as_int64(), ended.at("affected").as_int64());
  ExpectSound();
}

TEST_F(ViewRoutesTest, ATaskThatAnEarlierVersionLeftIsRun) {
  EnqueueMany(3);
  bulk_.Stop();
  const auto left = server_.store().Run(
      store::Scopes::Exclusive(), [](store::Transaction& transaction) -> Result<void> {
        transaction.Put({store::Space::kSystem, "jobs/bulk/bulk_old"},
                        R"({"status":"queued","request":"{\"action\":\"hold\",\"filter\":)"
                        R"({\"queue\":\"q\"}}","queues":"","total":3,"processed":0,"affected":0,)"
                        R"("errors":0,"error":"","created_ns":1,"updated_ns":1,"finished_ns":0,)"
                        R"("owner":"x","after":"","until":"~"})");
        return {};
      });
  ASSERT_TRUE(left.ok());
  Bulk next(server_.store(), view_, server_.clock(), random_, Log::Silent());
  next.Start();
  EXPECT_EQ(Finished("bulk_old").at("affected").as_int64(), 3);
  EXPECT_EQ(Ok("GET", "/bulk/bulk_old").at("action").as_string(), "hold");
  next.Stop();
}

TEST_F(ViewRoutesTest, DurationsAreWholeNumbers) {
  EXPECT_TRUE(Ok("GET", "/jobs").at("duration_ms").is_int64());
  EXPECT_TRUE(
      Ok("POST", "/jobs/bulk", R"({"action":"hold","job_ids":[]})").at("duration_ms").is_int64());
  EXPECT_TRUE(Ok("POST", "/admin/rebuild-sqlite").at("duration_ms").is_int64());
}

TEST_F(ViewRoutesTest, Rebuilds) {
  Enqueue(R"({"queue":"q"})");
  const json::value rebuilt = Ok("POST", "/admin/rebuild-sqlite");
  EXPECT_EQ(rebuilt.at("rebuilt").as_int64(), 1);
  EXPECT_EQ(Ok("GET", "/jobs").at("total").as_int64(), 1);
}

}  // namespace
}  // namespace cairn::view
