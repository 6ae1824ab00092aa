#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "tests/support/process.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(CommandLineTest, WithoutACommandItShowsTheCommands) {
  const Finished finished = RunCairn({});
  EXPECT_EQ(finished.status.code, 0);
  for (const char* command : {"serve", "config", "doctor", "backup", "restore", "version"}) {
    EXPECT_THAT(finished.out, HasSubstr(command));
  }
}

TEST(CommandLineTest, HelpOfACommandNamesItsSettingsAndDefaults) {
  for (const Finished& finished : {RunCairn({"serve", "--help"}), RunCairn({"help", "serve"})}) {
    EXPECT_EQ(finished.status.code, 0);
    EXPECT_THAT(finished.out, AllOf(HasSubstr("--durability"), HasSubstr("sync|interval|os"),
                                    HasSubstr("127.0.0.1:6666"), HasSubstr("--tls-cert")));
  }
}

TEST(CommandLineTest, VersionForPeopleAndForPrograms) {
  EXPECT_THAT(RunCairn({"version"}).out, StartsWith("cairn "));
  EXPECT_THAT(RunCairn({"--version"}).out, StartsWith("cairn "));
  const auto version = boost::json::parse(RunCairn({"version", "--json"}).out);
  EXPECT_TRUE(version.as_object().contains("version"));
  EXPECT_TRUE(version.as_object().contains("revision"));
  EXPECT_EQ(version.at("format"), 5);
}

TEST(CommandLineTest, UnknownOptionIsRefusedByNameWithTheNearestOne) {
  const Finished finished = RunCairn({"serve", "--durabilty", "os"});
  EXPECT_EQ(finished.status.code, 2);
  EXPECT_THAT(finished.out, IsEmpty());
  EXPECT_THAT(finished.err,
              AllOf(StartsWith("cairn: unknown option '--durabilty'"),
                    HasSubstr("did you mean '--durability'?"), HasSubstr("cairn serve --help")));
  EXPECT_THAT(RunCairn({"serve", "--memry=2GiB"}).err, HasSubstr("did you mean '--memory'?"));
}

TEST(CommandLineTest, UnknownCommandIsRefusedByNameWithTheNearestOne) {
  const Finished finished = RunCairn({"doctr"});
  EXPECT_EQ(finished.status.code, 2);
  EXPECT_THAT(finished.err,
              AllOf(HasSubstr("unknown command 'doctr'"), HasSubstr("did you mean 'doctor'?")));
  EXPECT_EQ(RunCairn({"version", "please"}).status.code, 2);
  EXPECT_THAT(RunCairn({"version", "please"}).err, HasSubstr("unknown argument 'please'"));
}

TEST(CommandLineTest, AnOptionWithoutItsValueAndAMissingOneAreUsageErrors) {
  EXPECT_EQ(RunCairn({"serve", "--data"}).status.code, 2);
  const Finished finished = RunCairn({"backup"});
  EXPECT_EQ(finished.status.code, 2);
  EXPECT_THAT(finished.err, HasSubstr("--to"));
}

TEST(CommandLineTest, BadSettingsAreToldOneLineEach) {
  TempDirectory directory;
  const std::string file =
      directory.Write("cairn.toml", "io_threads = 1\ndurability = \"maybe\"\n");
  const Finished finished =
      RunCairn({"serve", "--config", file, "--memory", "lots"}, {{"CAIRN_RESSP", "127.0.0.1:1"}});
  EXPECT_EQ(finished.status.code, 2);
  EXPECT_THAT(finished.err, HasSubstr(file + ":2: 'maybe' is not accepted for durability"));
  EXPECT_THAT(finished.err, HasSubstr("--memory: 'lots' is not accepted for memory"));
  EXPECT_THAT(finished.err, HasSubstr("CAIRN_RESSP: there is no such setting (did you mean "
                                      "'CAIRN_RESP'?)"));
}

TEST(CommandLineTest, ConfigShowsValuesAndOriginsAndHidesThePassword) {
  TempDirectory directory;
  const std::string file = directory.Write("cairn.toml", "[log]\nlevel = \"warn\"\n");
  const std::vector<std::string> args = {"config", "--json", "--config", file, "--io-threads", "2"};
  const Finished finished = RunCairn(args, {{"CAIRN_PASSWORD", "sesame"}});
  ASSERT_EQ(finished.status.code, 0) << finished.err;
  EXPECT_THAT(finished.out, Not(HasSubstr("sesame")));
  const auto config = boost::json::parse(finished.out);
  EXPECT_EQ(config.at("log.level").at("value"), "warn");
  EXPECT_EQ(config.at("log.level").at("from"), boost::json::string(file + ":2"));
  EXPECT_EQ(config.at("io_threads").at("value"), "2");
  EXPECT_EQ(config.at("io_threads").at("from"), "--io-threads");
  EXPECT_EQ(config.at("password").at("value"), "(set)");
  EXPECT_EQ(config.at("password").at("from"), "CAIRN_PASSWORD");
  EXPECT_EQ(config.at("http").at("from"), "default");
  EXPECT_THAT(RunCairn({"config"}).out, HasSubstr("SETTING"));
}

TEST(CommandLineTest, AddressForOtherMachinesIsRefusedWithoutAPassword) {
  TempDirectory directory;
  const Finished finished = RunCairn(
      {"serve", "--data", directory / "data", "--resp", "0.0.0.0:0", "--http", "127.0.0.1:0"});
  EXPECT_EQ(finished.status.code, 1);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("can be reached from other machines"),
                                  HasSubstr("--insecure"), HasSubstr("password_file")));
}

TEST(CommandLineTest, CompletionScriptsAreValidShell) {
  const Finished bash = RunCairn({"completion", "bash"});
  ASSERT_EQ(bash.status.code, 0);
  TempDirectory directory;
  const std::string script = directory.Write(
      "completion.bash",
      bash.out +
          "\nCOMP_WORDS=(cairn serve --dur)\nCOMP_CWORD=2\n_cairn\necho \"${COMPREPLY[@]}\"\n"
          "COMP_WORDS=(cairn serve --durability '')\nCOMP_CWORD=3\n_cairn\necho "
          "\"${COMPREPLY[@]}\"\n"
          "COMP_WORDS=(cairn do)\nCOMP_CWORD=1\n_cairn\necho \"${COMPREPLY[@]}\"\n");
  const Finished completed = RunToEnd({{"/bin/bash", script}, {}, {}});
  EXPECT_EQ(completed.out, "--durability\nsync interval os\ndoctor\n") << completed.err;
  EXPECT_THAT(RunCairn({"completion", "zsh"}).out, HasSubstr("bashcompinit"));
  EXPECT_THAT(RunCairn({"completion", "fish"}).out, HasSubstr("complete -c cairn"));
  EXPECT_EQ(RunCairn({"completion", "tcsh"}).status.code, 2);
}

}  // namespace
}  // namespace cairn::testing
