// Large transactions under kill -9: what one script may write is bounded, and a log that holds more
// does not keep the next server from starting in little memory.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/server.h"
#include "tests/support/temp_directory.h"
#include "tests/support/test_store.h"

namespace cairn::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::string_view kSetMany =
    "for i = 1, tonumber(ARGV[1]) do redis.call('SET', 'k' .. i, string.rep('x', 1000000)) end "
    "return 'done'";

std::string SetMany(Server& server, int megabytes) {
  return server.Command({"EVAL", kSetMany, "0", std::to_string(megabytes)});
}

// The most memory that the process has held so far.
uint64_t PeakMiB(const Process& process) {
  std::ifstream status(fmt::format("/proc/{}/status", process.pid()));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) / 1024;
  }
  return 0;
}

uint64_t LargestLogBytes(const std::string& data) {
  uint64_t largest = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(data) / "db")) {
    if (entry.path().extension() == ".log") largest = std::max(largest, entry.file_size());
  }
  return largest;
}

TEST(LargeWriteTest, ScriptThatWritesTooMuchIsRefusedAndLeavesNothing) {
  const TempDirectory directory;
  const ServerOptions options{.data = directory / "data", .flags = {"--memory", "256MiB"}};
  Server server = Server::MustStart(options);
  EXPECT_THAT(SetMany(server, 1'500), HasSubstr("TOOLARGE"));
  EXPECT_THAT(SetMany(server, 1'500), HasSubstr("limits.transaction"));
  EXPECT_EQ(server.Command({"DBSIZE"}), "(integer) 0");
  EXPECT_EQ(SetMany(server, 50), "\"done\"");
  EXPECT_LT(PeakMiB(server.process()), 800U);
  server.process().Kill();

  Server again = Server::MustStart(options);
  EXPECT_EQ(again.Command({"DBSIZE"}), "(integer) 50");
  EXPECT_LT(PeakMiB(again.process()), 500U);
}

// Each command has the limit to itself.
TEST(LargeWriteTest, PipelineMayWriteMoreThanOneCommand) {
  const TempDirectory directory;
  Server server = Server::MustStart({.data = directory / "data", .flags = {"--memory", "256MiB"}});
  auto client = server.Connect();
  ASSERT_TRUE(client.ok());
  const std::string value(1'000'000, 'x');
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(client->Send({"SET", "k" + std::to_string(i), value}).ok());
  }
  for (int i = 0; i < 200; ++i) {
    const auto reply = client->Receive();
    ASSERT_TRUE(reply.ok()) << reply.error().message;
    EXPECT_EQ(reply->ToString(), "OK");
  }
}

TEST(LargeWriteTest, LogWithAHugeWriteIsReplayedInLittleMemory) {
  CAIRN_TEST_ROCKS_ONLY("log files");
  const TempDirectory directory;
  const std::string data = directory / "data";
  constexpr int kMegabytes = 500;
  {
    // As older versions wrote it. Nothing is written after it, so it stays in the log.
    Server generous = Server::MustStart(
        {.data = data, .flags = {"--memory", "1GiB", "--limits-transaction", "2GiB"}});
    EXPECT_EQ(SetMany(generous, kMegabytes), "\"done\"");
    generous.process().Kill();
  }
  ASSERT_GT(LargestLogBytes(data), kMegabytes * 1'000'000ULL);

  Server server = Server::MustStart({.data = data, .flags = {"--memory", "256MiB"}});
  // To replay it whole takes three times its size.
  EXPECT_LT(PeakMiB(server.process()), 450U);
  EXPECT_EQ(server.Command({"DBSIZE"}), fmt::format("(integer) {}", kMegabytes));
  EXPECT_EQ(server.Command({"STRLEN", fmt::format("k{}", kMegabytes)}), "(integer) 1000000");
  EXPECT_EQ(server.Command({"SET", "more", "1"}), "OK");
  EXPECT_TRUE(server.Stop().ok());
}

}  // namespace
}  // namespace cairn::testing
