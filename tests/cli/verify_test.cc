#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "net/address.h"
#include "tests/support/process.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class VerifyCommandTest : public ::testing::Test {
 protected:
  std::string data() const { return directory_ / "data"; }
  Server Serve() { return Server::MustStart({.data = data()}); }
  Finished Verify(std::vector<std::string> flags) {
    flags.insert(flags.begin(), "verify");
    return RunCairn(flags);
  }

  // Jobs, an event with its seats, and Redis keys.
  static void Fill(Server& server) {
    server.Command({"SET", "greeting", "hello"});
    server.Command({"HSET", "hash", "a", "1"});
    server.Command({"JOB.ENQUEUE", "mail", "{}"});
    server.Command({"SEAT.CREATE", "hall",
                    R"({"sections":[{"name":"A","subsections":1,"rows":2,"cols":2,"price":1}]})"});
  }

  static std::vector<boost::json::value> Lines(const std::string& text) {
    std::vector<boost::json::value> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(boost::json::parse(line));
    return lines;
  }

  TempDirectory directory_;
};

TEST_F(VerifyCommandTest, ChecksTheLayersOfAStoreThatNobodyServes) {
  {
    Server server = Serve();
    Fill(server);
  }
  const Finished finished = Verify({"--data", data()});
  EXPECT_EQ(finished.status.code, 0) << finished.err;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("data: "), HasSubstr("jobs: "), HasSubstr("seats: "),
                                  HasSubstr("actors: "), HasSubstr("rows are sound.")));
}

TEST_F(VerifyCommandTest, AsksTheServerThatUsesTheStore) {
  Server server = Serve();
  Fill(server);
  const Finished refused = Verify({"--data", data()});
  EXPECT_EQ(refused.status.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("a server is using"), HasSubstr("--url")));
  EXPECT_THAT(refused.out, IsEmpty());
  const Finished asked = Verify({"--json", "--url", "http://" + net::ToString(server.http())});
  EXPECT_EQ(asked.status.code, 0) << asked.err;
  const std::vector<boost::json::value> lines = Lines(asked.out);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.front().at("layer"), "data");
  EXPECT_EQ(lines.back().at("sound"), true);
  EXPECT_GT(lines.back().at("rows").to_number<int64_t>(), 0);
}

TEST_F(VerifyCommandTest, TellsWhatIsWrong) {
  {
    Server server = Serve();
    Fill(server);
    // A seat that is sold to nobody: any client can write the bits.
    server.Command({"BITFIELD", "seats_bf:hall:A-1", "SET", "u2", "6", "2"});
  }
  const Finished finished = Verify({"--data", data()});
  EXPECT_EQ(finished.status.code, 1);
  EXPECT_THAT(finished.out, AllOf(HasSubstr("wrong  seats: "), HasSubstr("event hall")));
  const Finished lines = Verify({"--data", data(), "--json"});
  EXPECT_EQ(lines.status.code, 1);
  EXPECT_EQ(Lines(lines.out).back().at("sound"), false);
}

TEST_F(VerifyCommandTest, WithoutAStoreThereIsNothingToVerify) {
  const Finished finished = Verify({"--data", data()});
  EXPECT_EQ(finished.status.code, 1);
  EXPECT_THAT(finished.err, HasSubstr("holds no data to verify"));
  EXPECT_FALSE(std::filesystem::exists(data()));
  EXPECT_EQ(Verify({"--url", "nonsense"}).status.code, 1);
}

}  // namespace
}  // namespace cairn::testing
