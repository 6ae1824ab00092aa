#include "doors/resp/command_syntax.h"

#include <gtest/gtest.h>

namespace cairn::doors {
namespace {

TEST(CommandSyntaxTest, ReadsArgumentsWithTypes) {
  const auto arguments = ParseSyntax("key:key value");
  ASSERT_TRUE(arguments.ok());
  ASSERT_EQ(arguments->size(), 2U);
  EXPECT_EQ((*arguments)[0].name, "key");
  EXPECT_EQ((*arguments)[0].type, "key");
  EXPECT_EQ((*arguments)[1].type, "string");
}

TEST(CommandSyntaxTest, ReadsChoicesOfWordsAndOfWordsWithArguments) {
  const auto arguments = ParseSyntax("[NX | XX] [EX seconds:integer | KEEPTTL]");
  ASSERT_TRUE(arguments.ok());
  ASSERT_EQ(arguments->size(), 2U);
  const SyntaxArgument& condition = (*arguments)[0];
  EXPECT_TRUE(condition.optional);
  EXPECT_EQ(condition.type, "oneof");
  ASSERT_EQ(condition.arguments.size(), 2U);
  EXPECT_EQ(condition.arguments[0].type, "pure-token");
  EXPECT_EQ(condition.arguments[0].token, "NX");
  const SyntaxArgument& seconds = (*arguments)[1].arguments[0];
  EXPECT_EQ(seconds.token, "EX");
  EXPECT_EQ(seconds.name, "seconds");
  EXPECT_EQ(seconds.type, "integer");
}

TEST(CommandSyntaxTest, ReadsRepetitionsAndBlocks) {
  const auto arguments = ParseSyntax("(key:key value) ... [FILTERBY (MODULE name | ACLCAT name)]");
  ASSERT_TRUE(arguments.ok());
  EXPECT_EQ((*arguments)[0].type, "block");
  EXPECT_TRUE((*arguments)[0].multiple);
  EXPECT_EQ((*arguments)[1].token, "FILTERBY");
  EXPECT_EQ((*arguments)[1].type, "oneof");
  EXPECT_TRUE((*arguments)[1].optional);
}

TEST(CommandSyntaxTest, RefusesWhatIsNotClosedOrUnknown) {
  for (const char* text : {"[NX", "key:thing", "()", "a | b", "]"}) {
    EXPECT_FALSE(ParseSyntax(text).ok()) << text;
  }
}

TEST(CommandSyntaxTest, IsShownToPeopleWithoutTypes) {
  EXPECT_EQ(SyntaxForPeople("key:key [EX seconds:integer] ..."), "key [EX seconds] ...");
}

}  // namespace
}  // namespace cairn::doors
