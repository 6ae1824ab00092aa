#include <gtest/gtest.h>

#include "data/testing/script.h"

// The replies are those of Redis 7.0.
namespace cairn::data {
namespace {

using testing::DataServer;

class SortedSetCommandsTest : public ::testing::Test {
 protected:
  ~SortedSetCommandsTest() override { server_.CheckConsistency(); }

  DataServer server_;
};

// Redis does not say what these are. In a small set it walks.
TEST_F(SortedSetCommandsTest, RangesByNameOfDifferentScoresArePiecesOfTheOrder) {
  server_.Play(R"(
    ZADD z 1 a 2 b 3 c 4 d
    ZRANGE z [b [c BYLEX        => ["b", "c"]
    ZRANGEBYLEX z (a (d         => ["b", "c"]
    ZREVRANGEBYLEX z [c -       => ["c", "b", "a"]
    ZRANGEBYLEX z - +           => ["a", "b", "c", "d"]
    ZRANGEBYLEX z [x +          => []
    ZRANGEBYLEX z - (a          => []
    ZLEXCOUNT z [b +            => (integer) 3
    ZREMRANGEBYLEX z [b [c      => (integer) 2
    ZRANGE z 0 -1               => ["a", "d"]
  )");
}

TEST_F(SortedSetCommandsTest, AddingAndScores) {
  server_.Play(R"(
    ZADD z 1 a 2 b 3 c                     => (integer) 3
    ZADD z 1 a 5 b 4 d                     => (integer) 1
    ZADD z CH 1 a 6 b 7 e                  => (integer) 2
    ZADD z NX 9 a 9 f                      => (integer) 1
    ZADD z XX CH 9 a 9 g                   => (integer) 1
    ZADD z GT CH 8 a 10 f 1 h              => (integer) 2
    ZADD z LT CH 8 a 20 f                  => (integer) 1
    ZADD z INCR 2.5 a                      => "10.5"
    ZADD z NX INCR 1 a                     => (nil)
    ZADD z XX INCR 1 nosuch                => (nil)
    ZADD z GT INCR -1 a                    => (nil)
    ZINCRBY z 1.5 a                        => "12"
    ZINCRBY new 3 m                        => "3"
    ZSCORE z a                             => "12"
    ZSCORE z nosuch                        => (nil)
    ZSCORE nosuch a                        => (nil)
    ZMSCORE z a nosuch b                   => ["12", (nil), "6"]
    ZMSCORE nosuch a                       => [(nil)]
    ZCARD z                                => (integer) 7
    ZCARD nosuch                           => (integer) 0
    ZRANGE z 0 -1 WITHSCORES               => ["h", "1", "c", "3", "d", "4", "b", "6", "e", "7", "f", "10", "a", "12"]
    ZREM z a b nosuch                      => (integer) 2
    ZREM nosuch a                          => (integer) 0
    ZREM new m                             => (integer) 1
    EXISTS new                             => (integer) 0
    ZADD z XX 1 q                          => (integer) 0
    ZADD fresh XX 1 q                      => (integer) 0
    EXISTS fresh                           => (integer) 0
    TYPE z                                 => zset
  )");
}

TEST_F(SortedSetCommandsTest, ScoresAreDoubles) {
  server_.Play(R"(
    ZADD z -0 zero inf top -inf bottom 1e308 large 0x10 hex 3.14159265358979 pi => (integer) 6
    ZRANGE z 0 -1 WITHSCORES               => ["bottom", "-inf", "zero", "0", "pi", "3.14159265358979", "hex", "16", "large", "1e+308", "top", "inf"]
    ZSCORE z zero                          => "0"
    ZADD z CH 0 zero                       => (integer) 0
    ZADD z 0.1 tenth 100000000000000000000 big 1e21 bigger 1.5e-9 tiny 17179869184 whole => (integer) 5
    ZRANGE z 0 -1 WITHSCORES               => ["bottom", "-inf", "zero", "0", "tiny", "1.5e-09", "tenth", "0.10000000000000001", "pi", "3.14159265358979", "hex", "16", "whole", "17179869184", "big", "1e+20", "bigger", "1e+21", "large", "1e+308", "top", "inf"]
    ZINCRBY z -inf top                     => (error) ERR resulting score is not a number (NaN)
    ZADD z INCR -inf top                   => (error) ERR resulting score is not a number (NaN)
    ZADD z nan x                           => (error) ERR value is not a valid float
    ZADD z 1e400 x                         => (error) ERR value is not a valid float
    ZADD z 1e-400 x                        => (error) ERR value is not a valid float
    ZADD z "" x                            => (error) ERR value is not a valid float
    ZADD z " 1" x                          => (error) ERR value is not a valid float
    ZADD z "1 " x                          => (error) ERR value is not a valid float
    ZINCRBY z nan x                        => (error) ERR value is not a valid float
    ZINCRBY z one x                        => (error) ERR value is not a valid float
  )");
}

TEST_F(SortedSetCommandsTest, MistakesInZAdd) {
  server_.Play(R"(
    ZADD z 1                               => (error) ERR wrong number of arguments for 'zadd' command
    ZADD z 1 a 2                           => (error) ERR syntax error
    ZADD z NX                              => (error) ERR wrong number of arguments for 'zadd' command
    ZADD z NX XX 1 a                       => (error) ERR XX and NX options at the same time are not compatible
    ZADD z GT LT 1 a                       => (error) ERR GT, LT, and/or NX options at the same time are not compatible
    ZADD z GT NX 1 a                       => (error) ERR GT, LT, and/or NX options at the same time are not compatible
    ZADD z LT NX 1 a                       => (error) ERR GT, LT, and/or NX options at the same time are not compatible
    ZADD z XX GT 1 a                       => (integer) 0
    ZADD z INCR 1 a 2 b                    => (error) ERR INCR option supports a single increment-element pair
    ZADD z x a                             => (error) ERR value is not a valid float
    ZADD z 1 a x b                         => (error) ERR value is not a valid float
    ZINCRBY z NX a                         => (error) ERR syntax error
    ZINCRBY z 1                            => (error) ERR wrong number of arguments for 'zincrby' command
    EXISTS z                               => (integer) 0
  )");
}

TEST_F(SortedSetCommandsTest, Ranks) {
  server_.Play(R"(
    ZADD z 1 a 2 b 2 c 3 d                 => (integer) 4
    ZRANK z a                              => (integer) 0
    ZRANK z c                              => (integer) 2
    ZRANK z nosuch                         => (nil)
    ZREVRANK z a                           => (integer) 3
    ZREVRANK z d                           => (integer) 0
    ZRANK nosuch a                         => (nil)
    ZCOUNT z 1 2                           => (integer) 3
    ZCOUNT z (1 2                          => (integer) 2
    ZCOUNT z (1 (2                         => (integer) 0
    ZCOUNT z -inf +inf                     => (integer) 4
    ZCOUNT z 5 1                           => (integer) 0
    ZCOUNT z "" 2                          => (integer) 3
    ZCOUNT z " 1" 2                        => (integer) 3
    ZCOUNT z x 2                           => (error) ERR min or max is not a float
    ZCOUNT z 1 nan                         => (error) ERR min or max is not a float
    ZCOUNT z ((1 2                         => (error) ERR min or max is not a float
    ZCOUNT nosuch 1 2                      => (integer) 0
  )");
}

TEST_F(SortedSetCommandsTest, ByRank) {
  server_.Play(R"(
    ZADD z 1 a 2 b 3 c 4 d                 => (integer) 4
    ZRANGE z 0 -1                          => ["a", "b", "c", "d"]
    ZRANGE z 1 2                           => ["b", "c"]
    ZRANGE z -2 -1 WITHSCORES              => ["c", "3", "d", "4"]
    ZRANGE z 2 1                           => []
    ZRANGE z 10 20                         => []
    ZRANGE z -100 100                      => ["a", "b", "c", "d"]
    ZRANGE z 0 1 REV                       => ["d", "c"]
    ZREVRANGE z 0 1 WITHSCORES             => ["d", "4", "c", "3"]
    ZRANGE nosuch 0 -1                     => []
    ZRANGE z 0 -1 LIMIT 0 1                => (error) ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX
    ZRANGE z 0 -1 LIMIT 0 -1               => ["a", "b", "c", "d"]
    ZRANGE z x 1                           => (error) ERR value is not an integer or out of range
    ZRANGE z 0 1 FOO                       => (error) ERR syntax error
    ZREVRANGE z 0 -1 BYSCORE               => (error) ERR syntax error
    ZREVRANGE z 0 -1 REV                   => (error) ERR syntax error
    ZREMRANGEBYRANK z 0 0                  => (integer) 1
    ZREMRANGEBYRANK z -1 -1                => (integer) 1
    ZREMRANGEBYRANK z 5 6                  => (integer) 0
    ZREMRANGEBYRANK z x 1                  => (error) ERR value is not an integer or out of range
    ZRANGE z 0 -1                          => ["b", "c"]
    ZREMRANGEBYRANK z 0 -1                 => (integer) 2
    EXISTS z                               => (integer) 0
  )");
}

TEST_F(SortedSetCommandsTest, ByScore) {
  server_.Play(R"(
    ZADD z 1 a 2 b 2 c 3 d                 => (integer) 4
    ZRANGE z 1 2 BYSCORE                   => ["a", "b", "c"]
    ZRANGE z (1 (3 BYSCORE WITHSCORES      => ["b", "2", "c", "2"]
    ZRANGE z 2 1 BYSCORE                   => []
    ZRANGE z 2 1 BYSCORE REV               => ["c", "b", "a"]
    ZRANGE z -inf +inf BYSCORE LIMIT 1 2   => ["b", "c"]
    ZRANGE z -inf +inf BYSCORE LIMIT 1 -1  => ["b", "c", "d"]
    ZRANGE z -inf +inf BYSCORE LIMIT -1 2  => []
    ZRANGE z -inf +inf BYSCORE LIMIT 5 2   => []
    ZRANGE z +inf -inf BYSCORE REV LIMIT 1 2 => ["c", "b"]
    ZRANGEBYSCORE z 1 2                    => ["a", "b", "c"]
    ZRANGEBYSCORE z (2 +inf WITHSCORES     => ["d", "3"]
    ZRANGEBYSCORE z -inf +inf WITHSCORES LIMIT 1 1 => ["b", "2"]
    ZREVRANGEBYSCORE z 3 (1                => ["d", "c", "b"]
    ZREVRANGEBYSCORE z +inf -inf LIMIT 0 1 => ["d"]
    ZREVRANGEBYSCORE z 1 3                 => []
    ZRANGEBYSCORE z x 1                    => (error) ERR min or max is not a float
    ZRANGEBYSCORE z 1 2 LIMIT 0            => (error) ERR syntax error
    ZRANGEBYSCORE z 1 2 LIMIT a b          => (error) ERR value is not an integer or out of range
    ZRANGEBYSCORE z 1 2 REV                => (error) ERR syntax error
    ZRANGE z 1 2 BYSCORE BYLEX             => (error) ERR syntax error
    ZREMRANGEBYSCORE z (1 2                => (integer) 2
    ZREMRANGEBYSCORE z 5 6                 => (integer) 0
    ZREMRANGEBYSCORE z x 6                 => (error) ERR min or max is not a float
    ZRANGE z 0 -1                          => ["a", "d"]
    ZREMRANGEBYSCORE z -inf +inf           => (integer) 2
    EXISTS z                               => (integer) 0
  )");
}

TEST_F(SortedSetCommandsTest, ByLex) {
  server_.Play(R"(
    ZADD z 0 a 0 b 0 c 0 d 0 aa            => (integer) 5
    ZRANGE z - + BYLEX                     => ["a", "aa", "b", "c", "d"]
    ZRANGE z [aa (c BYLEX                  => ["aa", "b"]
    ZRANGE z (a [c BYLEX                   => ["aa", "b", "c"]
    ZRANGE z [c [a BYLEX                   => []
    ZRANGE z [c [a BYLEX REV               => ["c", "b", "aa", "a"]
    ZRANGE z + - BYLEX REV LIMIT 1 2       => ["c", "b"]
    ZRANGEBYLEX z - [b                     => ["a", "aa", "b"]
    ZRANGEBYLEX z + -                      => []
    ZREVRANGEBYLEX z + (b                  => ["d", "c"]
    ZREVRANGEBYLEX z [b -                  => ["b", "aa", "a"]
    ZRANGEBYLEX z - + LIMIT 1 2            => ["aa", "b"]
    ZLEXCOUNT z - +                        => (integer) 5
    ZLEXCOUNT z [a (b                      => (integer) 2
    ZLEXCOUNT z + -                        => (integer) 0
    ZLEXCOUNT z a b                        => (error) ERR min or max not valid string range item
    ZLEXCOUNT z -x +                       => (error) ERR min or max not valid string range item
    ZLEXCOUNT nosuch - +                   => (integer) 0
    ZRANGEBYLEX z a b                      => (error) ERR min or max not valid string range item
    ZRANGEBYLEX z - + WITHSCORES           => (error) ERR syntax error, WITHSCORES not supported in combination with BYLEX
    ZRANGE z 0 -1 BYLEX                    => (error) ERR min or max not valid string range item
    ZREMRANGEBYLEX z [a (b                 => (integer) 2
    ZREMRANGEBYLEX z x y                   => (error) ERR min or max not valid string range item
    ZRANGE z 0 -1                          => ["b", "c", "d"]
    ZRANGEBYLEX nosuch - +                 => []
  )");
}

TEST_F(SortedSetCommandsTest, RangesAreStored) {
  server_.Play(R"(
    ZADD z 1 a 2 b 3 c                     => (integer) 3
    SET d x                                => OK
    ZRANGESTORE d z 0 1                    => (integer) 2
    ZRANGE d 0 -1 WITHSCORES               => ["a", "1", "b", "2"]
    ZRANGESTORE d z (1 +inf BYSCORE LIMIT 0 1 => (integer) 1
    ZRANGE d 0 -1 WITHSCORES               => ["b", "2"]
    ZRANGESTORE d z 3 1 BYSCORE REV        => (integer) 3
    ZRANGE d 0 -1                          => ["a", "b", "c"]
    ZRANGESTORE z z 0 0                    => (integer) 1
    ZRANGE z 0 -1                          => ["a"]
    ZRANGESTORE d nosuch 0 -1              => (integer) 0
    EXISTS d                               => (integer) 0
    ZRANGESTORE d z 0 -1 WITHSCORES        => (error) ERR syntax error
    ZRANGESTORE d z x 1                    => (error) ERR value is not an integer or out of range
  )");
}

TEST_F(SortedSetCommandsTest, Pops) {
  server_.Play(R"(
    ZADD z 1 a 2 b 3 c 4 d 5 e             => (integer) 5
    ZPOPMIN z                              => ["a", "1"]
    ZPOPMAX z                              => ["e", "5"]
    ZPOPMIN z 0                            => []
    ZPOPMIN z 2                            => ["b", "2", "c", "3"]
    ZPOPMIN z -1                           => (error) ERR value is out of range, must be positive
    ZPOPMIN z x                            => (error) ERR value is out of range, must be positive
    ZPOPMIN z 1 2                          => (error) ERR syntax error
    ZPOPMIN nosuch                         => []
    ZPOPMAX z 10                           => ["d", "4"]
    EXISTS z                               => (integer) 0
    ZADD z 1 a 2 b 3 c 4 d 5 e             => (integer) 5
    BZPOPMIN nosuch z 0                    => ["z", "a", "1"]
    BZPOPMAX nosuch z 0.5                  => ["z", "e", "5"]
    BZPOPMIN z x                           => (error) ERR timeout is not a float or out of range
    BZPOPMIN z -1                          => (error) ERR timeout is negative
    BZPOPMIN z 1e300                       => (error) ERR timeout is negative
    BZPOPMIN z 0                           => ["z", "b", "2"]
    ZMPOP 2 nosuch z MIN                   => ["z", [["c", "3"]]]
    ZMPOP 1 z MAX COUNT 10                 => ["z", [["d", "4"]]]
    ZMPOP 1 z MAX                          => (nil)
    ZADD z 1 a 2 b                         => (integer) 2
    BZMPOP 0 1 z MIN COUNT 2               => ["z", [["a", "1"], ["b", "2"]]]
    ZMPOP 0 z MIN                          => (error) ERR numkeys should be greater than 0
    ZMPOP x z MIN                          => (error) ERR numkeys should be greater than 0
    ZMPOP 2 z MIN                          => (error) ERR syntax error
    ZMPOP 1 z FOO                          => (error) ERR syntax error
    ZMPOP 1 z MIN COUNT 0                  => (error) ERR count should be greater than 0
    ZMPOP 1 z MIN COUNT x                  => (error) ERR count should be greater than 0
    ZMPOP 1 z MIN COUNT                    => (error) ERR syntax error
    ZMPOP 1 z MIN COUNT 1 COUNT 1          => (error) ERR syntax error
    BZMPOP x 1 z MIN                       => (error) ERR timeout is not a float or out of range
    BZMPOP -1 1 z MIN                      => (error) ERR timeout is negative
    BZMPOP x 0 z MIN                       => (error) ERR numkeys should be greater than 0
    BZMPOP 1 0 z MIN                       => (error) ERR numkeys should be greater than 0
    MULTI                                  => OK
    BZPOPMIN z 0                           => QUEUED
    BZMPOP 0 1 z MAX                       => QUEUED
    ZADD z 1 a                             => QUEUED
    BZPOPMAX z 0                           => QUEUED
    EXEC                                   => [(nil), (nil), (integer) 1, ["z", "a", "1"]]
  )");
}

TEST_F(SortedSetCommandsTest, Algebra) {
  server_.Play(R"(
    ZADD a 1 one 2 two 3 three             => (integer) 3
    ZADD b 10 two 20 three 30 four         => (integer) 3
    SADD s one four                        => (integer) 2
    ZUNION 2 a b                           => ["one", "two", "three", "four"]
    ZUNION 2 a b WITHSCORES                => ["one", "1", "two", "12", "three", "23", "four", "30"]
    ZUNION 2 a b WEIGHTS 2 0.5 WITHSCORES  => ["one", "2", "two", "9", "four", "15", "three", "16"]
    ZUNION 2 a b AGGREGATE MAX WITHSCORES  => ["one", "1", "two", "10", "three", "20", "four", "30"]
    ZUNION 2 a b AGGREGATE min WITHSCORES  => ["one", "1", "two", "2", "three", "3", "four", "30"]
    ZUNION 2 a s WITHSCORES                => ["four", "1", "one", "2", "two", "2", "three", "3"]
    ZUNION 1 nosuch                        => []
    ZINTER 2 a b                           => ["two", "three"]
    ZINTER 2 a b WEIGHTS 2 3 AGGREGATE MIN WITHSCORES => ["two", "4", "three", "6"]
    ZINTER 2 s b WITHSCORES                => ["four", "31"]
    ZINTER 2 a a WITHSCORES                => ["one", "2", "two", "4", "three", "6"]
    ZINTER 2 a nosuch                      => []
    ZDIFF 2 a b WITHSCORES                 => ["one", "1"]
    ZDIFF 2 a s                            => ["two", "three"]
    ZDIFF 2 s a                            => ["four"]
    ZDIFF 2 nosuch a                       => []
    ZDIFF 2 a a                            => []
    ZINTERCARD 2 a b                       => (integer) 2
    ZINTERCARD 2 a b LIMIT 1               => (integer) 1
    ZINTERCARD 2 a b LIMIT 0               => (integer) 2
    ZINTERCARD 2 a nosuch                  => (integer) 0
    ZUNIONSTORE d 2 a b WEIGHTS 1 2        => (integer) 4
    ZRANGE d 0 -1 WITHSCORES               => ["one", "1", "two", "22", "three", "43", "four", "60"]
    ZINTERSTORE d 2 a d AGGREGATE MAX      => (integer) 3
    ZRANGE d 0 -1 WITHSCORES               => ["one", "1", "two", "22", "three", "43"]
    ZDIFFSTORE d 2 d b                     => (integer) 1
    ZRANGE d 0 -1 WITHSCORES               => ["one", "1"]
    ZINTERSTORE d 2 a nosuch               => (integer) 0
    EXISTS d                               => (integer) 0
    SET text x                             => OK
    ZUNIONSTORE text 1 a                   => (integer) 3
    TYPE text                              => zset
    ZADD up inf m                          => (integer) 1
    ZADD down -inf m                       => (integer) 1
    ZUNION 2 up down WITHSCORES            => ["m", "0"]
    ZINTER 2 up down WEIGHTS 0 1 WITHSCORES => ["m", "-inf"]
  )");
}

TEST_F(SortedSetCommandsTest, MistakesInAlgebra) {
  server_.Play(R"(
    ZADD a 1 one                           => (integer) 1
    SET text x                             => OK
    ZUNION 0 a                             => (error) ERR at least 1 input key is needed for 'zunion' command
    ZUNION x a                             => (error) ERR value is not an integer or out of range
    ZUNION -1 a                            => (error) ERR at least 1 input key is needed for 'zunion' command
    ZUNION 2 a                             => (error) ERR syntax error
    ZUNION 1 a FOO                         => (error) ERR syntax error
    ZUNION 2 a a WEIGHTS 1                 => (error) ERR syntax error
    ZUNION 1 a WEIGHTS x                   => (error) ERR weight value is not a float
    ZUNION 1 a WEIGHTS nan                 => (error) ERR weight value is not a float
    ZUNION 1 a AGGREGATE                   => (error) ERR syntax error
    ZUNION 1 a AGGREGATE AVG               => (error) ERR syntax error
    ZUNION 2 a text                        => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZUNION 2 a text FOO                    => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZDIFF 1 a WEIGHTS 1                    => (error) ERR syntax error
    ZDIFF 1 a AGGREGATE SUM                => (error) ERR syntax error
    ZUNIONSTORE d 1 a WITHSCORES           => (error) ERR syntax error
    ZUNIONSTORE d 0 a                      => (error) ERR at least 1 input key is needed for 'zunionstore' command
    ZINTERCARD 0 a                         => (error) ERR at least 1 input key is needed for 'zintercard' command
    ZINTERCARD 1 a LIMIT -1                => (error) ERR LIMIT can't be negative
    ZINTERCARD 1 a LIMIT x                 => (error) ERR LIMIT can't be negative
    ZINTERCARD 1 a LIMIT                   => (error) ERR syntax error
    ZINTERCARD 1 a WEIGHTS 1               => (error) ERR syntax error
    ZINTERCARD 2 nosuch text               => (error) WRONGTYPE Operation against a key holding the wrong kind of value
  )");
}

TEST_F(SortedSetCommandsTest, RandomMembers) {
  server_.Play(R"(
    ZADD z 1 only                          => (integer) 1
    ZRANDMEMBER z                          => "only"
    ZRANDMEMBER z 5                        => ["only"]
    ZRANDMEMBER z -3                       => ["only", "only", "only"]
    ZRANDMEMBER z -2 WITHSCORES            => ["only", "1", "only", "1"]
    ZRANDMEMBER z 0                        => []
    ZRANDMEMBER nosuch                     => (nil)
    ZRANDMEMBER nosuch 5                   => []
    ZRANDMEMBER z x                        => (error) ERR value is not an integer or out of range
    ZRANDMEMBER z 1 FOO                    => (error) ERR syntax error
    ZRANDMEMBER z 1 WITHSCORES FOO         => (error) ERR syntax error
    ZRANDMEMBER z -9223372036854775808     => (error) ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
    ZRANDMEMBER z -4611686018427387904 WITHSCORES => (error) ERR value is out of range
  )");
}

TEST_F(SortedSetCommandsTest, Scans) {
  server_.Play(R"(
    ZADD z 1 a 2 b 3.5 c                   => (integer) 3
    ZSCAN z 0                              => ["0", ["a", "1", "b", "2", "c", "3.5"]]
    ZSCAN z 0 MATCH b*                     => ["0", ["b", "2"]]
    ZSCAN nosuch 0                         => ["0", []]
    ZSCAN z x                              => (error) ERR invalid cursor
    ZSCAN z 0 COUNT 0                      => (error) ERR syntax error
    ZSCAN z 0 FOO                          => (error) ERR syntax error
  )");
}

TEST_F(SortedSetCommandsTest, OtherTypesAreRefused) {
  server_.Play(R"(
    SET text x                             => OK
    ZADD text 1 a                          => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZADD text x a                          => (error) ERR value is not a valid float
    ZINCRBY text 1 a                       => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZREM text a                            => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZSCORE text a                          => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZMSCORE text a                         => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZCARD text                             => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZCOUNT text 0 1                        => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZLEXCOUNT text - +                     => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZRANK text a                           => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZREVRANK text a                        => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZRANGE text 0 1                        => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZRANGE text x 1                        => (error) ERR value is not an integer or out of range
    ZRANGESTORE d text 0 1                 => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZRANGEBYSCORE text 0 1                 => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZREMRANGEBYRANK text 0 1               => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZREMRANGEBYSCORE text 0 1              => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZREMRANGEBYLEX text - +                => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZPOPMIN text                           => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZPOPMIN text 0                         => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZPOPMAX text -1                        => (error) ERR value is out of range, must be positive
    BZPOPMIN text 0                        => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    BZPOPMIN text x                        => (error) ERR timeout is not a float or out of range
    ZMPOP 1 text MIN                       => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZUNION 1 text                          => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZRANDMEMBER text                       => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZRANDMEMBER text 1                     => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    ZSCAN text 0                           => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    GET text                               => "x"
  )");
}

}  // namespace
}  // namespace cairn::data
