// The guides name limits; limits.h has them. A guide that says something else is found here.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

// "10000000" as "10,000,000".
std::string Grouped(int64_t number) {
  std::string text = fmt::to_string(number);
  for (int64_t at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<size_t>(at), ",");
  }
  return text;
}

// The constants of one limits.h, by name. A value is a product of numbers and of constants above
// it.
class Limits {
 public:
  explicit Limits(const std::string& path) : path_(path) {
    const std::string text = ReadWholeFile(path);
    EXPECT_FALSE(text.empty()) << path << ": not run from the source directory?";
    const std::regex row(R"(inline constexpr \w+ (k\w+) = ([^;]+);)");
    for (std::sregex_iterator i(text.begin(), text.end(), row), end; i != end; ++i) {
      if (const auto value = ValueOf((*i)[2])) values_[(*i)[1]] = *value;
    }
  }

  int64_t At(const std::string& name) const {
    const auto found = values_.find(name);
    EXPECT_NE(found, values_.end()) << path_ << " has no " << name;
    return found == values_.end() ? -1 : found->second;
  }

  // `text` with the values of the names in it: "{kMaxFetch}"; "{kMaxAnswerBytes/1048576}" is in
  // MiB.
  std::string Fill(std::string_view text) const {
    std::string filled;
    while (!text.empty()) {
      const size_t open = text.find('{');
      filled += text.substr(0, open);
      if (open == text.npos) break;
      const size_t close = text.find('}', open);
      const std::string name(text.substr(open + 1, close - open - 1));
      const size_t slash = name.find('/');
      const int64_t unit = slash == name.npos ? 1 : std::stoll(name.substr(slash + 1));
      const int64_t value = At(name.substr(0, slash));
      EXPECT_EQ(value % unit, 0) << name << " is " << value;
      filled += Grouped(value / unit);
      text.remove_prefix(close + 1);
    }
    return filled;
  }

 private:
  std::optional<int64_t> ValueOf(const std::string& expression) const {
    int64_t product = 1;
    std::istringstream factors(expression);
    for (std::string factor; factors >> factor;) {
      if (factor == "*") continue;
      std::erase(factor, '\'');
      const auto named = values_.find(factor);
      if (named != values_.end()) {
        product *= named->second;
        continue;
      }
      size_t digits = 0;
      while (digits < factor.size() && factor[digits] >= '0' && factor[digits] <= '9') ++digits;
      const std::string suffix = factor.substr(digits);
      if (digits == 0 || !(suffix.empty() || suffix == "L" || suffix == "UL" || suffix == "LL")) {
        return std::nullopt;  // a limit of another kind
      }
      product *= std::stoll(factor);
    }
    return product;
  }

  const std::string path_;
  std::map<std::string, int64_t> values_;
};

// The rows of the table "| what | limit |" of a guide.
std::set<std::string> LimitRows(const std::string& guide) {
  std::set<std::string> rows;
  std::istringstream lines(ReadWholeFile(guide));
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "| what | limit |") inside = true;
    if (!line.starts_with('|')) inside = false;
    if (inside && line != "| what | limit |" && line != "|---|---|") rows.insert(line);
  }
  return rows;
}

void ExpectTable(const std::string& guide, const Limits& limits,
                 const std::vector<std::string_view>& rows) {
  std::set<std::string> expected;
  for (const std::string_view row : rows) expected.insert(limits.Fill(row));
  EXPECT_EQ(LimitRows(guide), expected) << guide;
}

TEST(LimitsTest, TheGuideToJobsSaysWhatHolds) {
  const Limits limits("src/jobs/model/limits.h");
  ExpectTable(
      "docs/jobs.md", limits,
      {"| payload, result, checkpoint, tags, agent, chain | {kMaxDocumentBytes} bytes each |",
       "| name of a queue | {kMaxQueueNameBytes} bytes |",
       "| unique, idempotency, concurrency, rate key, group | {kMaxKeyBytes} bytes |",
       "| jobs of one batch enqueue | {kMaxEnqueueBatch} |",
       "| jobs of one fetch, one bulk acknowledgement | {kMaxFetch} |",
       ("| jobs of one fetch or page, together | {kMaxAnswerBytes/1048576} MiB of documents; "
        "beyond "
        "that the fetch or page ends early |"),
       "| dependencies of a job | {kMaxDependencies} |", "| steps of a chain | {kMaxChainSteps} |",
       "| lease | {kMinLeaseMs} ms to {kMaxLeaseMs/3600000} hours |",
       "| entries of a page of events or deliveries, jobs of one bulk-get | {kMaxPage} |",
       "| wait of a request (fetch, `wait`, drain) | {kMaxWaitSeconds} s |",
       "| events kept | {kEventsKeptMs/3600000} hours, {kEventsKept} |",
       "| schedules | {kMaxSchedules} |",
       ("| webhooks | {kMaxWebhooks}, each with a URL of {kMaxWebhookUrlBytes} bytes and "
        "{kMaxDeadDeliveries} deliveries that failed |")});
  // One row stands for both.
  EXPECT_EQ(limits.At("kMaxPayloadBytes"), limits.At("kMaxDocumentBytes"));
  EXPECT_EQ(limits.At("kMaxFetch"), limits.At("kMaxAckBatch"));
  EXPECT_EQ(limits.At("kMaxPage"), limits.At("kMaxBulkGet"));
}

TEST(LimitsTest, TheGuideToSeatsSaysWhatHolds) {
  ExpectTable(
      "docs/seats.md", Limits("src/seats/limits.h"),
      {"| rows, seats in a row | {kMaxRows} each, {kMaxSeatsPerSection} seats in a section |",
       "| sections of an event | {kMaxSectionsPerEvent}, with {kMaxSeatsPerEvent} seats |",
       "| seats of a booking | up to {kMaxSeatsPerBooking}, set per event |",
       "| a hold | up to {kMaxHoldSeconds} seconds |",
       "| seats of one BLOCK | {kMaxSeatsPerBlock} |"});
}

TEST(LimitsTest, TheGuideToFunctionsSaysWhatHolds) {
  ExpectTable(
      "docs/functions.md", Limits("src/functions/model/limits.h"),
      {"| a bundle, as a tar | {kMaxBundleBytes/1048576} MiB, {kMaxBundleFiles} files, paths of "
       "{kMaxBundlePathBytes} bytes |",
       "| manifest.json | {kMaxManifestBytes/1024} KiB |",
       "| a request | {kMaxRequestBytes/1048576} MiB |",
       "| drafts of a function | {kMaxDrafts}, {kDraftTtlMs/3600000} hours each |",
       "| aliases of a function | {kMaxAliases} |",
       "| children kept ready for an alias (`min_warm`) | {kMaxWarm} |",
       "| `env` | {kMaxEnvEntries} variables, {kMaxEnvBytes/1024} KiB |",
       "| a page | {kMaxPage} entries, usually {kDefaultPage} |",
       "| an event, a request body | {kMaxEventBytes/1048576} MiB |",
       "| a query | {kMaxHttpQueryBytes/1024} KiB |",
       ("| a result | {kMaxResultBytes/1024} KiB, {kMaxResultHeaderBytes/1024} KiB of it headers; "
        "what is longer is cut, and `result_truncated` says so |"),
       ("| an error's message, its stack | {kMaxErrorMessageBytes/1024} KiB, {kMaxStackBytes/1024} "
        "KiB |"),
       "| a log | {kMaxLogBytes/1048576} MiB |",
       "| a key of `cs.kv`, its value | 512 bytes, 1 MiB |",
       "| a request and an answer of `fetch` | 6 MiB, 8 MiB, 10 redirects |",
       "| an activation is kept | {kActivationTtlMs/86400000} days |",
       "| `every_seconds` | {kMinEverySeconds}–{kMaxEverySeconds} |",
       "| a cron expression | {kMaxCronBytes} bytes |",
       "| `payload` | {kMaxPayloadBytes/1024} KiB |",
       "| schedules of a namespace | {kMaxSchedules} |",
       "| ticks that are made up for, and activations that queue | {kMaxCatchUpTicks} |",
       ("| triggers of a namespace, enabled triggers of a server | {kMaxTriggers}, "
        "{kMaxTriggersAll} |"),
       ("| queues that one consumes; patterns, and types | {kMaxTriggerQueues}; "
        "{kMaxTriggerNames} |"),
       "| a pattern, a type | {kMaxTriggerNameBytes} bytes |",
       "| `batch_size`, `concurrency` | 1–{kMaxTriggerBatch} |",
       "| `window_ms` | 0–{kMaxTriggerWindowMs} |"});
}

TEST(LimitsTest, TheGuideToOperationsSaysWhatHolds) {
  ExpectTable(
      "docs/operations.md", Limits("src/admin/limits.h"),
      {"| keys | {kMaxKeys}, with names of {kMaxKeyNameBytes} bytes |",
       "| a key that you choose yourself | {kMinGivenKeyBytes} to {kMaxGivenKeyBytes} characters |",
       "| entries of a page of the audit log | {kMaxAuditPage} |",
       "| one part of a restore | {kMaxPartBytes/1048576} MiB |"});
}

}  // namespace
}  // namespace cairn::testing
