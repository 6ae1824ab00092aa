// Schedules over HTTP.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <vector>

#include "jobs/model/limits.h"
#include "jobs/testing/route_server.h"

namespace cairn::jobs {
namespace {

namespace json = boost::json;

class ScheduleRoutesTest : public ::testing::Test {
 protected:
  void Create(const std::string& name, const std::string& payload = "1") {
    server_.PostOk(
        "/schedules",
        fmt::format(R"({{"name":"{}","cron":"@daily","queue":"q","payload":{}}})", name, payload));
  }

  // The names on the page at `path`, and where the next one is; nothing if there is none.
  struct Page {
    std::vector<std::string> names;
    std::string next;
    size_t bytes = 0;
  };
  Page Read(const std::string& path) {
    const net::HttpResponse answer = server_.Ask("GET", path);
    EXPECT_EQ(answer.status, 200) << answer.body;
    Page page{.bytes = answer.body.size()};
    const json::value listed = json::parse(answer.body);
    for (const json::value& schedule : listed.as_array()) {
      page.names.emplace_back(schedule.at("name").as_string());
    }
    const std::string link(answer.headers.Get("Link").value_or(""));
    if (link.empty()) return page;
    const size_t end = link.find('>');
    EXPECT_TRUE(link.starts_with('<') && link.substr(end) == R"(>; rel="next")") << link;
    page.next = link.substr(1, end - 1);
    return page;
  }

  testing::RouteServer server_;
};

TEST_F(ScheduleRoutesTest, FewComeAtOnce) {
  EXPECT_TRUE(Read("/api/v1/schedules").names.empty());
  for (const char* name : {"a", "b", "c"}) Create(name);
  const Page page = Read("/api/v1/schedules");
  EXPECT_EQ(page.names, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(page.next, "");
}

TEST_F(ScheduleRoutesTest, PagesFollowOneAnother) {
  for (int i = 0; i < 5; ++i) Create(std::to_string(i));
  Page page = Read("/api/v1/schedules?limit=2");
  EXPECT_EQ(page.names, (std::vector<std::string>{"0", "1"}));
  page = Read(page.next);
  EXPECT_EQ(page.names, (std::vector<std::string>{"2", "3"}));
  page = Read(page.next);
  EXPECT_EQ(page.names, (std::vector<std::string>{"4"}));
  EXPECT_EQ(page.next, "");
  EXPECT_EQ(server_.Refusal(server_.Get("/schedules?limit=0")), "400 VALIDATION_ERROR");
  EXPECT_EQ(server_.Refusal(server_.Get("/schedules?limit=10001")), "400 VALIDATION_ERROR");
}

TEST_F(ScheduleRoutesTest, APageOfLargeOnesEndsEarlyAndMissesNone) {
  constexpr size_t kSchedules = 80;
  const std::string payload = '"' + std::string(250'000, 'p') + '"';
  for (size_t i = 0; i < kSchedules; ++i) Create(std::to_string(i), payload);
  size_t found = 0;
  int pages = 0;
  std::string next = "/api/v1/schedules";
  while (!next.empty()) {
    const Page page = Read(next);
    EXPECT_LT(page.bytes, kMaxAnswerBytes + 1'000'000);
    found += page.names.size();
    next = page.next;
    ++pages;
  }
  EXPECT_EQ(found, kSchedules);
  EXPECT_EQ(pages, 2);
}

}  // namespace
}  // namespace cairn::jobs
