#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <filesystem>
#include <fstream>

#include "tests/support/process.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class DoctorTest : public ::testing::Test {
 protected:
  std::string data() const { return directory_ / "data"; }

  // Ports of the system's choice: whatever else runs on the machine does not matter.
  Finished Doctor(std::vector<std::string> flags) {
    std::vector<std::string> args = {"doctor",      "--json", "--resp",
                                     "127.0.0.1:0", "--http", "127.0.0.1:0"};
    args.insert(args.end(), flags.begin(), flags.end());
    return RunCairn(args);
  }

  // The text of the first finding of `check` at `level`; empty if there is none.
  static std::string Find(const Finished& finished, std::string_view check,
                          std::string_view level) {
    const boost::json::value report = boost::json::parse(finished.out);
    for (const auto& finding : report.at("findings").as_array()) {
      if (finding.at("check") == boost::json::string(check) &&
          finding.at("level") == boost::json::string(level)) {
        return std::string(finding.at("text").as_string());
      }
    }
    return "";
  }

  Server Serve() { return Server::MustStart({.data = data()}); }

  TempDirectory directory_;
};

TEST_F(DoctorTest, FindsNothingWrongBeforeTheFirstStart) {
  const Finished finished = Doctor({"--data", data()});
  EXPECT_EQ(finished.status.code, 0) << finished.out;
  EXPECT_THAT(Find(finished, "data directory", "ok"), HasSubstr("does not exist yet"));
  EXPECT_FALSE(fs::exists(data()));
  EXPECT_EQ(boost::json::parse(finished.out).at("ok"), true);
}

TEST_F(DoctorTest, MeasuresTheDisk) {
  const Finished finished = Doctor({"--data", data()});
  const std::string ok = Find(finished, "disk sync", "ok");
  const std::string warning = Find(finished, "disk sync", "warning");
  EXPECT_THAT(ok + warning, HasSubstr("ms to make a write durable"));
}

TEST_F(DoctorTest, ForPeopleItIsAListWithAdviceAndASummary) {
  const Finished finished = RunCairn({"doctor", "--data", data(), "--resp", "127.0.0.1:0", "--http",
                                      "127.0.0.1:0", "--durability", "never"});
  EXPECT_EQ(finished.status.code, 1);
  EXPECT_THAT(finished.out, AllOf(HasSubstr("problem  configuration"), HasSubstr("'never'"),
                                  HasSubstr("→"), HasSubstr("1 problem, ")));
}

TEST_F(DoctorTest, SeesAStoreAndThatAServerUsesIt) {
  Server server = Serve();
  const Finished busy = Doctor({"--data", data()});
  EXPECT_EQ(busy.status.code, 0) << busy.out;
  EXPECT_THAT(Find(busy, "data directory", "ok"),
              AllOf(HasSubstr("format 5"), HasSubstr("a server is using it now")));
  ASSERT_TRUE(server.Stop().ok());
  EXPECT_THAT(Find(Doctor({"--data", data()}), "data directory", "ok"),
              ::testing::Not(HasSubstr("using it now")));
}

TEST_F(DoctorTest, ReportsAPortThatIsTaken) {
  Server server = Serve();
  const std::string taken = net::ToString(server.resp());
  const Finished finished = RunCairn({"doctor", "--json", "--data", directory_ / "other", "--resp",
                                      taken, "--http", "127.0.0.1:0"});
  EXPECT_EQ(finished.status.code, 1);
  EXPECT_THAT(Find(finished, "listen", "problem"), HasSubstr(taken));
}

TEST_F(DoctorTest, ReportsADirectoryThatIsAFileOrHoldsSomethingElse) {
  const Finished file = Doctor({"--data", directory_.Write("file", "x")});
  EXPECT_EQ(file.status.code, 1);
  EXPECT_THAT(Find(file, "data directory", "problem"), HasSubstr("not a directory"));
  fs::create_directory(data());
  directory_.Write("data/letters.txt", "dear all");
  EXPECT_THAT(Find(Doctor({"--data", data()}), "data directory", "problem"),
              HasSubstr("no Cairn store"));
}

TEST_F(DoctorTest, ReportsANewerFormat) {
  ASSERT_TRUE(Serve().Stop().ok());
  std::string format = ReadWholeFile(data() + "/FORMAT");
  format.replace(format.find("format "), 8, "format 9");
  directory_.Write("data/FORMAT", format);
  const Finished finished = Doctor({"--data", data()});
  EXPECT_EQ(finished.status.code, 1);
  EXPECT_THAT(Find(finished, "data directory", "problem"), HasSubstr("version 9"));
}

TEST_F(DoctorTest, ReportsALostLogAsAStartDoes) {
  Server server = Serve();
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(server.Command({"SET", "k" + std::to_string(i), "v"}), "OK");
  }
  server.process().Kill();
  EXPECT_THAT(Find(Doctor({"--data", data()}), "log", "ok"), HasSubstr("is there"));

  fs::path newest;
  for (const auto& entry : fs::directory_iterator(data() + "/db")) {
    if (entry.path().extension() == ".log" && entry.path() > newest) newest = entry.path();
  }
  ASSERT_FALSE(newest.empty());
  fs::rename(newest, directory_ / "aside");
  const Finished finished = Doctor({"--data", data()});
  EXPECT_EQ(finished.status.code, 1);
  EXPECT_THAT(Find(finished, "log", "problem"), HasSubstr("was durable"));
  const Result<Server> refused = Server::Start({.data = data()});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("was durable"));

  fs::rename(directory_ / "aside", newest);
  server = Serve();
  EXPECT_EQ(server.Command({"GET", "k99"}), "\"v\"");
}

// What serve says when it refuses these flags, which doctor must say too.
class RefusedStartTest : public DoctorTest {
 protected:
  void ExpectRefused(const std::vector<std::string>& flags, std::string_view check) {
    std::vector<std::string> serve = {"serve", "--data", data()};
    serve.insert(serve.end(), flags.begin(), flags.end());
    const Finished refused = RunCairn(serve);
    EXPECT_EQ(refused.status.code, 1) << refused.err;
    const Finished examined = Examine(flags);
    EXPECT_EQ(examined.status.code, 1) << examined.out;
    const std::string found = Find(examined, check, "problem");
    ASSERT_FALSE(found.empty()) << examined.out;
    EXPECT_THAT(refused.err, HasSubstr(found));
  }
  Finished Examine(const std::vector<std::string>& flags) {
    std::vector<std::string> args = {"doctor", "--json", "--data", data()};
    args.insert(args.end(), flags.begin(), flags.end());
    return RunCairn(args);
  }

  const std::vector<std::string> loopback_ = {"--resp", "127.0.0.1:0", "--http", "127.0.0.1:0"};
  const std::vector<std::string> outward_ = {"--resp", "0.0.0.0:0", "--http", "127.0.0.1:0"};
};

// The keys that could make it right are in the store.
TEST_F(RefusedStartTest, ADoorThatIsOpenToEverybody) {
  EXPECT_EQ(Find(Examine(outward_), "admin", "problem").find("can be reached"),
            std::string("resp 0.0.0.0:0 ").size());
  ExpectRefused(outward_, "admin");
  {
    Server server = Serve();
    const auto made = server.Http().Post("/api/v1/auth/keys", R"({"name":"ann","role":"admin"})");
    ASSERT_TRUE(made.ok());
    ASSERT_EQ(made->status / 100, 2) << made->body;
    ASSERT_TRUE(server.Stop().ok());
  }
  const Finished closed = Examine(outward_);
  EXPECT_EQ(closed.status.code, 0) << closed.out;
  EXPECT_THAT(Find(closed, "exposure", "warning"), HasSubstr("a key crosses the network"));
}

TEST_F(RefusedStartTest, ACopyThatIsNotFinished) {
  Server source = Server::MustStart({.data = directory_ / "source"});
  ASSERT_EQ(source.Command({"SET", "k", "v"}), "OK");
  const Finished copied = RunCairn({"migrate", "--from", directory_ / "source", "--to", data(),
                                    "--http", net::ToString(source.http())});
  ASSERT_EQ(copied.status.code, 0) << copied.err;
  ExpectRefused(loopback_, "copy");
  ASSERT_TRUE(source.Stop().ok());
  ASSERT_EQ(RunCairn({"migrate", "--from", directory_ / "source", "--to", data()}).status.code, 0);
  EXPECT_EQ(Examine(loopback_).status.code, 0);
}

TEST_F(RefusedStartTest, AFileOfALayerThatCannotBeRead) {
  std::vector<std::string> flags = loopback_;
  flags.insert(flags.end(), {"--functions-secret-file", directory_ / "none"});
  ExpectRefused(flags, "functions");
}

TEST_F(DoctorTest, ReportsMoreMemoryThanThereIs) {
  const Finished finished = Doctor({"--data", data(), "--memory", "4TiB"});
  EXPECT_EQ(finished.status.code, 1);
  EXPECT_THAT(Find(finished, "memory", "problem"), HasSubstr("4.0 TiB"));
}

TEST_F(DoctorTest, ReportsTlsFilesThatCannotBeUsed) {
  const Finished finished = Doctor({"--data", data(), "--tls-cert", directory_ / "none.pem",
                                    "--tls-key", directory_ / "none.key"});
  EXPECT_EQ(finished.status.code, 1);
  EXPECT_THAT(Find(finished, "TLS", "problem"), HasSubstr("none.pem"));
}

TEST_F(DoctorTest, WarnsOfAnOpenDoorThatWasAllowed) {
  const Finished finished = RunCairn({"doctor", "--json", "--data", data(), "--resp", "0.0.0.0:0",
                                      "--http", "127.0.0.1:0", "--insecure"});
  EXPECT_EQ(finished.status.code, 0) << finished.out;
  EXPECT_THAT(Find(finished, "exposure", "warning"), HasSubstr("need no password"));
}

TEST_F(DoctorTest, VerifyReadsEverythingAndNamesADamagedFile) {
  Server server = Serve();
  ASSERT_EQ(server.Command({"SET", "k", std::string(100'000, 'v')}), "OK");
  ASSERT_TRUE(server.Stop().ok());
  // A backup holds its data in table files, which is where damage is looked for.
  ASSERT_EQ(RunCairn({"backup", "--data", data(), "--to", directory_ / "backup"}).status.code, 0);
  ASSERT_EQ(RunCairn({"restore", "--from", directory_ / "backup", "--data", directory_ / "copy"})
                .status.code,
            0);
  const Finished sound = Doctor({"--data", directory_ / "copy", "--verify"});
  EXPECT_EQ(sound.status.code, 0) << sound.out;
  EXPECT_THAT(Find(sound, "content", "ok"), HasSubstr("matches its checksums"));

  fs::path damaged;
  for (const auto& entry : fs::directory_iterator((directory_ / "copy") + "/db")) {
    if (entry.path().extension() != ".sst") continue;
    if (damaged.empty() || fs::file_size(entry.path()) > fs::file_size(damaged)) {
      damaged = entry.path();
    }
  }
  ASSERT_FALSE(damaged.empty());
  std::string bytes = ReadWholeFile(damaged.string());
  bytes[bytes.size() / 3] = static_cast<char>(bytes[bytes.size() / 3] ^ 1);
  std::ofstream(damaged, std::ios::binary) << bytes;
  const Finished broken = Doctor({"--data", directory_ / "copy", "--verify"});
  EXPECT_EQ(broken.status.code, 1);
  EXPECT_THAT(Find(broken, "content", "problem"), HasSubstr(damaged.filename().string()));
}

TEST_F(DoctorTest, VerifyOfADirectoryInUseSaysThatItCannot) {
  Server server = Serve();
  const Finished finished = Doctor({"--data", data(), "--verify"});
  EXPECT_EQ(finished.status.code, 1);
  EXPECT_THAT(Find(finished, "content", "problem"), HasSubstr("a server is using"));
}

}  // namespace
}  // namespace cairn::testing
