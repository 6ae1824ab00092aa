#include "store/timers.h"

#include "store/testing/fixture.h"

namespace cairn::store {
namespace {

using testing::StoreTest;

TEST(TimerKeyTest, RoundTripsAtBoundaries) {
  for (const int64_t due_ms :
       {int64_t{0}, int64_t{255}, int64_t{256}, int64_t{1} << 32, int64_t{1} << 40}) {
    for (const BytesView owner : {BytesView(""), BytesView("o"), BytesView("\xff\0", 2)}) {
      const auto timer = DecodeTimerKey(EncodeTimerKey(Timestamp::FromMillis(due_ms), 255, owner));
      ASSERT_TRUE(timer);
      EXPECT_EQ(timer->due.millis(), due_ms);
      EXPECT_EQ(timer->kind, 255);
      EXPECT_EQ(timer->owner, owner);
    }
  }
}

TEST(TimerKeyTest, GoldenBytes) {
  EXPECT_EQ(HexEncode(EncodeTimerKey(Timestamp::FromMillis(0x0102030405), 7, "ab")),
            "0000000102030405076162");
}

TEST(TimerKeyTest, OrderIsByDueTime) {
  EXPECT_LT(EncodeTimerKey(Timestamp::FromMillis(255), 9, "z"),
            EncodeTimerKey(Timestamp::FromMillis(256), 1, "a"));
}

TEST(TimerKeyTest, TruncatedKeyIsRejected) {
  const Bytes key = EncodeTimerKey(Timestamp::FromMillis(5), 1, "");
  for (size_t size = 0; size < key.size(); ++size) {
    EXPECT_FALSE(DecodeTimerKey(BytesView(key).substr(0, size))) << size;
  }
}

// Notes each firing under the owner's name, in the same transaction.
class NotingHandler final : public TimerHandler {
 public:
  void AddScopes(const Timer& timer, Scopes& scopes) const override {
    scopes.Add(Space::kData, timer.owner);
  }
  Result<void> Fire(Transaction& transaction, const Timer& timer) override {
    if (fail) return Error{ErrorCode::kInternal, "not now"};
    transaction.Put({Space::kData, timer.owner}, timer.payload);
    fired.push_back(timer.owner);
    return {};
  }
  std::vector<Bytes> fired;
  bool fail = false;
};

class TimerServiceTest : public StoreTest {
 protected:
  static constexpr uint8_t kKind = 200;

  TimerServiceTest() { service_.Register(kKind, handler_); }
  ~TimerServiceTest() override { service_.Stop(); }

  void Set(int64_t in_ms, BytesView owner, BytesView payload = "p") {
    Run(Scope(owner), [&](Transaction& txn) -> Result<void> {
      txn.SetTimer(In(in_ms), kKind, owner, payload);
      return {};
    });
  }
  Timestamp In(int64_t ms) const { return Timestamp::FromMillis(start_.millis() + ms); }
  size_t RunDue() {
    auto fired = service_.RunDue();
    EXPECT_TRUE(fired.ok());
    return fired.ok() ? *fired : 0;
  }

  const Timestamp start_ = clock_.Now();
  NotingHandler handler_;
  TimerService service_{*store_, clock_, Log::Silent()};
};

TEST_F(TimerServiceTest, FiresWhatIsDueInOrderAndOnce) {
  Set(20, "b");
  Set(10, "a");
  Set(30, "c");
  EXPECT_EQ(RunDue(), 0u);
  clock_.AdvanceMillis(20);
  EXPECT_EQ(RunDue(), 2u);
  EXPECT_EQ(handler_.fired, (std::vector<Bytes>{"a", "b"}));
  EXPECT_EQ(RunDue(), 0u);
  clock_.AdvanceMillis(10);
  EXPECT_EQ(RunDue(), 1u);
  EXPECT_TRUE(ScanAll(Range::All(Space::kTimers)).empty());
}

TEST_F(TimerServiceTest, CancelledTimerDoesNotFire) {
  Set(10, "a");
  Run(Scope("a"), [&](Transaction& txn) -> Result<void> {
    txn.CancelTimer(In(10), kKind, "a");
    return {};
  });
  clock_.AdvanceMillis(100);
  EXPECT_EQ(RunDue(), 0u);
}

TEST_F(TimerServiceTest, SettingAgainReplacesThePayload) {
  Set(10, "a", "old");
  Set(10, "a", "new");
  clock_.AdvanceMillis(10);
  EXPECT_EQ(RunDue(), 1u);
  EXPECT_EQ(Get("a"), "new");
}

TEST_F(TimerServiceTest, FailedHandlerIsAskedAgainLaterAndOthersGoOn) {
  Set(10, "a");
  handler_.fail = true;
  clock_.AdvanceMillis(10);
  EXPECT_EQ(RunDue(), 0u);
  EXPECT_EQ(Get("a"), std::nullopt);
  handler_.fail = false;
  EXPECT_EQ(RunDue(), 0u) << "not before the delay has passed";
  clock_.AdvanceMillis(60'000);
  EXPECT_EQ(RunDue(), 1u);
  EXPECT_EQ(Get("a"), "p");
}

TEST_F(TimerServiceTest, TimerSetInThePastFiresAtOnceAlsoAfterLaterOnesFired) {
  Set(50, "late");
  clock_.AdvanceMillis(50);
  EXPECT_EQ(RunDue(), 1u);
  Set(5, "past");
  EXPECT_EQ(RunDue(), 1u);
}

TEST_F(TimerServiceTest, ManyDueTimersAllFire) {
  for (int i = 0; i < 1000; ++i) Set(i % 7, "t" + std::to_string(i));
  clock_.AdvanceMillis(10);
  EXPECT_EQ(RunDue(), 1000u);
}

TEST_F(TimerServiceTest, UnknownKindStaysStored) {
  Run(Scope("a"), [&](Transaction& txn) -> Result<void> {
    txn.SetTimer(In(1), kKind + 1, "a", "");
    return {};
  });
  clock_.AdvanceMillis(10);
  EXPECT_EQ(RunDue(), 0u);
  EXPECT_EQ(ScanAll(Range::All(Space::kTimers)).size(), 1u);
}

TEST_F(TimerServiceTest, ThreadWakesForAnEarlierTimer) {
  std::mutex mutex;
  std::condition_variable noted;
  bool woken = false;
  const Topic topic = Topic::Of(Space::kData, "done");
  auto waiter = store_->OnWake(topic, [&] {
    const std::lock_guard lock(mutex);
    woken = true;
    noted.notify_all();
  });
  struct WakingHandler final : TimerHandler {
    explicit WakingHandler(Topic to_wake) : topic(to_wake) {}
    void AddScopes(const Timer&, Scopes&) const override {}
    Result<void> Fire(Transaction& transaction, const Timer&) override {
      transaction.Wake(topic);
      return {};
    }
    Topic topic;
  } handler{topic};
  service_.Register(kKind + 2, handler);
  service_.Start();
  Run(Scope("a"), [&](Transaction& txn) -> Result<void> {
    txn.SetTimer(In(3'600'000), kKind + 2, "far", "");
    return {};
  });
  Run(Scope("a"), [&](Transaction& txn) -> Result<void> {
    txn.SetTimer(In(0), kKind + 2, "near", "");
    return {};
  });
  std::unique_lock lock(mutex);
  noted.wait(lock, [&] { return woken; });
}

}  // namespace
}  // namespace cairn::store
