#include "data/lua/lua_source.h"

#include <gtest/gtest.h>

namespace cairn::data {
namespace {

TEST(LuaSourceTest, ReturnedCallsOfLibrariesAreKept) {
  EXPECT_EQ(ReturnsKept("return redis.call('get', KEYS[1])"),
            "return __keep(redis.call('get', KEYS[1]))");
  EXPECT_EQ(ReturnsKept("return cjson.encode({1, 2}) -- done\n"),
            "return __keep(cjson.encode({1, 2})) -- done\n");
  EXPECT_EQ(ReturnsKept("if x then return redis.call('a') else return error('b') end return 1"),
            "if x then return __keep(redis.call('a')) else return __keep(error('b')) end return 1");
  EXPECT_EQ(ReturnsKept("return redis.call('a'), 2;"), "return __keep(redis.call('a'), 2);");
}

TEST(LuaSourceTest, BlocksInsideTheReturnedValuesBelongToThem) {
  EXPECT_EQ(ReturnsKept("return unpack({f(function() if a then return 1 end end)})\n"),
            "return __keep(unpack({f(function() if a then return 1 end end)}))\n");
  EXPECT_EQ(ReturnsKept("local f = function() return redis.call('x') end return f()"),
            "local f = function() return __keep(redis.call('x')) end return f()");
  EXPECT_EQ(ReturnsKept("return table.concat({(function() return redis.call('x') end)()})"),
            "return __keep(table.concat({(function() return __keep(redis.call('x')) end)()}))");
}

TEST(LuaSourceTest, WhatIsNoReturnedCallOfALibraryStays) {
  for (const char* source :
       {"", "return", "return f(x)", "local s = 'return redis.call(1)'", "-- return redis.call()",
        "--[[ return redis.call() ]] return 1", "return [[redis]]", "x = \"\\\"return redis.call\"",
        "--[==[ return redis.x ]] ]==] y = 1", "return 1, redis.call('x')"}) {
    EXPECT_EQ(ReturnsKept(source), source);
  }
}

}  // namespace
}  // namespace cairn::data
