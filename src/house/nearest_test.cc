#include "house/nearest.h"

#include <gtest/gtest.h>

namespace cairn::house {
namespace {

TEST(NearestTest, SuggestsOnlyWhatIsNear) {
  const std::vector<std::string> words = {"serve", "doctor", "backup"};
  EXPECT_EQ(Nearest("srve", words), "serve");
  EXPECT_EQ(Nearest("docter", words), "doctor");
  EXPECT_EQ(Nearest("frobnicate", words), std::nullopt);
  EXPECT_EQ(DidYouMean("bakcup", words), " (did you mean 'backup'?)");
  EXPECT_EQ(DidYouMean("zzz", words), "");
}

}  // namespace
}  // namespace cairn::house
