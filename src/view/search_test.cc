// Filters, pages and full text, on tables that are filled by hand.
#include "view/search.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/temp_directory.h"
#include "view/payload_query.h"
#include "view/rows.h"
#include "view/schema.h"
#include "view/text.h"

namespace cairn::view {
namespace {

namespace json = boost::json;
using jobs::Job;
using jobs::State;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SearchTest : public ::testing::Test {
 protected:
  SearchTest() : database_(*Database::Open(dir_ / "view.sqlite", OpenMode::kReadWrite)) {
    EXPECT_TRUE(ConfigureWriter(database_).ok());
    EXPECT_TRUE(CreateSchema(database_).ok());
    Result<RowWriter> rows = RowWriter::Prepare(database_);
    EXPECT_TRUE(rows.ok()) << rows.error().message;
    rows_ = std::make_unique<RowWriter>(std::move(*rows));
  }

  static Job NewJob(const std::string& id, std::string payload = "{}") {
    Job job;
    job.id = id;
    job.queue = "mail";
    job.payload = std::move(payload);
    job.created_ns = 1'700'000'000'000'000'000;
    return job;
  }
  void Put(const Job& job) { ASSERT_TRUE(rows_->PutJob(job).ok()); }
  void Put(const std::string& id, std::string payload) { Put(NewJob(id, std::move(payload))); }

  json::value Ask(const std::string& text) {
    const Result<SearchRequest> request = ParseSearch(json::parse(text).as_object());
    if (!request.ok()) return json::value(request.error().message);
    const Result<SearchResult> result = Search(database_, *request);
    if (!result.ok()) return json::value(result.error().message);
    json::array jobs;
    for (const std::string& job : result->jobs) jobs.push_back(json::parse(job));
    json::object answer{{"jobs", jobs}, {"total", result->total}};
    if (result->next) answer["cursor"] = EncodeCursor(*result->next);
    return answer;
  }
  static std::string Listed(const json::value& answer) {
    if (answer.is_string()) return std::string(answer.as_string());
    std::string ids;
    for (const json::value& job : answer.at("jobs").as_array()) {
      ids += ids.empty() ? "" : " ";
      ids += job.at("id").as_string();
    }
    return ids;
  }
  // "a b": the ids in ascending order, or what is wrong with the question.
  std::string Find(const std::string& text) {
    json::value question = json::parse(text);
    question.as_object()["order"] = "asc";
    return Listed(Ask(json::serialize(question)));
  }
  std::string FindJq(const std::string& query) {
    return Find(json::serialize(json::object{{"payload_jq", query}}));
  }
  std::string FindWords(const std::string& words) {
    const auto found = FullText(database_, words, {}, 100);
    if (!found.ok()) return found.error().message;
    std::string ids;
    for (const std::string& job : found->jobs) {
      ids += ids.empty() ? "" : " ";
      ids += json::parse(job).at("id").as_string();
    }
    return ids;
  }

  cairn::testing::TempDirectory dir_;
  Database database_;
  std::unique_ptr<RowWriter> rows_;
};

TEST_F(SearchTest, EveryFilter) {
  Job a = NewJob("a", R"({"to":"Ann"})");
  a.tags = R"({"team":"x","n":3,"hot":true})";
  a.unique_key = "u1";
  a.attempt = 2;
  a.expire_ns = a.created_ns + 10'000'000'000;
  Put(a);
  Job b = NewJob("b", R"({"to":"Bob 100%"})");
  b.queue = "sms";
  b.state = State::kActive;
  b.priority = jobs::Priority::kHigh;
  b.created_ns += 60'000'000'000;
  b.started_ns = b.created_ns + 1'000'000'000;
  b.worker_id = "w1";
  b.batch_id = "batch_1";
  b.parent_id = "a";
  b.chain_id = "chn_1";
  Put(b);
  ASSERT_TRUE(rows_->PutErrors("b", {{1, "boom: 50%_x", "trace", b.started_ns}}).ok());

  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{}", "a b"},
      {R"({"queue":"sms"})", "b"},
      {R"({"queue":"SMS"})", ""},
      {R"({"state":"pending"})", "a"},
      {R"({"state":["pending","active"]})", "a b"},
      {R"({"state":[]})", "a b"},
      {R"({"state":"gone"})", "state: expected the name of a state, not 'gone'"},
      {R"({"priority":"high"})", "b"},
      {R"({"priority":2})", "a"},
      {R"({"priority":7})", "priority: expected critical, high, normal or 0 to 2"},
      {R"({"tags":{"team":"x"}})", "a"},
      {R"({"tags":{"team":"x","n":3,"hot":true}})", "a"},
      {R"({"tags":{"team":"y"}})", ""},
      {R"({"tags":{"n":"3"}})", ""},
      {R"({"tags":{"hot":false}})", ""},
      {R"({"tags":{"a":[]}})", "tags.a: expected a string, a number or a boolean"},
      {R"({"payload_contains":"ann"})", "a"},
      {R"({"payload_contains":"100%"})", "b"},
      {R"({"payload_contains":"%"})", "b"},
      {R"({"payload_contains":"_nn"})", ""},
      {R"({"payload_jq":".to == \"Ann\""})", "a"},
      {R"({"created_after":"2023-11-14T22:13:20Z"})", "b"},
      {R"({"created_before":"2023-11-14T23:14:20+01:00"})", "a"},
      {R"({"started_after":"2000-01-01T00:00:00Z"})", "b"},
      {R"({"started_before":"2000-01-01T00:00:00Z"})", ""},
      {R"({"expire_after":"2023-11-14T22:13:29Z"})", "a"},
      {R"({"created_after":"yesterday"})",
       "created_after: expected a time such as 2026-11-17T04:50:22Z"},
      {R"({"attempt_min":1})", "a"},
      {R"({"attempt_max":1})", "b"},
      {R"({"attempt_max":"1"})", "attempt_max: expected a whole number"},
      {R"({"unique_key":"u1"})", "a"},
      {R"({"batch_id":"batch_1"})", "b"},
      {R"({"worker_id":"w1"})", "b"},
      {R"({"parent_id":"a"})", "b"},
      {R"({"chain_id":"chn_1"})", "b"},
      {R"({"has_errors":true})", "b"},
      {R"({"has_errors":false})", "a"},
      {R"({"error_contains":"50%_"})", "b"},
      {R"({"error_contains":"50_%"})", ""},
      {R"({"job_id_prefix":"a"})", "a"},
      {R"({"job_id_prefix":""})", "a b"},
      {R"({"queue":"sms","state":"pending"})", ""},
      {R"({"queue":null})", "a b"},
      {R"({"colour":"red"})", "unknown filter 'colour'"},
      {R"({"queue":7})", "queue: expected a string"},
  };
  for (const auto& [question, answer] : cases) EXPECT_EQ(Find(question), answer) << question;
}

TEST_F(SearchTest, PayloadQueries) {
  Put("a", R"({"n":1,"s":"pro","t":true,"z":null,"list":["x","y"],"o":{"deep":{"k":"v"}}})");
  Put("b", R"({"n":2.5,"s":"free","t":false,"list":[],"a b":7,"o":{}})");
  Put("c", R"("just text")");
  Put("d", R"({"n":"1","big":12345678901234567890123})");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {".n == 1", "a"},
      {".n == 1.0", "a"},
      {".n != 1", "b c d"},
      {".n > 1", "b"},
      {".n >= 1", "a b"},
      {".n < 2", "a"},
      {".n <= 2.5", "a b"},
      {".n == \"1\"", "d"},
      {".s == \"pro\"", "a"},
      {".s > \"g\"", "a"},
      {".t == true", "a"},
      {".t == false", "b"},
      {".t != true", "b c d"},
      {".z == null", "a b c d"},
      {".z != null", ""},
      {".s != null", "a b"},
      {".o.deep.k == \"v\"", "a"},
      {".\"a b\" == 7", "b"},
      {".list[0] == \"x\"", "a"},
      {".list[9] == null", "a b c d"},
      {".s | startswith(\"pr\")", "a"},
      {".s|startswith(\"\")", "a b"},
      {".n | startswith(\"1\")", "d"},
      {".list | contains(\"y\")", "a"},
      {".s | contains(\"re\")", "b"},
      {".list | length > 0", "a"},
      {".list | length == 0", "b"},
      {".o | length == 1", "a"},
      {".s | length >= 4", "b"},
      {". == \"just text\"", "c"},
      {". | length == 9", "c"},
      {".big > 1e22", "d"},
  };
  for (const auto& [query, answer] : cases) EXPECT_EQ(FindJq(query), answer) << query;
  for (const char* wrong : {"",
                            "n == 1",
                            ".n",
                            ".n = 1",
                            ".n == ",
                            ".n == x",
                            ".n == 1 or TRUE",
                            ".n == 1; DROP TABLE",
                            ".n == [1]",
                            ".n | length",
                            ".n | length > x",
                            ".n | startswith(1)",
                            ".n | startswith(\"a\"",
                            ".n | explode",
                            ".t > true",
                            ".a..b == 1",
                            ".list[-1] == 1",
                            ".list[x] == 1",
                            ".\"a\\\"b\" == 1",
                            ".n == \"",
                            ".list[99999999999] == 1",
                            ".n == \"\\"}) {
    EXPECT_THAT(FindJq(wrong), HasSubstr("payload_jq: expected")) << wrong;
  }
}

TEST_F(SearchTest, NothingThatUsersGiveIsSql) {
  Put("a", R"({"x'y":"' OR 1=1 --"})");
  Put("b", "{}");
  const std::string evil = R"(' OR 1=1; DROP TABLE jobs; --)";
  for (const char* name : {"queue", "unique_key", "batch_id", "worker_id", "parent_id", "chain_id",
                           "job_id_prefix", "payload_contains", "error_contains"}) {
    EXPECT_EQ(Find(json::serialize(json::object{{name, evil}})), "") << name;
  }
  EXPECT_EQ(Find(json::serialize(json::object{{"tags", json::object{{evil, evil}}}})), "");
  EXPECT_EQ(Find(json::serialize(json::object{{"tags", json::object{{"$.a\"", 1}}}})), "");
  EXPECT_THAT(Find(json::serialize(json::object{{"sort", evil}})), HasSubstr("sort: expected"));
  EXPECT_THAT(Find(json::serialize(json::object{{"cursor", evil}})), HasSubstr("cursor: expected"));
  EXPECT_THAT(Find(json::serialize(json::object{{evil, "x"}})), HasSubstr("unknown filter"));
  EXPECT_EQ(FindJq(R"(."x'y" == "' OR 1=1 --")"), "a");
  EXPECT_EQ(FindJq(R"(."') OR 1=1 --" == "x")"), "");
  EXPECT_EQ(FindWords(evil), "");
  EXPECT_EQ(FindWords(R"(" OR id:* NEAR( ^ - +)"), "");
  EXPECT_EQ(FindWords(R"(jobs_fts : payload)"), "");
  EXPECT_EQ(Find("{}"), "a b");
}

TEST_F(SearchTest, FullTextFindsAndForgets) {
  Job job = NewJob("job_1", R"({"to":"Ann Smith","city":"Malmö"})");
  job.tags = R"({"team":"billing"})";
  Put(job);
  Put("job_2", R"({"to":"Bob"})");
  EXPECT_EQ(FindWords("ann"), "job_1");
  EXPECT_EQ(FindWords("SMITH ann"), "job_1");
  EXPECT_EQ(FindWords("ann bob"), "");
  EXPECT_EQ(FindWords("malmo"), "job_1");
  EXPECT_EQ(FindWords("bill*"), "job_1");
  EXPECT_EQ(FindWords("bill"), "");
  EXPECT_EQ(FindWords("mail"), "job_2 job_1");  // the queue; newest first
  EXPECT_EQ(FindWords(""), "");
  EXPECT_EQ(FindWords("  \t"), "");
  EXPECT_EQ(FindWords(std::string("ann\0bob", 7)), "");

  job.payload = R"({"to":"Carl"})";
  Put(job);
  EXPECT_EQ(FindWords("ann"), "");
  EXPECT_EQ(FindWords("carl"), "job_1");
  job.state = State::kCompleted;
  ASSERT_TRUE(rows_->PutProgress(job).ok());
  EXPECT_EQ(FindWords("carl"), "job_1");
  ASSERT_TRUE(rows_->RemoveJob("job_1").ok());
  EXPECT_EQ(FindWords("carl"), "");
  EXPECT_EQ(FindWords("mail"), "job_2");
}

// A payload in which every word stands behind or in front of an escape.
constexpr const char* kEscaped =
    R"({"t":"hellox\nworldx","gr\u00fc\u00dfgott":["say \"quotx\"",true],"p":"c:\\tempx",)"
    R"("half":"\ud83d\ude00smilex","n":-12345678901234567890.10})";

TEST_F(SearchTest, FullTextIsOfWhatJsonSays) {
  Job job = NewJob("a", kEscaped);
  job.tags = R"({"st\u00e4dtx":"K\u00f6ln\tportx"})";
  Put(job);
  Put("b", R"({"t":"plainx","ok":true,"n":12})");
  for (const char* words :
       {"hellox", "worldx", "hellox worldx", "grüßgott", "GRÜßGOTT", "quotx", "tempx", "smilex",
        "12345678901234567890.10", "städtx", "köln", "KÖLN portx"}) {
    EXPECT_EQ(FindWords(words), "a") << words;
  }
  for (const char* words : {"nworldx", "u00fc", "tportx", "ud83d", "plainx worldx"}) {
    EXPECT_EQ(FindWords(words), "") << words;
  }
  EXPECT_EQ(FindWords("true"), "b a");
  EXPECT_EQ(FindWords("12"), "b");
  const auto found = FullText(database_, "worldx", {}, 1);
  ASSERT_TRUE(found.ok() && found->jobs.size() == 1);
  EXPECT_EQ(json::parse(found->jobs.front()).at("payload").as_string(), kEscaped);

  // What was decoded is forgotten as well.
  job.payload = R"({"t":"first\nsecondx"})";
  job.tags = R"({"st\u00e4dtx":"bonnx"})";
  Put(job);
  EXPECT_EQ(FindWords("worldx"), "");
  EXPECT_EQ(FindWords("grüßgott"), "");
  EXPECT_EQ(FindWords("köln"), "");
  EXPECT_EQ(FindWords("secondx städtx bonnx"), "a");
  ASSERT_TRUE(rows_->RemoveJob("a").ok());
  EXPECT_EQ(FindWords("secondx"), "");
  EXPECT_EQ(FindWords("städtx"), "");
}

TEST_F(SearchTest, TextIsFoundAsItIsReadAndWithoutRegardToCase) {
  Put("a", kEscaped);
  Put("b", R"({"t":"Grüßgott, ΟΔΥΣΣΕΥΣ und Жук","path":"/tmp"})");
  ASSERT_TRUE(rows_->PutErrors("b", {{1, "Größe \"X\" ÜBERSCHRITTEN\n100%", "", 1}}).ok());
  const auto find = [&](const char* filter, const std::string& text) {
    return Find(json::serialize(json::object{{filter, text}}));
  };
  const std::vector<std::pair<std::string, std::string>> in_payload = {
      {"say \"quotx\"", "a"},
      {"hellox\nworldx", "a"},
      {"SAY \"QUOTX", "a"},
      {R"(hellox\nworldx)", "a"},  // as it is given
      {R"("p":"c:\\tempx")", "a"},
      {R"(c:\tempx)", "a"},
      {"😀Smilex", "a"},
      {"-12345678901234567890.10", "a"},
      {"grüßgott", "a b"},
      {"GRÜẞGOTT", "a b"},
      {"GRÜßGOTT", "a b"},
      {"grußgott", ""},
      {"οδυσσευς", "b"},
      {"οδυσσευσ", "b"},
      {"жУК\",\"PATH", "b"},
      {"quotx\"true", ""},  // not from one value into the next
      {"%", ""},
      {"tmp_", ""},
      {"", "a b"},
      {std::string("t\0", 2), ""},
  };
  for (const auto& [text, ids] : in_payload) EXPECT_EQ(find("payload_contains", text), ids) << text;
  for (const char* text : {"größe", "GRÖSSE", "überschritten", "\"x\" Ü", "überschritten\n100%"}) {
    EXPECT_EQ(find("error_contains", text), std::string(text) == "GRÖSSE" ? "" : "b") << text;
  }
}

TEST_F(SearchTest, TextIsDecodedAndFoldedAsFarAsItMakesSense) {
  EXPECT_EQ(DecodedText(R"([{"a\tb":[1.50,-0,1E5,"x\\y"]},"",null])"),
            "a\tb\n1.50\n-0\n1E5\nx\\y\n\nnull\n");
  EXPECT_EQ(DecodedText("12"), "12\n");
  const std::string deep = fmt::format(R"({:[>256}"\u0041"{:]>256})", "", "");
  EXPECT_EQ(DecodedText(deep), "A\n");
  const std::string broken = R"({"broken\u00fc)";
  EXPECT_EQ(DecodedText(broken), broken);
  EXPECT_EQ(DecodedText(""), "");
  EXPECT_EQ(FoldCase("AZ@[`{09"), "az@[`{09");
  EXPECT_EQ(FoldCase("ÄÖÜẞ ǅ \u212A Ⅷ"), "äöüß ǆ k ⅷ");
  EXPECT_EQ(FoldCase("A\xFFÜ\xC3"), "a\xFFü\xC3");
  EXPECT_EQ(FoldCase(""), "");
}

TEST_F(SearchTest, PagesAreStableUnderChange) {
  for (int i = 0; i < 100; ++i) {
    Job job = NewJob(fmt::format("job_{:03}", i));
    job.created_ns += static_cast<uint64_t>(i / 7) * 1'000'000;  // many at the same time
    job.attempt = i % 5;
    job.started_ns = i % 3 == 0 ? 0 : job.created_ns;
    job.priority = static_cast<jobs::Priority>(i % 3);
    job.state = i % 4 == 0 ? State::kActive : State::kPending;
    Put(job);
  }
  for (const char* sort :
       {"created_at", "queue by age", "priority", "started_at", "completed_at", "attempt"}) {
    for (const char* order : {"asc", "desc"}) {
      const bool by_queue = std::string(sort) == "queue by age";
      const std::string column = by_queue ? "created_at" : sort;
      std::set<std::string> seen;
      std::string cursor;
      int pages = 0;
      do {
        json::object question{{"sort", column}, {"order", order}, {"limit", 9}};
        if (by_queue) question["queue"] = "mail";
        if (by_queue) question["state"] = json::array{"pending", "active", "pending"};
        if (!cursor.empty()) question["cursor"] = cursor;
        const json::value answer = Ask(json::serialize(question));
        ASSERT_TRUE(answer.is_object()) << json::serialize(answer);
        for (const json::value& job : answer.at("jobs").as_array()) {
          EXPECT_TRUE(seen.emplace(job.at("id").as_string()).second) << sort;
        }
        cursor = answer.as_object().contains("cursor") ? answer.at("cursor").as_string() : "";
        // What has been seen goes away, and something new comes at the front.
        if (++pages == 3) {
          for (const std::string& id : seen) ASSERT_TRUE(rows_->RemoveJob(id).ok());
        }
      } while (!cursor.empty());
      EXPECT_EQ(seen.size(), 100U) << sort << ' ' << order;
      for (int i = 0; i < 100; ++i) {
        Job job = NewJob(fmt::format("job_{:03}", i));
        job.created_ns += static_cast<uint64_t>(i / 7) * 1'000'000;
        job.attempt = i % 5;
        job.started_ns = i % 3 == 0 ? 0 : job.created_ns;
        job.priority = static_cast<jobs::Priority>(i % 3);
        job.state = i % 4 == 0 ? State::kActive : State::kPending;
        Put(job);
      }
    }
  }
}

TEST_F(SearchTest, APageOfLargeJobsEndsEarlyWithItsCursor) {
  constexpr int kJobs = 100;
  const std::string payload = "\"" + std::string(250'000, 'x') + "\"";
  for (int i = 0; i < kJobs; ++i) Put(fmt::format("job_{:03}", i), payload);
  std::set<std::string> seen;
  std::string cursor;
  int pages = 0;
  do {
    json::object question{{"limit", 1000}};
    if (!cursor.empty()) question["cursor"] = cursor;
    const json::value answer = Ask(json::serialize(question));
    ASSERT_TRUE(answer.is_object()) << json::serialize(answer);
    EXPECT_LE(json::serialize(answer).size(), kMaxPageBytes + 1'000'000);
    for (const json::value& job : answer.at("jobs").as_array()) {
      EXPECT_TRUE(seen.emplace(job.at("id").as_string()).second);
    }
    cursor = answer.as_object().contains("cursor") ? answer.at("cursor").as_string() : "";
    ++pages;
  } while (!cursor.empty());
  EXPECT_EQ(seen.size(), static_cast<size_t>(kJobs));
  EXPECT_EQ(pages, 2);
}

TEST_F(SearchTest, PagesHaveATotalAndTheirBounds) {
  for (int i = 0; i < 7; ++i) Put(fmt::format("job_{}", i), "{}");
  const json::value first = Ask(R"({"limit":3})");
  EXPECT_EQ(first.at("total").as_int64(), 7);
  EXPECT_EQ(Listed(first), "job_6 job_5 job_4");
  const std::string cursor(first.at("cursor").as_string());
  EXPECT_EQ(Listed(Ask(fmt::format(R"({{"limit":3,"cursor":"{}"}})", cursor))),
            "job_3 job_2 job_1");
  EXPECT_EQ(Listed(Ask(fmt::format(R"({{"limit":3,"cursor":"{}","order":"asc"}})", cursor))),
            "cursor: it comes from an answer with another sort or order");
  EXPECT_FALSE(Ask(R"({"limit":7})").as_object().contains("cursor"));
  EXPECT_EQ(Listed(Ask(R"({"limit":0})")), "limit: expected 1 to 1000");
  EXPECT_EQ(Listed(Ask(R"({"limit":1001})")), "limit: expected 1 to 1000");
  EXPECT_EQ(Listed(Ask(R"({"order":"up"})")), "order: expected asc or desc");
  for (const char* bad : {"zz", "7b", "7b7d", "abc", "00", "5b5d"}) {
    EXPECT_EQ(Listed(Ask(fmt::format(R"({{"cursor":"{}"}})", bad))),
              "cursor: expected the cursor of an earlier answer");
  }
}

TEST_F(SearchTest, PayloadsComeBackAsTheyWere) {
  const std::string payload = R"({ "n" : 12345678901234567890.10, "e":1E5,"u":"é" })";
  Put("a", payload);
  const Result<SearchRequest> request = ParseSearch({});
  const Result<SearchResult> result = Search(database_, *request);
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result->jobs, ElementsAre(HasSubstr("\"payload\":" + payload + ",")));
}

TEST_F(SearchTest, AJobNeedsNoParent) {
  Job child = NewJob("child");
  child.parent_id = "gone";
  Put(child);
  EXPECT_EQ(Find(R"({"parent_id":"gone"})"), "child");
}

TEST_F(SearchTest, AQueryThatTakesTooLongEnds) {
  for (int i = 0; i < 2'000; ++i) Put(fmt::format("job_{}", i), R"({"a":"b"})");
  database_.SetDeadline(std::chrono::steady_clock::now() - std::chrono::seconds(1));
  EXPECT_EQ(Find(R"({"payload_contains":"zzz"})"), "the query takes too long: narrow it down");
  database_.SetDeadline(std::chrono::steady_clock::now() + std::chrono::hours(1));
  EXPECT_EQ(Find(R"({"payload_contains":"zzz"})"), "");
}

TEST_F(SearchTest, TimesAreOrderedText) {
  EXPECT_EQ(TimeText(0), "");
  EXPECT_EQ(TimeText(1), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(TimeText(1'700'000'000'123'456'789), "2023-11-14T22:13:20.123456Z");
  EXPECT_EQ(TimeText(~0ULL), "2554-07-21T23:34:33.709551Z");
}

}  // namespace
}  // namespace cairn::view
