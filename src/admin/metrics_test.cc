#include "admin/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace cairn::admin {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(MetricsTest, ShowsEachPartOfTheSnapshot) {
  MetricsSnapshot snapshot;
  snapshot.version = "1.2.3";
  snapshot.revision = "abc";
  snapshot.durability = store::Durability::kInterval;
  snapshot.resp.connections_open = 3;
  snapshot.http.requests = 4;
  snapshot.store.syncs = 5;
  snapshot.store.cache_bytes = 6;
  snapshot.writes_stopped = true;
  snapshot.commands = {{.name = "get", .calls = 7, .failed = 1, .rejected = 2, .seconds = 0.5}};
  const std::string text = FormatMetrics(snapshot);
  for (const char* line : {
           "cairn_build_info{version=\"1.2.3\",revision=\"abc\"} 1\n",
           "cairn_connections{door=\"resp\"} 3\n",
           "cairn_requests_total{door=\"http\"} 4\n",
           "cairn_store_syncs_total 5\n",
           "cairn_store_memory_bytes{part=\"value_cache\"} 6\n",
           "cairn_store_writes_stopped 1\n",
           "cairn_store_durability_info{mode=\"interval\"} 1\n",
           "cairn_commands_total{command=\"get\"} 7\n",
           "cairn_command_errors_total{command=\"get\"} 1\n",
           "cairn_command_rejections_total{command=\"get\"} 2\n",
           "cairn_command_seconds_total{command=\"get\"} 0.5\n",
           "# TYPE cairn_store_syncs_total counter\n",
           "# TYPE cairn_connections gauge\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(MetricsTest, ShowsTheFiguresOfLayersAskedFromTheLastToTheFirst) {
  std::string asked;
  const std::vector<house::Registry::Metrics> layers = {
      {"cairn_toy",
       [&](house::MetricsWriter& writer) {
         asked += "toy ";
         writer.Gauge("cairn_toy", "Toys.", 3, {{"colour", "a\"b"}});
         writer.Gauge("cairn_toy", "Toys.", 4, {{"colour", "red"}});
         writer.Counter("cairn_toy_broken_total", "Toys that broke.", 9);
       }},
      {"cairn_toy_box", [&](house::MetricsWriter& writer) {
         asked += "box ";
         writer.Gauge("cairn_toy_box_bytes", "Room.", 1.5);
       }}};
  const std::string text = FormatMetrics({}, layers);
  EXPECT_EQ(asked, "box toy ");
  for (const char* line : {
           "cairn_toy{colour=\"a\\\"b\"} 3\n",
           "cairn_toy{colour=\"red\"} 4\n",
           "cairn_toy_broken_total 9\n",
           "# TYPE cairn_toy_broken_total counter\n",
           "cairn_toy_box_bytes 1.5\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(MetricsDeathTest, ALayerKeepsToItsPrefix) {
  const std::vector<house::Registry::Metrics> layers = {
      {"cairn_toy",
       [](house::MetricsWriter& writer) { writer.Gauge("cairn_toys", "Not its own.", 1); }}};
  EXPECT_DEATH(FormatMetrics({}, layers), "prefix");
}

TEST(MetricsTest, CommandsNeverCalledAreLeftOut) {
  MetricsSnapshot snapshot;
  snapshot.commands = {{.name = "get", .calls = 1}, {.name = "lolwut"}};
  EXPECT_THAT(FormatMetrics(snapshot), Not(HasSubstr("lolwut")));
}

TEST(MetricsTest, HistogramBucketsAreCumulativeAndEndWithInfinity) {
  MetricsSnapshot snapshot;
  LoopLatency::Histogram histogram;
  histogram.counts[0] = 2;
  histogram.counts[2] = 3;
  histogram.counts.back() = 1;
  histogram.sum_seconds = 4.5;
  snapshot.loops = {histogram};
  const std::string text = FormatMetrics(snapshot);
  for (const char* line : {
           "cairn_loop_latency_seconds_bucket{loop=\"0\",le=\"0.0001\"} 2\n",
           "cairn_loop_latency_seconds_bucket{loop=\"0\",le=\"0.001\"} 5\n",
           "cairn_loop_latency_seconds_bucket{loop=\"0\",le=\"+Inf\"} 6\n",
           "cairn_loop_latency_seconds_count{loop=\"0\"} 6\n",
           "cairn_loop_latency_seconds_sum{loop=\"0\"} 4.5\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(MetricsTest, EachFamilyAppearsOnceAndSaysWhatItIs) {
  MetricsSnapshot snapshot;
  snapshot.commands = {{.name = "get", .calls = 1}, {.name = "set", .calls = 1}};
  snapshot.loops.resize(2);
  std::istringstream lines(FormatMetrics(snapshot));
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("# HELP ")) continue;
    const std::string name = line.substr(7, line.find(' ', 7) - 7);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_GT(line.size(), 7 + name.size() + 1) << name;
  }
  EXPECT_TRUE(names.contains("cairn_loop_latency_seconds"));
  EXPECT_TRUE(names.contains("cairn_commands_total"));
}

TEST(ProcessUsageTest, ThisProcessUsesSomething) {
  const ProcessUsage usage = CurrentUsage();
  EXPECT_GT(usage.resident_bytes, 0U);
  EXPECT_GT(usage.open_files, 2U);
  EXPECT_GE(usage.max_files, usage.open_files);
}

}  // namespace
}  // namespace cairn::admin
