#include "doors/http/route_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cairn::doors {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Path = std::vector<std::string>;
using Segments = std::vector<std::string_view>;

class RouteTreeTest : public ::testing::Test {
 protected:
  RouteTreeTest() {
    EXPECT_TRUE(tree_.Add(Segments{}, "GET", 0));
    EXPECT_TRUE(tree_.Add(Segments{"jobs", "{id}"}, "GET", 1));
    EXPECT_TRUE(tree_.Add(Segments{"jobs", "stats"}, "GET", 2));
    EXPECT_TRUE(tree_.Add(Segments{"jobs", "{id}"}, "DELETE", 3));
    EXPECT_TRUE(tree_.Add(Segments{"a", "{x}", "{y}"}, "GET", 4));
    EXPECT_TRUE(tree_.Add(Segments{"{z}", "b", "c"}, "GET", 5));
  }
  RouteTree tree_;
};

TEST_F(RouteTreeTest, ARowIsFoundByItsPathAndMethod) {
  EXPECT_EQ(tree_.Find(Path{}, "GET"), 0U);
  EXPECT_EQ(tree_.Find(Path{"jobs", "17"}, "GET"), 1U);
  EXPECT_EQ(tree_.Find(Path{"jobs", "17"}, "DELETE"), 3U);
  EXPECT_EQ(tree_.Find(Path{"jobs", "17"}, "PUT"), std::nullopt);
  EXPECT_EQ(tree_.Find(Path{"jobs"}, "GET"), std::nullopt);
  EXPECT_EQ(tree_.Find(Path{"jobs", "17", "x"}, "GET"), std::nullopt);
}

TEST_F(RouteTreeTest, TheRowWithTheFewestParametersGoesFirst) {
  EXPECT_EQ(tree_.Find(Path{"jobs", "stats"}, "GET"), 2U);
  EXPECT_EQ(tree_.Find(Path{"jobs", "stats"}, "DELETE"), 3U);
  EXPECT_EQ(tree_.Find(Path{"a", "b", "c"}, "GET"), 5U);
  EXPECT_EQ(tree_.Find(Path{"a", "b", "d"}, "GET"), 4U);
}

TEST_F(RouteTreeTest, AllMethodsOfAPathAreKnown) {
  EXPECT_THAT(tree_.MethodsOf(Path{"jobs", "17"}), UnorderedElementsAre("GET", "DELETE"));
  EXPECT_THAT(tree_.MethodsOf(Path{"nothing"}), IsEmpty());
}

TEST_F(RouteTreeTest, AParameterCanHaveASuffix) {
  EXPECT_TRUE(tree_.Add(Segments{"jobs", "{id}:run"}, "GET", 7));
  EXPECT_EQ(tree_.Find(Path{"jobs", "17:run"}, "GET"), 7U);
  EXPECT_EQ(tree_.Find(Path{"jobs", "17:stop"}, "GET"), 1U);
  EXPECT_EQ(tree_.Find(Path{"jobs", ":run"}, "GET"), 1U);  // there is nothing before it
}

TEST_F(RouteTreeTest, TheRestOfAPathCanBeAParameter) {
  EXPECT_TRUE(tree_.Add(Segments{"jobs", "{rest...}"}, "GET", 8));
  EXPECT_EQ(tree_.Find(Path{"jobs"}, "GET"), 8U);
  EXPECT_EQ(tree_.Find(Path{"jobs", "17"}, "GET"), 1U);
  EXPECT_EQ(tree_.Find(Path{"jobs", "17", "x", "y"}, "GET"), 8U);
  EXPECT_FALSE(tree_.Add(Segments{"jobs", "{path...}"}, "GET", 9));
}

TEST_F(RouteTreeTest, ParametersAreRecognised) {
  EXPECT_EQ(ParseParameter("jobs"), std::nullopt);
  EXPECT_EQ(ParseParameter("{id}"), (RouteParameter{.name = "id"}));
  EXPECT_EQ(ParseParameter("{id}:run"), (RouteParameter{.name = "id", .suffix = ":run"}));
  EXPECT_EQ(ParseParameter("{path...}"), (RouteParameter{.name = "path", .rest = true}));
}

TEST_F(RouteTreeTest, WhatIsTakenIsRefusedWhateverItsParametersAreCalled) {
  EXPECT_FALSE(tree_.Add(Segments{"jobs", "{name}"}, "GET", 6));
  EXPECT_TRUE(tree_.Add(Segments{"jobs", "{name}"}, "PATCH", 6));
}

}  // namespace
}  // namespace cairn::doors
