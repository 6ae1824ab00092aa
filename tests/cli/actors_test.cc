// `cairn actors …` against the real binary, actors in scripts, and the tables of docs/actors.md.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

class ActorsCommandTest : public ::testing::Test {
 protected:
  std::string url() const { return "http://" + net::ToString(server_.http()); }

  Finished Actors(std::vector<std::string> args) {
    args.insert(args.begin(), "actors");
    args.insert(args.end(), {"--url", url()});
    return RunCairn(args);
  }
  std::string Create(const std::string& key) {
    const Finished created = Actors({"create", "default", "counter", key, "--json"});
    EXPECT_EQ(created.status.code, 0) << created.err;
    return std::string(json::parse(created.out).at("actor_id").as_string());
  }

  TempDirectory directory_;
  Server server_ = Server::MustStart({.data = directory_ / "data"});
};

TEST_F(ActorsCommandTest, AnActorIsCreatedListedWrittenReadAndDestroyed) {
  const std::string id = Create("room");
  EXPECT_EQ(Actors({"put", id, "count", "5"}).out, "revision 1\n");
  EXPECT_EQ(Actors({"put", id, "name", "ann"}).out, "revision 2\n");
  EXPECT_EQ(Actors({"get", id, "count"}).out, "5\n");
  EXPECT_EQ(Actors({"get", id, "Y291bnQ=", "--base64"}).out, "NQ==\n");
  EXPECT_THAT(Actors({"entries", id, "--prefix", "na"}).out, HasSubstr("ann"));
  EXPECT_THAT(Actors({"entries", id, "--limit", "1"}).out,
              HasSubstr("There are more: --after 'count'"));
  EXPECT_THAT(Actors({"entries", id, "--after", "count"}).out, HasSubstr("ann"));
  EXPECT_EQ(Actors({"delete", id, "name"}).out, "revision 3\n");
  EXPECT_THAT(Actors({"list", "default"}).out, HasSubstr(id));
  EXPECT_THAT(Actors({"show", id}).out, HasSubstr("bytes          6"));
  EXPECT_EQ(Actors({"destroy", id}).out, fmt::format("destroyed {}\n", id));
  const Finished gone = Actors({"show", id});
  EXPECT_EQ(gone.status.code, 1);
  EXPECT_THAT(gone.err, HasSubstr("there is no actor " + id));
}

TEST_F(ActorsCommandTest, AScriptWritesAnActorAndAKeyInOneCommit) {
  const std::string id = Create("room");
  const std::string script =
      "redis.call('ACTOR.PUT', ARGV[1], 'a', 'from a script') "
      "redis.call('SET', KEYS[1], 'too') "
      "return redis.call('ACTOR.GET', ARGV[1], 'a')[1]";
  EXPECT_EQ(server_.Command({"EVAL", script, "1", "key", id}), "\"from a script\"");
  EXPECT_EQ(server_.Command({"GET", "key"}), "\"too\"");
  const std::string fails =
      "redis.call('SET', KEYS[1], 'again') "
      "return redis.call('ACTOR.BATCH', ARGV[1], 'IFABSENT', 'a', 'DROP')";
  EXPECT_THAT(server_.Command({"EVAL", fails, "1", "key", id}), HasSubstr("PRECONDITION_FAILED"));
}

TEST_F(ActorsCommandTest, VerifyReadsActors) {
  const std::string id = Create("room");
  server_.Command({"ACTOR.PUT", id, "k", std::string(25'000, 'v')});
  const Finished verified = RunCairn({"verify", "--url", url()});
  EXPECT_EQ(verified.status.code, 0) << verified.out << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("actors"));
}

TEST_F(ActorsCommandTest, TheLimitsTableNamesWhatIsServedAndNothingElse) {
  std::map<std::string, std::string> documented;
  std::istringstream lines(ReadWholeFile("docs/actors.md"));
  bool in_table = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| limit | value |")) in_table = true;
    if (line.empty()) in_table = false;
    if (!in_table || !line.starts_with("| `")) continue;
    const size_t name_end = line.find('`', 3);
    const size_t value = name_end + 4;
    documented[line.substr(3, name_end - 3)] = line.substr(value, line.find(' ', value) - value);
  }
  const Result<net::HttpResponse> response = server_.Http().Get("/v1/actors/limits");
  ASSERT_TRUE(response.ok());
  std::map<std::string, std::string> served;
  const json::value limits = json::parse(response->body);
  for (const auto& [name, value] : limits.as_object()) {
    served[name] = json::serialize(value);
  }
  EXPECT_EQ(documented, served);
}

}  // namespace
}  // namespace cairn::testing
