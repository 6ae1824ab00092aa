// What only a store on PostgreSQL has: other nodes, sessions that break, a server that says no. The
// contract's own tests run on this engine with CAIRN_TEST_ENGINE=postgres.
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include "base/random.h"
#include "store/postgres/connection.h"
#include "store/postgres/open.h"
#include "store/store.h"
#include "store/timers.h"
#include "tests/support/await.h"
#include "tests/support/postgres_cluster.h"
#include "tests/support/process.h"
#include "tests/support/temp_directory.h"
#include "tests/support/test_store.h"

namespace cairn::store::postgres {
namespace {

using cairn::testing::PostgresCluster;

class PostgresTest : public ::testing::Test {
 protected:
  // On the embedded engine each test is a process of its own, and none of these is about it.
  void SetUp() override {
    if (cairn::testing::OnRocks()) GTEST_SKIP() << "runs with CAIRN_TEST_ENGINE=postgres";
    options_ = cairn::testing::PostgresOptionsFor(directory_.path());
  }

  std::unique_ptr<Store> MustOpen() {
    auto store = Open(options_, clock_, Log::Silent());
    CAIRN_CHECK(store.ok(), "{}", store.error().message);
    return *std::move(store);
  }
  Error Refusal() {
    auto store = Open(options_, clock_, Log::Silent());
    EXPECT_FALSE(store.ok());
    return store.ok() ? Error{} : store.error();
  }
  static PostgresCluster& cluster() { return PostgresCluster::Shared(); }
  std::string Table(std::string_view name) const { return Qualified(options_.schema, name); }

  static Result<Commit> Put(Store& store, BytesView key, BytesView value) {
    return store.Run(Scopes().Add(Space::kData, key), [&](Transaction& txn) -> Result<void> {
      txn.Put({Space::kData, key}, value);
      return {};
    });
  }
  static std::optional<Bytes> Get(Store& store, BytesView key) {
    std::optional<Bytes> value;
    const auto read = store.RunRead({}, [&](Transaction& txn) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(value, txn.Get({Space::kData, key}));
      return {};
    });
    EXPECT_TRUE(read.ok()) << read.error().message;
    return value;
  }
  // Appends to a list, so that a body that ran twice and was kept twice would show.
  static Result<Commit> Append(Store& store, BytesView key, char item) {
    return store.Run(Scopes().Add(Space::kData, key), [&](Transaction& txn) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(const auto list, txn.Get({Space::kData, key}));
      txn.Put({Space::kData, key}, list.value_or("") + item);
      return {};
    });
  }

  // Waits until a session of the schema waits as `condition` says, and ends it.
  void TerminateWaiting(const std::string& condition) const {
    const std::string found =
        "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND " + condition;
    cairn::testing::Await(condition, [&] { return cluster().Count(found) != 0; });
    cluster().Execute("SELECT pg_terminate_backend(pid) FROM (" + found + ") AS waiting");
  }

  cairn::testing::TempDirectory directory_;
  ManualClock clock_;
  Options options_;
};

TEST_F(PostgresTest, WrongUrlsAreRefusedByName) {
  options_.url = "mysql://localhost/cairn";
  EXPECT_EQ(Refusal().code, ErrorCode::kInvalid);
  options_.url = "postgres://nobody@127.0.0.1:1/cairn";
  EXPECT_EQ(Refusal().code, ErrorCode::kUnavailable);
  options_.url = "postgres://localhost/cairn?colour=blue";
  EXPECT_NE(Refusal().message.find("colour"), std::string::npos);
}

TEST_F(PostgresTest, WrongPasswordIsUnauthorizedAndTheRightOneServes) {
  options_.url = cluster().TcpUrl("cairn", "wrong");
  EXPECT_EQ(Refusal().code, ErrorCode::kUnauthorized);
  options_.url = cluster().TcpUrl("cairn", PostgresCluster::kPassword);
  const auto store = MustOpen();
  ASSERT_TRUE(Put(*store, "k", "v").ok());
  EXPECT_EQ(Get(*store, "k"), "v");
}

TEST_F(PostgresTest, PasswordComesFromTheEnvironmentOrAFile) {
  const std::string without = cluster().TcpUrl("cairn", PostgresCluster::kPassword);
  const std::string encoded = ":correct%20horse@";
  options_.url = std::string(without).replace(without.find(encoded), encoded.size(), "@");
  EXPECT_EQ(Refusal().code, ErrorCode::kUnauthorized);
  setenv("PGPASSWORD", std::string(PostgresCluster::kPassword).c_str(), 1);
  EXPECT_TRUE(Put(*MustOpen(), "k", "v").ok());
  unsetenv("PGPASSWORD");

  const std::string file = directory_.Write(
      "passwords", "*:*:*:cairn:" + std::string(PostgresCluster::kPassword) + "\n");
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  const std::string url = options_.url;
  options_.url = url + "?passfile=" + file;
  EXPECT_TRUE(Put(*MustOpen(), "k", "v").ok());
  options_.url = url;
  setenv("PGPASSFILE", file.c_str(), 1);
  EXPECT_TRUE(Put(*MustOpen(), "k", "v").ok());
  unsetenv("PGPASSFILE");
}

// A certificate for 127.0.0.1 that signs itself.
void MakeCertificate(const std::string& certificate, const std::string& key) {
  const cairn::testing::Finished made = cairn::testing::RunToEnd(
      {.args = {"/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate}});
  ASSERT_TRUE(made.status.ok()) << made.err;
}

TEST_F(PostgresTest, TlsIsSpokenAndAWrongCertificateRefused) {
  const std::string certificate = cluster().directory() + "/server.crt";
  const std::string key = cluster().directory() + "/server.key";
  MakeCertificate(certificate, key);
  MakeCertificate(directory_ / "other.crt", directory_ / "other.key");
  std::filesystem::permissions(key, std::filesystem::perms::owner_read);
  cluster().GiveToServer(key);
  cluster().Execute("ALTER SYSTEM SET ssl_cert_file = '" + certificate + "'");
  cluster().Execute("ALTER SYSTEM SET ssl_key_file = '" + key + "'");
  cluster().Execute("ALTER SYSTEM SET ssl = on");
  cluster().Execute("SELECT pg_reload_conf()");

  const std::string url = cluster().TcpUrl("cairn", PostgresCluster::kPassword);
  options_.url = url + "?sslmode=verify-full&sslrootcert=" + certificate;
  // The server heeds new settings a moment later.
  cairn::testing::Await("a connection with TLS",
                        [&] { return Open(options_, clock_, Log::Silent()).ok(); });
  const auto store = MustOpen();
  EXPECT_TRUE(Put(*store, "k", "v").ok());
  EXPECT_GT(cluster().Count("SELECT 1 FROM pg_stat_ssl WHERE ssl"), 0U);

  options_.url = url + "?sslmode=verify-full&sslrootcert=" + (directory_ / "other.crt");
  const Error refusal = Refusal();
  EXPECT_EQ(refusal.code, ErrorCode::kUnavailable);
  EXPECT_NE(refusal.message.find("certificate"), std::string::npos) << refusal.message;
}

// A file system in memory, gone with the object.
class SmallDisk {
 public:
  explicit SmallDisk(std::string path) : path_(std::move(path)) {
    std::filesystem::create_directory(path_);
    mounted_ = mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=6m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  const std::string& path() const { return path_; }
  bool Grow() const { return mount("", path_.c_str(), "tmpfs", MS_REMOUNT, "size=64m") == 0; }

 private:
  const std::string path_;
  bool mounted_ = false;
};

// The tables are on a file system with room for little; the server's log is not.
TEST_F(PostgresTest, FullDiskOnTheServerRefusesWritesUntilThereIsRoom) {
  const SmallDisk disk(directory_ / "disk");
  if (!disk.mounted()) {
    GTEST_SKIP() << "cannot mount a small file system: " << std::strerror(errno);
  }
  std::filesystem::permissions(directory_.path(), std::filesystem::perms::all);
  cluster().GiveToServer(disk.path());
  cluster().Execute("CREATE TABLESPACE small LOCATION '" + disk.path() + "'");
  options_.url = cluster().url() + "&options=-c%20default_tablespace%3Dsmall";
  {
    const auto store = MustOpen();
    SeededRandom random(3);
    int written = 0;
    Result<Commit> refused = Commit{};
    while ((refused = Put(*store, "k" + std::to_string(written), random.NextBytes(50'000))).ok()) {
      ASSERT_LT(++written, 1000);
    }
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(refused.error().message.find("disk is full"), std::string::npos)
        << refused.error().message;
    ASSERT_GT(written, 0);
    EXPECT_TRUE(Get(*store, "k0").has_value()) << "reads go on";
    ASSERT_TRUE(store->write_failure()) << "readiness tells";
    EXPECT_NE(store->write_failure()->message.find("disk is full"), std::string::npos);
    ASSERT_TRUE(disk.Grow()) << std::strerror(errno);
    cairn::testing::Await("writes to go on", [&] { return !store->write_failure(); });
    EXPECT_TRUE(Put(*store, "later", "v").ok());
    for (int i = 0; i < written; ++i) {
      EXPECT_EQ(Get(*store, "k" + std::to_string(i)).value_or("").size(), 50'000U);
    }
    EXPECT_EQ(Get(*store, "k" + std::to_string(written)), std::nullopt);
  }
  cluster().Execute("DROP SCHEMA \"" + options_.schema + "\" CASCADE");
  cluster().Execute("DROP TABLESPACE small");
}

TEST_F(PostgresTest, MissingRightsAreForbidden) {
  cluster().Execute("DROP ROLE IF EXISTS weak");
  cluster().Execute("CREATE ROLE weak LOGIN PASSWORD 'weak'");
  options_.url = cluster().TcpUrl("weak", "weak");
  const Error refusal = Refusal();
  EXPECT_EQ(refusal.code, ErrorCode::kForbidden);
  EXPECT_NE(refusal.message.find("permission denied"), std::string::npos) << refusal.message;
}

TEST_F(PostgresTest, MissingDatabaseIsNamed) {
  options_.url = cluster().url();
  options_.url.replace(options_.url.find("/postgres?"), 10, "/nowhere?");
  EXPECT_EQ(Refusal().code, ErrorCode::kNotFound);
  EXPECT_NE(Refusal().message.find("nowhere"), std::string::npos);
}

TEST_F(PostgresTest, OtherVersionsAndForeignSchemasAreRefusedByName) {
  MustOpen();
  cluster().Execute("UPDATE " + Table("meta") + " SET value = '99' WHERE name = 'version'");
  EXPECT_NE(Refusal().message.find("version 99"), std::string::npos) << Refusal().message;
  EXPECT_NE(Refusal().message.find("use a newer Cairn"), std::string::npos) << Refusal().message;
  cluster().Execute("UPDATE " + Table("meta") + " SET value = '-1' WHERE name = 'version'");
  EXPECT_NE(Refusal().message.find("use an older Cairn"), std::string::npos) << Refusal().message;
  cluster().Execute("DELETE FROM " + Table("meta"));
  EXPECT_NE(Refusal().message.find("no Cairn store"), std::string::npos) << Refusal().message;
  options_.schema = "Quoted\"";
  EXPECT_EQ(Refusal().code, ErrorCode::kInvalid);
}

TEST_F(PostgresTest, AnOlderSchemaIsServedAndIsOfThisVersionFromThenOn) {
  MustOpen();
  const std::string update = "UPDATE " + Table("meta") + " SET value = '1' WHERE name = 'version'";
  cluster().Execute(update);
  const auto store = MustOpen();
  EXPECT_TRUE(store->Verify().ok());
  const Result<DatabaseReport> report = Inspect(options_);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->schema_version, kSchemaVersion);
}

TEST_F(PostgresTest, ManyNodesMayMakeTheSchemaAtTheSameTime) {
  std::vector<std::thread> threads;
  std::atomic<int> opened{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      if (Open(options_, clock_, Log::Silent()).ok()) ++opened;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(opened, 4);
}

TEST_F(PostgresTest, PasswordIsNotShown) {
  EXPECT_EQ(PublicUrl("postgres://u:secret@host:5432/db"), "postgres://u:***@host:5432/db");
  EXPECT_EQ(PublicUrl("postgres://u@host:5432/db"), "postgres://u@host:5432/db");
}

TEST_F(PostgresTest, ServerThatGoesAwayIsUnavailableAndItsReturnIsNoticed) {
  const auto store = MustOpen();
  ASSERT_TRUE(Put(*store, "before", "1").ok());
  cluster().Kill();
  const auto refused = Put(*store, "during", "1");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable) << refused.error().message;
  cluster().Start();
  EXPECT_EQ(Get(*store, "before"), "1");
  EXPECT_EQ(Get(*store, "during"), std::nullopt);
  EXPECT_TRUE(Put(*store, "after", "1").ok());
}

TEST_F(PostgresTest, BrokenSessionBeforeTheCommitIsReplaced) {
  const auto store = MustOpen();
  ASSERT_TRUE(Append(*store, "list", 'a').ok());
  cluster().Execute(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'cairn' "
      "AND pid <> pg_backend_pid()");
  ASSERT_TRUE(Append(*store, "list", 'b').ok());
  EXPECT_EQ(Get(*store, "list"), "ab");
}

TEST_F(PostgresTest, StatementThatTakesTooLongFailsAndLaterOnesWork) {
  // Long enough for a busy machine to create the schema in.
  options_.statement_timeout = std::chrono::seconds(2);
  const auto store = MustOpen();
  ASSERT_TRUE(Put(*store, "k", "1").ok());
  auto other = Connection::Open({.url = options_.url}, nullptr);
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE((*other)->Execute("BEGIN").ok());
  ASSERT_TRUE((*other)->Execute("LOCK TABLE " + Table("data")).ok());
  const auto refused = Put(*store, "k", "2");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(refused.error().message.find("timed out"), std::string::npos);
  ASSERT_TRUE((*other)->Execute("ROLLBACK").ok());
  EXPECT_TRUE(Put(*store, "k", "3").ok());
  EXPECT_EQ(Get(*store, "k"), "3");
}

TEST_F(PostgresTest, CommitCutOffBeforeItHappenedIsRunAgainOnce) {
  const auto store = MustOpen();
  ASSERT_TRUE(Append(*store, "list", 'a').ok());
  auto other = Connection::Open({.url = options_.url}, nullptr);
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE((*other)->Execute("BEGIN").ok());
  ASSERT_TRUE((*other)->Execute("LOCK TABLE " + Table("marker")).ok());
  std::thread writer([&] { EXPECT_TRUE(Append(*store, "list", 'b').ok()); });
  // It waits inside the round trip that ends with the commit.
  TerminateWaiting("wait_event_type = 'Lock' AND application_name = 'cairn'");
  ASSERT_TRUE((*other)->Execute("ROLLBACK").ok());
  writer.join();
  EXPECT_EQ(Get(*store, "list"), "ab");
}

TEST_F(PostgresTest, CommitWhoseAnswerWasLostIsFoundByItsMarker) {
  const auto store = MustOpen();
  ASSERT_TRUE(Append(*store, "list", 'a').ok());
  // A commit that waits for a standby that is not there has happened, but is not answered.
  cluster().Execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  cluster().Execute("SELECT pg_reload_conf()");
  // The server heeds a new setting a moment later, so more than one append may be answered.
  std::atomic<bool> stop{false};
  std::string expected = "a";
  std::thread writer([&] {
    while (!stop) {
      expected += 'b';
      EXPECT_TRUE(Append(*store, "list", 'b').ok());
    }
  });
  TerminateWaiting("wait_event = 'SyncRep'");
  stop = true;
  cluster().Execute("ALTER SYSTEM RESET synchronous_standby_names");
  cluster().Execute("SELECT pg_reload_conf()");
  writer.join();
  EXPECT_EQ(Get(*store, "list"), expected);
}

TEST_F(PostgresTest, OutcomeStaysUnknownOnlyWhenTheDatabaseCannotBeAsked) {
  options_.resolve_timeout = std::chrono::milliseconds(300);
  const auto store = MustOpen();
  ASSERT_TRUE(Put(*store, "k", "1").ok());
  auto other = Connection::Open({.url = options_.url}, nullptr);
  ASSERT_TRUE((*other)->Execute("BEGIN").ok());
  ASSERT_TRUE((*other)->Execute("LOCK TABLE " + Table("marker")).ok());
  std::optional<Result<Commit>> answer;
  std::thread writer([&] { answer = Put(*store, "k", "2"); });
  cairn::testing::Await("the commit to wait for the lock", [&] {
    return cluster().Count(
               "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
               "application_name = 'cairn'") != 0;
  });
  cluster().Kill();
  writer.join();
  ASSERT_FALSE(answer->ok());
  EXPECT_EQ(answer->error().code, ErrorCode::kOutcomeUnknown) << answer->error().message;
  cluster().Start();
  EXPECT_EQ(Get(*store, "k"), "1");
}

TEST_F(PostgresTest, MarkersDoNotPileUp) {
  const auto store = MustOpen();
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(Put(*store, "k", "v").ok());
  EXPECT_LT(cluster().Count("SELECT id FROM " + Table("marker")), 150u);
}

TEST_F(PostgresTest, CommitOnOneNodeWakesWaitersOnAnother) {
  const auto here = MustOpen();
  const auto there = MustOpen();
  const Topic topic = Topic::Of(Space::kData, "list");
  std::mutex mutex;
  std::condition_variable changed;
  int woken = 0;
  const auto waiting = there->OnWake(topic, [&] {
    const std::lock_guard lock(mutex);
    ++woken;
    changed.notify_all();
  });
  ASSERT_TRUE(here->Run({},
                        [&](Transaction& txn) -> Result<void> {
                          txn.Put({Space::kData, "list"}, "x");
                          txn.Wake(topic);
                          return {};
                        })
                  .ok());
  int seen = 0;
  while (Get(*there, "list") != "x") {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, cairn::testing::kAwaitLimit, [&] { return woken > seen; }))
        << "waited for a wake-up";
    seen = woken;
  }
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(30), [&] { return woken > 0; }));
}

TEST_F(PostgresTest, StampsOfTwoNodesGrowAlongWhatTheySee) {
  const auto here = MustOpen();
  const auto there = MustOpen();
  uint64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    Store& store = i % 2 == 0 ? *here : *there;
    ASSERT_TRUE(store
                    .Run(Scopes().Add(Space::kData, "k"),
                         [&](Transaction& txn) -> Result<void> {
                           CAIRN_RETURN_IF_ERROR(txn.Get({Space::kData, "k"}));
                           EXPECT_GT(txn.stamp(), last);
                           EXPECT_GT(txn.NewStamp(), txn.stamp());
                           last = txn.NewStamp();
                           txn.Put({Space::kData, "k"}, "v");
                           return {};
                         })
                    .ok());
  }
}

TEST_F(PostgresTest, NodesAddToOneCounterAndSeeTheSum) {
  const auto here = MustOpen();
  const auto there = MustOpen();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Store& store = t % 2 == 0 ? *here : *there;
      for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(store
                        .Run({},
                             [](Transaction& txn) -> Result<void> {
                               txn.Add({Space::kData, "count"}, 1);
                               return {};
                             })
                        .ok());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(BytesReader(*Get(*there, "count")).Big64(), 200u);
  EXPECT_TRUE(here->Verify().ok());
}

// Two nodes append while a third follows: it never finds a new row behind one it has seen.
TEST_F(PostgresTest, ReaderOfEventsNeverSkipsOne) {
  const auto here = MustOpen();
  const auto there = MustOpen();
  const auto reader = MustOpen();
  constexpr uint64_t kEach = 60;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Store& store = t % 2 == 0 ? *here : *there;
      for (uint64_t i = 0; i < kEach; ++i) {
        EXPECT_TRUE(store
                        .Run({},
                             [&](Transaction& txn) -> Result<void> {
                               txn.AppendEvent({Space::kEvents, "log/"}, std::to_string(t));
                               return {};
                             })
                        .ok());
      }
    });
  }
  Range left = Range::Prefix(Space::kEvents, "log/");
  uint64_t followed = 0;
  while (followed < 4 * kEach) {
    const auto snapshot = reader->Read();
    ASSERT_TRUE(snapshot.ok());
    ASSERT_TRUE((*snapshot)
                    ->Scan(left, {},
                           [&](BytesView key, BytesView) {
                             left.begin = Bytes(key) + '\0';
                             ++followed;
                             return true;
                           })
                    .ok());
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(cluster().Count("SELECT key FROM " + Table("events")), 4 * kEach);
}

TEST_F(PostgresTest, BackupNamesTheToolThatMakesOne) {
  EXPECT_NE(MustOpen()->Backup("/tmp/x").error().message.find("pg_dump"), std::string::npos);
}

// --- Timers of several nodes --------------------------------------------------------------------

class CountingHandler final : public TimerHandler {
 public:
  void AddScopes(const Timer&, Scopes&) const override {}
  Result<void> Fire(Transaction& transaction, const Timer& timer) override {
    transaction.Add({Space::kData, "fired"}, 1);
    transaction.Put({Space::kData, timer.owner}, "fired");
    return {};
  }
};

class PostgresTimersTest : public PostgresTest {
 protected:
  static constexpr uint8_t kKind = 200;

  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    here_ = MustOpen();
    there_ = MustOpen();
  }
  void SetTimers(Store& store, int count) {
    for (int i = 0; i < count; ++i) {
      const auto set = store.Run({}, [&](Transaction& txn) -> Result<void> {
        txn.SetTimer(clock_.Now(), kKind, "timer" + std::to_string(i), "");
        return {};
      });
      ASSERT_TRUE(set.ok());
    }
  }
  uint64_t Fired() { return BytesReader(Get(*here_, "fired").value_or(Bytes(8, '\0'))).Big64(); }

  std::unique_ptr<Store> here_;
  std::unique_ptr<Store> there_;
  CountingHandler handler_;
};

TEST_F(PostgresTimersTest, EachFiresOnceThoughAllNodesTry) {
  SetTimers(*there_, 60);
  const auto run = [&](Store& store) {
    TimerService service(store, clock_, Log::Silent());
    service.Register(kKind, handler_);
    EXPECT_TRUE(service.RunDue().ok());
  };
  std::thread other([&] { run(*there_); });
  run(*here_);
  other.join();
  EXPECT_EQ(Fired(), 60u);
}

TEST_F(PostgresTimersTest, HolderThatWasAwayFiresNothingAfterItsLeasePassedOn) {
  TimerService first(*here_, clock_, Log::Silent());
  first.Register(kKind, handler_);
  EXPECT_EQ(*first.RunDue(), 0u);  // holds the lease from now on
  TimerService second(*there_, clock_, Log::Silent());
  second.Register(kKind, handler_);
  SetTimers(*there_, 1);
  EXPECT_EQ(*second.RunDue(), 0u) << "another node holds the lease";
  clock_.AdvanceMillis(11'000);
  EXPECT_EQ(*second.RunDue(), 1u);
  SetTimers(*there_, 1);
  EXPECT_EQ(*first.RunDue(), 0u);
  EXPECT_EQ(*second.RunDue(), 1u);
}

TEST_F(PostgresTimersTest, LeaseOfAStoppedNodeIsFreeAtOnce) {
  SetTimers(*here_, 1);
  {
    TimerService first(*here_, clock_, Log::Silent());
    first.Register(kKind + 1, handler_);
    EXPECT_EQ(*first.RunDue(), 0u);
  }
  TimerService second(*there_, clock_, Log::Silent());
  second.Register(kKind, handler_);
  EXPECT_EQ(*second.RunDue(), 1u);
}

// A server of the test's own, which it may stop.
class ReadinessTest : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    own_ = std::make_unique<PostgresCluster>(PostgresCluster::Options{});
    options_.url = own_->url();
    store_ = MustOpen();
  }

  std::string WaitUntilNotReady() const {
    std::string why;
    cairn::testing::Await("writes to be refused", [&] {
      const auto failure = store_->write_failure();
      if (failure) why = failure->message;
      return failure.has_value();
    });
    return why;
  }
  void WaitUntilReady() const {
    cairn::testing::Await("writes to go on", [&] { return !store_->write_failure(); });
  }
  // The processes of the server: its sessions and the one that makes them.
  std::vector<pid_t> ServerProcesses() const {
    auto session = Connection::Open({.url = options_.url}, nullptr);
    EXPECT_TRUE(session.ok());
    const Replies replies = (*session)->Execute(
        "SELECT pid::bigint FROM pg_stat_activity WHERE pid <> pg_backend_pid()");
    std::vector<pid_t> pids;
    for (size_t i = 0; i < replies.rows[0].size(); ++i) {
      pids.push_back(static_cast<pid_t>(replies.rows[0].number(i, 0)));
    }
    std::ifstream stat("/proc/" + std::to_string(pids.at(0)) + "/stat");
    std::string text(std::istreambuf_iterator<char>(stat), {});
    // pid (name) state parent …; the name may hold anything.
    std::istringstream rest(text.substr(text.rfind(')') + 1));
    char state = 0;
    pid_t parent = 0;
    rest >> state >> parent;
    pids.push_back(parent);
    return pids;
  }

  std::unique_ptr<PostgresCluster> own_;
  std::unique_ptr<Store> store_;
};

TEST_F(ReadinessTest, TellsWhileTheServerIsDown) {
  own_->Kill();
  EXPECT_NE(WaitUntilNotReady().find("the store takes no writes"), std::string::npos);
  own_->Start();
  WaitUntilReady();
  EXPECT_TRUE(Put(*store_, "k", "v").ok());
}

TEST_F(ReadinessTest, TellsWhileTheServerDoesNotAnswer) {
  const std::vector<pid_t> processes = ServerProcesses();
  for (const pid_t pid : processes) kill(pid, SIGSTOP);
  WaitUntilNotReady();
  for (const pid_t pid : processes) kill(pid, SIGCONT);
  WaitUntilReady();
  EXPECT_TRUE(Put(*store_, "k", "v").ok());
}

TEST_F(ReadinessTest, TellsWhileATableIsLocked) {
  auto session = Connection::Open({.url = options_.url}, nullptr);
  ASSERT_TRUE(session.ok());
  for (const char* table : {"data", "marker", "counter", "number"}) {
    ASSERT_TRUE((*session)->Execute("BEGIN").ok());
    ASSERT_TRUE((*session)->Execute("LOCK TABLE " + Table(table) + " IN EXCLUSIVE MODE").ok());
    EXPECT_NE(WaitUntilNotReady().find("timed out"), std::string::npos) << table;
    ASSERT_TRUE((*session)->Execute("ROLLBACK").ok());
    WaitUntilReady();
  }
}

TEST_F(ReadinessTest, TellsWhileTheServerIsReadOnly) {
  own_->Execute("ALTER SYSTEM SET default_transaction_read_only = on");
  own_->Execute("SELECT pg_reload_conf()");
  EXPECT_NE(WaitUntilNotReady().find("read-only"), std::string::npos);
  own_->Execute("ALTER SYSTEM RESET default_transaction_read_only");
  own_->Execute("SELECT pg_reload_conf()");
  WaitUntilReady();
}

TEST_F(ReadinessTest, AsksWithOneSessionHoweverManyAsk) {
  for (int i = 0; i < 10'000; ++i) store_->write_failure();
  WaitUntilReady();
  own_->Kill();
  WaitUntilNotReady();
  own_->Start();
  WaitUntilReady();
  // The listener's, the probe's and the idle ones of the pool.
  EXPECT_LE(own_->Count("SELECT 1 FROM pg_stat_activity WHERE application_name = 'cairn'"), 4u);
}

}  // namespace
}  // namespace cairn::store::postgres
