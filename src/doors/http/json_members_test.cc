#include "doors/http/json_members.h"

#include <gtest/gtest.h>

namespace cairn::doors {
namespace {

TEST(RepeatedMemberTest, IsFoundByItsName) {
  EXPECT_EQ(FindRepeatedMember(R"({"a":1,"b":2,"a":3})"), "a");
  EXPECT_EQ(FindRepeatedMember(R"( { "a" : "x" , "a" : "y" } )"), "a");
  EXPECT_EQ(FindRepeatedMember(R"({"role":"readonly","\u0072ole":"admin"})"), "role");
  EXPECT_EQ(FindRepeatedMember(R"({"a\"b":1,"c":{"x":[1]},"a\"b":2})"), "a\"b");
  EXPECT_EQ(FindRepeatedMember(R"({"":1,"":2})"), "");
}

TEST(RepeatedMemberTest, WhatOnlyLooksLikeItIsNot) {
  for (const char* text :
       {R"({})", R"({"a":1,"A":2})", R"({"a":"a","b":"a"})", R"({"a":{"b":1},"b":{"a":1}})",
        R"({"payload":{"x":1,"x":2}})", R"({"payload":[{"x":1,"x":2}]})", R"({"a":"\"a\":1"})",
        R"([{"a":1},{"a":1}])", R"("a")", "", " ", "{", R"({"a)", R"({"a\)", R"({"a":1,"a)",
        "}{"}) {
    EXPECT_EQ(FindRepeatedMember(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace cairn::doors
