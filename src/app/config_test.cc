#include "app/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "app/layers.h"
#include "house/declarations.h"
#include "tests/support/temp_directory.h"

namespace cairn::app {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A value that differs from the default, for each setting, and how TOML writes it.
struct Sample {
  std::string text;
  std::string toml;
};

const std::map<std::string, Sample>& Samples() {
  static const std::map<std::string, Sample> samples = {
      {"data", {"/srv/cairn", "\"/srv/cairn\""}},
      {"store", {"postgres://h/d", "\"postgres://h/d\""}},
      {"resp", {"127.0.0.1:7001", "\"127.0.0.1:7001\""}},
      {"http", {"[::1]:7002", "\"[::1]:7002\""}},
      {"durability", {"interval", "\"interval\""}},
      {"sync_interval", {"250ms", "\"250ms\""}},
      {"memory", {"300MiB", "\"300MiB\""}},
      {"io_threads", {"3", "3"}},
      {"pool_threads", {"5", "5"}},
      {"max_clients", {"77", "77"}},
      {"max_http_connections", {"78", "78"}},
      {"idle_timeout", {"5m", "\"5m\""}},
      {"auth_timeout", {"7s", "\"7s\""}},
      {"drain_timeout", {"2s", "\"2s\""}},
      {"script_time_limit", {"3s", "\"3s\""}},
      {"password", {"sesame", "\"sesame\""}},
      {"password_file", {"", ""}},  // needs a file: PasswordComesFromAFile
      {"insecure", {"true", "true"}},
      {"webhooks.allow", {"loopback,10.1.0.0/16", "\"loopback,10.1.0.0/16\""}},
      {"cors.origins", {"local,https://a.example", "\"local,https://a.example\""}},
      {"allowed_hosts", {"cairn.internal,10.0.0.7", "\"cairn.internal,10.0.0.7\""}},
      {"backup.directory", {"/srv/backups", "\"/srv/backups\""}},
      {"audit.kept", {"24h", "\"24h\""}},
      {"audit.bytes", {"8MiB", "\"8MiB\""}},
      {"limits.bulk", {"2MiB", "\"2MiB\""}},
      {"limits.http_body", {"3MiB", "3145728"}},
      {"limits.transaction", {"100MiB", "\"100MiB\""}},
      {"limits.buffers", {"100MiB", "\"100MiB\""}},
      {"limits.reply", {"9MiB", "\"9MiB\""}},
      {"postgres.schema", {"other", "\"other\""}},
      {"postgres.connections", {"5", "5"}},
      {"postgres.mode", {"portable", "\"portable\""}},
      {"postgres.statement_timeout", {"3s", "\"3s\""}},
      {"seats.key_prefix", {"box:", "\"box:\""}},
      {"functions.running", {"8", "8"}},
      {"functions.cache", {"64MiB", "\"64MiB\""}},
      {"functions.tenant_rate", {"200", "200"}},
      {"functions.function_rate", {"20", "20"}},
      {"functions.client_rate", {"30", "30"}},
      {"functions.allow", {"loopback,10.1.0.0/16", "\"loopback,10.1.0.0/16\""}},
      {"functions.secret_file", {"/srv/secrets", "\"/srv/secrets\""}},
      {"actors.quota", {"2GiB", "\"2GiB\""}},
      {"view.file", {"v.sqlite", "\"v.sqlite\""}},
      {"tls.cert", {"c.pem", "\"c.pem\""}},
      {"tls.key", {"k.pem", "\"k.pem\""}},
      {"tls.client_ca", {"ca.pem", "\"ca.pem\""}},
      {"tls.doors", {"http", "\"http\""}},
      {"log.level", {"debug", "\"debug\""}},
      {"log.format", {"json", "\"json\""}},
  };
  return samples;
}

class ConfigTest : public ::testing::Test {
 protected:
  ConfigSources FromFile(const std::string& content) {
    ConfigSources sources = base_;
    sources.file = directory_.Write("cairn.toml", content);
    return sources;
  }

  ConfigSources FromEnvironment(const std::string& name, const std::string& value) {
    ConfigSources sources = base_;
    sources.environment[name] = value;
    return sources;
  }

  ConfigSources FromFlag(const std::string& name, const std::string& value) {
    ConfigSources sources = base_;
    sources.flags[name] = value;
    return sources;
  }

  // The value and origin of one setting; problems about settings it needs beside it do not matter.
  static void ExpectSetting(const LoadedConfig& loaded, const Setting& setting,
                            const std::string& value, const std::string& origin) {
    const auto row = static_cast<size_t>(&setting - Settings().data());
    EXPECT_EQ(setting.format(loaded.config), value) << setting.name;
    EXPECT_EQ(loaded.origins[row], origin) << setting.name;
  }

  testing::TempDirectory directory_;
  ConfigSources base_{.flags = {}, .environment = {{"HOME", "/home/someone"}}, .file = {}};
};

TEST_F(ConfigTest, WithoutAnySourceTheDefaultsHold) {
  const LoadedConfig loaded = LoadConfig(base_);
  EXPECT_THAT(loaded.problems, IsEmpty());
  EXPECT_EQ(loaded.config.data, "/home/someone/.cairn");
  EXPECT_EQ(net::ToString(loaded.config.resp), "127.0.0.1:6666");
  EXPECT_EQ(net::ToString(loaded.config.http), "127.0.0.1:8080");
  EXPECT_EQ(loaded.config.durability, store::Durability::kSync);
  EXPECT_GE(loaded.config.memory_bytes, 192ULL << 20);
  EXPECT_TRUE(loaded.config.password.empty());
  for (const std::string& origin : loaded.origins) EXPECT_EQ(origin, "default");
}

TEST_F(ConfigTest, WhatATransactionMayWriteFollowsTheMemory) {
  EXPECT_EQ(LoadConfig(FromFlag("memory", "1GiB")).config.limit_transaction_bytes, 256ULL << 20);
  EXPECT_EQ(LoadConfig(FromFlag("memory", "100MiB")).config.limit_transaction_bytes, 64ULL << 20);
  EXPECT_EQ(LoadConfig(FromFlag("memory", "64GiB")).config.limit_transaction_bytes, 1ULL << 30);
}

TEST_F(ConfigTest, EverySettingHasASampleAndANameOfItsOwn) {
  std::set<std::string> flags;
  for (const Setting& setting : Settings()) {
    EXPECT_TRUE(Samples().contains(setting.name)) << setting.name;
    EXPECT_TRUE(flags.insert(setting.flag()).second) << setting.flag();
    EXPECT_FALSE(setting.description.empty()) << setting.name;
    EXPECT_FALSE(setting.accepts.empty()) << setting.name;
  }
  EXPECT_EQ(Samples().size(), Settings().size());
}

TEST_F(ConfigTest, EverySettingCanComeFromFileEnvironmentAndFlag) {
  for (const Setting& setting : Settings()) {
    const Sample& sample = Samples().at(setting.name);
    if (sample.text.empty()) continue;
    ExpectSetting(LoadConfig(FromFile(setting.name + " = " + sample.toml + "\n")), setting,
                  sample.text, (directory_ / "cairn.toml") + ":1");
    ExpectSetting(LoadConfig(FromEnvironment(setting.environment(), sample.text)), setting,
                  sample.text, setting.environment());
    ExpectSetting(LoadConfig(FromFlag(setting.name, sample.text)), setting, sample.text,
                  setting.flag());
  }
}

TEST_F(ConfigTest, EveryDefaultAndSampleReadsBackAsItself) {
  for (const Setting& setting : Settings()) {
    const std::string& sample = Samples().at(setting.name).text;
    if (sample.empty()) continue;
    Config config;
    EXPECT_NE(setting.format(config), sample) << setting.name << ": the sample is the default";
    ASSERT_TRUE(setting.parse(sample, config)) << setting.name;
    EXPECT_EQ(setting.format(config), sample) << setting.name;
  }
}

TEST_F(ConfigTest, FlagsOverrideEnvironmentOverridesFileOverridesDefault) {
  ConfigSources sources = FromFile("max_clients = 1\nio_threads = 1\npool_threads = 1\n");
  sources.environment["CAIRN_MAX_CLIENTS"] = "2";
  sources.environment["CAIRN_IO_THREADS"] = "2";
  sources.flags["max_clients"] = "3";
  const LoadedConfig loaded = LoadConfig(sources);
  EXPECT_THAT(loaded.problems, IsEmpty());
  EXPECT_EQ(loaded.config.max_clients, 3U);
  EXPECT_EQ(loaded.config.io_threads, 2U);
  EXPECT_EQ(loaded.config.pool_threads, 1U);
}

TEST_F(ConfigTest, SectionsOfTheFileAreDotsInTheName) {
  const LoadedConfig loaded = LoadConfig(FromFile("[log]\nlevel = \"warn\"\nformat = \"text\"\n"));
  EXPECT_THAT(loaded.problems, IsEmpty());
  EXPECT_EQ(loaded.config.log_level, LogLevel::kWarn);
  EXPECT_EQ(loaded.config.log_format, LogFormat::kText);
}

TEST_F(ConfigTest, EnvironmentCanNameTheFileAndTheFlagOverridesIt) {
  ConfigSources sources =
      FromEnvironment("CAIRN_CONFIG", directory_.Write("a.toml", "io_threads = 2\n"));
  EXPECT_EQ(LoadConfig(sources).config.io_threads, 2U);
  sources.file = directory_.Write("b.toml", "io_threads = 3\n");
  EXPECT_EQ(LoadConfig(sources).config.io_threads, 3U);
}

// A layer's setting comes from where the program's own come from, with the same errors.
TEST_F(ConfigTest, ASettingThatALayerDeclaresIsASettingLikeAnyOther) {
  std::vector<Setting> settings = Settings();
  settings.push_back(
      SettingOfLayer(house::SizeSetting({"toy.size", "How large it is."}, 1024, 1, 1 << 20)));
  const auto load = [&](const ConfigSources& sources) {
    return LoadConfig(sources, Purpose::kServe, settings);
  };
  const auto value = [&](const LoadedConfig& loaded) {
    EXPECT_THAT(loaded.problems, IsEmpty());
    return settings.back().format(loaded.config) + " " + loaded.origins.back();
  };
  EXPECT_EQ(value(load(base_)), "1KiB default");
  EXPECT_EQ(value(load(FromFile("[toy]\nsize = 4096\n"))),
            "4KiB " + (directory_ / "cairn.toml") + ":2");
  EXPECT_EQ(value(load(FromEnvironment("CAIRN_TOY_SIZE", "2048"))), "2KiB CAIRN_TOY_SIZE");
  EXPECT_EQ(value(load(FromFlag("toy.size", "3KiB"))), "3KiB --toy-size");
  EXPECT_EQ(ConfigurationOf(load(FromFlag("toy.size", "3072")).config).Text("toy.size"), "3KiB");
  EXPECT_THAT(load(FromFlag("toy.size", "2MiB")).problems,
              ElementsAre("--toy-size: '2MiB' is not accepted for toy.size: expected a size from 1 "
                          "to 1MiB"));
  EXPECT_THAT(load(FromFile("toy.sise = 1\n")).problems,
              ElementsAre(HasSubstr("did you mean 'toy.size'?")));
}

TEST_F(ConfigTest, NoLayerTakesAwayWhatTheProgramHas) {
  const house::Layers layers = MakeLayers();
  const house::Declarations declarations(layers, {.flags = OwnFlags(), .verbs = {"serve"}});
  EXPECT_EQ(declarations.collision().value_or(Error{}).message, "");
}

TEST_F(ConfigTest, UnknownNamesAreRefusedWithTheNearestOne) {
  EXPECT_THAT(LoadConfig(FromFile("io_threads = 1\n\n[tls]\ncrt = \"x\"\n")).problems,
              ElementsAre(AllOf(HasSubstr("cairn.toml:4"), HasSubstr("'tls.crt'"),
                                HasSubstr("did you mean 'tls.cert'?"))));
  EXPECT_THAT(LoadConfig(FromEnvironment("CAIRN_DURABILTY", "os")).problems,
              ElementsAre(AllOf(HasSubstr("CAIRN_DURABILTY"),
                                HasSubstr("did you mean 'CAIRN_DURABILITY'?"))));
  EXPECT_THAT(LoadConfig(FromEnvironment("CAIRN_COMPLETELY_DIFFERENT", "1")).problems,
              ElementsAre("CAIRN_COMPLETELY_DIFFERENT: there is no such setting"));
}

TEST_F(ConfigTest, BadValuesNameSettingValuePlaceAndWhatIsAccepted) {
  EXPECT_THAT(LoadConfig(FromFile("data = \"x\"\ndurability = \"always\"\n")).problems,
              ElementsAre(AllOf(HasSubstr("cairn.toml:2"), HasSubstr("'always'"),
                                HasSubstr("durability"), HasSubstr("sync, interval, os"))));
  EXPECT_THAT(LoadConfig(FromEnvironment("CAIRN_MEMORY", "2 GB")).problems,
              ElementsAre(AllOf(HasSubstr("CAIRN_MEMORY"), HasSubstr("'2 GB'"),
                                HasSubstr("a size from 64MiB"))));
  EXPECT_THAT(LoadConfig(FromFlag("resp", "example.org:1")).problems,
              ElementsAre(AllOf(HasSubstr("--resp"), HasSubstr("'example.org:1'"),
                                HasSubstr("HOST:PORT"))));
  EXPECT_THAT(LoadConfig(FromFlag("io_threads", "0")).problems,
              ElementsAre(HasSubstr("a whole number from 1 to 64")));
  EXPECT_THAT(LoadConfig(FromFlag("idle_timeout", "10")).problems,
              ElementsAre(HasSubstr("a time with its unit")));
}

TEST_F(ConfigTest, EverySettingRefusesGarbageAndKeepsItsDefault) {
  for (const Setting& setting : Settings()) {
    // Any text is a path or a password, except none.
    const bool free_text = setting.value_name == "DIR" || setting.value_name == "FILE" ||
                           setting.value_name == "SECRET";
    Config config;
    EXPECT_FALSE(setting.parse(free_text ? "" : "\x01?", config)) << setting.name;
    EXPECT_EQ(setting.format(config), setting.format(Config())) << setting.name;
  }
}

TEST_F(ConfigTest, WrongTomlTypesAreRefused) {
  EXPECT_THAT(LoadConfig(FromFile("data = 5\n")).problems,
              ElementsAre(AllOf(HasSubstr("wrong type"), HasSubstr("in quotes"))));
  EXPECT_THAT(LoadConfig(FromFile("insecure = \"yes\"\n")).problems,
              ElementsAre(HasSubstr("true or false")));
  EXPECT_THAT(LoadConfig(FromFile("max_clients = [1]\n")).problems,
              ElementsAre(HasSubstr("a whole number")));
  EXPECT_THAT(LoadConfig(FromFile("[data]\nx = 1\n")).problems,
              ElementsAre(HasSubstr("wrong type")));
}

TEST_F(ConfigTest, BrokenOrMissingFileIsAProblemWithItsPlace) {
  EXPECT_THAT(LoadConfig(FromFile("data = \"x\"\nresp = \n")).problems,
              ElementsAre(AllOf(HasSubstr("cairn.toml:2"), HasSubstr("not valid TOML"))));
  ConfigSources missing = base_;
  missing.file = directory_ / "missing.toml";
  EXPECT_THAT(LoadConfig(missing).problems, ElementsAre(HasSubstr("missing.toml")));
  ConfigSources directory = base_;
  directory.file = directory_.path();
  EXPECT_THAT(LoadConfig(directory).problems, ElementsAre(HasSubstr("cannot be read")));
}

TEST_F(ConfigTest, AllProblemsAreToldAtOnce) {
  ConfigSources sources = FromFile("nonsense = 1\nio_threads = 0\n");
  sources.environment["CAIRN_WHAT_IS_THIS"] = "1";
  EXPECT_THAT(LoadConfig(sources).problems, SizeIs(3));
}

TEST_F(ConfigTest, EmptyVariablesAndVariablesOfOthersAreIgnored) {
  ConfigSources sources = base_;
  sources.environment["CAIRN_PASSWORD"] = "";
  sources.environment["CAIRN_BINARY"] = "/usr/bin/cairn";
  sources.environment["CAIRN_TEST_SEED"] = "7";
  sources.environment["CAIRN_PORT"] = "tcp://10.0.0.7:6666";
  sources.environment["CAIRN_SERVICE_HOST"] = "10.0.0.7";
  sources.environment["CAIRN_SERVICE_PORT_RESP"] = "6666";
  sources.environment["CAIRN_PORT_6666_TCP_ADDR"] = "10.0.0.7";
  sources.environment["CAIRN_HTTP_SERVICE_PORT"] = "8080";
  EXPECT_THAT(LoadConfig(sources).problems, IsEmpty());
  EXPECT_THAT(LoadConfig(FromEnvironment("CAIRN_PORT", "6666")).problems, SizeIs(1));
}

TEST_F(ConfigTest, PasswordComesFromAFile) {
  ConfigSources sources =
      FromFlag("password_file", directory_.Write("secret", "open sesame\r\nnot this\n"));
  EXPECT_THAT(LoadConfig(sources).problems, IsEmpty());
  EXPECT_EQ(LoadConfig(sources).config.password, "open sesame");

  sources.flags["password"] = "another";
  EXPECT_THAT(LoadConfig(sources).problems, ElementsAre(HasSubstr("both set")));
  EXPECT_THAT(LoadConfig(FromFlag("password_file", directory_.Write("empty", "\n"))).problems,
              ElementsAre(HasSubstr("empty first line")));
  EXPECT_THAT(LoadConfig(FromFlag("password_file", directory_ / "none")).problems,
              ElementsAre(HasSubstr("cannot be read")));
}

TEST_F(ConfigTest, AProblemNeverPrintsThePassword) {
  ConfigSources sources = base_;
  sources.flags["password"] = "";
  sources.environment["CAIRN_PASSWORD"] = "sesame";
  for (const std::string& problem : LoadConfig(sources).problems) {
    EXPECT_THAT(problem, ::testing::Not(HasSubstr("sesame")));
  }
  EXPECT_THAT(LoadConfig(sources).problems, ElementsAre(HasSubstr("the value is not accepted")));
}

TEST_F(ConfigTest, AddressForOtherMachinesNeedsAPasswordOrAnExplicitYes) {
  for (const char* door : {"resp", "http"}) {
    ConfigSources sources = FromFlag(door, "0.0.0.0:7777");
    EXPECT_THAT(WhyExposed(LoadConfig(sources).config).value_or(""),
                AllOf(HasSubstr(door), HasSubstr("0.0.0.0:7777"), HasSubstr("--insecure")));
    sources.flags["password"] = "sesame";
    EXPECT_EQ(WhyExposed(LoadConfig(sources).config), std::nullopt);
    sources.flags.erase("password");
    sources.flags["insecure"] = "true";
    EXPECT_EQ(WhyExposed(LoadConfig(sources).config), std::nullopt);
  }
  EXPECT_EQ(WhyExposed(LoadConfig(FromFlag("resp", "127.0.0.1:7777")).config), std::nullopt);
}

TEST_F(ConfigTest, WhereAServerWouldListenDoesNotMatterToOtherCommands) {
  EXPECT_THAT(LoadConfig(FromFlag("resp", "0.0.0.0:7777"), Purpose::kOther).problems, IsEmpty());
  EXPECT_THAT(LoadConfig(FromFlag("http", "127.0.0.1:6666"), Purpose::kOther).problems, IsEmpty());
  EXPECT_THAT(LoadConfig(FromFlag("http", "nonsense"), Purpose::kOther).problems, SizeIs(1));
}

TEST_F(ConfigTest, SettingsThatNeedEachOtherAreCheckedTogether) {
  EXPECT_THAT(LoadConfig(FromFlag("tls.cert", "c.pem")).problems,
              ElementsAre("tls.cert is set without tls.key: TLS needs both"));
  EXPECT_THAT(LoadConfig(FromFlag("tls.key", "k.pem")).problems,
              ElementsAre("tls.key is set without tls.cert: TLS needs both"));
  EXPECT_THAT(LoadConfig(FromFlag("tls.client_ca", "ca.pem")).problems,
              ElementsAre(HasSubstr("TLS would stay off")));
  EXPECT_THAT(LoadConfig(FromFlag("resp", "127.0.0.1:8080")).problems,
              ElementsAre(HasSubstr("each needs a port of its own")));
  ConfigSources any_port = FromFlag("resp", "127.0.0.1:0");
  any_port.flags["http"] = "127.0.0.1:0";
  EXPECT_THAT(LoadConfig(any_port).problems, IsEmpty());
}

}  // namespace
}  // namespace cairn::app
