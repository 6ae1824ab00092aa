#include "data/json/select.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "data/json/path.h"
#include "data/json/text.h"
#include "data/value/limits.h"

namespace cairn::data {
namespace {

// What the path finds, as JSON.GET would tell it; or why it is no path.
std::string Select(std::string_view document, std::string_view path_text) {
  const Result<JsonPath> path = ParseJsonPath(path_text);
  if (!path.ok()) return "(error) " + path.error().message;
  Result<JsonValue> value = ParseJson(document);
  EXPECT_TRUE(value.ok()) << document;
  const JsonCursor root(std::make_shared<const JsonValue>(*std::move(value)), nullptr);
  const auto matches = SelectJson(*path, root);
  EXPECT_TRUE(matches.ok());
  JsonValue::Array found;
  for (const JsonMatch& match : *matches) found.push_back(*match.cursor.Load());
  return PrintJson(JsonValue(std::move(found)));
}

constexpr std::string_view kStore =
    R"({"store":{"book":[)"
    R"({"category":"reference","title":"A","price":8.95},)"
    R"({"category":"fiction","title":"B","price":12.99},)"
    R"({"category":"fiction","title":"C","price":8.99,"isbn":"0-553"},)"
    R"({"category":"fiction","title":"D","price":22.99,"isbn":"0-395"}],)"
    R"("bicycle":{"color":"red","price":19.95}},"limit":10})";

TEST(JsonSelectTest, MembersAndElements) {
  EXPECT_EQ(Select(R"({"a":{"b":[1,2,3]}})", "$"), R"([{"a":{"b":[1,2,3]}}])");
  EXPECT_EQ(Select(R"({"a":{"b":[1,2,3]}})", "$.a.b[1]"), "[2]");
  EXPECT_EQ(Select(R"({"a":{"b":[1,2,3]}})", "$['a'][\"b\"][-1]"), "[3]");
  EXPECT_EQ(Select(R"({"a":{"b":[1,2,3]}})", "$.a.b[3]"), "[]");
  EXPECT_EQ(Select(R"({"a":{"b":[1,2,3]}})", "$.a.b[-4]"), "[]");
  EXPECT_EQ(Select(R"({"a":{"b":[1,2,3]}})", "$.a[0]"), "[]");
  EXPECT_EQ(Select(R"({"a":{"b":[1,2,3]}})", "$.a.b.c"), "[]");
  EXPECT_EQ(Select(R"([5,6])", "$.[1]"), "[6]");
  EXPECT_EQ(Select(R"({"A-1":{"0":7},"12":8})", "$.A-1.0"), "[7]");
  EXPECT_EQ(Select(R"({"12":8})", "$.12"), "[8]");
  EXPECT_EQ(Select(R"({"f.]$.f":1})", "$[\"f.]$.f\"]"), "[1]");
  EXPECT_EQ(Select(R"({"it's":1,"tab\t":2})", R"($['it\'s','tab\t'])"), "[1,2]");
  EXPECT_EQ(Select(R"({"é x":1})", "$.é x"), "[1]");
}

TEST(JsonSelectTest, LegacyPathsStartAnywhere) {
  EXPECT_EQ(Select(R"({"a":{"b":1}})", "."), R"([{"a":{"b":1}}])");
  EXPECT_EQ(Select(R"({"a":{"b":1}})", ".a.b"), "[1]");
  EXPECT_EQ(Select(R"({"a":{"b":1}})", "a.b"), "[1]");
  EXPECT_EQ(Select(R"([3,4])", "[0]"), "[3]");
  EXPECT_EQ(Select(R"({"a":{"a":1}})", "..a"), R"([{"a":1},1])");
  EXPECT_TRUE(ParseJsonPath(".a")->legacy);
  EXPECT_EQ(ParseJsonPath("a")->text, "$.a");
  EXPECT_FALSE(ParseJsonPath("$.a")->legacy);
}

TEST(JsonSelectTest, WildcardsSlicesAndUnions) {
  EXPECT_EQ(Select(R"({"a":1,"b":[2,3]})", "$.*"), "[1,[2,3]]");
  EXPECT_EQ(Select(R"({"a":1,"b":[2,3]})", "$.*[*]"), "[2,3]");
  EXPECT_EQ(Select("[0,1,2,3,4]", "$[1:3]"), "[1,2]");
  EXPECT_EQ(Select("[0,1,2,3,4]", "$[:2]"), "[0,1]");
  EXPECT_EQ(Select("[0,1,2,3,4]", "$[-2:]"), "[3,4]");
  EXPECT_EQ(Select("[0,1,2,3,4]", "$[::2]"), "[0,2,4]");
  EXPECT_EQ(Select("[0,1,2,3,4]", "$[::-2]"), "[4,2,0]");
  EXPECT_EQ(Select("[0,1,2,3,4]", "$[3:0:-1]"), "[3,2,1]");
  EXPECT_EQ(Select("[0,1,2,3,4]", "$[::0]"), "[]");
  EXPECT_EQ(Select("[0,1,2]", "$[0:9223372036854775807:9223372036854775807]"), "[0]");
  EXPECT_EQ(Select("[0,1,2]", "$[-9223372036854775808]"), "[]");
  EXPECT_EQ(Select("[0,1,2,3]", "$[3, 0,-2]"), "[3,0,2]");
  EXPECT_EQ(Select(R"({"a":1,"b":2})", "$['b','a','c']"), "[2,1]");
}

TEST(JsonSelectTest, DescendantsNameTheirOwnMembersFirst) {
  EXPECT_EQ(Select(R"({"n":{"a":{"a":3}},"a":1,"m":[{"a":2}]})", "$..a"), R"([1,{"a":3},3,2])");
  EXPECT_EQ(Select("[[1],[2,[3]]]", "$..[0]"), "[[1],1,2,3]");
  EXPECT_EQ(Select(R"({"a":[1]})", "$..*"), "[[1],1]");
}

TEST(JsonSelectTest, FiltersCompareAndCombine) {
  EXPECT_EQ(Select(kStore, "$.store.book[?(@.price<10)].title"), R"(["A","C"])");
  EXPECT_EQ(Select(kStore, "$..book[?(@.isbn)].title"), R"(["C","D"])");
  EXPECT_EQ(Select(kStore, "$..book[?(!(@.isbn))].title"), R"(["A","B"])");
  EXPECT_EQ(Select(kStore, "$..book[?(@.category=='fiction' && @.price>=12.99)].title"),
            R"(["B","D"])");
  EXPECT_EQ(Select(kStore, "$..book[?(@.title==\"A\" || @.price > 20)].title"), R"(["A","D"])");
  EXPECT_EQ(Select(kStore, "$..book[?(@.price < $.limit)].title"), R"(["A","C"])");
  EXPECT_EQ(Select(kStore, "$..book[?@.price<=8.95].title"), R"(["A"])");
  EXPECT_EQ(Select(kStore, "$.store.book[?(@['title'] != 'A')].title"), R"(["B","C","D"])");
  EXPECT_EQ(Select("[1,2,3,\"2\",null,true]", "$[?(@==2)]"), "[2]");
  EXPECT_EQ(Select("[1,null,true,false]", "$[?(@==null || @==true)]"), "[null,true]");
  EXPECT_EQ(Select("[1,2.0,3]", "$[?(2==@)]"), "[2.0]");
  EXPECT_EQ(Select("[\"a\",\"b\",\"c\"]", "$[?(@>'a')]"), R"(["b","c"])");
  EXPECT_EQ(Select("[[1],[2],[1]]", "$[?(@==$[0])]"), "[[1],[1]]");
  EXPECT_EQ(Select(R"([{"a":[{"b":1}]},{"a":[]}])", "$[?(@.a[?(@.b==1)])]"),
            R"([{"a":[{"b":1}]}])");
  EXPECT_EQ(Select(R"({"x":{"v":1},"y":{"v":2}})", "$[?(@.v>1)]"), R"([{"v":2}])");
}

TEST(JsonSelectTest, FiltersMatchRegularExpressions) {
  constexpr std::string_view kNames = R"(["Ann","Bob","annex",7,null,{"a":"Ann"}])";
  EXPECT_EQ(Select(kNames, "$[?(@ =~ 'nn')]"), R"(["Ann","annex"])");
  EXPECT_EQ(Select(kNames, "$[?(@=~'^A.*n$')]"), R"(["Ann"])");
  EXPECT_EQ(Select(kNames, "$[?(@ =~ '(?i)^ann$')]"), R"(["Ann"])");
  EXPECT_EQ(Select(kNames, "$[?(@.a =~ \"A\")].a"), R"(["Ann"])");
  EXPECT_EQ(Select(R"([{"a":"xyz","p":"y"},{"a":"xyz","p":"q"},{"a":"x"}])", "$[?(@.a =~ @.p)].p"),
            R"(["y"])");
  // What is no regular expression, or no text, matches nothing.
  EXPECT_EQ(Select(kNames, "$[?(@ =~ '(')]"), "[]");
  EXPECT_EQ(Select(kNames, "$[?(@ =~ 7)]"), "[]");
  // Nor does one that would take for ever elsewhere.
  const std::string text = "\"" + std::string(5000, 'a') + "\"";
  EXPECT_EQ(Select("[" + text + "]", "$[?(@ =~ '^(a+)+b$')]"), "[]");
}

TEST(JsonSelectTest, WhatIsNoPathIsRejectedWithItsPlace) {
  EXPECT_EQ(Select("{}", "$.a[$]"),
            "(error) Error occurred on position 4, \"$.a[ ---->>>> $]\", expected one of the "
            "following: '<string>', '<number>', 'start:end:step', '*', '?'.");
  for (const char* path : {"",
                           "$.",
                           "$..",
                           "$[",
                           "$[]",
                           "$[1",
                           "$['a",
                           "$['a'",
                           "$[1,]",
                           "$[a]",
                           "$[?]",
                           "$[?(]",
                           "$[?(@.a]",
                           "$[?(@.a==)]",
                           "$[?(1)]",
                           "$[?(@.a=1)]",
                           "$[?(@ && )]",
                           "$.a]",
                           "$[99999999999999999999]",
                           "$[1:x]",
                           "$.a..",
                           "$*"}) {
    EXPECT_FALSE(ParseJsonPath(path).ok()) << path;
  }
}

TEST(JsonSelectTest, NestedFiltersAndLongPathsAreBounded) {
  const std::string brackets(5000, '(');
  EXPECT_FALSE(ParseJsonPath("$[?" + brackets + "@" + std::string(5000, ')') + "]").ok());
  EXPECT_FALSE(ParseJsonPath("$[?" + std::string(5000, '!') + "@]").ok());
  std::string filters = "$";
  for (int i = 0; i < 5000; ++i) filters += "[?(@";
  EXPECT_FALSE(ParseJsonPath(filters).ok());
  EXPECT_FALSE(ParseJsonPath("$." + std::string(kMaxJsonPathBytes, 'a')).ok());
}

TEST(JsonSelectTest, AnExplosionOfMatchesIsCutOff) {
  std::string deep = "0";
  for (int i = 0; i < 100; ++i) deep = "[" + deep + "]";
  const Result<JsonPath> path = ParseJsonPath("$..*..*..*..*..*..*..*");
  const JsonCursor root(std::make_shared<const JsonValue>(*ParseJson(deep)), nullptr);
  const auto matches = SelectJson(*path, root);
  ASSERT_FALSE(matches.ok());
  EXPECT_EQ(matches.error().code, ErrorCode::kTooMany);
}

}  // namespace
}  // namespace cairn::data
