#include "jobs/model/keys.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

namespace cairn::jobs {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array<uint64_t, 7> kBoundaries = {0,
                                                 255,
                                                 256,
                                                 (1ULL << 32) - 1,
                                                 1ULL << 32,
                                                 (1ULL << 32) + 1,
                                                 std::numeric_limits<uint64_t>::max()};

TEST(JobKeysTest, BytesAreThoseOfTheSeed) {
  const uint64_t ns = 0x0102030405060708;
  const std::string_view time = "\1\2\3\4\5\6\7\x08"sv;
  const auto with = [](std::string_view before, std::string_view middle, std::string_view after) {
    return Bytes(before) + Bytes(middle) + Bytes(after);
  };
  EXPECT_EQ(JobKey("J"), "j|J");
  EXPECT_EQ(JobErrorKey("J", 0x01020304), "je|J\0\1\2\3\4"sv);
  EXPECT_EQ(PendingKey("q", Priority::kHigh, ns, "J"), with("p|q\0\1"sv, time, "J"));
  EXPECT_EQ(ActiveKey("q", "J"), "a|q\0J"sv);
  EXPECT_EQ(ScheduledKey("q", ns, "J"), with("s|q\0"sv, time, "J"));
  EXPECT_EQ(RetryingKey("q", ns, "J"), with("r|q\0"sv, time, "J"));
  EXPECT_EQ(AppendKey("q", ns, "J"), with("qa|q\0"sv, time, "J"));
  EXPECT_EQ(QueueCursorKey("q"), "qac|q");
  EXPECT_EQ(QueueConfigKey("q"), "qc|q");
  EXPECT_EQ(QueueNameKey("q"), "qn|q");
  EXPECT_EQ(UniqueKey("q", "k"), "u|q\0k"sv);
  EXPECT_EQ(EncodeUniqueLock("J", ns), with("J|", time, ""));
  EXPECT_EQ(RateKey("q", ns, ns), with(with("l|q\0"sv, time, ""), time, ""));
  EXPECT_EQ(BatchKey("b"), "b|b");
  EXPECT_EQ(WorkerKey("w"), "w|w");
  EXPECT_EQ(ScheduleKey("s"), "sc|s");
  EXPECT_EQ(EventKey(ns), with("ev|", time, ""));
  EXPECT_EQ(EventCursorKey(), "evc|");
  EXPECT_EQ(BudgetKey("queue", "q"), "bg|queue\0q"sv);
  EXPECT_EQ(ProviderKey("p"), "pv|p");
  EXPECT_EQ(QueueProviderKey("q"), "qp|q");
  EXPECT_EQ(DueKey(ns, 7, "q", "J"), with("t|", time, "\7q\0J"sv));
}

TEST(JobKeysTest, BytesOfTheFamiliesBesidesTheSeed) {
  const Bytes time(8, '\1');
  const uint64_t ns = 0x0101010101010101;
  EXPECT_EQ(ParkedKey("q", Gate::kGroup, "k", ns, "J"), Bytes("pk|q\0gk\0"sv) + time + "J");
  EXPECT_EQ(HeldKey("q", ns, "J"), Bytes("h|q\0"sv) + time + "J");
  EXPECT_EQ(FinishedKey("q", ns, "J"), Bytes("f|q\0"sv) + time + "J");
  EXPECT_EQ(QueueStateKey("q"), "qs|q");
  EXPECT_EQ(IdempotencyKey("q", "k"), "ik|q\0k"sv);
  EXPECT_EQ(KeyRateKey("q", "k", ns, ns), Bytes("lk|q\0k\0"sv) + time + time);
  EXPECT_EQ(GateKey("q", Gate::kConcurrency, "k"), "ks|q\0ck"sv);
  EXPECT_EQ(DependentKey("J", "K"), "dp|J\0K"sv);
}

TEST(JobKeysTest, DecodeGivesBackWhatWasEncoded) {
  for (const uint64_t ns : kBoundaries) {
    EXPECT_EQ(DecodeTimedKey(family::kAppend, AppendKey("mail", ns, "J")),
              (TimedJob{"mail", ns, "J"}));
    EXPECT_EQ(DecodeTimedKey(family::kFinished, FinishedKey("mail", ns, "J")),
              (TimedJob{"mail", ns, "J"}));
    EXPECT_EQ(DecodePendingKey(PendingKey("mail", Priority::kCritical, ns, "J")),
              (PendingJob{"mail", Priority::kCritical, ns, "J"}));
    EXPECT_EQ(DecodeParkedKey(ParkedKey("mail", Gate::kRate, "k", ns, "J")),
              (ParkedJob{"mail", Gate::kRate, "k", ns, "J"}));
    EXPECT_EQ(DecodeDueKey(DueKey(ns, 3, "mail", "J")), (DueEntry{ns, 3, "mail", "J"}));
    EXPECT_EQ(DecodeDueKey(DueKey(ns, 3, "mail", "")), (DueEntry{ns, 3, "mail", ""}));
    EXPECT_EQ(DecodeEventNumber(EventKey(ns)), ns);
    EXPECT_EQ(DecodeUniqueLock(EncodeUniqueLock("a|b", ns)), (UniqueLock{"a|b", ns}));
  }
  EXPECT_EQ(DecodePairKey(family::kActive, ActiveKey("mail", "J")), (NamePair{"mail", "J"}));
  EXPECT_EQ(DecodeGateKey(GateKey("mail", Gate::kConcurrency, "k")),
            (GateName{"mail", Gate::kConcurrency, "k"}));
  EXPECT_EQ(DecodeErrorAttempt(JobErrorKey("J", 4'000'000'000)), 4'000'000'000);
  EXPECT_EQ(DecodeNameKey(family::kBatch, BatchKey("b")), "b");
}

TEST(JobKeysTest, EncodedOrderIsTheOrderOfTimes) {
  Bytes append;
  Bytes due;
  Bytes event;
  for (const uint64_t ns : kBoundaries) {
    EXPECT_LT(append, AppendKey("q", ns, "z"));
    append = AppendKey("q", ns, "z");
    EXPECT_LT(due, DueKey(ns, 255, "z", "z"));
    due = DueKey(ns, 255, "z", "z");
    EXPECT_LT(event, EventKey(ns));
    event = EventKey(ns);
  }
  EXPECT_LT(PendingKey("q", Priority::kCritical, kBoundaries.back(), "z"),
            PendingKey("q", Priority::kHigh, 0, "a"));
}

TEST(JobKeysTest, TruncatedKeysAreRejected) {
  const auto rejected = [](const Bytes& key, auto decode, size_t shortest) {
    for (size_t size = 0; size < shortest; ++size) {
      EXPECT_FALSE(decode(key.substr(0, size))) << Printable(key) << " cut to " << size;
    }
    EXPECT_TRUE(decode(key));
  };
  const Bytes timed = AppendKey("q", 1, "J");
  rejected(
      timed, [](BytesView key) { return DecodeTimedKey(family::kAppend, key).has_value(); },
      timed.size());
  const Bytes pending = PendingKey("q", Priority::kHigh, 1, "J");
  rejected(
      pending, [](BytesView key) { return DecodePendingKey(key).has_value(); }, pending.size());
  const Bytes parked = ParkedKey("q", Gate::kGroup, "k", 1, "J");
  rejected(
      parked, [](BytesView key) { return DecodeParkedKey(key).has_value(); }, parked.size());
  const Bytes due = DueKey(1, 2, "q", "");
  rejected(
      due, [](BytesView key) { return DecodeDueKey(key).has_value(); }, due.size());
  const Bytes event = EventKey(1);
  rejected(
      event, [](BytesView key) { return DecodeEventNumber(key).has_value(); }, event.size());
  EXPECT_FALSE(DecodeEventNumber(event + "x"));
  const Bytes lock = EncodeUniqueLock("J", 1);
  rejected(
      lock, [](BytesView key) { return DecodeUniqueLock(key).has_value(); }, lock.size());
  const Bytes active = ActiveKey("q", "J");
  rejected(
      active, [](BytesView key) { return DecodePairKey(family::kActive, key).has_value(); },
      active.size());
}

TEST(JobKeysTest, NoTwoFamiliesShareAPrefix) {
  using namespace family;
  const std::vector<std::string_view> families = {
      kJob,         kJobError,    kPending,     kAppend,   kParked,       kActive,
      kScheduled,   kRetrying,    kHeld,        kFinished, kDue,          kQueueName,
      kQueueConfig, kQueueState,  kQueueCursor, kUnique,   kIdempotency,  kRate,
      kKeyRate,     kGate,        kDependent,   kBatch,    kWorker,       kSchedule,
      kEvent,       kEventCursor, kBudget,      kProvider, kQueueProvider};
  for (size_t a = 0; a < families.size(); ++a) {
    for (size_t b = 0; b < families.size(); ++b) {
      EXPECT_TRUE(a == b || !families[a].starts_with(families[b]))
          << families[a] << " and " << families[b];
    }
  }
}

TEST(JobKeysTest, AQueueWhoseNameBeginsLikeAnotherIsAnother) {
  EXPECT_FALSE(AppendKey("mail2", 1, "J").starts_with(NamedPrefix(family::kAppend, "mail")));
}

}  // namespace
}  // namespace cairn::jobs
