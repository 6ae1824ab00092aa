#include <gtest/gtest.h>

#include "data/testing/script.h"

// The replies are those of Redis 7.0.
namespace cairn::data {
namespace {

using testing::DataServer;

class GeoCommandsTest : public ::testing::Test {
 protected:
  ~GeoCommandsTest() override { server_.CheckConsistency(); }

  DataServer server_;
};

TEST_F(GeoCommandsTest, AddedPlacesAreFoundAgain) {
  server_.Play(R"(
    GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania => (integer) 2
    GEOPOS g Palermo Catania nosuch        => [["13.36138933897018433", "38.11555639549629859"], ["15.08726745843887329", "37.50266842333162032"], (nil)]
    GEOPOS nosuch a b                      => [(nil), (nil)]
    GEOPOS g                               => []
    GEOHASH g Palermo Catania nosuch       => ["sqc8b49rny0", "sqdtr74hyu0", (nil)]
    GEOHASH nosuch a                       => [(nil)]
    GEODIST g Palermo Catania              => "166274.1516"
    GEODIST g Palermo Catania km           => "166.2742"
    GEODIST g Palermo Catania MI           => "103.3182"
    GEODIST g Palermo Catania ft           => "545518.8700"
    GEODIST g Palermo Palermo              => "0.0000"
    GEODIST g Palermo nosuch               => (nil)
    GEODIST nosuch a b                     => (nil)
    ZSCORE g Palermo                       => "3479099956230698"
    GEOADD g NX 13.5 38 Palermo            => (integer) 0
    GEOADD g XX CH 13.5 38 Palermo         => (integer) 1
    GEOADD g XX CH 1 1 nosuch              => (integer) 0
    GEOADD g CH 13.5 38 Palermo 1 1 new    => (integer) 1
    GEOPOS g Palermo new                   => [["13.50000053644180298", "38.0000009925631943"], ["0.99999994039535522", "0.99999945914297683"]]
    GEOADD edge 180 85.05112878 ne -180 -85.05112878 sw 0 0 middle 180 0 e => (integer) 4
    GEOPOS edge ne sw middle e             => [["180", "85.0511287799999991"], ["-179.99999731779098511", "-85.05112751263942528"], ["0.00000268220901489", "0.00000126736058093"], ["180", "0.00000126736058093"]]
    GEOHASH edge ne sw middle e            => ["bp05b5048p0", "00bh0hbj200", "s0000000000", "80000000000"]
    ZRANGE edge 0 -1 WITHSCORES            => ["sw", "0", "middle", "3377699720527872", "e", "10133099161583616", "ne", "13510798882111488"]
    GEOSEARCH edge FROMLONLAT 180 0 BYRADIUS 1 km => ["e"]
  )");
}

TEST_F(GeoCommandsTest, MistakesInGeo) {
  server_.Play(R"(
    GEOADD g 200 10 x                      => (error) ERR invalid longitude,latitude pair 200.000000,10.000000
    GEOADD g 10 86 x                       => (error) ERR invalid longitude,latitude pair 10.000000,86.000000
    GEOADD g x 10 x                        => (error) ERR value is not a valid float
    GEOADD g 10 10                         => (error) ERR wrong number of arguments for 'geoadd' command
    GEOADD g NX XX 10 10 x                 => (error) ERR syntax error
    GEOADD g NX 10 10                      => (error) ERR syntax error
    GEOADD g INCR 10 10 x                  => (error) ERR syntax error
    GEOADD g NX CH CH                      => (error) ERR syntax error
    GEOADD g 10 10 x 10                    => (error) ERR syntax error
    EXISTS g                               => (integer) 0
    GEOADD g 13.361389 38.115556 Palermo   => (integer) 1
    GEODIST g Palermo Palermo xx           => (error) ERR unsupported unit provided. please use M, KM, FT, MI
    GEODIST g Palermo Palermo km foo       => (error) ERR syntax error
    GEOSEARCH g FROMMEMBER x BYRADIUS 200 km => (error) ERR could not decode requested zset member
    GEOSEARCH g BYRADIUS 200 km ASC WITHCOORD => (error) ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for GEOSEARCH
    GEOSEARCH g FROMLONLAT 15 37 ASC WITHCOORD WITHDIST => (error) ERR exactly one of BYRADIUS and BYBOX can be specified for GEOSEARCH
    GEOSEARCH g FROMLONLAT 15 37 FROMMEMBER a BYRADIUS 1 km => (error) ERR syntax error
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1 km BYBOX 1 1 km => (error) ERR syntax error
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS -1 km => (error) ERR radius cannot be negative
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS x km => (error) ERR need numeric radius
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1 xx => (error) ERR unsupported unit provided. please use M, KM, FT, MI
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS -1 xx => (error) ERR radius cannot be negative
    GEOSEARCH g FROMLONLAT 15 37 BYBOX x 1 km => (error) ERR need numeric width
    GEOSEARCH g FROMLONLAT 15 37 BYBOX 1 x km => (error) ERR need numeric height
    GEOSEARCH g FROMLONLAT 15 37 BYBOX -1 1 km => (error) ERR height or width cannot be negative
    GEOSEARCH g FROMLONLAT 195 37 BYRADIUS 200 km => (error) ERR invalid longitude,latitude pair 195.000000,37.000000
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km COUNT 0 => (error) ERR COUNT must be > 0
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km COUNT x => (error) ERR value is not an integer or out of range
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ANY => (error) ERR the ANY argument requires COUNT argument
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km COUNT 1 FOO => (error) ERR syntax error
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km STOREDIST => (error) ERR syntax error
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km STORE d => (error) ERR syntax error
    GEOSEARCH nosuch FROMLONLAT x 37 BYRADIUS 200 km => (error) ERR value is not a valid float
    GEOSEARCH nosuch FROMLONLAT 15 37 BYRADIUS 200 km FOO => (error) ERR syntax error
    GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 200 km WITHDIST => (error) ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options
    GEORADIUS g 15 37 200 km ASC WITHDIST STORE d => (error) ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options
    GEORADIUS_RO g 15 37 200 km STORE d    => (error) ERR syntax error
    GEORADIUS g 15 37 200 km ANY           => (error) ERR the ANY argument requires COUNT argument
    GEORADIUS g 15 37 200 km BYRADIUS 1 km => (error) ERR syntax error
    GEORADIUS g 15 37 -200 km              => (error) ERR radius cannot be negative
    GEORADIUS g 15 37 x km                 => (error) ERR need numeric radius
    GEORADIUS g x 37 200 km                => (error) ERR value is not a valid float
    GEORADIUS nosuch x 37 200 km           => (error) ERR value is not a valid float
    GEORADIUSBYMEMBER g nosuch 200 km      => (error) ERR could not decode requested zset member
    GEORADIUSBYMEMBER nosuch nosuch x km   => []
    SET text x                             => OK
    GEOADD text 1 1 a                      => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    GEOADD text 1 x a                      => (error) ERR value is not a valid float
    GEOPOS text a                          => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    GEOHASH text a                         => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    GEODIST text a b                       => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    GEODIST text a b xx                    => (error) ERR unsupported unit provided. please use M, KM, FT, MI
    GEOSEARCH text FROMLONLAT x 37 BYRADIUS 200 km => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    GEOSEARCHSTORE d text FROMLONLAT x 37 BYRADIUS 200 km => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    GEORADIUS text x 37 200 km             => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    GEORADIUSBYMEMBER text x 200 xx        => (error) WRONGTYPE Operation against a key holding the wrong kind of value
  )");
}

TEST_F(GeoCommandsTest, SearchesAroundAPlace) {
  server_.Play(R"(
    GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 => (integer) 4
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC => ["Catania", "Palermo"]
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km DESC => ["Palermo", "Catania"]
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km => ["Palermo", "Catania"]
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC WITHCOORD WITHDIST WITHHASH => [["Catania", "56.4413", (integer) 3479447370796909, ["15.08726745843887329", "37.50266842333162032"]], ["Palermo", "190.4424", (integer) 3479099956230698, ["13.36138933897018433", "38.11555639549629859"]]]
    GEOSEARCH g FROMLONLAT 15 37 BYBOX 400 400 km ASC WITHDIST => [["Catania", "56.4413"], ["Palermo", "190.4424"], ["edge2", "279.7403"], ["edge1", "279.7405"]]
    GEOSEARCH g FROMMEMBER Palermo BYRADIUS 200 km ASC WITHDIST => [["Palermo", "0.0000"], ["edge1", "91.4007"], ["Catania", "166.2742"]]
    GEOSEARCH g FROMMEMBER Palermo BYBOX 200 200 km ASC WITHDIST => [["Palermo", "0.0000"], ["edge1", "91.4007"]]
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 300 km COUNT 2 => ["Catania", "Palermo"]
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 300 km COUNT 2 DESC => ["edge1", "edge2"]
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 300 km COUNT 2 ANY => ["Palermo", "edge1"]
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 300 km ANY COUNT 3 DESC WITHDIST => [["edge1", "279.7405"], ["Palermo", "190.4424"], ["Catania", "56.4413"]]
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 0 m => []
    GEOSEARCH g FROMLONLAT 1 1 BYRADIUS 1 m FROMLONLAT 15 37 BYRADIUS 200 km ASC => ["Catania", "Palermo"]
    GEOSEARCH g FROMMEMBER Palermo BYRADIUS 0 m => ["Palermo"]
    GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 30000 km ASC => ["Catania", "Palermo", "edge2", "edge1"]
    GEOSEARCH nosuch FROMMEMBER x BYRADIUS 200 km => []
    GEOSEARCH nosuch FROMLONLAT 15 37 BYRADIUS 200 km WITHDIST => []
    GEORADIUS g 15 37 200 km ASC WITHDIST  => [["Catania", "56.4413"], ["Palermo", "190.4424"]]
    GEORADIUS g 15 37 200 km WITHCOORD WITHDIST WITHHASH COUNT 1 => [["Catania", "56.4413", (integer) 3479447370796909, ["15.08726745843887329", "37.50266842333162032"]]]
    GEORADIUS_RO g 15 37 100 mi DESC       => ["Catania"]
    GEORADIUSBYMEMBER g Palermo 200 km ASC => ["Palermo", "edge1", "Catania"]
    GEORADIUSBYMEMBER_RO g Palermo 200 km WITHDIST => [["Palermo", "0.0000"], ["edge1", "91.4007"], ["Catania", "166.2742"]]
    GEORADIUSBYMEMBER nosuch nosuch 200 km => []
  )");
}

TEST_F(GeoCommandsTest, SearchesAreStored) {
  server_.Play(R"(
    GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania => (integer) 2
    GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 200 km => (integer) 2
    ZRANGE d 0 -1 WITHSCORES               => ["Palermo", "3479099956230698", "Catania", "3479447370796909"]
    GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 200 km STOREDIST => (integer) 2
    ZRANGE d 0 -1 WITHSCORES               => ["Catania", "56.441257870158204", "Palermo", "190.44242984775784"]
    GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 200 km COUNT 1 ANY DESC => (integer) 1
    ZCARD d                                => (integer) 1
    GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 1 km => (integer) 0
    EXISTS d                               => (integer) 0
    GEORADIUS g 15 37 200 km STORE d       => (integer) 2
    ZRANGE d 0 -1 WITHSCORES               => ["Palermo", "3479099956230698", "Catania", "3479447370796909"]
    GEORADIUS g 15 37 200 km STORE d STOREDIST e => (integer) 2
    ZRANGE e 0 -1 WITHSCORES               => ["Catania", "56.441257870158204", "Palermo", "190.44242984775784"]
    GEORADIUSBYMEMBER g Palermo 200 mi STOREDIST e => (integer) 2
    ZRANGE e 0 -1 WITHSCORES               => ["Palermo", "0", "Catania", "103.31822459492733"]
    GEORADIUS nosuch 15 37 200 km STORE e  => (integer) 0
    EXISTS e                               => (integer) 0
  )");
}

TEST_F(GeoCommandsTest, ScoresThatAreNoCellsAreCastAsRedisDoes) {
  server_.Play(R"(
    ZADD z -20.5 a 1e20 b inf c -inf d -0.5 e 9.3e18 f
    GEOPOS z a b c            => [["180", "85.0511287799999991"], ["-179.99999731779098511", "-85.05112751263942528"], ["-179.99999731779098511", "-85.05112751263942528"]]
    GEOPOS z d e f            => [["180", "-85.05112751263942528"], ["-179.99999731779098511", "-85.05112751263942528"], ["180", "85.0511287799999991"]]
    GEOHASH z a d e           => ["bp05b5048p0", "00bh0hbj200", "00bh0hbj200"]
  )");
}

}  // namespace
}  // namespace cairn::data
