#include "doors/audit_log.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "store/rocks/open.h"
#include "tests/support/temp_directory.h"

namespace cairn::doors {
namespace {

TEST(AuditKeyTest, RowsStandInTheOrderOfTimeAndThenOfNumbers) {
  EXPECT_EQ(EncodeAuditKey({0x0102030405060708}, 9),
            Bytes("audit/\x01\x02\x03\x04\x05\x06\x07\x08\0\0\0\0\0\0\0\x09", 22));
  EXPECT_LT(EncodeAuditKey({255}, 300), EncodeAuditKey({256}, 1));
  EXPECT_LT(EncodeAuditKey({256}, 255), EncodeAuditKey({256}, 256));
}

TEST(AuditKeyTest, WhatIsNoRowIsRefused) {
  const Bytes key = EncodeAuditKey({7}, 8);
  EXPECT_TRUE(DecodeAuditRow(key, "{}").ok());
  for (size_t size = 0; size < key.size(); ++size) {
    EXPECT_FALSE(DecodeAuditRow(BytesView(key).substr(0, size), "{}").ok()) << size;
  }
  EXPECT_FALSE(DecodeAuditRow(key + "x", "{}").ok());
  for (const char* value : {"", "{", "[]", "1"}) EXPECT_FALSE(DecodeAuditRow(key, value).ok());
}

class AuditLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store::rocks::Options options;
    options.directory = directory_ / "data";
    options.memory = store::rocks::MemoryBudget::FromTotal(64 << 20);
    auto store = store::rocks::Open(options, clock_, Log::Silent());
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = *std::move(store);
  }

  void Append(AuditLog& log, const std::string& path) {
    const auto done = store_->Run({}, [&](store::Transaction& transaction) -> Result<void> {
      log.Append(transaction, {.principal = "p", .role = "r", .method = "POST", .path = path});
      return {};
    });
    ASSERT_TRUE(done.ok());
  }

  std::vector<std::string> Paths(std::optional<Timestamp> since = {},
                                 std::optional<Timestamp> until = {}) {
    std::vector<std::string> paths;
    const auto snapshot = store_->Read();
    EXPECT_TRUE(AuditLog::Read(**snapshot, since, until, [&](const AuditRow& row) {
                  paths.push_back(row.entry.path);
                  return true;
                }).ok());
    return paths;
  }
  using Names = std::vector<std::string>;

  testing::TempDirectory directory_;
  ManualClock clock_;
  std::unique_ptr<store::Store> store_;
  ThreadPool pool_{{.name = "test", .threads = 1}};
};

TEST_F(AuditLogTest, RowsAreReadNewestFirstWithinATime) {
  AuditLog log(*store_, pool_);
  Append(log, "a");
  clock_.AdvanceMillis(10);
  const Timestamp middle = clock_.Now();
  Append(log, "b");
  clock_.AdvanceMillis(10);
  Append(log, "c");
  EXPECT_EQ(Paths(), (Names{"c", "b", "a"}));
  EXPECT_EQ(Paths(middle), (Names{"c", "b"}));
  EXPECT_EQ(Paths({}, middle), (Names{"a"}));
}

TEST_F(AuditLogTest, AnyBytesAreKeptUpToALimit) {
  AuditLog log(*store_, pool_);
  Append(log, "\xff\"\n");
  std::string cut;
  while (cut.size() < 1'023) cut.push_back('x');
  cut += "\xc3";
  Append(log, cut + "\xa4");
  const std::vector<std::string> paths = Paths();
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_EQ(paths[0], cut);
  EXPECT_EQ(paths[1], "\xff\"\n");
}

TEST_F(AuditLogTest, TheLogIsBoundedByNumberAndByAge) {
  AuditLog log(*store_, pool_, {.rows = 3, .kept_us = 1'000'000, .trim_every = 1'000});
  for (const char* path : {"a", "b", "c", "d", "e"}) Append(log, path);
  ASSERT_TRUE(log.Trim().ok());
  EXPECT_EQ(Paths(), (Names{"e", "d", "c"}));
  clock_.AdvanceMillis(1'001);
  Append(log, "f");
  ASSERT_TRUE(log.Trim().ok());
  EXPECT_EQ(Paths(), (Names{"f"}));
}

TEST_F(AuditLogTest, ItTrimsItselfNowAndThen) {
  AuditLog log(*store_, pool_, {.rows = 2, .kept_us = kAuditKeptUs, .trim_every = 5});
  for (const char* path : {"a", "b", "c", "d", "e"}) Append(log, path);
  pool_.Stop();  // after what it was given
  EXPECT_EQ(Paths(), (Names{"e", "d"}));
}

}  // namespace
}  // namespace cairn::doors
