#include "doors/resp/acl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "doors/testing/test_server.h"

namespace cairn::doors {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TestClient;
using testing::TestServer;

Result<void> AnswerOk(CommandContext& context) {
  context.reply.Ok();
  return {};
}

// Commands with keys, of the kinds that matter to rules.
void AddRows(Instance& instance) {
  const auto row = [](std::string_view name, int arity, uint32_t flags, uint32_t categories,
                      std::vector<KeySpec> keys) {
    return Command{.name = name,
                   .arity = arity,
                   .flags = flags,
                   .categories = categories,
                   .keys = std::move(keys),
                   .group = "test",
                   .since = "1.0.0",
                   .summary = "For tests.",
                   .run = AnswerOk};
  };
  instance.commands().Add(
      row("get", 2, kReadOnly | kFast, kCategoryString, {{1, 1, 1, "RO access"}}));
  instance.commands().Add(
      row("set", -3, kWrite, kCategoryString, {{1, 1, 1, "RW access update variable_flags"}}));
  instance.commands().Add(
      row("copy", 3, kWrite, 0, {{1, 1, 1, "RO access"}, {2, 2, 1, "OW update"}}));
  instance.commands().Add(row("hset", -4, kWrite, kCategoryHash, {{1, 1, 1, "RW update"}}));
  instance.commands().Add(row("hget", 3, kReadOnly, kCategoryHash, {{1, 1, 1, "RO access"}}));
  Command found = row("movable", -2, kWrite, 0, {});
  found.find_keys = [](Args) { return std::vector<size_t>{1}; };
  instance.commands().Add(found);
}

constexpr std::string_view kNoKey =
    "(error) NOPERM this user has no permissions to access one of the keys used as arguments";
constexpr std::string_view kNoChannel =
    "(error) NOPERM this user has no permissions to access one of the channels used as arguments";

std::string NoCommand(std::string_view name) {
  return "(error) NOPERM this user has no permissions to run the '" + std::string(name) +
         "' command";
}

class AclTest : public ::testing::Test {
 protected:
  // Gives the user al these rules and returns a connection of it.
  TestClient As(std::vector<std::string> rules) {
    std::vector<std::string> command = {"ACL", "SETUSER", "al", "on", "nopass"};
    command.insert(command.end(), rules.begin(), rules.end());
    EXPECT_EQ(server_.Run(command), "OK");
    TestClient client = server_.Connect();
    EXPECT_EQ(client.Run({"AUTH", "al", "any"}), "OK");
    return client;
  }
  std::string SetUser(std::vector<std::string> rules) {
    std::vector<std::string> command = {"ACL", "SETUSER", "bob"};
    command.insert(command.end(), rules.begin(), rules.end());
    return server_.Run(command);
  }
  std::string Rules(std::string_view name) {
    return server_.instance().acl().Find(name)->rules()->Describe();
  }

  TestServer server_{{.add_commands = AddRows}};
};

TEST_F(AclTest, TheDefaultUserMayDoEverything) {
  EXPECT_EQ(server_.Run({"ACL", "WHOAMI"}), "\"default\"");
  EXPECT_EQ(server_.Run({"ACL", "LIST"}), "[\"user default on nopass ~* &* +@all\"]");
  EXPECT_EQ(server_.Run({"ACL", "USERS"}), "[\"default\"]");
  EXPECT_EQ(server_.Run({"ACL", "GETUSER", "default"}),
            "[\"flags\", [\"on\", \"nopass\"], \"passwords\", [], \"commands\", \"+@all\", "
            "\"keys\", \"~*\", \"channels\", \"&*\", \"selectors\", []]");
  EXPECT_EQ(server_.Run({"ACL", "GETUSER", "nosuch"}), "(nil)");
  EXPECT_EQ(server_.Run({"ACL", "DELUSER", "default"}),
            "(error) ERR The 'default' user cannot be removed");
}

TEST_F(AclTest, RulesAreDescribedInTheirShortestForm) {
  EXPECT_EQ(SetUser({"on", ">p1", "~k*", "+get", "+@hash", "-hset", "+config|get", "&c*", "(+set",
                     "~s*)"}),
            "(error) ERR Error in ACL SETUSER modifier '+config|get': Unknown command or category "
            "name in ACL");
  EXPECT_EQ(SetUser({"on", ">p1", "~k*", "+get", "+@hash", "-hset", "+client|id", "&c*", "(+set",
                     "~s*)"}),
            "OK");
  EXPECT_EQ(Rules("bob"),
            "on #f64551fcd6f07823cb87971cfb91446425da18286b3ab1ef935e0cbd7a69f68a ~k* "
            "resetchannels &c* -@all +get +@hash -hset +client|id (~s* resetchannels -@all +set)");
  EXPECT_EQ(SetUser({"reset"}), "OK");
  EXPECT_EQ(Rules("bob"), "off resetchannels -@all");
  EXPECT_EQ(SetUser({"+@all", "-@all", "+@READ", "+GET", "%RW~a", "%R~b", "%W~b", "%R~c"}), "OK");
  EXPECT_EQ(Rules("bob"), "off ~a ~b %R~c resetchannels -@all +@read");
  EXPECT_EQ(SetUser({"resetkeys", "%RW"}), "OK");
  EXPECT_EQ(Rules("bob"), "off ~ resetchannels -@all +@read");
  EXPECT_EQ(SetUser({"allkeys", "~*", "allchannels", "&*", "allcommands", "-client", "+client|id",
                     "+get"}),
            "OK");
  EXPECT_EQ(Rules("bob"), "off ~* &* +@all -client +client|id");
}

TEST_F(AclTest, MistakesInRulesChangeNothing) {
  const std::string error = "(error) ERR Error in ACL SETUSER modifier ";
  EXPECT_EQ(SetUser({"on", "+foo"}), error + "'+foo': Unknown command or category name in ACL");
  EXPECT_EQ(SetUser({"+@foo"}), error + "'+@foo': Unknown command or category name in ACL");
  EXPECT_EQ(SetUser({"-get|x"}), error + "'-get|x': Unknown command or category name in ACL");
  EXPECT_EQ(SetUser({"foo"}), error + "'foo': Syntax error");
  EXPECT_EQ(SetUser({"%X~a"}), error + "'%X~a': Syntax error");
  EXPECT_EQ(SetUser({"%~a"}), error + "'%~a': Syntax error");
  EXPECT_EQ(SetUser({"#12"}), error +
                                  "'#12': The password hash must be exactly 64 characters and "
                                  "contain only lowercase hexadecimal characters");
  EXPECT_EQ(SetUser({"<nopw"}),
            error + "'<nopw': The password you are trying to remove from the user does not exist");
  EXPECT_EQ(SetUser({"(+get", "~a"}),
            "(error) ERR Unmatched parenthesis in acl selector starting at '(+get'.");
  EXPECT_THAT(SetUser({"~*", "~a"}), StartsWith(error + "'~a': Adding a pattern after the *"));
  EXPECT_THAT(SetUser({"&*", "&a"}), StartsWith(error + "'&a': Adding a pattern after the *"));
  EXPECT_EQ(server_.Run({"ACL", "SETUSER", "a b"}),
            "(error) ERR Usernames can't contain spaces or null characters");
  EXPECT_EQ(server_.Run({"ACL", "USERS"}), "[\"default\"]");
}

TEST_F(AclTest, CommandsNotAllowedAreRefused) {
  TestClient client = As({"~*", "+@all", "-set", "-client|id", "-@hash", "+hget"});
  EXPECT_EQ(client.Run({"GET", "k"}), "OK");
  EXPECT_EQ(client.Run({"SET", "k", "v"}), NoCommand("set"));
  EXPECT_EQ(client.Run({"CLIENT", "ID"}), NoCommand("client|id"));
  EXPECT_EQ(client.Run({"CLIENT", "GETNAME"}), "(nil)");
  EXPECT_EQ(client.Run({"HSET", "k", "f", "v"}), NoCommand("hset"));
  EXPECT_EQ(client.Run({"HGET", "k", "f"}), "OK");
  // Who may do nothing may still become somebody else.
  TestClient nobody = As({"reset", "on", "nopass"});
  EXPECT_EQ(nobody.Run({"ACL", "WHOAMI"}), NoCommand("acl|whoami"));
  EXPECT_EQ(nobody.Run({"AUTH", "default", "x"}), "OK");
  EXPECT_EQ(nobody.Run({"ACL", "WHOAMI"}), "\"default\"");
}

TEST_F(AclTest, AFirstArgumentCanBeAllowedAlone) {
  TestClient client = As({"~*", "+select|1"});
  EXPECT_EQ(client.Run({"SELECT", "1"}), "OK");
  EXPECT_EQ(client.Run({"SELECT", "2"}), NoCommand("select"));
}

TEST_F(AclTest, KeysAreCheckedForWhatIsDoneToThem) {
  TestClient client = As({"+@all", "~k*", "%R~r*", "%W~w*"});
  EXPECT_EQ(client.Run({"GET", "a"}), kNoKey);
  EXPECT_EQ(client.Run({"GET", "k"}), "OK");
  EXPECT_EQ(client.Run({"GET", "r"}), "OK");
  EXPECT_EQ(client.Run({"GET", "w"}), kNoKey);
  EXPECT_EQ(client.Run({"SET", "r", "v"}), kNoKey);
  EXPECT_EQ(client.Run({"SET", "w", "v"}), "OK");
  EXPECT_EQ(client.Run({"SET", "w", "v", "GET"}), kNoKey);
  EXPECT_EQ(client.Run({"COPY", "r", "w"}), "OK");
  EXPECT_EQ(client.Run({"COPY", "w", "r"}), kNoKey);
  EXPECT_EQ(client.Run({"MOVABLE", "r"}), kNoKey);
  EXPECT_EQ(client.Run({"MOVABLE", "k"}), "OK");
}

TEST_F(AclTest, ASelectorIsEnoughByItself) {
  TestClient client = As({"+get", "~k*", "(+set ~s*)"});
  EXPECT_EQ(client.Run({"GET", "k"}), "OK");
  EXPECT_EQ(client.Run({"SET", "s", "v"}), "OK");
  EXPECT_EQ(client.Run({"SET", "k", "v"}), kNoKey);
  EXPECT_EQ(client.Run({"GET", "s"}), kNoKey);
  EXPECT_EQ(client.Run({"HGET", "k", "f"}), NoCommand("hget"));
}

TEST_F(AclTest, ChannelsAreChecked) {
  TestClient client = As({"+@all", "&c*"});
  EXPECT_EQ(client.Run({"PUBLISH", "x", "m"}), kNoChannel);
  EXPECT_EQ(client.Run({"PUBLISH", "c1", "m"}), "(integer) 0");
  EXPECT_EQ(client.Run({"SUBSCRIBE", "c1", "d"}), kNoChannel);
  EXPECT_EQ(client.Run({"PSUBSCRIBE", "c1"}), kNoChannel);
  EXPECT_THAT(client.Run({"PSUBSCRIBE", "c*"}), HasSubstr("(integer) 1"));
  // Who listens to what it may not hear any more is cut off.
  EXPECT_EQ(server_.Run({"ACL", "SETUSER", "al", "resetchannels"}), "OK");
  EXPECT_FALSE(client.raw().Receive().ok());
}

TEST_F(AclTest, ATransactionIsCheckedWhenQueuedAndWhenRun) {
  TestClient client = As({"+@all", "~k*"});
  client.Run({"MULTI"});
  EXPECT_EQ(client.Run({"GET", "a"}), kNoKey);
  EXPECT_EQ(client.Run({"EXEC"}),
            "(error) EXECABORT Transaction discarded because of previous errors.");
  client.Run({"MULTI"});
  EXPECT_EQ(client.Run({"GET", "k"}), "QUEUED");
  EXPECT_EQ(client.Run({"PING"}), "QUEUED");
  EXPECT_EQ(server_.Run({"ACL", "SETUSER", "al", "-get"}), "OK");
  EXPECT_EQ(client.Run({"EXEC"}),
            "[(error) NOPERM ACLs rules changed between the moment the transaction was accumulated "
            "and the EXEC call. This command is no longer allowed for the following reason: no "
            "permission to execute the command or subcommand, PONG]");
  EXPECT_EQ(server_.Run({"ACL", "SETUSER", "al", "-exec"}), "OK");
  EXPECT_EQ(client.Run({"EXEC"}),
            "(error) EXECABORT Transaction discarded because of: NOPERM this "
            "user has no permissions to run the 'exec' command");
}

TEST_F(AclTest, PasswordsAndUsersThatAreOff) {
  EXPECT_EQ(SetUser({"on", ">one", ">two"}), "OK");
  TestClient client = server_.Connect();
  EXPECT_EQ(client.Run({"AUTH", "bob", "two"}), "OK");
  EXPECT_THAT(client.Run({"AUTH", "bob", "three"}), StartsWith("(error) WRONGPASS"));
  EXPECT_EQ(SetUser({"<two"}), "OK");
  EXPECT_THAT(client.Run({"AUTH", "bob", "two"}), StartsWith("(error) WRONGPASS"));
  EXPECT_EQ(SetUser({"off"}), "OK");
  EXPECT_THAT(client.Run({"AUTH", "bob", "one"}), StartsWith("(error) WRONGPASS"));
  EXPECT_THAT(client.Run({"HELLO", "3", "AUTH", "bob", "one"}), StartsWith("(error) WRONGPASS"));
}

TEST_F(AclTest, UsersSurviveARestart) {
  EXPECT_EQ(SetUser({"on", ">one", "~k*", "+@all", "-set", "(+set ~s*)"}), "OK");
  EXPECT_EQ(server_.Run({"ACL", "SETUSER", "gone", "on"}), "OK");
  EXPECT_EQ(server_.Run({"ACL", "DELUSER", "gone", "nosuch"}), "(integer) 1");
  const std::string before = Rules("bob");
  server_.Restart();
  EXPECT_EQ(Rules("bob"), before);
  EXPECT_EQ(server_.Run({"ACL", "USERS"}), "[\"bob\", \"default\"]");
}

TEST_F(AclTest, AUserThatIsDeletedIsCutOff) {
  TestClient client = As({"+@all"});
  EXPECT_THAT(client.RunValue({"CLIENT", "INFO"}).text, HasSubstr(" user=al "));
  EXPECT_EQ(server_.Run({"CLIENT", "KILL", "USER", "nosuch"}), "(error) ERR No such user 'nosuch'");
  EXPECT_EQ(server_.Run({"ACL", "DELUSER", "al"}), "(integer) 1");
  EXPECT_FALSE(client.raw().Receive().ok());
}

TEST_F(AclTest, AUserThatDeletesItselfIsAnsweredAndCutOff) {
  TestClient client = As({"+@all"});
  ASSERT_TRUE(client.raw().SendRaw("ACL DELUSER al\r\nPING\r\n").ok());
  EXPECT_EQ(client.raw().ReceiveUntilClosed().value(), ":1\r\n");
}

TEST_F(AclTest, RefusalsAreLogged) {
  TestClient client = As({"+@all", "-set", "~k*"});
  client.Run({"GET", "a"});
  client.Run({"GET", "a"});
  client.Run({"SET", "k", "v"});
  client.Run({"AUTH", "al2", "x"});
  const net::RespValue log = server_.Connect().RunValue({"ACL", "LOG"});
  ASSERT_EQ(log.items.size(), 3U);
  const auto field = [&](size_t entry, size_t index) { return log.items[entry].items[index].text; };
  EXPECT_EQ(field(0, 3), "auth");
  EXPECT_EQ(field(0, 7), "AUTH");
  EXPECT_EQ(field(0, 9), "al2");
  EXPECT_EQ(field(1, 3), "command");
  EXPECT_EQ(field(1, 7), "set");
  EXPECT_EQ(field(2, 3), "key");
  EXPECT_EQ(field(2, 7), "a");
  EXPECT_EQ(log.items[2].items[1].integer, 2);
  EXPECT_EQ(server_.Run({"ACL", "LOG", "RESET"}), "OK");
  EXPECT_EQ(server_.Run({"ACL", "LOG"}), "[]");
}

TEST_F(AclTest, DryRunTellsWhatWouldBeRefused) {
  As({"+@all", "-set", "~k*", "&c"});
  EXPECT_EQ(server_.Run({"ACL", "DRYRUN", "al", "get", "k"}), "OK");
  EXPECT_EQ(server_.Run({"ACL", "DRYRUN", "al", "get", "a"}),
            "\"This user has no permissions to access the 'a' key\"");
  EXPECT_EQ(server_.Run({"ACL", "DRYRUN", "al", "set", "k", "v"}),
            "\"This user has no permissions to run the 'set' command\"");
  EXPECT_EQ(server_.Run({"ACL", "DRYRUN", "al", "publish", "x", "v"}),
            "\"This user has no permissions to access the 'x' channel\"");
  EXPECT_EQ(server_.Run({"ACL", "DRYRUN", "nosuch", "get", "a"}),
            "(error) ERR User 'nosuch' not found");
  EXPECT_EQ(server_.Run({"ACL", "DRYRUN", "al", "nosuch"}),
            "(error) ERR Command 'nosuch' not found");
  EXPECT_EQ(server_.Run({"ACL", "DRYRUN", "al", "get"}),
            "(error) ERR wrong number of arguments for 'get' command");
}

TEST_F(AclTest, CategoriesAndPasswordsOnDemand) {
  EXPECT_THAT(server_.Run({"ACL", "CAT"}), StartsWith("[\"keyspace\", \"read\", \"write\""));
  EXPECT_EQ(server_.Run({"ACL", "CAT", "hash"}), "[\"hset\", \"hget\"]");
  EXPECT_EQ(server_.Run({"ACL", "CAT", "foo"}), "(error) ERR Unknown category 'foo'");
  EXPECT_EQ(server_.Connect().RunValue({"ACL", "GENPASS"}).text.size(), 64U);
  EXPECT_EQ(server_.Connect().RunValue({"ACL", "GENPASS", "5"}).text.size(), 2U);
  EXPECT_THAT(server_.Run({"ACL", "GENPASS", "0"}), StartsWith("(error) ERR ACL GENPASS argument"));
  EXPECT_THAT(server_.Run({"ACL", "SAVE"}), StartsWith("(error) ERR This Redis instance is not"));
}

TEST(AclPasswordTest, TheConfiguredPasswordIsTheDefaultUsers) {
  TestServer server({.password = "secret"});
  TestClient client = server.Connect();
  EXPECT_EQ(client.Run({"AUTH", "secret"}), "OK");
  EXPECT_EQ(client.Run({"ACL", "SETUSER", "default", ">second", "-acl|cat"}), "OK");
  EXPECT_EQ(client.Run({"AUTH", "second"}), "OK");
  EXPECT_EQ(client.Run({"ACL", "CAT"}), NoCommand("acl|cat"));
  server.Restart();
  TestClient again = server.Connect();
  EXPECT_THAT(again.Run({"AUTH", "second"}), StartsWith("(error) WRONGPASS"));
  EXPECT_EQ(again.Run({"AUTH", "secret"}), "OK");
  EXPECT_EQ(again.Run({"ACL", "CAT"}), NoCommand("acl|cat"));
}

TEST(AclKeysTest, GoldenBytes) { EXPECT_EQ(EncodeAclUserKey("bob"), "acl/user/bob"); }

}  // namespace
}  // namespace cairn::doors
