// The real binary on a real file system that is full, or has turned read-only: it lives on, answers
// reads, says what is wrong, and goes on by itself once there is room.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/await.h"
#include "tests/support/server.h"
#include "tests/support/small_disk.h"
#include "tests/support/test_store.h"

namespace cairn {
namespace {

using testing::Server;
using testing::SmallDisk;

constexpr int kDiskMegabytes = 96;
const std::string kValue(20'000, 'v');

class SmallDiskTest : public ::testing::TestWithParam<SmallDisk::Kind> {
 protected:
  void SetUp() override {
    if (!testing::OnRocks()) GTEST_SKIP() << "the embedded engine's disk";
    if (disk_.failure()) GTEST_SKIP() << *disk_.failure();
  }

  Server Start() {
    return Server::MustStart({.data = disk_ / "data", .flags = {"--memory", "64MiB"}});
  }
  static std::string Key(uint64_t i) { return "k" + std::to_string(i); }
  std::string Set(net::RespClient& client, uint64_t i) {
    const auto reply = client.Command({"SET", Key(i), kValue});
    return reply.ok() ? reply->ToString() : "no reply: " + reply.error().message;
  }

  // SETs until one is refused; the reply to that.
  std::string Fill(Server& server) {
    Result<net::RespClient> client = server.Connect();
    for (;;) {
      const uint64_t i = next_++;
      std::string reply = Set(*client, i);
      if (reply != "OK") {
        refused_.insert(i);
        return reply;
      }
      acknowledged_.insert(i);
    }
  }

  // Everything acknowledged is there, and nothing that was refused.
  void Check(Server& server) {
    Result<net::RespClient> client = server.Connect();
    for (const uint64_t i : acknowledged_) {
      ASSERT_EQ(client->Command({"STRLEN", Key(i)})->ToString(),
                "(integer) " + std::to_string(kValue.size()))
          << Key(i);
    }
    for (const uint64_t i : refused_) {
      ASSERT_EQ(client->Command({"EXISTS", Key(i)})->ToString(), "(integer) 0") << Key(i);
    }
  }

  void ExpectRefusing(Server& server, const std::string& why) {
    EXPECT_TRUE(server.process().running()) << server.process().err();
    const auto ready = server.Http().Get("/readyz");
    ASSERT_TRUE(ready.ok());
    EXPECT_EQ(ready->status, 503);
    EXPECT_NE(ready->body.find(why), std::string::npos) << ready->body;
    EXPECT_EQ(server.Http().Get("/healthz")->status, 200);
    Result<net::RespClient> client = server.Connect();
    EXPECT_NE(Set(*client, next_++).find("IOERR writes are stopped"), std::string::npos);
  }

  static void WaitUntilReady(Server& server) {
    cairn::testing::Await("the server to be ready", [&] {
      return !server.process().running() || server.Http().Get("/readyz")->status == 200;
    });
    ASSERT_TRUE(server.process().running()) << server.process().err();
  }

  SmallDisk disk_{GetParam(), kDiskMegabytes};
  uint64_t next_ = 0;
  std::set<uint64_t> acknowledged_;
  std::set<uint64_t> refused_;
};

TEST_P(SmallDiskTest, FullDiskRefusesWritesAndTheyGoOnByThemselves) {
  disk_.Take("others", 40 << 20);
  Server server = Start();
  for (int round = 0; round < 2; ++round) {
    const std::string reply = Fill(server);
    EXPECT_NE(reply.find("IOERR writes are stopped until the disk has room"), std::string::npos)
        << reply;
    ExpectRefusing(server, "No space left on device");
    Check(server);

    disk_.GiveBack("others");
    WaitUntilReady(server);
    Result<net::RespClient> client = server.Connect();
    ASSERT_EQ(Set(*client, next_), "OK");
    acknowledged_.insert(next_++);
    Check(server);
    if (round == 0) disk_.Take("others", 20 << 20);
  }
  server.process().Kill();
  server = Start();
  Check(server);
  EXPECT_TRUE(server.Stop().ok());
}

TEST_P(SmallDiskTest, StartOnAFullDiskServesReads) {
  disk_.Take("others", 40 << 20);
  for (const bool killed : {true, false}) {
    Server server = Start();
    Fill(server);
    if (killed) {
      server.process().Kill();
    } else {
      EXPECT_TRUE(server.Stop().ok());
    }
    disk_.TakeAll("rest");
    // What the store keeps for a start may leave room for some more writes.
    server = Start();
    Check(server);
    Fill(server);
    ExpectRefusing(server, "No space left on device");
    Check(server);
    disk_.GiveBack("rest");
    disk_.GiveBack("others");
    WaitUntilReady(server);
    Result<net::RespClient> client = server.Connect();
    ASSERT_EQ(Set(*client, next_), "OK");
    acknowledged_.insert(next_++);
    EXPECT_TRUE(server.Stop().ok());
    disk_.Take("others", 20 << 20);
  }
}

TEST_P(SmallDiskTest, FileSystemThatTurnsReadOnlyStopsWritesUntilARestart) {
  if (GetParam() != SmallDisk::Kind::kExt4) GTEST_SKIP() << "ext4 knows remount,abort";
  Server server = Start();
  Result<net::RespClient> client = server.Connect();
  for (uint64_t i = 0; i < 200; ++i) {
    ASSERT_EQ(Set(*client, i), "OK");
    acknowledged_.insert(i);
  }
  next_ = 200;
  ASSERT_TRUE(disk_.TurnReadOnly());
  const std::string reply = Fill(server);
  refused_.clear();  // whether it reached the disk is not known
  EXPECT_NE(reply.find("IOERR writes are stopped"), std::string::npos) << reply;
  ExpectRefusing(server, "writes are stopped");
  Check(server);
  server.Stop();

  ASSERT_TRUE(disk_.MountAgain()) << *disk_.failure();
  server = Start();
  Check(server);
  EXPECT_EQ(server.Http().Get("/readyz")->status, 200);
  EXPECT_TRUE(server.Stop().ok());
}

INSTANTIATE_TEST_SUITE_P(FileSystems, SmallDiskTest,
                         ::testing::Values(SmallDisk::Kind::kTmpfs, SmallDisk::Kind::kExt4),
                         [](const auto& info) {
                           return info.param == SmallDisk::Kind::kTmpfs ? "Tmpfs" : "Ext4";
                         });

}  // namespace
}  // namespace cairn
