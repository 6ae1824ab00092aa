// The data directory, backup and restore, the log pool: what open.h promises.
#include "store/rocks/open.h"

#include <rocksdb/env.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table_properties.h>
#include <sys/stat.h>

#include <fstream>

#include "store/rocks/directory.h"
#include "store/rocks/log_files.h"
#include "store/rocks/tuning.h"
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
    EXPECT_FALSE(Inspect(data().string()).ok() && CheckStart(options_).ok())
        << "doctor has to find what a start refuses";
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

// What acknowledged writes are lost with is missed, whatever happened to the log.
TEST_F(DamagedLogTest, MissingLogIsMissedAndTheStartSaysWhatToDo) {
  const fs::path log = WriteLog(60);
  fs::rename(log, dir_ / "aside.log");
  ExpectRefused("was durable: a log");
  ExpectRefused("remove " + (data() / "DURABLE").string());
  EXPECT_FALSE(CheckStart(options_).ok()) << "doctor has to find it too";
  fs::rename(dir_ / "aside.log", log);
  EXPECT_TRUE(CheckStart(options_).ok());
  Reopen();
  EXPECT_EQ(Get("k59"), Bytes(3000, 'x'));
}

TEST_F(DamagedLogTest, ZeroedOrShortenedLogIsMissed) {
  const fs::path log = WriteLog(60);
  const std::string whole = ReadFile(log);
  for (const std::string& left :
       {std::string(whole.size(), '\0'), std::string(), whole.substr(0, whole.size() / 2)}) {
    WriteFile(log, left);
    ExpectRefused("was durable");
  }
}

TEST_F(DamagedLogTest, GoingOnWithoutWhatIsLostIsUpToTheOperator) {
  fs::remove(WriteLog(60));
  ExpectRefused("was durable");
  fs::remove(data() / "DURABLE");
  Reopen();
  EXPECT_EQ(Get("k0"), std::nullopt);
}

TEST_F(DamagedLogTest, LostDatabaseIsMissed) {
  WriteLog(3);
  fs::remove_all(data() / "db");
  ExpectRefused("was durable");
}

TEST_F(DamagedLogTest, MissingCurrentIsNamed) {
  WriteLog(3);
  fs::rename(data() / "db/CURRENT", dir_ / "aside");
  ExpectRefused("CURRENT is missing");
  fs::rename(dir_ / "aside", data() / "db/CURRENT");
  EXPECT_TRUE(CheckStart(options_).ok());
  Reopen();
  EXPECT_EQ(Get("k2"), Bytes(3000, 'x'));
}

TEST_F(DamagedLogTest, DamagedMarkIsNamed) {
  WriteLog(3);
  Damage(data() / "DURABLE");
  ExpectRefused("DURABLE is damaged");
}

TEST_F(DamagedLogTest, WhatWasNeverSyncedIsNotMissed) {
  for (const Durability durability : {Durability::kInterval, Durability::kOs}) {
    options_.durability = durability;
    options_.sync_interval = std::chrono::hours(1);
    Reopen();
    // Its log is lost with the power.
    fs::copy(data(), dir_ / "before", fs::copy_options::recursive);
    for (int i = 0; i < 10; ++i) Put("k" + std::to_string(i), "v");
    fs::copy_file(data() / "DURABLE", dir_ / "before/DURABLE",
                  fs::copy_options::overwrite_existing);
    store_.reset();
    fs::remove_all(data());
    fs::rename(dir_ / "before", data());
    EXPECT_TRUE(rocks::Open(options_, clock_, Log::Silent()).ok());
  }
}

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
  // That it was durable is not known: power was lost before the mark reached the disk.
  fs::remove(data() / "DURABLE");
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

TEST_F(OpenTest, BackupWithADamagedFormatLeavesNothingThatServes) {
  Put("a", "1");
  ASSERT_TRUE(store_->Backup(dir_ / "backup").ok());
  const fs::path format = fs::path(dir_ / "backup") / "FORMAT";
  const std::string whole = ReadFile(format);
  for (const std::string& damaged : {whole + "x", std::string(), std::string("cairn store\n")}) {
    WriteFile(format, damaged);
    const std::string target = dir_ / ("restored" + std::to_string(damaged.size()));
    const auto restored = Restore(dir_ / "backup", target);
    ASSERT_FALSE(restored.ok());
    EXPECT_NE(restored.error().message.find(format.string()), std::string::npos);
    options_.directory = target;
    ExpectRefused("no FORMAT file");
  }
}

TEST_F(OpenTest, BackupThatDoesNotNameTheDatabaseIsRefused) {
  Put("a", "1");
  ASSERT_TRUE(store_->Backup(dir_ / "backup").ok());
  const fs::path manifest = fs::path(dir_ / "backup") / "BACKUP";
  std::string text = ReadFile(manifest);
  const size_t at = text.rfind('\n', text.find("db/CURRENT"));
  text.erase(at, text.find('\n', at + 1) - at);
  WriteFile(manifest, text);
  const auto restored = Restore(dir_ / "backup", dir_ / "restored");
  ASSERT_FALSE(restored.ok());
  EXPECT_NE(restored.error().message.find("does not name db/CURRENT"), std::string::npos);
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

// What a lookup needs beside its row must be able to stay in memory, or each one reads it again.
TEST_F(OpenTest, IndexAndFilterBlocksAreSmallBesideAShardOfTheCache) {
  for (int batch = 0; batch < 10; ++batch) {
    const auto put = store_->Run(Scopes::Exclusive(), [&](Transaction& txn) -> Result<void> {
      for (int i = 0; i < 10'000; ++i) {
        txn.Put({Space::kData, std::to_string(batch * 10'000 + i)}, Bytes(20, 'x'));
      }
      return {};
    });
    ASSERT_TRUE(put.ok());
  }
  Reopen();  // recovery flushes the log into tables
  store_.reset();
  const uint64_t cache_bytes = options_.memory.block_cache_bytes;
  const uint64_t shard_bytes = cache_bytes >> BlockCacheShardBits(cache_bytes);
  uint64_t keys = 0;
  for (const auto& entry : fs::directory_iterator(data() / "db")) {
    if (entry.path().extension() != ".sst") continue;
    ::rocksdb::SstFileReader reader{::rocksdb::Options()};
    ASSERT_TRUE(reader.Open(entry.path()).ok());
    const auto properties = reader.GetTableProperties();
    keys += properties->num_entries;
    ASSERT_GT(properties->index_partitions, 0u);
    // Each part of the index has a part of the filter.
    EXPECT_LT(properties->index_size / properties->index_partitions, shard_bytes / 256);
    EXPECT_LT(properties->filter_size / properties->index_partitions, shard_bytes / 256);
    EXPECT_LT(properties->top_level_index_size, shard_bytes / 64);
  }
  EXPECT_GT(keys, 100'000u);
}

TEST(TuningTest, ShardOfTheBlockCacheHoldsLargeBlocks) {
  for (const uint64_t mib : {1, 24, 96, 128, 256, 1024, 4096, 65'536}) {
    const uint64_t bytes = mib << 20;
    const int bits = BlockCacheShardBits(bytes);
    EXPECT_LE(bits, 6);
    EXPECT_GE(bytes >> bits, std::min(bytes, uint64_t{16} << 20));
  }
  EXPECT_EQ(BlockCacheShardBits(uint64_t{1} << 20), 0);
  EXPECT_EQ(BlockCacheShardBits(uint64_t{96} << 20), 2);
  EXPECT_EQ(BlockCacheShardBits(uint64_t{6} << 30), 6);
}

TEST_F(OpenTest, MemoryBudgetIsSplitWithoutRemainder) {
  for (const uint64_t total : {uint64_t{32} << 20, uint64_t{1} << 30, uint64_t{64} << 30}) {
    const MemoryBudget budget = MemoryBudget::FromTotal(total);
    EXPECT_EQ(budget.value_cache_bytes + budget.block_cache_bytes + budget.write_buffer_bytes,
              total);
  }
  EXPECT_GE(MemoryBudget::DefaultTotal(), uint64_t{192} << 20);
}

class LogFilesTest : public ::testing::Test {
 protected:
  LogFilesTest() { fs::create_directory(dir_ / "pool"); }

  std::unique_ptr<LogFiles> Open(uint64_t zero_file_bytes) {
    return std::make_unique<LogFiles>(
        ::rocksdb::FileSystem::Default(),
        LogFiles::Options{.directory = dir_ / "pool",
                          .zero_file_bytes = zero_file_bytes,
                          .appended = [this] { ++appended_; },
                          .failed = [this](const auto& status) { failure_ = status; }},
        Log::Silent());
  }
  static std::unique_ptr<::rocksdb::FSWritableFile> NewFile(LogFiles& files,
                                                            const std::string& path) {
    std::unique_ptr<::rocksdb::FSWritableFile> file;
    EXPECT_TRUE(files.NewWritableFile(path, {}, &file, nullptr).ok());
    return file;
  }
  // On disk, whatever the file's length.
  static uint64_t RoomOf(const std::string& path) {
    struct stat found {};
    EXPECT_EQ(stat(path.c_str(), &found), 0);
    return static_cast<uint64_t>(found.st_blocks) * 512;
  }

  const cairn::testing::TempDirectory dir_;
  int appended_ = 0;
  ::rocksdb::IOStatus failure_;
};

TEST_F(LogFilesTest, GivesPreparedFilesToLogsOnly) {
  const auto files = Open(3 << 20);
  files->WaitForZeros();
  const auto log = NewFile(*files, dir_ / "1.log");
  EXPECT_EQ(fs::file_size(dir_ / "1.log"), uint64_t{3} << 20);
  ASSERT_TRUE(log->Append("abc", {}, nullptr).ok());
  ASSERT_TRUE(log->Sync({}, nullptr).ok());
  EXPECT_EQ(ReadFile(dir_ / "1.log"), "abc" + std::string((3 << 20) - 3, '\0'));
  EXPECT_EQ(appended_, 1);
  const auto table = NewFile(*files, dir_ / "2.sst");
  EXPECT_EQ(fs::file_size(dir_ / "2.sst"), 0u);
}

TEST_F(LogFilesTest, ReservesRoomInTheLogAndInTheOneAfterIt) {
  const auto files = Open(0);
  auto log = NewFile(*files, dir_ / "1.log");
  ASSERT_TRUE(files->Reserve(6 << 20).ok());
  EXPECT_GE(RoomOf(dir_ / "1.log"), uint64_t{6} << 20);
  EXPECT_EQ(fs::file_size(dir_ / "1.log"), 0u);
  ASSERT_TRUE(fs::exists(dir_ / "pool/1.spare"));
  EXPECT_GE(RoomOf(dir_ / "pool/1.spare"), uint64_t{6} << 20);

  const auto next = NewFile(*files, dir_ / "2.log");
  EXPECT_FALSE(fs::exists(dir_ / "pool/1.spare"));
  EXPECT_GE(RoomOf(dir_ / "2.log"), uint64_t{6} << 20);
  ASSERT_TRUE(files->Reserve(1).ok());
  EXPECT_TRUE(fs::exists(dir_ / "pool/2.spare"));
}

TEST_F(LogFilesTest, SyncsEveryOpenLogAndSkipsClosedOnes) {
  const auto files = Open(0);
  auto first = NewFile(*files, dir_ / "1.log");
  ASSERT_TRUE(first->Append("abc", {}, nullptr).ok());
  const auto second = NewFile(*files, dir_ / "2.log");
  ASSERT_TRUE(second->Append("abc", {}, nullptr).ok());
  EXPECT_TRUE(files->Sync().ok());
  ASSERT_TRUE(first->Close({}, nullptr).ok());
  EXPECT_TRUE(files->Sync().ok());
  EXPECT_TRUE(failure_.ok());
}

TEST_F(LogFilesTest, MessagesThatCannotBeWrittenAreDropped) {
  const auto files = Open(0);
  std::shared_ptr<::rocksdb::Logger> messages;
  ASSERT_TRUE(files->NewLogger(dir_ / "no/such/LOG", {}, &messages, nullptr).ok());
  ::rocksdb::Log(messages, "to %s", "nobody");
  ASSERT_TRUE(files->NewLogger(dir_ / "LOG", {}, &messages, nullptr).ok());
  ::rocksdb::Log(::rocksdb::InfoLogLevel::ERROR_LEVEL, messages, "to %s", "somebody");
  messages.reset();
  EXPECT_NE(ReadFile(dir_ / "LOG").find("to somebody\n"), std::string::npos);
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
