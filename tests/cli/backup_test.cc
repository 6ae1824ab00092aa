#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
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

class BackupTest : public ::testing::Test {
 protected:
  std::string data() const { return directory_ / "data"; }
  std::string backup() const { return directory_ / "backup"; }
  std::string restored() const { return directory_ / "restored"; }

  Server Serve(const std::string& data, std::vector<std::string> flags = {}) const {
    flags.insert(flags.end(), {"--backup-directory", directory_.path()});
    return Server::MustStart({.data = data, .flags = std::move(flags)});
  }

  static std::string UrlOf(const Server& server) {
    return "http://" + net::ToString(server.http());
  }

  void ExpectRestoredValue(const std::string& value) {
    const Finished restore = RunCairn({"restore", "--from", backup(), "--data", restored()});
    ASSERT_EQ(restore.status.code, 0) << restore.err;
    EXPECT_EQ(Serve(restored()).Command({"GET", "k"}), value);
  }

  TempDirectory directory_;
};

TEST_F(BackupTest, OfARunningServerHoldsWhatWasAcknowledgedAndServesAfterRestore) {
  Server server = Serve(data());
  ASSERT_EQ(server.Command({"SET", "k", "before"}), "OK");
  const Finished made = RunCairn({"backup", "--to", backup(), "--url", UrlOf(server), "--json"});
  ASSERT_EQ(made.status.code, 0) << made.err;
  EXPECT_EQ(boost::json::parse(made.out).at("directory"), boost::json::string(backup()));
  EXPECT_EQ(server.Command({"SET", "k", "after"}), "OK");
  ExpectRestoredValue("\"before\"");
}

TEST_F(BackupTest, FindsTheRunningServerByItsDataDirectory) {
  Server server = Serve(data());
  ASSERT_EQ(server.Command({"SET", "k", "v"}), "OK");
  const Finished made = RunCairn(
      {"backup", "--to", backup(), "--data", data(), "--http", net::ToString(server.http())});
  ASSERT_EQ(made.status.code, 0) << made.err;
  ExpectRestoredValue("\"v\"");
}

TEST_F(BackupTest, DoesNotTakeAnotherServersDataForTheNamedDirectory) {
  Server server = Serve(data());
  Server other = Serve(directory_ / "other");
  const Finished made = RunCairn(
      {"backup", "--to", backup(), "--data", data(), "--http", net::ToString(other.http())});
  EXPECT_EQ(made.status.code, 1);
  EXPECT_THAT(made.err, HasSubstr(directory_ / "other"));
  EXPECT_FALSE(fs::exists(backup()));
}

TEST_F(BackupTest, OfAStoppedServerOpensTheDirectory) {
  Server server = Serve(data());
  ASSERT_EQ(server.Command({"SET", "k", "v"}), "OK");
  ASSERT_TRUE(server.Stop().ok());
  const Finished made = RunCairn({"backup", "--to", backup(), "--data", data()});
  ASSERT_EQ(made.status.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("cairn restore --from"));
  ExpectRestoredValue("\"v\"");
}

TEST_F(BackupTest, NeedsThePasswordWhereOneIsSet) {
  Server server = Serve(data(), {"--password", "sesame"});
  const Finished refused = RunCairn({"backup", "--to", backup(), "--url", UrlOf(server)});
  EXPECT_EQ(refused.status.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("present the password"));
  const Finished made = RunCairn({"backup", "--to", backup(), "--url", UrlOf(server)},
                                 {{"CAIRN_PASSWORD", "sesame"}});
  EXPECT_EQ(made.status.code, 0) << made.err;
}

TEST_F(BackupTest, OfARunningServerGoesBelowItsDirectoryOfBackupsOnly) {
  Server server = Server::MustStart({.data = data()});
  const Finished refused = RunCairn({"backup", "--to", backup(), "--url", UrlOf(server)});
  EXPECT_EQ(refused.status.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(data() + "/backups"), HasSubstr("backup.directory")));
  EXPECT_FALSE(fs::exists(backup()));
  const std::string inside = data() + "/backups/monday";
  const Finished made = RunCairn({"backup", "--to", inside, "--url", UrlOf(server)});
  EXPECT_EQ(made.status.code, 0) << made.err;
  EXPECT_TRUE(fs::exists(inside + "/BACKUP"));
  // Its own data directory is as good as before.
  ASSERT_TRUE(server.Stop().ok());
  EXPECT_EQ(Server::MustStart({.data = data()}).Command({"PING"}), "PONG");
}

TEST_F(BackupTest, OfTheServerOnThisMachineGoesWhereTheCommandMayWrite) {
  Server server = Server::MustStart({.data = data()});
  ASSERT_EQ(server.Command({"SET", "k", "v"}), "OK");
  const auto back_up = [&](const std::string& to) {
    return RunCairn(
        {"backup", "--to", to, "--data", data(), "--http", net::ToString(server.http()), "--json"});
  };
  const Finished made = back_up(backup());
  ASSERT_EQ(made.status.code, 0) << made.err;
  EXPECT_EQ(boost::json::parse(made.out).at("directory"), boost::json::string(backup()));
  EXPECT_TRUE(fs::is_empty(data() + "/backups"));
  ExpectRestoredValue("\"v\"");
  const Finished again = back_up(backup());
  EXPECT_EQ(again.status.code, 1);
  EXPECT_THAT(again.err, HasSubstr("exists"));
  // On another file system it is copied.
  const std::string elsewhere = fmt::format("/dev/shm/cairn-backup-test-{}", getpid());
  const Finished copied = back_up(elsewhere);
  const bool whole = fs::exists(elsewhere + "/BACKUP");
  fs::remove_all(elsewhere);
  EXPECT_EQ(copied.status.code, 0) << copied.err;
  EXPECT_TRUE(whole);
}

TEST_F(BackupTest, DoesNotOverwrite) {
  Server server = Serve(data());
  fs::create_directory(backup());
  const Finished made = RunCairn({"backup", "--to", backup(), "--url", UrlOf(server)});
  EXPECT_EQ(made.status.code, 1);
  EXPECT_THAT(made.err, AllOf(HasSubstr(backup()), HasSubstr("exists")));
}

TEST_F(BackupTest, OfADirectoryWithoutDataSaysSo) {
  const Finished made = RunCairn({"backup", "--to", backup(), "--data", directory_ / "nothing"});
  EXPECT_EQ(made.status.code, 1);
  EXPECT_THAT(made.err, HasSubstr("holds no data"));
  EXPECT_FALSE(fs::exists(directory_ / "nothing"));
}

TEST_F(BackupTest, ADamagedFileIsNamedAndNothingServes) {
  Server server = Serve(data());
  ASSERT_EQ(server.Command({"SET", "k", "v"}), "OK");
  ASSERT_EQ(RunCairn({"backup", "--to", backup(), "--url", UrlOf(server)}).status.code, 0);
  std::string damaged;
  for (const auto& entry : fs::directory_iterator(backup() + "/db")) {
    if (entry.path().extension() == ".sst") damaged = entry.path().string();
  }
  ASSERT_FALSE(damaged.empty());
  // The backup may share the file with the server: a new one takes its place.
  std::string bytes = ReadWholeFile(damaged);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  fs::remove(damaged);
  std::ofstream(damaged, std::ios::binary) << bytes;

  const Finished restore = RunCairn({"restore", "--from", backup(), "--data", restored()});
  EXPECT_EQ(restore.status.code, 1);
  EXPECT_THAT(restore.err, AllOf(HasSubstr("cannot restore"), HasSubstr(damaged)));
  const Finished serve =
      RunCairn({"serve", "--data", restored(), "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0"});
  EXPECT_EQ(serve.status.code, 1);
}

TEST_F(BackupTest, RestoreRefusesADirectoryThatIsNotEmptyAndWhatIsNoBackup) {
  Server server = Serve(data());
  ASSERT_EQ(RunCairn({"backup", "--to", backup(), "--url", UrlOf(server)}).status.code, 0);
  const Finished over = RunCairn({"restore", "--from", backup(), "--data", data()});
  EXPECT_EQ(over.status.code, 1);
  EXPECT_THAT(over.err, HasSubstr("not empty"));
  const Finished none = RunCairn({"restore", "--from", directory_.path(), "--data", restored()});
  EXPECT_EQ(none.status.code, 1);
  EXPECT_THAT(none.err, HasSubstr("not a complete Cairn backup"));
}

TEST_F(BackupTest, TheRouteRefusesAPathThatLeadsOutAndABodyThatIsNoJson) {
  Server server = Serve(data());
  net::HttpClient http = server.Http();
  const net::HttpHeaders json{{"Content-Type", "application/json"}};
  const auto status = [&](const std::string& body, const net::HttpHeaders& headers) {
    const Result<net::HttpResponse> response = http.Post("/v1/admin/backup", body, headers);
    return response.ok() ? response->status : 0;
  };
  EXPECT_EQ(status(R"({"directory":"../elsewhere"})", json), 403);
  EXPECT_EQ(status(R"({"directory":5})", json), 400);
  EXPECT_EQ(status(R"({"directory":"/x","more":1})", json), 400);
  EXPECT_EQ(status("directory=/x", json), 400);
  // A page in a browser can send a form to this machine, but not this media type.
  EXPECT_EQ(status(R"({"directory":"/x"})", {{"Content-Type", "text/plain"}}), 415);
}

}  // namespace
}  // namespace cairn::testing
