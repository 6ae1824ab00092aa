#include "store/rocks/log_split.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "store/rocks/log_format.h"
#include "store/testing/fixture.h"

namespace cairn::store::rocks {
namespace {

namespace fs = std::filesystem;

constexpr LogSplitOptions kSmall{.largest_write_bytes = 100'000, .piece_bytes = 10'000};

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void WriteFile(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// The most bytes that a reader of the log has to gather for one write, whole or torn.
size_t LargestWrite(const std::string& log) {
  size_t largest = 0;
  size_t write = 0;
  for (size_t block = 0; block < log.size(); block += log_format::kBlockBytes) {
    const BytesView bytes = BytesView(log).substr(block, log_format::kBlockBytes);
    for (size_t at = 0; at + log_format::kHeaderBytes <= bytes.size();) {
      const size_t length = log_format::LittleEndian<uint16_t>(bytes.substr(at + 4));
      const auto type = static_cast<uint8_t>(bytes[at + 6]);
      if (type == 0) break;
      if (type == log_format::kFull || type == log_format::kFirst) write = 0;
      write += length;
      largest = std::max(largest, write);
      at += log_format::kHeaderBytes + length;
    }
  }
  return largest;
}

class LogSplitTest : public store::testing::StoreTest {
 protected:
  void SetUp() override { CAIRN_TEST_ROCKS_ONLY("log files"); }

  fs::path db() const { return fs::path(options_.directory) / "db"; }
  fs::path NewestLog() const {
    fs::path newest;
    for (const auto& entry : fs::directory_iterator(db())) {
      if (entry.path().extension() == ".log") newest = std::max(newest, entry.path());
    }
    return newest;
  }

  // A write of about 400 KB: rows of all sizes, also one larger than a piece, and deletions.
  void WriteMuch() {
    Run(Scopes::Exclusive(), [](Transaction& txn) -> Result<void> {
      txn.DeleteRange({Space::kData, "gone", "gonf"});
      for (int i = 0; i < 1000; ++i) {
        const std::string name = "row" + std::to_string(i);
        const auto letter = static_cast<char>('a' + i % 26);
        txn.Put({Space::kData, name}, Bytes(static_cast<size_t>(i) * 7 % 500, letter));
        if (i % 3 == 0) txn.Put({Space::kJobs, name}, Bytes(200, letter));
        if (i % 5 == 0) txn.Delete({Space::kData, "old" + std::to_string(i)});
      }
      txn.Put({Space::kData, "large"}, Bytes(50'000, 'l'));
      txn.Add({Space::kJobs, "counter"}, 7);
      txn.AppendEvent({Space::kEvents, "e"}, "event");
      return {};
    });
  }
  void WriteSomeAround(const std::function<void()>& middle) {
    for (int i = 0; i < 1000; ++i) Put("old" + std::to_string(i), "old");
    Put("gone1", "x");
    middle();
    for (int i = 0; i < 50; ++i) Put("after" + std::to_string(i), Bytes(1000, 'x'));
  }

  std::map<Space, store::testing::Rows> Content() {
    std::map<Space, store::testing::Rows> content;
    for (const Space space : kAllSpaces) content[space] = ScanAll(Range::All(space));
    return content;
  }
  void Split(const LogSplitOptions& options = kSmall) {
    SplitLargeWrites(*::rocksdb::FileSystem::Default(), db(), Log::Silent(), options);
  }
};

TEST_F(LogSplitTest, LargeWriteBecomesSmallOnesWithTheSameRows) {
  WriteSomeAround([this] { WriteMuch(); });
  const auto content = Content();
  store_.reset();
  const fs::path log = NewestLog();
  const size_t size = fs::file_size(log);
  ASSERT_GT(LargestWrite(ReadFile(log)), 300'000u);

  Split();
  // A piece ends with the operation that fills it, and one row has 50,000 bytes.
  EXPECT_LT(LargestWrite(ReadFile(log)), 62'000u);
  EXPECT_GE(fs::file_size(log), size);
  Open();
  EXPECT_EQ(Content(), content);
  Put("more", "1");
  Reopen();
  EXPECT_EQ(Get("more"), "1");
}

TEST_F(LogSplitTest, CommitNumbersGoOn) {
  WriteMuch();
  const Commit last = Put("k", "v");
  store_.reset();
  Split();
  Open();
  EXPECT_EQ(store_->stats().last_commit, last.number);
  EXPECT_GT(Put("k", "w"), last);
}

TEST_F(LogSplitTest, LogWithoutALargeWriteIsLeftAlone) {
  WriteSomeAround([this] { WriteMuch(); });
  store_.reset();
  const fs::path log = NewestLog();
  const std::string before = ReadFile(log);
  Split({.largest_write_bytes = 1'000'000, .piece_bytes = 1'000});
  EXPECT_EQ(ReadFile(log), before);
}

TEST_F(LogSplitTest, TornLargeWriteIsNotGathered) {
  Put("before", "1");
  WriteMuch();
  store_.reset();
  const fs::path log = NewestLog();
  std::string text = ReadFile(log);
  text.resize(text.size() - 100'000);
  WriteFile(log, text + std::string(200'000, '\0'));
  Split();
  EXPECT_LT(LargestWrite(ReadFile(log)), 10'000u);
  EXPECT_EQ(fs::file_size(log), text.size() + 200'000);
  Open();
  EXPECT_EQ(Get("before"), "1");
  EXPECT_EQ(Get("row1"), std::nullopt);
  EXPECT_EQ(Get("large"), std::nullopt);
}

// What RocksDB takes for the end of the log stays its end.
TEST_F(LogSplitTest, NothingIsReplayedBehindDamage) {
  WriteSomeAround([this] { WriteMuch(); });
  store_.reset();
  const fs::path log = NewestLog();
  std::string text = ReadFile(log);
  const size_t damaged = text.find("after20") + 500;
  text[damaged] = static_cast<char>(text[damaged] ^ 1);
  WriteFile(log, text);

  fs::copy(options_.directory, dir_ / "unsplit", fs::copy_options::recursive);
  Split();
  Open();
  const auto split = Content();
  options_.directory = dir_ / "unsplit";
  Reopen();
  EXPECT_EQ(Content(), split);
  EXPECT_EQ(Get("after19"), Bytes(1000, 'x'));
  EXPECT_EQ(Get("after20"), std::nullopt);
  EXPECT_EQ(Get("after49"), std::nullopt);
}

TEST_F(LogSplitTest, LeftoversOfACrashAreRemoved) {
  Put("k", "v");
  store_.reset();
  WriteFile(db() / "000009.log.split", "half");
  Open();
  EXPECT_FALSE(fs::exists(db() / "000009.log.split"));
  EXPECT_EQ(Get("k"), "v");
}

// Has no room for new files once they hold more than a few bytes.
class FullDisk final : public ::rocksdb::FileSystemWrapper {
 public:
  FullDisk() : FileSystemWrapper(::rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "FullDisk"; }
  ::rocksdb::IOStatus NewWritableFile(const std::string& name,
                                      const ::rocksdb::FileOptions& options,
                                      std::unique_ptr<::rocksdb::FSWritableFile>* result,
                                      ::rocksdb::IODebugContext* debug) override {
    std::unique_ptr<::rocksdb::FSWritableFile> file;
    auto status = target()->NewWritableFile(name, options, &file, debug);
    if (status.ok()) *result = std::make_unique<FullFile>(std::move(file));
    return status;
  }

 private:
  class FullFile final : public ::rocksdb::FSWritableFileOwnerWrapper {
   public:
    using FSWritableFileOwnerWrapper::Append;
    using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;
    ::rocksdb::IOStatus Append(const ::rocksdb::Slice&, const ::rocksdb::IOOptions&,
                               ::rocksdb::IODebugContext*) override {
      return ::rocksdb::IOStatus::NoSpace("full");
    }
  };
};

TEST_F(LogSplitTest, WithoutRoomTheLogStaysAsItWas) {
  WriteMuch();
  const auto content = Content();
  store_.reset();
  const fs::path log = NewestLog();
  const std::string before = ReadFile(log);
  FullDisk disk;
  SplitLargeWrites(disk, db(), Log::Silent(), kSmall);
  EXPECT_EQ(ReadFile(log), before);
  EXPECT_FALSE(fs::exists(log.string() + ".split"));
  Open();
  EXPECT_EQ(Content(), content);
}

}  // namespace
}  // namespace cairn::store::rocks
