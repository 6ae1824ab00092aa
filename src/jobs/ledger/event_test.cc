#include "jobs/ledger/event.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "jobs/ledger/event_trim.h"
#include "jobs/testing/job_server.h"

namespace cairn::jobs {
namespace {

using testing::JobServer;

std::vector<std::string> TypesAfter(JobServer& server, uint64_t number) {
  auto snapshot = server.store().Read();
  EXPECT_TRUE(snapshot.ok());
  const auto events = ReadEvents(**snapshot, number, 1'000);
  EXPECT_TRUE(events.ok());
  std::vector<std::string> types;
  for (const Event& event : events->events) types.emplace_back(EventTypeName(event.type));
  return types;
}

TEST(EventTest, EveryTransitionIsInTheLogInOrder) {
  JobServer server;
  const std::string id = server.Enqueue("q", "{}", {"RETRIES", "1", "BASE", "1000"});
  server.Fail(server.Fetch("q").at(0));
  server.Advance(1'020);
  server.Run({"JOB.HOLD", id, "why \"so\""});
  server.Run({"JOB.APPROVE", id});
  server.Ack(server.Fetch("q").at(0));
  server.Run({"JOB.DELETE", id});
  EXPECT_EQ(TypesAfter(server, 0),
            (std::vector<std::string>{"enqueued", "started", "failed", "retrying", "promoted",
                                      "held", "approved", "started", "completed", "deleted"}));
  auto snapshot = server.store().Read();
  const std::vector<Event> events = ReadEvents(**snapshot, 0, 1'000)->events;
  EXPECT_EQ(events[5].data, R"({"reason":"why \"so\""})");
  EXPECT_EQ(events[5].job, id);
  EXPECT_EQ(events[5].queue, "q");
  EXPECT_EQ(*NewestEvent(**snapshot), events.back().number);
}

std::vector<Event> EventsOf(JobServer& server, const std::string& id) {
  auto snapshot = server.store().Read();
  Result<EventPage> page = ReadEvents(**snapshot, 0, 1'000);
  EXPECT_TRUE(page.ok());
  std::erase_if(page->events, [&](const Event& event) { return event.job != id; });
  return std::move(page->events);
}

TEST(EventTest, TheCompletionOfAJobThatIsNotKeptTellsItsResult) {
  JobServer server;
  server.Run({"QUEUE.CONFIG", "q", R"({"retention_ms":0})"});
  const std::string with = server.Enqueue("q");
  const std::string without = server.Enqueue("q");
  server.Ack(server.Fetch("q").at(0), R"({"n":[1]})");
  server.Run({"JOB.ACK", without, "TOKEN", server.Fetch("q").at(0).token});
  EXPECT_EQ(EventsOf(server, with).back().data, R"({"removed":true,"result":{"n":[1]}})");
  EXPECT_EQ(EventsOf(server, without).back().data, R"({"removed":true})");
  auto snapshot = server.store().Read();
  const auto removal = FindRemoval(**snapshot, with, 0);
  ASSERT_TRUE(removal.ok() && *removal);
  EXPECT_EQ((*removal)->result, R"({"n":[1]})");
  EXPECT_EQ((*FindRemoval(**snapshot, without, 0))->result, "");
  EXPECT_FALSE(*FindRemoval(**snapshot, "job_none", 0));
}

TEST(EventTest, DataIsAsDeepAsItWasGiven) {
  JobServer server;
  const std::string id = server.Enqueue("q");
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  const auto job = server.Fetch("q").at(0);
  server.Run({"JOB.HEARTBEAT", id, "TOKEN", job.token, "PROGRESS", deep});
  EXPECT_EQ(EventsOf(server, id).back().data, deep);
}

TEST(EventTest, NamesWithQuotesComeBack) {
  JobServer server;
  const std::string queue = R"(a "quoted\" one)";
  const std::string id = server.Enqueue(queue);
  EXPECT_EQ(EventsOf(server, id).back().queue, queue);
}

std::vector<std::pair<uint64_t, Bytes>> RowsOf(JobServer& server) {
  std::vector<std::pair<uint64_t, Bytes>> rows;
  auto snapshot = server.store().Read();
  const auto scanned =
      (*snapshot)->Scan(store::Range::Prefix(store::Space::kJobs, family::kEvent), {},
                        [&](BytesView key, BytesView value) {
                          rows.emplace_back(DecodeEventNumber(key).value_or(0), value);
                          return true;
                        });
  EXPECT_TRUE(scanned.ok());
  return rows;
}

TEST(EventTest, TheEventsOfOneOperationShareARow) {
  JobServer server;
  server.Run({"JOB.ENQUEUEM", "q", "PAYLOADS", "1", "2", "3"});
  const auto jobs = server.Fetch("q", 3);
  server.Run({"JOB.ACKM", "RESULTS", jobs[0].id, jobs[0].token, "1", jobs[1].id, jobs[1].token,
              R"(["}\"]"])", jobs[2].id, jobs[2].token, "{}"});
  const auto rows = RowsOf(server);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].first, rows[0].first + 3);
  auto snapshot = server.store().Read();
  const std::vector<Event> events = ReadEvents(**snapshot, 0, 1'000)->events;
  ASSERT_EQ(events.size(), 9U);
  for (size_t i = 0; i < 9; ++i) {
    const Event& event = events[i];
    EXPECT_EQ(event.number, rows[0].first - 2 + i);
    EXPECT_EQ(event.job, jobs[i % 3].id);
    EXPECT_EQ(event.queue, "q");
    EXPECT_EQ(event.at_ns, static_cast<uint64_t>(server.clock().Now().us) * 1000);
    EXPECT_EQ(event.type, i < 3   ? EventType::kEnqueued
                          : i < 6 ? EventType::kStarted
                                  : EventType::kCompleted);
  }
  EXPECT_EQ(events[4].data, R"({"worker_id":"w1","attempt":1})");
}

TEST(EventTest, WhoHasSeenSomeOfARowGetsTheRest) {
  JobServer server;
  server.Run({"JOB.ENQUEUEM", "q", "PAYLOADS", "1", "2", "3", "4"});
  server.Run({"JOB.ENQUEUEM", "q", "PAYLOADS", "5", "6"});
  auto snapshot = server.store().Read();
  const std::vector<Event> all = ReadEvents(**snapshot, 0, 1'000)->events;
  ASSERT_EQ(all.size(), 6U);
  for (size_t seen = 0; seen <= 6; ++seen) {
    const uint64_t number = seen == 0 ? 0 : all[seen - 1].number;
    for (size_t limit = 1; limit <= 7; ++limit) {
      const auto page = ReadEvents(**snapshot, number, limit);
      ASSERT_TRUE(page.ok());
      EXPECT_EQ(page->missed_to, 0U);
      ASSERT_EQ(page->events.size(), std::min(limit, 6 - seen));
      for (size_t i = 0; i < page->events.size(); ++i) {
        EXPECT_EQ(page->events[i].job, all[seen + i].job);
      }
    }
  }
  EXPECT_EQ(*NewestEvent(**snapshot), all.back().number);
}

TEST(EventTest, ARowSaysWhatDiffersFromTheEventBefore) {
  JobServer server;
  const auto commit =
      server.store().Run(store::Scopes::Exclusive(), [](store::Transaction& transaction) {
        EventRows rows(transaction);
        rows.Add({.type = EventType::kHeld, .job = "a", .queue = "q", .data = R"({"x":"{"})"});
        rows.Add({.type = EventType::kHeld, .job = "b", .queue = "q"});
        rows.Add({.type = EventType::kDead, .job = "c", .queue = "r"});
        rows.Add({.type = EventType::kBatchSealed, .data = "[]"});
        rows.Add({.type = EventType::kBatchSealed});
        rows.Add({.type = EventType::kDead, .job = "d", .queue = "r"});
        rows.Write();
        return Result<void>();
      });
  ASSERT_TRUE(commit.ok());
  ASSERT_EQ(RowsOf(server).size(), 1U);
  auto snapshot = server.store().Read();
  const auto page = ReadEvents(**snapshot, 0, 10);
  ASSERT_TRUE(page.ok() && page->events.size() == 6U);
  std::string told;
  for (const Event& event : page->events) {
    told +=
        fmt::format("{}/{}/{}/{} ", EventTypeName(event.type), event.job, event.queue, event.data);
  }
  EXPECT_EQ(told, R"(held/a/q/{"x":"{"} held/b/q/ dead/c/r/ batch.sealed///[] batch.sealed/// )"
                  "dead/d/r/ ");
}

TEST(EventTest, RowsDoNotGrowWithoutEnd) {
  JobServer server;
  std::vector<std::string> args = {"JOB.ENQUEUEM", "q", "PAYLOADS"};
  args.insert(args.end(), 1'000, "{}");
  server.Run(args);
  EXPECT_EQ(RowsOf(server).size(), 4U);
  EXPECT_EQ(TypesAfter(server, 0).size(), 1'000U);
}

TEST(EventTest, OtherRowsAreNoEvents) {
  const Bytes key = EventKey(7);
  const auto decodes = [&](BytesView row) { return DecodeEvents(key, row).ok(); };
  EXPECT_TRUE(decodes(R"({"at_ns":1,"type":"started"})"));
  const std::string several =
      R"([{"at_ns":1,"type":"held","job_id":"a","queue":"q","data":{"x":["}",1]}},{"job_id":"b"}])";
  EXPECT_TRUE(decodes(several));
  for (size_t size = 0; size < several.size(); ++size) {
    EXPECT_FALSE(decodes(BytesView(several).substr(0, size))) << size;
  }
  EXPECT_FALSE(decodes(several + "]"));
  EXPECT_FALSE(decodes(R"([{"at_ns":1,"type":"held"},{}])"));
  EXPECT_FALSE(decodes(R"([])"));
  EXPECT_FALSE(DecodeEvents(EventKey(1), several).ok()) << "it has two numbers";
  for (const char* row :
       {"", "{", R"({"at_ns":,"type":"started"})", R"({"at_ns":1,"type":"begun"})",
        R"({"at_ns":1,"type":"started")", R"({"at_ns":1,"type":"started","job_id":"x)",
        R"({"at_ns":1,"type":"started","data":})", R"({"at_ns":1,"type":"started","more":1})"}) {
    EXPECT_FALSE(decodes(row)) << row;
  }
}

TEST(EventTest, OldEventsAreRemoved) {
  JobServer server;
  ASSERT_TRUE(DueTimers::StartTidying(server.store()).ok());
  server.Enqueue("q");
  server.Advance(kEventsKeptMs - 60'000);
  server.Enqueue("q");
  EXPECT_EQ(TypesAfter(server, 0).size(), 2U);
  server.Advance(130'000);
  EXPECT_EQ(TypesAfter(server, 0).size(), 1U);
  auto snapshot = server.store().Read();
  EXPECT_GT(*RemovedEvents(**snapshot), 0U);
  server.ExpectSound();
}

TEST(EventTest, ARowIsKeptAsLongAsItsLastEvent) {
  JobServer server;
  ASSERT_TRUE(DueTimers::StartTidying(server.store()).ok());
  server.Run({"JOB.ENQUEUEM", "q", "PAYLOADS", "1", "2"});
  server.Advance(kEventsKeptMs - 60'000);
  EXPECT_EQ(TypesAfter(server, 0).size(), 2U);
  server.Advance(130'000);
  EXPECT_EQ(TypesAfter(server, 0).size(), 0U);
  EXPECT_EQ(RowsOf(server).size(), 0U);
}

// Trims to `limits` until there is nothing left to do.
void Trim(JobServer& server, const EventLimits& limits) {
  bool more = true;
  while (more) {
    const auto done = server.store().Run(
        store::Scopes::Exclusive(), [&](store::Transaction& transaction) -> Result<void> {
          CAIRN_ASSIGN_OR_RETURN(more, TrimEvents(transaction, limits));
          return {};
        });
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
}

// Each start of the embedded engine skips a million numbers.
TEST(EventTest, RestartsTakeNothingFromTheLog) {
  JobServer server;
  ASSERT_TRUE(DueTimers::StartTidying(server.store()).ok());
  for (size_t starts = 1; starts <= 5; ++starts) {
    server.Enqueue("q");
    server.Advance(120'000);
    EXPECT_EQ(TypesAfter(server, 0).size(), starts);
    server.Restart();
  }
  server.ExpectSound();
}

TEST(EventTest, TheNewestAreKeptHoweverFarApartTheirNumbersAre) {
  JobServer server;
  const EventLimits limits{.kept = 10, .rows_at_once = 3};
  size_t events = 0;
  for (int start = 0; start < 4; ++start) {
    server.Run({"JOB.ENQUEUEM", "q", "PAYLOADS", R"("[{")", "[{}]", "3"});
    server.Enqueue("q");
    events += 4;
    Trim(server, limits);
    // A row goes as a whole, if enough is left without it.
    EXPECT_EQ(TypesAfter(server, 0).size(), std::min<size_t>(events, 12)) << start;
    server.ExpectSound();
    server.Restart();
  }
  Trim(server, {.kept = 1});
  EXPECT_EQ(TypesAfter(server, 0).size(), 1U);
  Trim(server, {.kept = 0});
  EXPECT_EQ(TypesAfter(server, 0).size(), 0U);
  server.Enqueue("q");
  EXPECT_EQ(TypesAfter(server, 0).size(), 1U);
  server.ExpectSound();
}

TEST(EventTest, WhoeverIsBehindTheTrimmedIsToldWhatIsMissing) {
  JobServer server;
  server.Enqueue("a");
  server.Enqueue("b");
  server.Enqueue("c");
  const auto read = [&](uint64_t number) {
    const auto snapshot = server.store().Read();
    return *ReadEvents(**snapshot, number, 10);
  };
  const std::vector<Event> all = read(0).events;
  Trim(server, {.kept = 1});
  EXPECT_EQ(read(all[0].number).missed_to, all[1].number);
  EXPECT_EQ(read(all[0].number).events.at(0).queue, "c");
  EXPECT_EQ(read(all[1].number).missed_to, 0U);
}

TEST(EventTest, TheBeginningThatAnEarlierVersionWroteIsUnderstood) {
  JobServer server;
  server.Enqueue("a");
  server.Enqueue("b");
  Bytes row;
  {
    const auto snapshot = server.store().Read();
    AppendBig64(row, ReadEvents(**snapshot, 0, 1)->events.at(0).number);
  }
  const auto written =
      server.store().Run(store::Scopes::Exclusive(), [&](store::Transaction& transaction) {
        transaction.Put(InJobs(EventCursorKey()), row);
        transaction.Delete(InJobs(Bytes(family::kEvent) + row));
        return Result<void>();
      });
  ASSERT_TRUE(written.ok());
  server.ExpectSound();
  server.Enqueue("c");
  Trim(server, {.kept = 1});
  EXPECT_EQ(TypesAfter(server, 0).size(), 1U);
  server.ExpectSound();
}

TEST(EventTest, RowsAreCountedWithoutBeingTakenApart) {
  JobServer server;
  server.Run({"JOB.ENQUEUEM", "q", "PAYLOADS", "1", "2", "3"});
  const auto jobs = server.Fetch("q", 3);
  server.Run({"JOB.ACKM", "RESULTS", jobs[0].id, jobs[0].token, R"(["}\"],[{",{"a":[{}]}])",
              jobs[1].id, jobs[1].token, R"("\\")", jobs[2].id, jobs[2].token, "{}"});
  server.Enqueue("q");
  for (const auto& [number, row] : RowsOf(server)) {
    EXPECT_EQ(EventRowCount(row), DecodeEvents(EventKey(number), row)->size()) << row;
  }
}

TEST(EventTest, TypesHaveNames) {
  for (int type = 0; type <= static_cast<int>(EventType::kBatchCompleted); ++type) {
    EXPECT_EQ(ParseEventType(EventTypeName(static_cast<EventType>(type))),
              static_cast<EventType>(type));
  }
  EXPECT_FALSE(ParseEventType("nope"));
}

}  // namespace
}  // namespace cairn::jobs
