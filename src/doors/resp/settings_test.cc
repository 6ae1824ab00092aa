#include "doors/resp/settings.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::doors {
namespace {

class SettingsTest : public ::testing::Test {
 protected:
  SettingsTest() {
    AddText("color", color_);
    AddText("size", size_);
    settings_.Add(Setting::Fixed("shape", "round"));
  }

  void AddText(std::string name, std::string& value) {
    settings_.Add({.name = std::move(name),
                   .get = [&value] { return value; },
                   .set = [&value](std::string_view text) -> Result<void> {
                     if (text == "bad") return Error{ErrorCode::kInvalid, "must not be bad"};
                     value = text;
                     return {};
                   }});
  }

  Settings::Values Find(std::vector<std::string_view> patterns) { return settings_.Find(patterns); }
  std::string Set(std::vector<std::pair<std::string_view, std::string_view>> values) {
    const Result<void> result = settings_.Set(values);
    return result.ok() ? "OK" : result.error().message;
  }

  std::string color_ = "red";
  std::string size_ = "1";
  Settings settings_;
};

TEST_F(SettingsTest, FindsByPatternInAnyCaseAndEachOnce) {
  EXPECT_EQ(Find({"COLOR"}), (Settings::Values{{"color", "red"}}));
  EXPECT_EQ(Find({"s*", "sh*"}), (Settings::Values{{"shape", "round"}, {"size", "1"}}));
  EXPECT_TRUE(Find({"nosuch"}).empty());
}

TEST_F(SettingsTest, SetsAllOrNone) {
  EXPECT_EQ(Set({{"color", "blue"}, {"SIZE", "2"}}), "OK");
  EXPECT_EQ(color_ + size_, "blue2");
  EXPECT_EQ(Set({{"color", "green"}, {"size", "bad"}}),
            "ERR CONFIG SET failed (possibly related to argument 'size') - must not be bad");
  EXPECT_EQ(color_ + size_, "blue2");
}

TEST_F(SettingsTest, NamesWhatItRefuses) {
  EXPECT_EQ(Set({{"nosuch", "1"}}),
            "ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'");
  EXPECT_EQ(Set({{"shape", "1"}}),
            "ERR CONFIG SET failed (possibly related to argument 'shape') - can't set immutable "
            "config");
  EXPECT_EQ(Set({{"size", "1"}, {"Size", "2"}}),
            "ERR CONFIG SET failed (possibly related to argument 'Size') - duplicate parameter");
  // Said before what else is wrong with either.
  EXPECT_EQ(Set({{"shape", "1"}, {"shape", "2"}}),
            "ERR CONFIG SET failed (possibly related to argument 'shape') - duplicate parameter");
}

TEST_F(SettingsTest, SaysWhatToDoAboutAFixedSetting) {
  settings_.Add(Setting::Fixed("weight", "1048576", "it is what it is"));
  EXPECT_EQ(Set({{"weight", "1mb"}}), "OK");
  EXPECT_EQ(Set({{"weight", "2mb"}}),
            "ERR CONFIG SET failed (possibly related to argument 'weight') - can't set immutable "
            "config: it is what it is");
}

TEST_F(SettingsTest, AFormerNameIsTheSameSetting) {
  settings_.Add({.name = "colour", .get = [this] { return color_; }, .former_name_of = "color"});
  EXPECT_EQ(Set({{"colour", "blue"}}), "OK");
  EXPECT_EQ(color_, "blue");
  EXPECT_EQ(Set({{"colour", "a"}, {"color", "b"}}),
            "ERR CONFIG SET failed (possibly related to argument 'color') - duplicate parameter");
}

TEST(SettingValuesTest, BytesHaveUnits) {
  const auto parse = [](std::string_view text) {
    const Result<int64_t> bytes = ParseSettingBytes(text, 0, INT64_MAX);
    return bytes.ok() ? *bytes : -1;
  };
  EXPECT_EQ(parse("100"), 100);
  EXPECT_EQ(parse("100b"), 100);
  EXPECT_EQ(parse("1k"), 1000);
  EXPECT_EQ(parse("1KB"), 1024);
  EXPECT_EQ(parse("2m"), 2'000'000);
  EXPECT_EQ(parse("2Mb"), 2 * 1024 * 1024);
  EXPECT_EQ(parse("3g"), 3'000'000'000);
  EXPECT_EQ(parse("3gb"), 3LL * 1024 * 1024 * 1024);
  for (const char* bad : {"", "b", "kb", "1tb", "1 kb", "-1", "1.5mb", "9223372036854775807kb"}) {
    EXPECT_EQ(parse(bad), -1) << bad;
  }
  EXPECT_EQ(ParseSettingBytes("2mb", 0, 1000).error().message,
            "argument must be between 0 and 1000 inclusive");
}

}  // namespace
}  // namespace cairn::doors
