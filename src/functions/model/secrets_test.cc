#include "functions/model/secrets.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::functions {
namespace {

constexpr std::string_view kOld = "0123456789abcdef0123456789abcdef";
constexpr std::string_view kNew = "fedcba9876543210fedcba9876543210";

SecretKeys Keys(const std::string& text) { return *SecretKeys::Parse(text); }

TEST(SecretsTest, WhatIsSealedOpensUnderItsOwnNameOnly) {
  SeededRandom random(1);
  const SecretKeys keys = Keys(std::string(kOld));
  const Bytes sealed = *keys.Seal("hunter2", "cs:fn:a:env", random);
  EXPECT_EQ(sealed.find("hunter2"), std::string::npos);
  EXPECT_EQ(*keys.Open(sealed, "cs:fn:a:env"), "hunter2");
  EXPECT_TRUE(IsRefusal(keys.Open(sealed, "cs:fn:b:env").error(), Code::kStoreReadFailed));
  EXPECT_NE(sealed, *keys.Seal("hunter2", "cs:fn:a:env", random));
  EXPECT_EQ(*keys.Open(*keys.Seal("", "x", random), "x"), "");
}

TEST(SecretsTest, EveryChangedBitAndEveryCutIsNoticed) {
  SeededRandom random(1);
  const SecretKeys keys = Keys(std::string(kOld));
  const Bytes sealed = *keys.Seal("hunter2", "name", random);
  for (size_t at = 0; at < sealed.size(); ++at) {
    Bytes changed = sealed;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(keys.Open(changed, "name").ok()) << at;
    EXPECT_FALSE(keys.Open(BytesView(sealed).substr(0, at), "name").ok()) << at;
  }
}

TEST(SecretsTest, AnOldKeyOpensWhatItHasSealed) {
  SeededRandom random(1);
  const Bytes sealed = *Keys(std::string(kOld)).Seal("hunter2", "name", random);
  const SecretKeys both =
      Keys(std::string(kNew) + "\n# before 2027\n" + std::string(kOld) + "\r\n");
  EXPECT_EQ(*both.Open(sealed, "name"), "hunter2");
  const SecretKeys newer = Keys(std::string(kNew));
  EXPECT_TRUE(IsRefusal(newer.Open(sealed, "name").error(), Code::kSecretsUnavailable));
  EXPECT_EQ(*newer.Open(*both.Seal("x", "name", random), "name"), "x");
}

TEST(SecretsTest, WithoutAKeyNothingIsSealed) {
  SeededRandom random(1);
  EXPECT_TRUE(IsRefusal(SecretKeys().Seal("x", "name", random).error(), Code::kSecretsUnavailable));
}

TEST(SecretsTest, AShortKeyIsRefusedWithoutShowingIt) {
  const Error error = SecretKeys::Parse("swordfish").error();
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_EQ(error.message.find("swordfish"), std::string::npos);
  EXPECT_FALSE(SecretKeys::Parse("\n# only this\n").ok());
}

TEST(SecretsTest, AnEnvironmentComesBack) {
  const EnvMap env{{"A", "x\ny"}, {"B", ""}};
  EXPECT_EQ(*DecodeEnv(EncodeEnv(env)), env);
}

TEST(SecretsTest, ValuesAreTakenOutOfLogs) {
  const Redactor redactor(EnvMap{{"TOKEN", "s3cr3t"}, {"LONG", "s3cr3t-and-more"}, {"MODE", "on"}});
  EXPECT_EQ(redactor.Redact("a s3cr3t-and-more, s3cr3ts3cr3t on"),
            "a [redacted], [redacted][redacted] on");
  const Redactor quoted(EnvMap{{"PASSWORD", "pass\"word"}});
  EXPECT_EQ(quoted.Redact(R"([info] "pass\"word" pass"word)"), R"([info] "[redacted]" [redacted])");
  EXPECT_TRUE(Redactor(EnvMap{{"MODE", "on"}}).empty());
}

}  // namespace
}  // namespace cairn::functions
