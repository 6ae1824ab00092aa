#include "doors/access/name_patterns.h"

#include <gtest/gtest.h>

namespace cairn::doors {
namespace {

TEST(NamePatternsTest, NamesMatchWholeAndPatternsTheirBeginning) {
  const Result<NamePatterns> names = NamePatterns::Parse("emails, reports.*");
  ASSERT_TRUE(names.ok());
  EXPECT_TRUE(names->Allows("emails"));
  EXPECT_TRUE(names->Allows("reports.daily"));
  EXPECT_TRUE(names->Allows("reports."));
  for (const char* name : {"", "email", "emails2", "Emails", "reports", "xreports.a"}) {
    EXPECT_FALSE(names->Allows(name)) << name;
  }
  EXPECT_EQ(names->Describe(), "emails,reports.*");
}

TEST(NamePatternsTest, ANullPointerStandsForAllNames) {
  EXPECT_TRUE(Allows(nullptr, "any"));
  const Result<NamePatterns> names = NamePatterns::Parse("a");
  EXPECT_FALSE(Allows(&*names, "any"));
}

TEST(NamePatternsTest, WhatIsNotAListOfNamesIsRefused) {
  for (const char* text : {"", " ", ",", "a,", ",a", "a,,b", "a*b", "**", "a\nb"}) {
    EXPECT_FALSE(NamePatterns::Parse(text).ok()) << text;
  }
  EXPECT_FALSE(NamePatterns::Parse(std::string(300, 'x')).ok());
  std::string many = "q";
  for (int i = 0; i < 100; ++i) many += ",q";
  EXPECT_FALSE(NamePatterns::Parse(many).ok());
  // All names, said explicitly.
  EXPECT_TRUE(NamePatterns::Parse("*")->Allows("any"));
}

}  // namespace
}  // namespace cairn::doors
