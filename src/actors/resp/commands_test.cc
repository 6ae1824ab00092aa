// The commands of actors, over a connection.

#include "actors/resp/commands.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>

#include "actors/testing/actor_server.h"

namespace cairn::actors {
namespace {

using namespace std::string_view_literals;
using testing::ActorServer;

class ActorCommandsTest : public ::testing::Test {
 protected:
  ~ActorCommandsTest() override { server_.ExpectSound(); }

  std::string Run(std::initializer_list<std::string_view> args) { return server_.Run(args); }

  ActorServer server_;
  const std::string id_ = server_.Create();
};

TEST_F(ActorCommandsTest, ActorsAreMadeFoundAndDestroyed) {
  const auto found = boost::json::parse(server_.Text({"ACTOR.FIND", "default", "thing", "a"}));
  EXPECT_EQ(found.at("actor_id").as_string(), id_);
  const auto made = boost::json::parse(
      server_.Text({"ACTOR.GETORCREATE", "default", "thing", "a", "INPUT", "x"}));
  EXPECT_FALSE(made.at("created").as_bool());
  EXPECT_EQ(Run({"ACTOR.INPUT", id_}), "(nil)");
  EXPECT_EQ(Run({"ACTOR.CREATE", "default", "thing", "a"}),
            fmt::format("(error) DUPLICATE_KEY [existing_actor_id={}] default/thing has an actor "
                        "with the key a",
                        id_));
  const auto page = boost::json::parse(server_.Text({"ACTOR.LIST", "default", "LIMIT", "10"}));
  EXPECT_EQ(page.at("actors").as_array().size(), 1U);
  EXPECT_TRUE(page.at("next").is_null());
  EXPECT_EQ(Run({"ACTOR.START", id_}), "(integer) 1");
  EXPECT_EQ(Run({"ACTOR.DESTROY", id_}), "OK");
  EXPECT_EQ(Run({"ACTOR.INFO", id_}),
            fmt::format("(error) NO_SUCH_ACTOR there is no actor {}", id_));
}

TEST_F(ActorCommandsTest, EntriesAreBytes) {
  EXPECT_EQ(Run({"ACTOR.PUT", id_, "k\0"sv, "v\xFF"sv, "", ""}), "(integer) 1");
  EXPECT_EQ(Run({"ACTOR.GET", id_, "k\0"sv, "nobody", ""}), "[\"v\\xff\", (nil), \"\"]");
  EXPECT_EQ(Run({"ACTOR.DEL", id_, ""}), "(integer) 2");
  const int64_t now = server_.server().clock().Now().millis();
  EXPECT_EQ(Run({"ACTOR.ENTRIES", id_, "k\0"sv, "x"}),
            fmt::format("[[\"k\\x00\", \"v\\xff\", (integer) 1, (integer) {}], (nil)]", now));
  EXPECT_EQ(Run({"ACTOR.DROP", id_}), "(integer) 3");
  EXPECT_EQ(Run({"ACTOR.SCAN", id_}), "[(nil), []]");
}

TEST_F(ActorCommandsTest, AScanHasAllItsOptions) {
  for (const char* key : {"a", "ab", "b", "c"}) Run({"ACTOR.PUT", id_, key, "v"});
  const int64_t now = server_.server().clock().Now().millis();
  const auto entry = [&](std::string_view key, int revision) {
    return fmt::format("[\"{}\", \"v\", (integer) {}, (integer) {}]", key, revision, now);
  };
  EXPECT_EQ(Run({"ACTOR.SCAN", id_, "PREFIX", "a"}),
            fmt::format("[(nil), [{}, {}]]", entry("a", 1), entry("ab", 2)));
  EXPECT_EQ(Run({"ACTOR.SCAN", id_, "FROM", "ab", "BEFORE", "c", "REVERSE", "LIMIT", "1"}),
            fmt::format("[\"b\", [{}]]", entry("b", 3)));
  EXPECT_EQ(Run({"ACTOR.SCAN", id_, "TO", "c", "AFTER", "b", "BYTES", "1"}),
            fmt::format("[(nil), [{}]]", entry("c", 4)));
  EXPECT_EQ(Run({"ACTOR.SCAN", id_, "SIDEWAYS"}),
            "(error) BAD_REQUEST 'SIDEWAYS' is not an option");
  EXPECT_EQ(Run({"ACTOR.SCAN", id_, "LIMIT", "x"}),
            "(error) BAD_REQUEST LIMIT needs a whole number");
}

TEST_F(ActorCommandsTest, ABatchIsAllOrNothing) {
  EXPECT_EQ(Run({"ACTOR.BATCH", id_, "ID", "one", "IFABSENT", "a", "PUT", "a", "1", "PUT", "b", "2",
                 "DEL", "c", "DELRANGE", "x", "z"}),
            "[(integer) 1, (integer) 0]");
  EXPECT_EQ(Run({"ACTOR.BATCH", id_, "ID", "one", "IFABSENT", "a", "PUT", "a", "1", "PUT", "b", "2",
                 "DEL", "c", "DELRANGE", "x", "z"}),
            "[(integer) 1, (integer) 1]");
  EXPECT_EQ(Run({"ACTOR.BATCH", id_, "IFREVISION", "a", "7", "DROP"}),
            "(error) PRECONDITION_FAILED [condition=0,revision=1] entry 'a' is of revision 1, not "
            "of revision 7");
  EXPECT_EQ(Run({"ACTOR.GET", id_, "a", "b"}), "[\"1\", \"2\"]");
  EXPECT_EQ(Run({"ACTOR.BATCH", id_, "IFREVISION", "a", "1", "DROP"}),
            "[(integer) 2, (integer) 0]");
  EXPECT_EQ(Run({"ACTOR.GET", id_, "a"}), "[(nil)]");
}

TEST_F(ActorCommandsTest, BadRequestsSayWhatIsWrong) {
  EXPECT_EQ(Run({"ACTOR.GET", "nonsense", "k"}),
            "(error) BAD_ID 'nonsense' is not an actor's id: 30 digits of base 36");
  EXPECT_EQ(Run({"ACTOR.GET", id_ + "@x", "k"}),
            "(error) BAD_ID 'x' is not a generation, which is a whole number");
  EXPECT_EQ(Run({"ACTOR.PUT", id_, "k", "v", "odd"}),
            "(error) BAD_REQUEST every key has a value behind it");
  EXPECT_EQ(Run({"ACTOR.BATCH", id_, "PUT", "k"}), "(error) BAD_REQUEST syntax error");
  EXPECT_EQ(Run({"ACTOR.BATCH", id_, "POST", "k"}),
            "(error) BAD_REQUEST 'POST' is not a part of a batch: PUT, DEL, DELRANGE, DROP, "
            "IFABSENT, IFREVISION or ID");
  EXPECT_EQ(Run({"ACTOR.BATCH", id_, "IFREVISION", "k", "0"}),
            "(error) BAD_REQUEST a revision is above 0; IFABSENT asks for none");
  EXPECT_EQ(Run({"ACTOR.CREATE", "default", "thing", "b", "OUTPUT"}),
            "(error) BAD_REQUEST behind the key comes INPUT with a value, or nothing");
  EXPECT_EQ(Run({"ACTOR.INFO", id_ + "@1"}),
            "(error) STALE_GENERATION [generation=0] the actor is in generation 0, not 1");
}

TEST_F(ActorCommandsTest, ATransactionIsOneCommitAndARefusalWritesNothing) {
  EXPECT_EQ(Run({"MULTI"}), "OK");
  EXPECT_EQ(Run({"ACTOR.PUT", id_, "a", "1"}), "QUEUED");
  EXPECT_EQ(Run({"ACTOR.BATCH", id_, "IFABSENT", "a", "PUT", "b", "1"}), "QUEUED");
  EXPECT_EQ(Run({"ACTOR.GETORCREATE", "default", "thing", "in-multi"}), "QUEUED");
  EXPECT_EQ(Run({"ACTOR.GET", id_, "a", "b"}), "QUEUED");
  const std::string replies = Run({"EXEC"});
  EXPECT_TRUE(replies.starts_with("[(integer) 1, (error) PRECONDITION_FAILED")) << replies;
  EXPECT_TRUE(replies.ends_with("[\"1\", (nil)]]")) << replies;
  EXPECT_EQ(
      boost::json::parse(server_.Text({"ACTOR.LIST", "default"})).at("actors").as_array().size(),
      2U);
  // One that has to find out what else to lock runs again with that.
  Run({"MULTI"});
  Run({"ACTOR.DESTROY", id_});
  Run({"ACTOR.CREATE", "default", "thing", "a"});
  const std::string again = Run({"EXEC"});
  EXPECT_TRUE(again.starts_with("[OK, \"{")) << again;
}

TEST_F(ActorCommandsTest, LimitsAreJson) {
  const auto limits = boost::json::parse(server_.Text({"ACTOR.LIMITS"}));
  EXPECT_EQ(limits.at("value_bytes").as_int64(), 131'072);
}

}  // namespace
}  // namespace cairn::actors
