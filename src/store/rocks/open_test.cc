// The data directory, backup and restore, the log pool: what open.h promises.
#include "store/rocks/open.h"

#include <fstream>

#include "store/rocks/directory.h"
#include "store/rocks/log_pool.h"
#include "store/testing/fixture.h"

namespace cairn::store::rocks {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void WriteFile(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}
// Changes one byte in the middle of a file.
void Damage(const fs::path& path) {
  std::string text = ReadFile(path);
  ASSERT_FALSE(text.empty()) << path;
  text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 0x55);
  WriteFile(path, text);
}
fs::path FirstWithExtension(const fs::path& directory, const std::string& extension) {
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == extension) return entry.path();
  }
  return {};
}

class OpenTest : public store::testing::StoreTest {
 protected:
  void SetUp() override { CAIRN_TEST_ROCKS_ONLY("files"); }
  void ExpectRefused(const std::string& with) {
    store_.reset();
    auto store = rocks::Open(options_, clock_, Log::Silent());
    ASSERT_FALSE(store.ok());
    EXPECT_NE(store.error().message.find(with), std::string::npos) << store.error().message;
  }
  fs::path data() const { return options_.directory; }
};

TEST_F(OpenTest, NewerFormatIsRefusedByName) {
  store_.reset();
  WriteFile(data() / "FORMAT", "cairn store\nformat 999\nengine rocksdb\nwritten_by cairn 9.9\n");
  ExpectRefused("format version 999, written by cairn 9.9");
}

TEST_F(OpenTest, AnOlderFormatIsServedAndBecomesThisOne) {
  store_.reset();
  WriteFile(data() / "FORMAT", "cairn store\nformat 1\nengine rocksdb\nwritten_by cairn 0.0\n");
  ASSERT_TRUE(rocks::Open(options_, clock_, Log::Silent()).ok());
  const auto format = DecodeFormat(ReadFile(data() / "FORMAT"), "FORMAT");
  ASSERT_TRUE(format.ok());
  EXPECT_EQ(format->version, kFormatVersion);
}

TEST_F(OpenTest, DamagedFormatIsNamed) {
  store_.reset();
  WriteFile(data() / "FORMAT", "something");
  ExpectRefused("FORMAT is damaged");
}

TEST_F(OpenTest, ForeignDirectoryIsRefusedAndUntouched) {
  options_.directory = dir_ / "photos";
  fs::create_directories(data());
  WriteFile(data() / "cat.jpg", "meow");
  ExpectRefused("it holds \"cat.jpg\" and no FORMAT file");
  EXPECT_EQ(ReadFile(data() / "cat.jpg"), "meow");
}

TEST_F(OpenTest, MissingTableFileIsNamed) {
  Put("a", "1");
  Reopen();  // recovery flushes the log into a table
  const fs::path table = FirstWithExtension(data() / "db", ".sst");
  ASSERT_FALSE(table.empty());
  store_.reset();
  fs::remove(table);
  ExpectRefused(table.filename());
}

TEST_F(OpenTest, DamagedTableFileIsNamed) {
  Put("a", "1");
  Reopen();
  const fs::path table = FirstWithExtension(data() / "db", ".sst");
  store_.reset();
  std::string text = ReadFile(table);
  text.resize(text.size() - 10);  // the footer is gone
  WriteFile(table, text);
  ExpectRefused(table.filename());
}

TEST_F(OpenTest, DamagedManifestIsNamed) {
  Put("a", "1");
  store_.reset();
  for (const auto& entry : fs::directory_iterator(data() / "db")) {
    if (entry.path().filename().string().starts_with("MANIFEST-")) Damage(entry.path());
  }
  ExpectRefused("MANIFEST-");
}

class DamagedLogTest : public OpenTest {
 protected:
  // A log of `count` durable writes, each in a sync of its own; returns its path.
  fs::path WriteLog(int count) {
    options_.durability = Durability::kSync;
    Reopen();
    for (int i = 0; i < count; ++i) {
      EXPECT_TRUE(store_->Durable(Put("k" + std::to_string(i), Bytes(3000, 'x'))).ok());
    }
    store_.reset();
    fs::path newest;
    for (const auto& entry : fs::directory_iterator(data() / "db")) {
      if (entry.path().extension() == ".log" && entry.path() > newest) newest = entry.path();
    }
    return newest;
  }
};

TEST_F(DamagedLogTest, BadByteInTheMiddleIsNamedAndStopsTheStart) {
  const fs::path log = WriteLog(60);
  ASSERT_GT(fs::file_size(log), 100'000u);
  const std::string whole = ReadFile(log);
  for (const size_t at : {size_t{20}, size_t{5000}, whole.size() / 2}) {
    std::string text = whole;
    text[at] = static_cast<char>(text[at] ^ 1);
    WriteFile(log, text);
    ExpectRefused(log.filename().string() + " is damaged at byte");
  }
  WriteFile(log, whole);
  Open();
  EXPECT_EQ(Get("k59"), Bytes(3000, 'x'));
}

// Records of every size up to a block, so that headers and beginnings fall across block ends.
TEST_F(DamagedLogTest, WholeLogIsNeverTakenForDamaged) {
  options_.durability = Durability::kSync;
  Reopen();
  for (size_t i = 0; i < 1500; ++i) {
    const Commit commit = Put("k" + std::to_string(i), Bytes(i * 7 % 211, 'x'));
    if (i % 3 == 0) {
      ASSERT_TRUE(store_->Durable(commit).ok());
    }
  }
  for (int round = 0; round < 3; ++round) {
    Reopen();
    EXPECT_EQ(Get("k1499"), Bytes(1499 * 7 % 211, 'x'));
    Put("more" + std::to_string(round), "1");
  }
}

TEST_F(DamagedLogTest, TornEndIsCutOff) {
  const fs::path log = WriteLog(60);
  std::string text = ReadFile(log);
  text.resize(text.size() - 1000);
  WriteFile(log, text + std::string(100'000, '\0'));
  Open();
  EXPECT_EQ(Get("k58"), Bytes(3000, 'x'));
  EXPECT_EQ(Get("k59"), std::nullopt);
  Put("more", "1");
  Reopen();
  EXPECT_EQ(Get("more"), "1");
}

TEST_F(OpenTest, VerifyNamesADamagedTable) {
  Put("a", Bytes(10'000, 'x'));
  Reopen();
  const fs::path table = FirstWithExtension(data() / "db", ".sst");
  std::string text = ReadFile(table);
  text[100] = static_cast<char>(text[100] ^ 1);
  WriteFile(table, text);
  auto verified = store_->Verify();
  ASSERT_FALSE(verified.ok());
  EXPECT_EQ(verified.error().code, ErrorCode::kCorruption);
  EXPECT_NE(verified.error().message.find(table.filename()), std::string::npos)
      << verified.error().message;
}

TEST_F(OpenTest, BackupIsTakenWhileInUseAndRestores) {
  for (int i = 0; i < 100; ++i) Put("key" + std::to_string(i), "value");
  ASSERT_TRUE(store_->Backup(dir_ / "backup").ok());
  Put("later", "not in the backup");
  ASSERT_TRUE(Restore(dir_ / "backup", dir_ / "restored").ok());
  options_.directory = dir_ / "restored";
  Reopen();
  EXPECT_EQ(Get("key99"), "value");
  EXPECT_EQ(Get("later"), std::nullopt);
  Put("new", "1");
}

TEST_F(OpenTest, BackupDoesNotOverwriteAndRestoreWantsAnEmptyDirectory) {
  Put("a", "1");
  ASSERT_TRUE(store_->Backup(dir_ / "backup").ok());
  auto again = store_->Backup(dir_ / "backup");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kConflict);
  auto into_used = Restore(dir_ / "backup", options_.directory);
  ASSERT_FALSE(into_used.ok());
  EXPECT_EQ(into_used.error().code, ErrorCode::kConflict);
}

TEST_F(OpenTest, DamagedBackupIsRefusedNamingTheFile) {
  Put("a", "1");
  ASSERT_TRUE(store_->Backup(dir_ / "backup").ok());
  const fs::path table = FirstWithExtension(fs::path(dir_ / "backup") / "db", ".sst");
  Damage(table);
  auto restored = Restore(dir_ / "backup", dir_ / "restored");
  ASSERT_FALSE(restored.ok());
  EXPECT_NE(restored.error().message.find(table.string()), std::string::npos);
  options_.directory = dir_ / "restored";
  ExpectRefused("no FORMAT file");
}

TEST_F(OpenTest, IncompleteBackupIsRefused) {
  Put("a", "1");
  ASSERT_TRUE(store_->Backup(dir_ / "backup").ok());
  fs::remove(fs::path(dir_ / "backup") / "BACKUP");
  auto restored = Restore(dir_ / "backup", dir_ / "restored");
  ASSERT_FALSE(restored.ok());
  EXPECT_NE(restored.error().message.find("not a complete Cairn backup"), std::string::npos);
}

TEST_F(OpenTest, InspectTellsWithoutOpening) {
  auto report = Inspect(options_.directory);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->exists);
  EXPECT_TRUE(report->in_use);
  EXPECT_EQ(report->format_version, kFormatVersion);
  EXPECT_GT(report->bytes, 0u);
  store_.reset();
  EXPECT_FALSE(Inspect(options_.directory)->in_use);
  auto missing = Inspect(dir_ / "a/b/c");
  ASSERT_TRUE(missing.ok());
  EXPECT_FALSE(missing->exists);
  EXPECT_GT(missing->free_bytes, 0u);
}

// Who takes rows from the front of a range comes back for those behind them, and should not have to
// leave its loop each time.
TEST_F(OpenTest, ScanThatHadToGoToDiskBringsWhatFollowsIntoMemory) {
  const auto row = [](int i) { return "row" + std::to_string(10'000 + i); };
  const auto put = store_->Run(Scopes::Exclusive(), [&](Transaction& txn) -> Result<void> {
    for (int i = 0; i < 3'000; ++i) txn.Put({Space::kData, row(i)}, Bytes(100, 'x'));
    return {};
  });
  ASSERT_TRUE(put.ok());
  Reopen();  // recovery flushes the log into a table; nothing of it is in memory
  const auto ten_from = [&](int i) {
    return [&row, i](Transaction& txn) -> Result<void> {
      return txn.Scan({Space::kData, row(i), std::nullopt}, {.limit = 10},
                      [](BytesView, BytesView) { return true; });
    };
  };
  const auto group = store_->NewGroup();
  const auto cold = group->Run(Scopes(), Access::kRead, ten_from(0));
  ASSERT_FALSE(cold.ok());
  EXPECT_EQ(cold.error().code, ErrorCode::kWouldBlock);
  EXPECT_TRUE(store_->RunRead(Scopes(), ten_from(0)).ok());
  EXPECT_TRUE(group->Run(Scopes(), Access::kRead, ten_from(0)).ok());
  EXPECT_TRUE(group->Run(Scopes(), Access::kRead, ten_from(2'900)).ok());
}

TEST_F(OpenTest, MemoryBudgetIsSplitWithoutRemainder) {
  for (const uint64_t total : {uint64_t{32} << 20, uint64_t{1} << 30, uint64_t{64} << 30}) {
    const MemoryBudget budget = MemoryBudget::FromTotal(total);
    EXPECT_EQ(budget.value_cache_bytes + budget.block_cache_bytes + budget.write_buffer_bytes,
              total);
  }
  EXPECT_GE(MemoryBudget::DefaultTotal(), uint64_t{192} << 20);
}

TEST(LogPoolTest, GivesPreparedFilesToLogsOnly) {
  const cairn::testing::TempDirectory dir;
  fs::create_directory(dir / "pool");
  WriteFile(dir / "pool/7.zero", "left over");
  LogPool pool(::rocksdb::FileSystem::Default(), dir / "pool", 3 << 20, Log::Silent());
  pool.WaitUntilReady();
  std::unique_ptr<::rocksdb::FSWritableFile> log;
  ASSERT_TRUE(pool.NewWritableFile(dir / "1.log", {}, &log, nullptr).ok());
  EXPECT_EQ(fs::file_size(dir / "1.log"), uint64_t{3} << 20);
  ASSERT_TRUE(log->Append("abc", {}, nullptr).ok());
  ASSERT_TRUE(log->Sync({}, nullptr).ok());
  EXPECT_EQ(ReadFile(dir / "1.log"), "abc" + std::string((3 << 20) - 3, '\0'));
  std::unique_ptr<::rocksdb::FSWritableFile> table;
  ASSERT_TRUE(pool.NewWritableFile(dir / "2.sst", {}, &table, nullptr).ok());
  EXPECT_EQ(fs::file_size(dir / "2.sst"), 0u);
}

class PooledStoreTest : public OpenTest {
 protected:
  PooledStoreTest() {
    options_.durability = Durability::kSync;
    options_.log_pool = true;
    Reopen();
  }
};

TEST_F(PooledStoreTest, DataWrittenThroughPooledLogsSurvivesReopen) {
  for (int round = 0; round < 5; ++round) {
    const Commit commit = Put("round" + std::to_string(round), "v");
    ASSERT_TRUE(store_->Durable(commit).ok());
    Reopen();
  }
  for (int round = 0; round < 5; ++round) EXPECT_EQ(Get("round" + std::to_string(round)), "v");
}

TEST_F(PooledStoreTest, CopyOfALiveDirectoryRecovers) {
  // What a kill -9 leaves: logs that still end in zeros.
  Commit commit;
  for (int i = 0; i < 200; ++i) commit = Put("k" + std::to_string(i), Bytes(1000, 'x'));
  ASSERT_TRUE(store_->Durable(commit).ok());
  fs::copy(options_.directory, dir_ / "copy", fs::copy_options::recursive);
  options_.directory = dir_ / "copy";
  Reopen();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(Get("k" + std::to_string(i)), Bytes(1000, 'x'));
}

}  // namespace
}  // namespace cairn::store::rocks
