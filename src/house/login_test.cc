#include "house/login.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/support/temp_directory.h"

namespace cairn::house {
namespace {

using ::testing::HasSubstr;

class LoginTest : public ::testing::Test {
 protected:
  unsigned ModeOf(const std::string& path) const {
    struct stat status = {};
    return stat(path.c_str(), &status) == 0 ? status.st_mode & 0777U : 0;
  }

  testing::TempDirectory directory_;
  const Environment environment_ = {{"HOME", directory_ / "home"}};
  const std::string file_ = directory_ / "home/.config/cairn/auth.json";
  const Login login_{.url = "http://127.0.0.1:8080", .token = "ck_1", .tenant = "t_abc123"};
};

TEST_F(LoginTest, WhatWasWrittenIsReadAndNobodyElseCanReadIt) {
  ASSERT_TRUE(WriteLogin(environment_, login_).ok());
  const auto read = ReadLogin(environment_);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, login_);
  EXPECT_EQ(ModeOf(file_), 0600U);
  EXPECT_EQ(ModeOf(directory_ / "home/.config/cairn"), 0700U);
}

TEST_F(LoginTest, ANewLoginTakesThePlaceOfTheOldOneAndLeavesNothingBeside) {
  ASSERT_TRUE(WriteLogin(environment_, login_).ok());
  Login other = login_;
  other.token = "ck_2";
  ASSERT_TRUE(WriteLogin(environment_, other).ok());
  EXPECT_EQ(ReadLogin(environment_)->value().token, "ck_2");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "home/.config/cairn")) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(files, 1);
}

TEST_F(LoginTest, NoLoginIsNoError) {
  EXPECT_EQ(*ReadLogin(environment_), std::nullopt);
  EXPECT_EQ(*RemoveLogin(environment_), false);
  ASSERT_TRUE(WriteLogin(environment_, login_).ok());
  EXPECT_EQ(*RemoveLogin(environment_), true);
  EXPECT_EQ(*ReadLogin(environment_), std::nullopt);
  EXPECT_EQ(*ReadLogin({}), std::nullopt);  // no home
  EXPECT_THAT(WriteLogin({}, login_).error().message, HasSubstr("XDG_CONFIG_HOME"));
}

TEST_F(LoginTest, TheDirectoryForConfigurationCountsBeforeTheHome) {
  const Environment environment = {{"HOME", "/nowhere"}, {"XDG_CONFIG_HOME", directory_ / "x"}};
  EXPECT_EQ(*LoginFile(environment), directory_ / "x/cairn/auth.json");
}

TEST_F(LoginTest, AFileThatOthersCanReadIsRefused) {
  ASSERT_TRUE(WriteLogin(environment_, login_).ok());
  for (const mode_t mode : {0640U, 0604U, 0620U}) {
    ASSERT_EQ(chmod(file_.c_str(), mode), 0);
    const auto read = ReadLogin(environment_);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, ErrorCode::kForbidden);
    EXPECT_THAT(read.error().message, HasSubstr("chmod 600 " + file_));
  }
}

TEST_F(LoginTest, WhatMakesNoSenseIsRefusedWithWhatToDo) {
  std::filesystem::create_directories(directory_ / "home/.config/cairn");
  for (const std::string& text :
       {std::string(""), std::string("[]"), std::string("{}"), std::string(R"({"url":7})"),
        std::string(R"({"url":"http://127.0.0.1:1","token":null})"), std::string(70'000, ' ')}) {
    directory_.Write("home/.config/cairn/auth.json", text);
    ASSERT_EQ(chmod(file_.c_str(), 0600), 0);
    const auto read = ReadLogin(environment_);
    ASSERT_FALSE(read.ok()) << text.substr(0, 60);
    EXPECT_EQ(read.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(read.error().message, HasSubstr("cairn auth login"));
  }
}

}  // namespace
}  // namespace cairn::house
