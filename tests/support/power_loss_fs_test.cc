#include "tests/support/power_loss_fs.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cairn::testing {
namespace {

using ::rocksdb::IOStatus;
using Step = PowerLossFs::Step;

// One-line access to a file system, for files in "/test".
class Shell {
 public:
  explicit Shell(PowerLossFs& fs) : fs_(fs) {}

  static std::string Path(const std::string& name) { return "/test/" + name; }

  std::unique_ptr<::rocksdb::FSWritableFile> Create(const std::string& name) {
    std::unique_ptr<::rocksdb::FSWritableFile> file;
    EXPECT_TRUE(fs_.NewWritableFile(Path(name), {}, &file, nullptr).ok());
    return file;
  }
  // A new file whose content and name are safe.
  std::unique_ptr<::rocksdb::FSWritableFile> CreateSafe(const std::string& name,
                                                        const std::string& content) {
    auto file = Create(name);
    Append(*file, content);
    EXPECT_TRUE(file->Sync({}, nullptr).ok());
    SyncDirectory("/test");
    return file;
  }
  static void Append(::rocksdb::FSWritableFile& file, const std::string& data) {
    EXPECT_TRUE(file.Append(data, {}, nullptr).ok());
  }
  void SyncDirectory(const std::string& path) {
    std::unique_ptr<::rocksdb::FSDirectory> directory;
    ASSERT_TRUE(fs_.NewDirectory(path, {}, &directory, nullptr).ok());
    EXPECT_TRUE(directory->Fsync({}, nullptr).ok());
  }
  bool Rename(const std::string& from, const std::string& to) {
    return fs_.RenameFile(Path(from), Path(to), {}, nullptr).ok();
  }

 private:
  PowerLossFs& fs_;
};

constexpr const char* kNone = "(none)";

std::string ContentOf(PowerLossFs& fs, const std::string& path) {
  std::unique_ptr<::rocksdb::FSRandomAccessFile> file;
  if (!fs.NewRandomAccessFile(path, {}, &file, nullptr).ok()) return kNone;
  std::string scratch(1 << 20, '\0');
  ::rocksdb::Slice content;
  EXPECT_TRUE(file->Read(0, scratch.size(), {}, &content, scratch.data(), nullptr).ok());
  return content.ToString();
}

// The content of a file in "/test" after a power loss.
std::string AfterLoss(const PowerLossFs& fs, const std::string& name) {
  PowerLossFs after(fs.StrictImage());
  return ContentOf(after, Shell::Path(name));
}

TEST(PowerLossFs, OnlySyncedBytesStay) {
  PowerLossFs fs;
  Shell shell(fs);
  const auto file = shell.CreateSafe("f", "safe");
  Shell::Append(*file, " and not");
  EXPECT_EQ(ContentOf(fs, "/test/f"), "safe and not");
  EXPECT_EQ(AfterLoss(fs, "f"), "safe");
  ASSERT_TRUE(file->Flush({}, nullptr).ok());
  ASSERT_TRUE(file->RangeSync(0, 12, {}, nullptr).ok());
  EXPECT_EQ(AfterLoss(fs, "f"), "safe");
  ASSERT_TRUE(file->Sync({}, nullptr).ok());
  EXPECT_EQ(AfterLoss(fs, "f"), "safe and not");
}

TEST(PowerLossFs, ClosingSavesNothing) {
  PowerLossFs fs;
  Shell shell(fs);
  const auto file = shell.CreateSafe("f", "safe");
  Shell::Append(*file, " and not");
  ASSERT_TRUE(file->Close({}, nullptr).ok());
  EXPECT_EQ(AfterLoss(fs, "f"), "safe");
}

TEST(PowerLossFs, WhatWasOverwrittenOrCutOffComesBack) {
  PowerLossFs fs;
  Shell shell(fs);
  shell.CreateSafe("f", "0123456789");
  std::unique_ptr<::rocksdb::FSRandomRWFile> file;
  ASSERT_TRUE(fs.NewRandomRWFile("/test/f", {}, &file, nullptr).ok());
  ASSERT_TRUE(file->Write(2, "xx", {}, nullptr).ok());
  ASSERT_TRUE(fs.Truncate("/test/f", 6, {}, nullptr).ok());
  EXPECT_EQ(ContentOf(fs, "/test/f"), "01xx45");
  EXPECT_EQ(AfterLoss(fs, "f"), "0123456789");
  ASSERT_TRUE(file->Sync({}, nullptr).ok());
  EXPECT_EQ(AfterLoss(fs, "f"), "01xx45");
  shell.Create("f");  // cuts it to nothing
  EXPECT_EQ(ContentOf(fs, "/test/f"), "");
  EXPECT_EQ(AfterLoss(fs, "f"), "01xx45");
}

TEST(PowerLossFs, WhatWasCutOffIsZerosWhenTheFileGrowsAgain) {
  PowerLossFs fs;
  const auto file = Shell(fs).Create("f");
  Shell::Append(*file, std::string(5000, 'x'));
  ASSERT_TRUE(fs.Truncate("/test/f", 4500, {}, nullptr).ok());
  ASSERT_TRUE(fs.Truncate("/test/f", 5000, {}, nullptr).ok());
  EXPECT_EQ(ContentOf(fs, "/test/f"), std::string(4500, 'x') + std::string(500, '\0'));
}

TEST(PowerLossFs, ANameIsSafeOnlyAfterItsDirectoryWasSynced) {
  PowerLossFs fs;
  Shell shell(fs);
  const auto file = shell.Create("f");
  Shell::Append(*file, "content");
  ASSERT_TRUE(file->Sync({}, nullptr).ok());
  EXPECT_EQ(AfterLoss(fs, "f"), kNone);
  shell.SyncDirectory("/test");
  EXPECT_EQ(AfterLoss(fs, "f"), "content");
}

TEST(PowerLossFs, ASafeNameOfAnUnsyncedFileIsAnEmptyFile) {
  PowerLossFs fs;
  Shell shell(fs);
  Shell::Append(*shell.Create("f"), "content");
  shell.SyncDirectory("/test");
  EXPECT_EQ(AfterLoss(fs, "f"), "");
}

TEST(PowerLossFs, UnsyncedRenamesAndDeletesAreUndone) {
  PowerLossFs fs;
  Shell shell(fs);
  shell.CreateSafe("a", "a");
  shell.CreateSafe("b", "b");
  shell.CreateSafe("gone", "gone");
  ASSERT_TRUE(shell.Rename("a", "b"));
  ASSERT_TRUE(fs.DeleteFile("/test/gone", {}, nullptr).ok());
  EXPECT_EQ(AfterLoss(fs, "a"), "a");
  EXPECT_EQ(AfterLoss(fs, "b"), "b");
  EXPECT_EQ(AfterLoss(fs, "gone"), "gone");
  shell.SyncDirectory("/test");
  EXPECT_EQ(AfterLoss(fs, "a"), kNone);
  EXPECT_EQ(AfterLoss(fs, "b"), "a");
  EXPECT_EQ(AfterLoss(fs, "gone"), kNone);
}

TEST(PowerLossFs, DirectoriesAreNamesToo) {
  PowerLossFs fs;
  Shell shell(fs);
  ASSERT_TRUE(fs.CreateDir("/test/d", {}, nullptr).ok());
  EXPECT_FALSE(fs.CreateDir("/test/d", {}, nullptr).ok());
  EXPECT_TRUE(fs.CreateDirIfMissing("/test/d", {}, nullptr).ok());
  const auto file = shell.Create("d/f");
  shell.SyncDirectory("/test/d");
  EXPECT_EQ(AfterLoss(fs, "d/f"), kNone);
  shell.SyncDirectory("/test");
  EXPECT_EQ(AfterLoss(fs, "d/f"), "");
  EXPECT_FALSE(fs.DeleteDir("/test/d", {}, nullptr).ok());
  ASSERT_TRUE(fs.DeleteFile("/test/d/f", {}, nullptr).ok());
  EXPECT_TRUE(fs.DeleteDir("/test/d", {}, nullptr).ok());
}

TEST(PowerLossFs, ARenameBetweenDirectoriesIsSafeOnEachSideByItself) {
  PowerLossFs fs;
  Shell shell(fs);
  ASSERT_TRUE(fs.CreateDir("/test/d", {}, nullptr).ok());
  shell.CreateSafe("f", "content");
  ASSERT_TRUE(shell.Rename("f", "d/f"));
  EXPECT_EQ(AfterLoss(fs, "f"), "content");
  EXPECT_EQ(AfterLoss(fs, "d/f"), kNone);
  shell.SyncDirectory("/test/d");
  EXPECT_EQ(AfterLoss(fs, "f"), "content");
  EXPECT_EQ(AfterLoss(fs, "d/f"), "content");
  shell.SyncDirectory("/test");
  EXPECT_EQ(AfterLoss(fs, "f"), kNone);
  EXPECT_EQ(AfterLoss(fs, "d/f"), "content");
}

TEST(PowerLossFs, ATornFileIsAMixtureOfSectors) {
  PowerLossFs fs;
  constexpr size_t kSectors = 40;
  constexpr size_t kSector = 512;
  Shell(fs).CreateSafe("f", std::string(kSectors * kSector, 'a'));
  std::unique_ptr<::rocksdb::FSRandomRWFile> file;
  ASSERT_TRUE(fs.NewRandomRWFile("/test/f", {}, &file, nullptr).ok());
  ASSERT_TRUE(file->Write(0, std::string(kSectors * kSector, 'b'), {}, nullptr).ok());
  size_t changed = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    PowerLossFs after(fs.TornImage(seed));
    const std::string content = ContentOf(after, "/test/f");
    ASSERT_EQ(content.size(), kSectors * kSector);
    for (size_t sector = 0; sector < kSectors; ++sector) {
      const std::string part = content.substr(sector * kSector, kSector);
      ASSERT_EQ(part, std::string(kSector, part[0]));
      changed += part[0] == 'b' ? 1 : 0;
    }
    PowerLossFs again(fs.TornImage(seed));
    ASSERT_EQ(ContentOf(again, "/test/f"), content);
  }
  EXPECT_GT(changed, 20 * kSectors / 4);
  EXPECT_LT(changed, 20 * kSectors * 3 / 4);
}

TEST(PowerLossFs, ATornAppendHasAnyLengthUpToTheWhole) {
  PowerLossFs fs;
  const auto file = Shell(fs).CreateSafe("f", std::string(1000, 'a'));
  Shell::Append(*file, std::string(9000, 'b'));
  std::set<size_t> sizes;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    PowerLossFs after(fs.TornImage(seed));
    const std::string content = ContentOf(after, "/test/f");
    ASSERT_EQ(content.substr(0, 1000), std::string(1000, 'a'));
    for (const char c : content.substr(1000)) ASSERT_TRUE(c == 'b' || c == '\0');
    sizes.insert(content.size());
  }
  EXPECT_EQ(*sizes.begin(), 1000);
  EXPECT_EQ(*sizes.rbegin(), 10000);
  EXPECT_GT(sizes.size(), 5);
}

TEST(PowerLossFs, ATornRenameHappenedOrDidNot) {
  PowerLossFs fs;
  Shell shell(fs);
  shell.CreateSafe("a", "new");
  shell.CreateSafe("b", "old");
  ASSERT_TRUE(shell.Rename("a", "b"));
  std::set<std::pair<std::string, std::string>> outcomes;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    PowerLossFs after(fs.TornImage(seed));
    outcomes.emplace(ContentOf(after, "/test/a"), ContentOf(after, "/test/b"));
  }
  const std::set<std::pair<std::string, std::string>> expected = {{"new", "old"}, {kNone, "new"}};
  EXPECT_EQ(outcomes, expected);
}

TEST(PowerLossFs, AnImageStaysAsItIs) {
  PowerLossFs fs;
  const auto file = Shell(fs).CreateSafe("f", "before");
  const PowerLossFs::Image image = fs.StrictImage();
  Shell::Append(*file, " and after");
  ASSERT_TRUE(file->Sync({}, nullptr).ok());
  PowerLossFs first(image);
  const auto other = Shell(first).CreateSafe("f", "changed");
  PowerLossFs second(image);
  EXPECT_EQ(ContentOf(first, "/test/f"), "changed");
  EXPECT_EQ(ContentOf(second, "/test/f"), "before");
}

TEST(PowerLossFs, TheHookSeesTheStateBeforeEachStep) {
  PowerLossFs fs;
  std::vector<std::pair<Step, std::string>> steps;
  fs.SetHook([&](const PowerLossFs::Operation& operation) {
    steps.emplace_back(operation.step, AfterLoss(fs, "f"));
  });
  const auto file = Shell(fs).CreateSafe("f", "x");
  ASSERT_TRUE(file->Close({}, nullptr).ok());
  ASSERT_TRUE(Shell(fs).Rename("f", "g"));
  ASSERT_TRUE(fs.DeleteFile("/test/g", {}, nullptr).ok());
  const std::vector<std::pair<Step, std::string>> expected = {
      {Step::kCreateFile, kNone},    {Step::kWrite, kNone}, {Step::kSync, kNone},
      {Step::kSyncDirectory, kNone}, {Step::kClose, "x"},   {Step::kRename, "x"},
      {Step::kDeleteFile, "x"}};
  EXPECT_EQ(steps, expected);
}

TEST(PowerLossFs, StepsFailWhenTold) {
  PowerLossFs fs;
  const auto file = Shell(fs).CreateSafe("wanted", "a");
  const auto other = Shell(fs).CreateSafe("other", "a");
  fs.FailNext(Step::kSync, "wanted", IOStatus::IOError("broken disk"));
  Shell::Append(*file, "b");
  EXPECT_TRUE(other->Sync({}, nullptr).ok());
  EXPECT_TRUE(file->Sync({}, nullptr).IsIOError());
  EXPECT_EQ(AfterLoss(fs, "wanted"), "a");
  EXPECT_TRUE(file->Sync({}, nullptr).ok());
  EXPECT_EQ(AfterLoss(fs, "wanted"), "ab");
  fs.FailNext(Step::kWrite, "", IOStatus::IOError("broken disk"), PowerLossFs::kForEver);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(other->Append("c", {}, nullptr).ok());
}

TEST(PowerLossFs, AFullDiskTakesAPartOfTheWrite) {
  PowerLossFs fs;
  const auto file = Shell(fs).Create("f");
  Shell::Append(*file, "12345");
  fs.SetCapacity(8);
  EXPECT_TRUE(file->Append("67890", {}, nullptr).IsNoSpace());
  EXPECT_EQ(ContentOf(fs, "/test/f"), "12345678");
  EXPECT_EQ(fs.used_bytes(), 8);
  fs.SetCapacity(100);
  Shell::Append(*file, "9");
  EXPECT_EQ(ContentOf(fs, "/test/f"), "123456789");
}

TEST(PowerLossFs, ALockIsHeldOnceAndNotAcrossAPowerLoss) {
  PowerLossFs fs;
  ::rocksdb::FileLock* lock = nullptr;
  ::rocksdb::FileLock* second = nullptr;
  ASSERT_TRUE(fs.LockFile("/test/LOCK", {}, &lock, nullptr).ok());
  EXPECT_FALSE(fs.LockFile("/test/LOCK", {}, &second, nullptr).ok());
  PowerLossFs after(fs.StrictImage());
  ASSERT_TRUE(after.LockFile("/test/LOCK", {}, &second, nullptr).ok());
  ASSERT_TRUE(after.UnlockFile(second, {}, nullptr).ok());
  ASSERT_TRUE(fs.UnlockFile(lock, {}, nullptr).ok());
  ASSERT_TRUE(fs.LockFile("/test/LOCK", {}, &lock, nullptr).ok());
  ASSERT_TRUE(fs.UnlockFile(lock, {}, nullptr).ok());
}

TEST(PowerLossFs, LinksShareTheFile) {
  PowerLossFs fs;
  Shell shell(fs);
  const auto file = shell.CreateSafe("a", "x");
  ASSERT_TRUE(fs.LinkFile("/test/a", "/test/b", {}, nullptr).ok());
  shell.SyncDirectory("/test");
  Shell::Append(*file, "y");
  uint64_t links = 0;
  bool same = false;
  PowerLossFs after(fs.StrictImage());
  for (PowerLossFs* each : {&fs, &after}) {
    ASSERT_TRUE(each->NumFileLinks("/test/a", {}, &links, nullptr).ok());
    EXPECT_EQ(links, 2);
    ASSERT_TRUE(each->AreFilesSame("/test/a", "/test/b", {}, &same, nullptr).ok());
    EXPECT_TRUE(same);
  }
  EXPECT_EQ(ContentOf(fs, "/test/b"), "xy");
}

TEST(PowerLossFs, AReusedFileIsOverwrittenFromItsStart) {
  PowerLossFs fs;
  Shell shell(fs);
  shell.CreateSafe("old", "0123456789");
  std::unique_ptr<::rocksdb::FSWritableFile> file;
  ASSERT_TRUE(fs.ReuseWritableFile("/test/new", "/test/old", {}, &file, nullptr).ok());
  Shell::Append(*file, "xy");
  EXPECT_EQ(ContentOf(fs, "/test/old"), kNone);
  EXPECT_EQ(ContentOf(fs, "/test/new"), "xy23456789");
  ASSERT_TRUE(fs.ReopenWritableFile("/test/new", {}, &file, nullptr).ok());
  Shell::Append(*file, "z");
  EXPECT_EQ(ContentOf(fs, "/test/new"), "xy23456789z");
}

// A RocksDB that is written to in numbered batches of three rows. Losing power is having an image.
class RocksOnPowerLossFs : public ::testing::Test {
 protected:
  static constexpr const char* kPath = "/test/db";

  struct Moment {
    PowerLossFs::Image image;
    int safe;  // batches that were known to be safe before the image was taken
  };

  static ::rocksdb::Options MakeOptions(::rocksdb::Env* env) {
    ::rocksdb::Options options;
    options.env = env;
    options.create_if_missing = true;
    options.write_buffer_size = 16 << 10;
    options.level0_file_num_compaction_trigger = 3;
    return options;
  }

  struct OpenDb {
    std::shared_ptr<PowerLossFs> fs;
    std::unique_ptr<::rocksdb::Env> env;
    std::unique_ptr<::rocksdb::DB> db;
  };
  static OpenDb Open(std::shared_ptr<PowerLossFs> fs) {
    OpenDb open{std::move(fs), nullptr, nullptr};
    open.env = ::rocksdb::NewCompositeEnv(open.fs);
    ::rocksdb::DB* db = nullptr;
    const auto status = ::rocksdb::DB::Open(MakeOptions(open.env.get()), kPath, &db);
    EXPECT_TRUE(status.ok()) << status.ToString();
    open.db.reset(db);
    return open;
  }

  static ::rocksdb::Status WriteBatch(::rocksdb::DB& db, int number, bool sync) {
    ::rocksdb::WriteBatch batch;
    const std::string name = std::to_string(number);
    for (const char* row : {"a", "b", "c"}) batch.Put(row + name, std::string(300, 'v') + name);
    batch.Put("last", name);
    ::rocksdb::WriteOptions options;
    options.sync = sync;
    return db.Write(options, &batch);
  }

  // The batches that are there. Each must be whole.
  static std::set<int> Batches(::rocksdb::DB& db) {
    std::map<int, int> rows;
    std::string last;
    std::unique_ptr<::rocksdb::Iterator> it(db.NewIterator({}));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      if (it->key() == "last") {
        last = it->value().ToString();
        continue;
      }
      const std::string name = it->key().ToString().substr(1);
      EXPECT_EQ(it->value().ToString(), std::string(300, 'v') + name);
      ++rows[std::stoi(name)];
    }
    EXPECT_TRUE(it->status().ok());
    std::set<int> batches;
    for (const auto& [number, count] : rows) {
      EXPECT_EQ(count, 3) << "rows of batch " << number;
      batches.insert(number);
    }
    EXPECT_EQ(last, batches.empty() ? "" : std::to_string(*batches.rbegin()));
    return batches;
  }
  // How many batches there are before the first that is missing.
  static int CountBatches(::rocksdb::DB& db) {
    const std::set<int> batches = Batches(db);
    int count = 0;
    while (batches.contains(count + 1)) ++count;
    return count;
  }

  // Runs the work with a hook that keeps images of some moments.
  template <class Take, class Work>
  std::vector<Moment> Record(Take take, Work work) {
    auto fs = std::make_shared<PowerLossFs>();
    EXPECT_TRUE(fs->CreateDir(kPath, {}, nullptr).ok());
    Shell(*fs).SyncDirectory("/test");
    std::mutex mutex;
    std::vector<Moment> moments;
    std::atomic<int> safe{0};
    fs->SetHook([&](const PowerLossFs::Operation&) {
      const int safe_before = safe;
      const std::lock_guard lock(mutex);
      take(*fs, safe_before, moments);
    });
    OpenDb open = Open(fs);
    work(*open.db, safe);
    open.db.reset();
    fs->SetHook(nullptr);
    return moments;
  }

  static void ExpectNothingSafeIsLost(const std::vector<Moment>& moments) {
    for (size_t i = 0; i < moments.size(); ++i) {
      const OpenDb open = Open(std::make_shared<PowerLossFs>(moments[i].image));
      ASSERT_NE(open.db, nullptr);
      ASSERT_GE(CountBatches(*open.db), moments[i].safe) << "moment " << i;
      if (HasFailure()) return;
    }
  }

  static void WriteSynced(::rocksdb::DB& db, std::atomic<int>& safe) {
    for (int number = 1; number <= 60; ++number) {
      ASSERT_TRUE(WriteBatch(db, number, true).ok());
      safe = number;
    }
  }
};

TEST_F(RocksOnPowerLossFs, SyncedWritesSurviveAPowerLossAtEveryStep) {
  const auto moments = Record(
      [](PowerLossFs& fs, int safe, std::vector<Moment>& taken) {
        taken.push_back({fs.StrictImage(), safe});
      },
      WriteSynced);
  EXPECT_GT(moments.size(), 150);
  EXPECT_EQ(moments.back().safe, 60);
  ExpectNothingSafeIsLost(moments);
}

TEST_F(RocksOnPowerLossFs, SyncedWritesSurviveATornPowerLossAtEveryStep) {
  const auto moments = Record(
      [](PowerLossFs& fs, int safe, std::vector<Moment>& taken) {
        taken.push_back({fs.TornImage(taken.size()), safe});
      },
      WriteSynced);
  EXPECT_GT(moments.size(), 150);
  ExpectNothingSafeIsLost(moments);
}

// Not always from the end: when RocksDB goes on to a new log it does not sync the old one, so the
// end of the old log may be lost while the start of the new one survives.
TEST_F(RocksOnPowerLossFs, UnsyncedWritesVanishWholeOrNotAtAll) {
  const auto moments = Record(
      [](PowerLossFs& fs, int safe, std::vector<Moment>& taken) {
        taken.push_back(
            {taken.size() % 2 == 0 ? fs.StrictImage() : fs.TornImage(taken.size()), safe});
      },
      [](::rocksdb::DB& db, std::atomic<int>& safe) {
        for (int number = 1; number <= 100; ++number) {
          ASSERT_TRUE(WriteBatch(db, number, false).ok());
          if (number % 25 == 0) {
            ASSERT_TRUE(db.SyncWAL().ok());
            safe = number;
          }
        }
      });
  EXPECT_GT(moments.size(), 100);
  ExpectNothingSafeIsLost(moments);
}

TEST_F(RocksOnPowerLossFs, UnsyncedWritesDoVanish) {
  auto fs = std::make_shared<PowerLossFs>();
  const OpenDb open = Open(fs);
  Shell(*fs).SyncDirectory("/test");
  ASSERT_TRUE(WriteBatch(*open.db, 1, true).ok());
  ASSERT_TRUE(WriteBatch(*open.db, 2, false).ok());
  EXPECT_EQ(CountBatches(*open.db), 2);
  const OpenDb after = Open(std::make_shared<PowerLossFs>(fs->StrictImage()));
  EXPECT_EQ(CountBatches(*after.db), 1);
}

TEST_F(RocksOnPowerLossFs, AFailedSyncIsReportedAndNothingBeforeItIsLost) {
  auto fs = std::make_shared<PowerLossFs>();
  {
    const OpenDb open = Open(fs);
    Shell(*fs).SyncDirectory("/test");
    ASSERT_TRUE(WriteBatch(*open.db, 1, true).ok());
    fs->FailNext(Step::kSync, ".log", IOStatus::IOError("broken disk"));
    EXPECT_FALSE(WriteBatch(*open.db, 2, true).ok());
  }
  const OpenDb after = Open(std::make_shared<PowerLossFs>(fs->StrictImage()));
  EXPECT_GE(CountBatches(*after.db), 1);
}

TEST_F(RocksOnPowerLossFs, AFullDiskIsReportedAndNothingBeforeItIsLost) {
  auto fs = std::make_shared<PowerLossFs>();
  int acknowledged = 0;
  {
    const OpenDb open = Open(fs);
    Shell(*fs).SyncDirectory("/test");
    fs->SetCapacity(fs->used_bytes() + 10000);
    while (acknowledged < 100 && WriteBatch(*open.db, acknowledged + 1, true).ok()) ++acknowledged;
  }
  EXPECT_GT(acknowledged, 0);
  EXPECT_LT(acknowledged, 100);
  const OpenDb after = Open(std::make_shared<PowerLossFs>(fs->StrictImage()));
  EXPECT_GE(CountBatches(*after.db), acknowledged);
}

}  // namespace
}  // namespace cairn::testing
