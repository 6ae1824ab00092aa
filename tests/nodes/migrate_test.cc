// `cairn migrate`, from a data directory to PostgreSQL and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "tests/support/postgres_cluster.h"
#include "tests/support/process.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class MigrateTest : public ::testing::Test {
 protected:
  static void TearDownTestSuite() { cluster_.reset(); }

  MigrateTest() {
    if (cluster_ == nullptr) {
      cluster_ = std::make_unique<PostgresCluster>(PostgresCluster::Options{});
    }
    schema_ = "copy" + std::to_string(++number_);
  }

  Server ServeDirectory(const std::string& data) { return Server::MustStart({.data = data}); }
  Server ServeDatabase() {
    return Server::MustStart({.data = directory_ / "unused",
                              .flags = {"--store", cluster_->url(), "--postgres-schema", schema_}});
  }
  Finished Migrate(const std::string& from, const std::string& to,
                   std::vector<std::string> flags = {}) {
    std::vector<std::string> args = {"migrate",           "--from", from, "--to", to,
                                     "--postgres-schema", schema_};
    args.insert(args.end(), flags.begin(), flags.end());
    return RunCairn(args);
  }

  // One value of each kind that is stored in its own way.
  static void Fill(const Server& server) {
    for (int i = 0; i < 1500; ++i) {
      ASSERT_EQ(server.Command({"SET", "key:" + std::to_string(i), std::to_string(i)}), "OK");
      if (i % 100 == 0) server.Command({"SET", "brief:" + std::to_string(i), "x", "EX", "100000"});
    }
    server.Command({"SET", "large", std::string(100'000, 'x')});
    server.Command({"HSET", "hash", "a", "1", "b", "2"});
    server.Command({"ZADD", "board", "1", "ann", "2", "bob"});
    server.Command({"XADD", "stream", "5-1", "f", "v"});
    server.Command({"ACL", "SETUSER", "ann", "on", ">secret", "+get", "~*"});
  }
  static void ExpectFilled(const Server& server) {
    EXPECT_EQ(server.Command({"DBSIZE"}), "(integer) 1519");
    EXPECT_EQ(server.Command({"GET", "key:1234"}), "\"1234\"");
    EXPECT_EQ(server.Command({"STRLEN", "large"}), "(integer) 100000");
    EXPECT_EQ(server.Command({"HMGET", "hash", "a", "b"}), R"(["1", "2"])");
    EXPECT_EQ(server.Command({"ZRANGE", "board", "0", "-1"}), R"(["ann", "bob"])");
    EXPECT_EQ(server.Command({"XLEN", "stream"}), "(integer) 1");
    EXPECT_EQ(server.Command({"AUTH", "ann", "secret"}), "OK");
    EXPECT_THAT(server.Command({"INFO", "keyspace"}), HasSubstr("keys=1519,expires=15"));
  }

  static std::unique_ptr<PostgresCluster> cluster_;
  static int number_;
  TempDirectory directory_;
  std::string schema_;
};

std::unique_ptr<PostgresCluster> MigrateTest::cluster_;
int MigrateTest::number_ = 0;

TEST_F(MigrateTest, EverythingGoesToPostgresAndBack) {
  {
    Server server = ServeDirectory(directory_ / "data");
    Fill(server);
    EXPECT_TRUE(server.Stop().ok());
  }
  const Finished there = Migrate(directory_ / "data", cluster_->url());
  ASSERT_EQ(there.status.code, 0) << there.err;
  EXPECT_THAT(there.out, HasSubstr("Copied and compared"));
  {
    Server server = ServeDatabase();
    ExpectFilled(server);
    // New values have names that no copied one has.
    EXPECT_EQ(server.Command({"RPUSH", "list", "a", "b"}), "(integer) 2");
    EXPECT_EQ(server.Command({"HMGET", "hash", "a", "b"}), R"(["1", "2"])");
    EXPECT_EQ(server.Command({"DEL", "list"}), "(integer) 1");
    EXPECT_TRUE(server.Stop().ok());
  }
  const Finished back = Migrate(cluster_->url(), directory_ / "back");
  ASSERT_EQ(back.status.code, 0) << back.err;
  Server server = ServeDirectory(directory_ / "back");
  ExpectFilled(server);
  EXPECT_EQ(server.Command({"RPUSH", "list", "a"}), "(integer) 1");
  EXPECT_EQ(server.Command({"HMGET", "hash", "a", "b"}), R"(["1", "2"])");
}

TEST_F(MigrateTest, ServedDirectoryIsCopiedAndTheRestFollowsWhenItIsStopped) {
  Server server = ServeDirectory(directory_ / "data");
  Fill(server);
  const std::string http = net::ToString(server.http());
  const Finished first = Migrate(directory_ / "data", cluster_->url(), {"--http", http});
  ASSERT_EQ(first.status.code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("The source is in use"));

  const Finished refused = RunCairn({"serve", "--store", cluster_->url(), "--postgres-schema",
                                     schema_, "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0"});
  EXPECT_EQ(refused.status.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("unfinished copy"));
  const Finished examined = RunCairn({"doctor", "--store", cluster_->url(), "--postgres-schema",
                                      schema_, "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0"});
  EXPECT_EQ(examined.status.code, 1);
  EXPECT_THAT(examined.out, HasSubstr("unfinished copy")) << "doctor has to find it too";

  server.Command({"SET", "late", "1"});
  server.Command({"DEL", "hash"});
  EXPECT_TRUE(server.Stop().ok());
  const Finished second = Migrate(directory_ / "data", cluster_->url(), {"--json"});
  ASSERT_EQ(second.status.code, 0) << second.err;
  EXPECT_THAT(second.out, AllOf(HasSubstr("\"finished\":true"), HasSubstr("\"rows\":")));
  Server copy = ServeDatabase();
  EXPECT_EQ(copy.Command({"GET", "late"}), "\"1\"");
  EXPECT_EQ(copy.Command({"EXISTS", "hash"}), "(integer) 0");
  EXPECT_EQ(copy.Command({"DBSIZE"}), "(integer) 1519");
}

TEST_F(MigrateTest, WhatCannotBeCopiedIsRefusedByName) {
  const Finished missing = Migrate(directory_ / "nothing", cluster_->url());
  EXPECT_EQ(missing.status.code, 1);
  EXPECT_THAT(missing.err, HasSubstr("holds nothing to copy"));
  {
    Server server = ServeDirectory(directory_ / "data");
    server.Command({"SET", "k", "v"});
    EXPECT_TRUE(server.Stop().ok());
    Server other = ServeDatabase();
    other.Command({"SET", "other", "v"});
    EXPECT_TRUE(other.Stop().ok());
  }
  const Finished full = Migrate(directory_ / "data", cluster_->url());
  EXPECT_EQ(full.status.code, 1);
  EXPECT_THAT(full.err, HasSubstr("holds data already"));
  const Finished same = Migrate(directory_ / "data", directory_ / "data");
  EXPECT_EQ(same.status.code, 1);
  EXPECT_THAT(same.err, HasSubstr("the same store"));
}

}  // namespace
}  // namespace cairn::testing
