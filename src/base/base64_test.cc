#include "base/base64.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(Base64Test, TextsOfTheStandard) {
  EXPECT_EQ(Base64Encode(""), "");
  EXPECT_EQ(Base64Encode("f"), "Zg==");
  EXPECT_EQ(Base64Encode("fo"), "Zm8=");
  EXPECT_EQ(Base64Encode("foo"), "Zm9v");
  EXPECT_EQ(Base64Encode("foobar"), "Zm9vYmFy");
}

TEST(Base64Test, EveryByteComesBack) {
  Bytes bytes;
  for (int round = 0; round < 300; ++round) {
    EXPECT_EQ(Base64Decode(Base64Encode(bytes)), bytes);
    bytes += static_cast<char>(round * 7);
  }
}

TEST(Base64Test, OtherSpellingsAreRefused) {
  for (const char* wrong : {"Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zh==", "Zm9=", "Zm 9",
                            "Zm-v", "Zg==Zg==", "=Zg="}) {
    EXPECT_EQ(Base64Decode(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace cairn
