#include "functions/model/source_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cairn::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

// What esbuild has made of two lines of TypeScript and an import.
constexpr std::string_view kMap =
    R"({"version":3,"sources":["lib/add.ts","function.ts"],"sourcesContent":["…","…"],)"
    R"("mappings":"AAAO,SAAS,IAAI,GAAW,GAAmB;AAChD,SAAO,IAAI;AACb;;;ACAA,eAAO,QAAyB,OAAyB;AACvD,QAAM,IAAI,MAAM,MAAM;AACxB;","names":[]})";

SourceMap Parsed(std::string_view text) {
  Result<SourceMap> map = SourceMap::Parse(text);
  if (!map.ok()) throw std::runtime_error(map.error().message);
  return *std::move(map);
}

std::optional<SourcePlace> FindOne(const SourceMap& map, TextPlace place) {
  return map.Find({place}).at(0);
}

TEST(SourceMapTest, APlaceIsThatOfTheLastSegmentBeforeIt) {
  const SourceMap map = Parsed(kMap);
  EXPECT_THAT(FindOne(map, {1, 1}), Optional(SourcePlace{"lib/add.ts", {1, 8}}));
  EXPECT_THAT(FindOne(map, {1, 12}), Optional(SourcePlace{"lib/add.ts", {1, 17}}));
  EXPECT_THAT(FindOne(map, {7, 9}), Optional(SourcePlace{"function.ts", {2, 9}}));
  EXPECT_THAT(FindOne(map, {7, 500}), Optional(SourcePlace{"function.ts", {2, 19}}));
}

TEST(SourceMapTest, PlacesAreFoundInAnyOrderAndTwice) {
  const SourceMap map = Parsed(kMap);
  const auto found = map.Find({{7, 9}, {1, 1}, {7, 9}, {2, 3}});
  EXPECT_THAT(found, ElementsAre(Optional(SourcePlace{"function.ts", {2, 9}}),
                                 Optional(SourcePlace{"lib/add.ts", {1, 8}}),
                                 Optional(SourcePlace{"function.ts", {2, 9}}),
                                 Optional(SourcePlace{"lib/add.ts", {2, 3}})));
}

TEST(SourceMapTest, LinesThatTheMapIsSilentAboutHaveNoSource) {
  const SourceMap map = Parsed(kMap);
  EXPECT_EQ(FindOne(map, {4, 1}), std::nullopt);
  EXPECT_EQ(FindOne(map, {99, 1}), std::nullopt);
  // One number alone: the code has no source.
  const SourceMap made_up = Parsed(R"({"version":3,"sources":["a.ts"],"mappings":"A,IAAA"})");
  EXPECT_EQ(FindOne(made_up, {1, 2}), std::nullopt);
  EXPECT_THAT(FindOne(made_up, {1, 5}), Optional(SourcePlace{"a.ts", {1, 1}}));
}

TEST(SourceMapTest, TheRootOfTheSourcesStandsBeforeThem) {
  const SourceMap map =
      Parsed(R"({"version":3,"sourceRoot":"src","sources":["a.ts"],"mappings":"AAAA"})");
  EXPECT_THAT(FindOne(map, {1, 1}), Optional(SourcePlace{"src/a.ts", {1, 1}}));
}

TEST(SourceMapTest, WhatIsNoMapIsRefusedAndBadMappingsFindNothing) {
  for (const char* text :
       {"", "[]", "{}", R"({"version":2,"sources":[],"mappings":""})",
        R"({"version":3,"sources":[]})", R"({"version":3,"sources":[],"mappings":17})",
        R"({"version":3,"sources":[1],"mappings":""})",
        R"({"version":3,"sections":[],"sources":[],"mappings":""})",
        R"({"version":3,"sources":[],"mappings":"\u0041"})"}) {
    EXPECT_FALSE(SourceMap::Parse(text).ok()) << text;
  }
  for (const char* mappings :
       {"!", "AAAA,D", "AAAAAA", "AA", "g", "AADA", "gggggggggggggA", "AAAA;AAAA,AA"}) {
    const std::string text =
        std::string(R"({"version":3,"sources":["a"],"mappings":")") + mappings + "\"}";
    EXPECT_EQ(FindOne(Parsed(text), {3, 1}), std::nullopt) << mappings;
  }
  // A source that is not in the list.
  EXPECT_EQ(FindOne(Parsed(R"({"version":3,"sources":["a"],"mappings":"ACAA"})"), {1, 1}),
            std::nullopt);
}

TEST(SourceMapTest, StacksNameTheSourceOfFilesThatHaveAMap) {
  const auto find = [](std::string_view path) -> std::optional<std::string_view> {
    if (path == "function.js.map") return kMap;
    if (path == "bad.js.map") return "{";
    return std::nullopt;
  };
  EXPECT_EQ(MapStack("    at add (function.js:2:3)\n"
                     "    at function.js:7:9\n"
                     "    at new Thing (bad.js:1:1)\n"
                     "    at other (other.js:7:9)\n"
                     "    at odd (function.js:0:9)\n"
                     "at the function.js:7:9 of no stack\n"
                     "    at async handler (function.js:7:9)",
                     find),
            "    at add (lib/add.ts:2:3)\n"
            "    at function.ts:2:9\n"
            "    at new Thing (bad.js:1:1)\n"
            "    at other (other.js:7:9)\n"
            "    at odd (function.js:0:9)\n"
            "at the function.js:7:9 of no stack\n"
            "    at async handler (function.ts:2:9)");
  EXPECT_EQ(MapStack("", find), "");
  EXPECT_EQ(MapStack("function.js:7:9", find), "function.js:7:9");
}

TEST(SourceMapTest, TheMapOfTheSameTextLeadsToTheSamePlace) {
  const std::string text = "const a = 'é𝄞';\n\n  throw   new Error(a + b);\n";
  const SourceMap map = Parsed(SameTextMap("function.ts", text));
  for (const TextPlace place : {TextPlace{1, 1},
                                {1, 7},
                                {1, 11},
                                {1, 12},
                                {1, 15},
                                {3, 3},
                                {3, 11},
                                {3, 20},
                                {3, 21},
                                {3, 25}}) {
    EXPECT_THAT(FindOne(map, place), Optional(SourcePlace{"function.ts", place}));
  }
  EXPECT_EQ(FindOne(map, {2, 1}), std::nullopt);
}

TEST(SourceMapTest, ACompactMapFindsTheSame) {
  const Result<std::string> compact = CompactMap(kMap);
  ASSERT_TRUE(compact.ok());
  EXPECT_EQ(compact->find("sourcesContent"), std::string::npos);
  const SourceMap map = Parsed(*compact);
  EXPECT_THAT(FindOne(map, {7, 9}), Optional(SourcePlace{"function.ts", {2, 9}}));
  EXPECT_FALSE(CompactMap("{}").ok());
}

}  // namespace
}  // namespace cairn::functions
