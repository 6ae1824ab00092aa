#include <gtest/gtest.h>

#include <string>

#include "data/testing/script.h"
#include "data/value/limits.h"

namespace cairn::data {
namespace {

using testing::DataServer;

class JsonCommandsTest : public ::testing::Test {
 protected:
  ~JsonCommandsTest() override { server_.CheckConsistency(); }

  DataServer server_;
};

TEST_F(JsonCommandsTest, SetAndGet) {
  server_.Play(R"(
    JSON.GET k                     => (nil)
    JSON.SET k $.a 1               => (error) ERR new objects must be created at the root
    JSON.SET k $ {} XX             => (nil)
    JSON.SET k $ {"b":1,"a":[1,2.0,"x",null,true]} NX => OK
    JSON.SET k $ {} NX             => (nil)
    TYPE k                         => ReJSON-RL
    JSON.GET k                     => "{"b":1,"a":[1,2.0,"x",null,true]}"
    JSON.GET k $                   => "[{"b":1,"a":[1,2.0,"x",null,true]}]"
    JSON.GET k $.a[1:3]            => "[2.0,"x"]"
    JSON.GET k .a[2]               => ""x""
    JSON.GET k $.nosuch            => "[]"
    JSON.GET k .nosuch             => (error) ERR Path '$.nosuch' does not exist
    JSON.GET k nosuch.x            => (error) ERR Path '$.nosuch.x' does not exist
    JSON.GET k $.b $.a[0]          => "{"$.b":[1],"$.a[0]":[1]}"
    JSON.GET k .b a[0]             => "{".b":1,"a[0]":1}"
    JSON.GET k .b $.x              => "{".b":[1],"$.x":[]}"
    JSON.GET k .b .x               => (error) ERR Path '$.x' does not exist
    JSON.GET k INDENT - NEWLINE / SPACE _ $.a[0] => "[/-1/]"
    JSON.SET k $.c {"d":1}         => OK
    JSON.SET k $.b 2 XX            => OK
    JSON.SET k $.b 3 NX            => (nil)
    JSON.SET k $.e 3 XX            => (nil)
    JSON.SET k $.no.e 3            => (nil)
    JSON.SET k $.b.e 3             => (nil)
    JSON.SET k $.a[0] 0            => OK
    JSON.SET k $.a[-1] false       => OK
    JSON.SET k $.a[9] 0            => (error) ERR array index out of range
    JSON.SET k $..none 0           => (error) ERR wrong static path
    JSON.SET k .["q"] {"x":1}      => OK
    JSON.GET k                     => "{"b":2,"a":[0,2.0,"x",null,false],"c":{"d":1},"q":{"x":1}}"
    JSON.SET k $.*.x 5             => OK
    JSON.GET k $..x                => "[5]"
    JSON.SET k $ {} NX XX          => (error) ERR syntax error
    JSON.SET k $ {} FOO            => (error) ERR syntax error
    JSON.SET k $ {                 => (error) EOF while parsing an object at line 1 column 1
    JSON.SET k $[ 1                => (error) Error occurred on position 2, "$[ ---->>>> ", expected one of the following: '<string>', '<number>', 'start:end:step', '*', '?'.
    JSON.SET k $                   => (error) ERR wrong number of arguments for 'json.set' command
    SET s x                        => OK
    JSON.GET s                     => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    JSON.SET s $ 1                 => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    GET k                          => (error) WRONGTYPE Operation against a key holding the wrong kind of value
  )");
}

TEST_F(JsonCommandsTest, SetKeepsTheExpiryAndOthersDoToo) {
  server_.Play(R"(
    JSON.SET k $ {"n":1}           => OK
    EXPIRE k 100                   => (integer) 1
    JSON.NUMINCRBY k $.n 1         => "[2]"
    JSON.SET k $ {"n":5}           => OK
    TTL k                          => (integer) 100
    RENAME k other                 => OK
    JSON.GET other                 => "{"n":5}"
    TTL other                      => (integer) 100
  )");
}

TEST_F(JsonCommandsTest, SeveralKeys) {
  server_.Play(R"(
    JSON.MSET a $ {"x":1} b $ {"x":[2]} => OK
    JSON.MSET a $.y 3 nosuch $.y 4 => (error) ERR new objects must be created at the root
    JSON.MSET a $.y 3 b            => (error) ERR wrong number of arguments for 'json.mset' command
    JSON.MSET a $.y 3 b $.x[0] {}  => OK
    SET s x                        => OK
    JSON.MGET a b nosuch s $..x    => ["[1]", "[[{}]]", (nil), (nil)]
    JSON.MGET a b nosuch .y        => ["3", (nil), (nil)]
    JSON.MGET a $.nosuch           => ["[]"]
    JSON.MGET a $[                 => (error) Error occurred on position 2, "$[ ---->>>> ", expected one of the following: '<string>', '<number>', 'start:end:step', '*', '?'.
    JSON.MSET s $ 1                => (error) WRONGTYPE Operation against a key holding the wrong kind of value
  )");
}

TEST_F(JsonCommandsTest, Delete) {
  server_.Play(R"(
    JSON.SET k $ {"a":1,"nested":{"a":2,"b":3},"z":[{"a":[1]},0]} => OK
    JSON.DEL k $..a                => (integer) 3
    JSON.GET k                     => "{"nested":{"b":3},"z":[{},0]}"
    JSON.DEL k $..a                => (integer) 0
    JSON.FORGET k .z[0]            => (integer) 1
    JSON.GET k .z                  => "[0]"
    JSON.SET k $ {"a":{"a":2,"b":3}} => OK
    JSON.DEL k $..a                => (integer) 1
    JSON.SET k $ [[1],[1,2,3]]     => OK
    JSON.DEL k $..[0]              => (integer) 2
    JSON.GET k                     => "[[2,3]]"
    JSON.SET k $ [1,2,3,4]         => OK
    JSON.DEL k $[1,0,2,1]          => (integer) 3
    JSON.GET k                     => "[4]"
    JSON.DEL k $.nosuch            => (integer) 0
    JSON.DEL nosuch                => (integer) 0
    JSON.DEL k                     => (integer) 1
    EXISTS k                       => (integer) 0
    JSON.SET k $ 1                 => OK
    JSON.DEL k $                   => (integer) 1
    DBSIZE                         => (integer) 0
  )");
}

TEST_F(JsonCommandsTest, NumbersOfSmallDocumentsAreChangedInPlace) {
  server_.Play(R"(
    JSON.SET k $ {"s":"x","o":{"n":1,"t":true},"n":63,"z":"end"} => OK
    JSON.NUMINCRBY k $.n 1         => "[64]"
    JSON.NUMINCRBY k .o.n 1000000  => "1000001"
    JSON.NUMMULTBY k $.o.n 1.5     => "[1500001.5]"
    JSON.NUMINCRBY k $.o.t 1       => "[null]"
    JSON.NUMINCRBY k $.o 1         => "[null]"
    JSON.NUMINCRBY k $.s.n 1       => "[]"
    JSON.NUMMULTBY k $.o.n 1e308   => (error) ERR result is not a number
    JSON.NUMINCRBY k $['n'] -64    => "[0]"
    JSON.GET k                     => "{"s":"x","o":{"n":1500001.5,"t":true},"n":0,"z":"end"}"
  )");
}

TEST_F(JsonCommandsTest, ANumberThatGrowsMaySplitItsDocument) {
  server_.Run({"JSON.SET", "k", "$", R"({"n":0,"s":")" + std::string(1'012, 'x') + "\"}"});
  for (const std::string by : {"30", "1000000000000000030"}) {
    EXPECT_EQ(server_.Run({"JSON.NUMINCRBY", "k", "$.n", by}), "\"[" + by + "]\"");
    EXPECT_EQ(server_.Run({"JSON.GET", "k", "$.n"}), "\"[" + by + "]\"");
    EXPECT_EQ(server_.Run({"JSON.STRLEN", "k", "$.s"}), "[(integer) 1012]");
    EXPECT_EQ(server_.Run({"JSON.SET", "k", "$.n", "0"}), "OK");
  }
  server_.CheckConsistency();
}

TEST_F(JsonCommandsTest, Numbers) {
  server_.Play(R"(
    JSON.SET k $ {"a":"b","b":[{"a":2},{"a":5.0},{"a":"c"}]} => OK
    JSON.NUMINCRBY k $..a 2        => "[null,4,7.0,null]"
    JSON.NUMINCRBY k $..a 2.5      => "[null,6.5,9.5,null]"
    JSON.NUMINCRBY k .b[1].a 3.5   => "13.0"
    JSON.NUMMULTBY k $..a 2        => "[null,13.0,26.0,null]"
    JSON.NUMINCRBY k .a 1          => (error) ERR Path '$.a' does not exist or does not contains a number
    JSON.NUMINCRBY k .no 1         => (error) ERR Path '$.no' does not exist or does not contains a number
    JSON.NUMINCRBY k $.no 1        => "[]"
    JSON.NUMINCRBY k $.a {}        => (error) WRONGTYPE wrong type of path value - expected number but found object
    JSON.NUMINCRBY k $.a x         => (error) expected value at line 1 column 1
    JSON.NUMINCRBY nosuch $.a 1    => (error) ERR could not perform this operation on a key that doesn't exist
    JSON.SET n $ 1                 => OK
    JSON.NUMINCRBY n $ 1.5         => "[2.5]"
    JSON.SET n $ 9223372036854775806 => OK
    JSON.NUMINCRBY n . 1           => "9223372036854775807"
    JSON.NUMINCRBY n . 1           => "9.223372036854776e18"
    JSON.SET n $ 4611686018427387904 => OK
    JSON.NUMMULTBY n . -2          => "-9223372036854775808"
    JSON.NUMMULTBY n . 2           => "-1.8446744073709552e19"
    JSON.SET n $ 1.6350000000001313e+308 => OK
    JSON.NUMINCRBY n . 1.6350000000001313e+308 => (error) ERR result is not a number
    JSON.NUMMULTBY n $ 2           => (error) ERR result is not a number
    JSON.GET n                     => "1.6350000000001313e308"
    JSON.SET n $ 18446744073709551615 => OK
    JSON.GET n                     => "18446744073709551615"
    JSON.TYPE n                    => "integer"
  )");
}

TEST_F(JsonCommandsTest, Strings) {
  server_.Play(R"(
    JSON.SET k $ {"a":"foo","n":{"a":"hello"},"m":{"a":31}} => OK
    JSON.STRLEN k $..a             => [(integer) 3, (integer) 5, (nil)]
    JSON.STRLEN k ..a              => (integer) 3
    JSON.STRLEN k .m               => (error) WRONGTYPE wrong type of path value - expected string but found object
    JSON.STRLEN k .no              => (error) ERR Path '$.no' does not exist
    JSON.STRLEN nosuch             => (nil)
    JSON.STRLEN nosuch $           => (error) ERR could not perform this operation on a key that doesn't exist
    JSON.STRAPPEND k $.a 1         => (error) WRONGTYPE wrong type of path value - expected string but found integer
  )");
  EXPECT_EQ(server_.Run({"JSON.STRAPPEND", "k", "$..a", "\"bar\""}),
            "[(integer) 6, (integer) 8, (nil)]");
  EXPECT_EQ(server_.Run({"JSON.STRAPPEND", "k", ".n.a", "\"!\""}), "(integer) 9");
  EXPECT_EQ(server_.Run({"JSON.STRAPPEND", "k", ".m.a", "\"!\""}),
            "(error) ERR Path '$.m.a' does not exist or not a string");
  EXPECT_EQ(server_.Run({"JSON.STRAPPEND", "none", "$", "\"!\""}),
            "(error) ERR could not perform this operation on a key that doesn't exist");
  EXPECT_EQ(server_.Run({"JSON.GET", "k"}),
            R"("{"a":"foobar","n":{"a":"hellobar!"},"m":{"a":31}}")");
  EXPECT_EQ(server_.Run({"JSON.SET", "s", "$", "\"abcd\""}), "OK");
  EXPECT_EQ(server_.Run({"JSON.STRAPPEND", "s", "\"piu\""}), "(integer) 7");
  EXPECT_EQ(server_.Run({"JSON.SET", "s", "$", "\"\xff\""}),
            "(error) invalid unicode code point at line 1 column 3");
}

TEST_F(JsonCommandsTest, ArraysGrow) {
  server_.Play(R"(
    JSON.SET k $ {"a":[1],"n":{"a":[2,null,3]},"m":{"a":31}} => OK
    JSON.ARRAPPEND k $..a 8 {"x":9} => [(integer) 3, (integer) 5, (nil)]
    JSON.ARRAPPEND k ..a 7         => (integer) 6
    JSON.ARRAPPEND k .m 7          => (error) ERR Path '$.m' does not exist or not an array
    JSON.ARRAPPEND k $.a x         => (error) expected value at line 1 column 1
    JSON.ARRAPPEND no $.a 1        => (error) ERR could not perform this operation on a key that doesn't exist
    JSON.GET k                     => "{"a":[1,8,{"x":9},7],"n":{"a":[2,null,3,8,{"x":9},7]},"m":{"a":31}}"
    JSON.ARRINSERT k $.a 1 0 0     => [(integer) 6]
    JSON.ARRINSERT k .a -1 5       => (integer) 7
    JSON.ARRINSERT k $..a 7 5      => (error) ERR index out of bounds
    JSON.ARRINSERT k $.a -8 5      => (error) ERR index out of bounds
    JSON.ARRINSERT k $.a x 5       => (error) ERR value is not an integer or out of range
    JSON.ARRINSERT k $.m 0 5       => [(nil)]
    JSON.GET k .a                  => "[1,0,0,8,{"x":9},5,7]"
    JSON.ARRLEN k $..a             => [(integer) 7, (integer) 6, (nil)]
    JSON.ARRLEN k .a               => (integer) 7
    JSON.ARRLEN k                  => (error) ERR Path '$' does not exist or not an array
    JSON.ARRLEN k .no              => (error) ERR Path '$.no' does not exist
    JSON.ARRLEN no .a              => (nil)
    JSON.ARRLEN no $.a             => (error) ERR Path '$.a' does not exist
  )");
}

TEST_F(JsonCommandsTest, ArraysShrink) {
  server_.Play(R"(
    JSON.SET k $ [1,2,3,4,5,6,7,8,9] => OK
    JSON.ARRPOP k                  => "9"
    JSON.ARRPOP k .                => "8"
    JSON.ARRPOP k $ -2             => ["6"]
    JSON.ARRPOP k . 0              => "1"
    JSON.ARRPOP k . 99             => "7"
    JSON.ARRPOP k . -99            => "2"
    JSON.GET k                     => "[3,4,5]"
    JSON.SET k $ {"a":[],"b":1,"n":{"a":[[1,{}]]}} => OK
    JSON.ARRPOP k $..a             => [(nil), "[1,{}]"]
    JSON.ARRPOP k $..*             => [(nil), (nil), (nil), (nil)]
    JSON.ARRPOP k .b               => (error) ERR Path '$.b' does not exist or not an array
    JSON.ARRPOP no                 => (error) ERR could not perform this operation on a key that doesn't exist
    JSON.SET k $ {"a":[0,1,2,3,2,1,0]} => OK
    JSON.ARRTRIM k .a 1 -2         => (integer) 5
    JSON.ARRTRIM k $.a 0 99        => [(integer) 5]
    JSON.ARRTRIM k $.a 0 2         => [(integer) 3]
    JSON.GET k                     => "{"a":[1,2,3]}"
    JSON.ARRTRIM k $.a -1 0        => [(integer) 0]
    JSON.ARRTRIM k $.a 0 -1        => [(integer) 0]
    JSON.ARRTRIM k $ 0 -1          => [(nil)]
    JSON.ARRTRIM k . 0 -1          => (error) ERR Path '$' does not exist or not an array
    JSON.SET k $ [[[1,2],3],4]     => OK
    JSON.ARRPOP k $..[0] 0         => ["[1,2]", "1", (nil)]
    JSON.GET k                     => "[[3],4]"
  )");
}

TEST_F(JsonCommandsTest, ArraysAreSearched) {
  server_.Play(R"(
    JSON.SET k $ {"a":[0,1,2,3,2,1,0,{"v":4},[4],3.0],"b":1} => OK
    JSON.ARRINDEX k .a 0           => (integer) 0
    JSON.ARRINDEX k .a 4           => (integer) -1
    JSON.ARRINDEX k .a 0 1         => (integer) 6
    JSON.ARRINDEX k .a 0 -4        => (integer) 6
    JSON.ARRINDEX k .a 0 4 -0      => (error) ERR value is not an integer or out of range
    JSON.ARRINDEX k .a 0 4 0       => (integer) 6
    JSON.ARRINDEX k .a 0 1 6       => (integer) -1
    JSON.ARRINDEX k .a 0 1 -1      => (integer) 6
    JSON.ARRINDEX k .a 3.0         => (integer) 9
    JSON.ARRINDEX k .a {"v":4}     => (integer) 7
    JSON.ARRINDEX k $.* [4]        => [(integer) 8, (nil)]
    JSON.ARRINDEX k .b 1           => (error) WRONGTYPE wrong type of path value - expected array but found integer
    JSON.ARRINDEX k .no 1          => (error) ERR Path '$.no' does not exist
    JSON.ARRINDEX no .a 1          => (error) ERR could not perform this operation on a key that doesn't exist
  )");
}

TEST_F(JsonCommandsTest, Objects) {
  server_.Play(R"(
    JSON.SET k $ {"n":{"a":{"foo":10,"bar":20}},"a":[1],"m":{"a":{"baz":50}}} => OK
    JSON.OBJKEYS k $..a            => [(nil), ["foo", "bar"], ["baz"]]
    JSON.OBJKEYS k                 => ["n", "a", "m"]
    JSON.OBJKEYS k .m.a            => ["baz"]
    JSON.OBJKEYS k .a              => (error) WRONGTYPE wrong type of path value - expected object but found array
    JSON.OBJKEYS k $.no            => []
    JSON.OBJKEYS no ..a            => (nil)
    JSON.OBJLEN k $..a             => [(nil), (integer) 2, (integer) 1]
    JSON.OBJLEN k                  => (integer) 3
    JSON.OBJLEN k .no              => (nil)
    JSON.OBJLEN k .a               => (error) WRONGTYPE wrong type of path value - expected object but found array
    JSON.OBJLEN no                 => (nil)
    JSON.OBJLEN no $               => (error) ERR Path '$' does not exist or not an object
  )");
}

TEST_F(JsonCommandsTest, TypesTogglesAndClearing) {
  server_.Play(R"(
    JSON.SET k $ {"a":{},"b":[],"c":"s","d":42,"e":1.2,"f":false,"g":null} => OK
    JSON.TYPE k $.*                => ["object", "array", "string", "integer", "number", "boolean", "null"]
    JSON.TYPE k                    => "object"
    JSON.TYPE k .no                => (nil)
    JSON.TYPE k $.no               => []
    JSON.TYPE no $                 => (nil)
    JSON.TOGGLE k $.*              => [(nil), (nil), (nil), (nil), (nil), (integer) 1, (nil)]
    JSON.TOGGLE k .f               => "false"
    JSON.TOGGLE k .d               => (error) ERR Path '$.d' does not exist or not a bool
    JSON.TOGGLE no $               => (error) ERR could not perform this operation on a key that doesn't exist
    JSON.CLEAR k $.*               => (integer) 2
    JSON.CLEAR k $.*               => (integer) 0
    JSON.GET k                     => "{"a":{},"b":[],"c":"s","d":0,"e":0,"f":false,"g":null}"
    JSON.CLEAR k                   => (integer) 1
    JSON.GET k                     => "{}"
    JSON.CLEAR no                  => (error) ERR could not perform this operation on a key that doesn't exist
  )");
}

TEST_F(JsonCommandsTest, Merging) {
  server_.Play(R"(
    JSON.MERGE k $.a 1             => (error) ERR new objects must be created at the root
    JSON.MERGE k $ {"a":{"b":1,"x":null}} => OK
    JSON.MERGE k $.a {"c":[1],"b":null} => OK
    JSON.MERGE k $ {"d":{"e":{"f":null}},"a":{"c":2}} => OK
    JSON.GET k                     => "{"a":{"c":2},"d":{"e":{}}}"
    JSON.MERGE k $.new.deep 1      => (nil)
    JSON.MERGE k $.new 1           => OK
    JSON.MERGE k $.a null          => OK
    JSON.MERGE k $.d [1]           => OK
    JSON.GET k                     => "{"d":[1],"new":1}"
    JSON.MERGE k $ 5               => OK
    JSON.GET k                     => "5"
  )");
}

TEST_F(JsonCommandsTest, RespAndDebug) {
  server_.Play(R"(
    JSON.SET k $ {"a":[1,-2.5,"x",null,true],"b":{}} => OK
    JSON.RESP k                    => [{, "a", [[, (integer) 1, "-2.5", "x", (nil), true], "b", [{]]
    JSON.RESP k $.b                => [[{]]
    JSON.RESP k $.no               => []
    JSON.RESP no $.b               => (nil)
    JSON.DEBUG MEMORY k            => (integer) 26
    JSON.DEBUG MEMORY k $.a[*]     => [(integer) 2, (integer) 9, (integer) 3, (integer) 1, (integer) 1]
    JSON.DEBUG MEMORY no           => (integer) 0
    JSON.DEBUG MEMORY no $         => []
    JSON.DEBUG HELP
  )");
}

TEST_F(JsonCommandsTest, ADocumentDoesNotBecomeTooDeep) {
  const std::string nested = std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']');
  EXPECT_EQ(server_.Run({"JSON.SET", "k", "$", nested}), "OK");
  EXPECT_EQ(server_.Run({"JSON.SET", "k", "$", "[" + nested + "]"}),
            "(error) recursion limit exceeded at line 1 column 129");
  EXPECT_EQ(server_.Run({"JSON.SET", "o", "$", R"({"a":[0]})"}), "OK");
  const std::string too_deep = "(error) ERR the document would be nested too deeply";
  EXPECT_EQ(server_.Run({"JSON.SET", "o", "$.a", nested}), too_deep);
  EXPECT_EQ(server_.Run({"JSON.SET", "o", "$.new", nested}), too_deep);
  EXPECT_EQ(server_.Run({"JSON.MERGE", "o", "$.a", nested}), too_deep);
  EXPECT_EQ(server_.Run({"JSON.ARRAPPEND", "o", "$.a", nested}), too_deep);
  EXPECT_EQ(server_.Run({"JSON.ARRINSERT", "o", "$.a", "0", nested}), too_deep);
  EXPECT_EQ(server_.Run({"JSON.MSET", "o", "$.a", nested}), too_deep);
  EXPECT_EQ(server_.Run({"JSON.GET", "o"}), R"("{"a":[0]}")");
}

TEST_F(JsonCommandsTest, APathThatFindsTheSameAgainAndAgainIsCutOff) {
  const std::string text = "\"" + std::string(1 << 20, 'x') + "\"";
  EXPECT_EQ(server_.Run({"JSON.SET", "k", "$", R"({"a":)" + text + "}"}), "OK");
  std::string path = "$['a'";
  for (int i = 0; i < 70; ++i) path += ",'a'";
  EXPECT_TRUE(server_.Run({"JSON.GET", "k", path + "]"}).starts_with("(error)"));
  EXPECT_TRUE(server_.Run({"JSON.RESP", "k", path + "]"}).starts_with("(error)"));
}

// A ticket shop keeps an event's sections and counts in one document, and counts with every
// reservation in both places at once.
TEST_F(JsonCommandsTest, Reservations) {
  server_.Play(R"(
    JSON.SET event_state:1 $ {"event_stats":{"available":800,"reserved":0,"sold":0,"total":800,"updated_at":1234567890},"sections":{"A-1":{"rows":25,"cols":20,"price":1000,"stats":{"available":500,"reserved":0,"sold":0,"total":500,"updated_at":1234567890}},"B-1":{"rows":20,"cols":15,"price":2000,"stats":{"available":300,"reserved":0,"sold":0,"total":300,"updated_at":1234567890}}}} => OK
    JSON.GET event_state:1 $.event_stats => "[{"available":800,"reserved":0,"sold":0,"total":800,"updated_at":1234567890}]"
  )");
  doors::testing::TestClient client = server_.Connect();
  DataServer::Play(client, R"(
    MULTI                          => OK
    JSON.NUMINCRBY event_state:1 $.sections['A-1'].stats.available -1 => QUEUED
    JSON.NUMINCRBY event_state:1 $.sections['A-1'].stats.reserved 1 => QUEUED
    JSON.NUMINCRBY event_state:1 $.event_stats.available -1 => QUEUED
    JSON.NUMINCRBY event_state:1 $.event_stats.reserved 1 => QUEUED
    JSON.SET event_state:1 $.event_stats.updated_at 1234567999 => QUEUED
    JSON.GET event_state:1 $.event_stats => QUEUED
    EXEC => ["[499]", "[1]", "[799]", "[1]", OK, "[{"available":799,"reserved":1,"sold":0,"total":800,"updated_at":1234567999}]"]
  )");
  server_.Restart();
  server_.Play(R"(
    JSON.GET event_state:1 $..available => "[799,499,300]"
    JSON.GET event_state:1 $.sections['A-1'].stats => "[{"available":499,"reserved":1,"sold":0,"total":500,"updated_at":1234567890}]"
    KEYS event_state:*             => ["event_state:1"]
  )");
}

// The shapes that node-redis and redis-py expect.
TEST_F(JsonCommandsTest, Resp3HasItsOwnShapes) {
  doors::testing::TestClient client = server_.Connect();
  client.Run({"HELLO", "3"});
  server_.Play(client, R"(
    JSON.SET d $ {"n":1,"f":1.5,"s":"x","t":true,"z":null,"a":[2,2.5]}
    JSON.NUMINCRBY d $.n 2          => [(integer) 3]
    JSON.NUMINCRBY d .n 2           => [(integer) 5]
    JSON.NUMINCRBY d $.f 1          => [2.5]
    JSON.NUMMULTBY d $.* 2          => [(integer) 10, 5, (nil), (nil), (nil), (nil)]
    JSON.NUMINCRBY d $.nosuch 1     => []
    JSON.NUMINCRBY nosuch $.n 1     => (error) ERR could not perform this operation on a key that doesn't exist
    JSON.TYPE d $.n                 => [["integer"]]
    JSON.TYPE d                     => ["object"]
    JSON.TYPE d $.nosuch            => [[]]
    JSON.TYPE d .nosuch             => [(nil)]
    JSON.TYPE nosuch $              => [(nil)]
    JSON.TYPE nosuch                => [(nil)]
    JSON.RESP d .a                  => [[, (integer) 2, 2.5]
    JSON.RESP d $.t                 => [true]
  )");
}

}  // namespace
}  // namespace cairn::data
