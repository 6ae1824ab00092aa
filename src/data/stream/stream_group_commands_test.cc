#include <gtest/gtest.h>

#include "data/testing/script.h"

namespace cairn::data {
namespace {

using testing::DataServer;

class StreamGroupCommandsTest : public ::testing::Test {
 protected:
  StreamGroupCommandsTest() {
    server_.Play(R"(
      XADD s 1-1 a 1
      XADD s 2-1 b 2
      XADD s 3-1 c 3
      XGROUP CREATE s g 0     => OK
    )");
  }
  ~StreamGroupCommandsTest() override { server_.CheckConsistency(); }

  DataServer server_;
};

TEST_F(StreamGroupCommandsTest, GroupsAreCreatedAndRemoved) {
  server_.Play(R"(
    XGROUP CREATE s g $       => (error) BUSYGROUP Consumer Group name already exists
    XGROUP CREATE nosuch g $  => (error) ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.
    XGROUP CREATE new g $ MKSTREAM => OK
    XLEN new                  => (integer) 0
    EXISTS new                => (integer) 1
    XGROUP CREATE s h x       => (error) ERR Invalid stream ID specified as stream command argument
    XGROUP CREATE s h $ FOO   => (error) ERR unknown subcommand or wrong number of arguments for 'CREATE'. Try XGROUP HELP.
    XGROUP CREATE s h $ MKSTREAM ENTRIESREAD 1 MKSTREAM => (error) ERR unknown subcommand or wrong number of arguments for 'CREATE'. Try XGROUP HELP.
    XGROUP CREATE s h $ ENTRIESREAD -2 => (error) ERR value for ENTRIESREAD must be positive or -1
    XGROUP SETID s nog $      => (error) NOGROUP No such consumer group 'nog' for key name 's'
    XGROUP SETID s g 2-1 ENTRIESREAD 2 => OK
    XINFO GROUPS s            => [["name", "g", "consumers", (integer) 0, "pending", (integer) 0, "last-delivered-id", "2-1", "entries-read", (integer) 2, "lag", (integer) 1]]
    XGROUP CREATECONSUMER s g a => (integer) 1
    XGROUP CREATECONSUMER s g a => (integer) 0
    XREADGROUP GROUP g a STREAMS s > => [["s", [["3-1", ["c", "3"]]]]]
    XGROUP DELCONSUMER s g a  => (integer) 1
    XGROUP DELCONSUMER s g a  => (integer) 0
    XPENDING s g              => [(integer) 0, (nil), (nil), (nil)]
    XGROUP DESTROY s g        => (integer) 1
    XGROUP DESTROY s g        => (integer) 0
    XINFO GROUPS s            => []
    XGROUP CREATE s g 0       => OK
    XINFO CONSUMERS s g       => []
  )");
}

TEST_F(StreamGroupCommandsTest, EachEntryGoesToOneConsumerUntilAcknowledged) {
  server_.Play(R"(
    XREADGROUP GROUP g a COUNT 1 STREAMS s > => [["s", [["1-1", ["a", "1"]]]]]
    XREADGROUP GROUP g b COUNT 1 STREAMS s > => [["s", [["2-1", ["b", "2"]]]]]
    XREADGROUP GROUP g a NOACK STREAMS s > => [["s", [["3-1", ["c", "3"]]]]]
    XREADGROUP GROUP g a STREAMS s > => (nil)
    XREADGROUP GROUP g a STREAMS s 0 => [["s", [["1-1", ["a", "1"]]]]]
    XREADGROUP GROUP g a STREAMS s 1-1 => [["s", []]]
    XPENDING s g              => [(integer) 2, "1-1", "2-1", [["a", "1"], ["b", "1"]]]
    XPENDING s g - + 10       => [["1-1", "a", (integer) 0, (integer) 2], ["2-1", "b", (integer) 0, (integer) 1]]
    XDEL s 1-1
    XREADGROUP GROUP g a STREAMS s 0 => [["s", [["1-1", (nil)]]]]
    XACK s g 1-1 2-1 9-9      => (integer) 2
    XACK s g 1-1              => (integer) 0
    XACK s nog x              => (integer) 0
    XACK s g x                => (error) ERR Invalid stream ID specified as stream command argument
    XREADGROUP GROUP g a STREAMS s 0 => [["s", []]]
  )");
}

TEST_F(StreamGroupCommandsTest, ReadingNeedsTheGroup) {
  server_.Play(R"(
    XREADGROUP GROUP nog a STREAMS s > => (error) NOGROUP No such key 's' or consumer group 'nog' in XREADGROUP with GROUP option
    XREADGROUP GROUP g a BLOCK 0 STREAMS nosuch > => (error) NOGROUP No such key 'nosuch' or consumer group 'g' in XREADGROUP with GROUP option
    XREADGROUP COUNT 5 STREAMS s t 0 > => (error) ERR Missing GROUP option for XREADGROUP
    XREADGROUP GROUP g c STREAMS s $ => (error) ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set.
    XGROUP SETID s g $
    MULTI
    XREADGROUP GROUP g a BLOCK 0 STREAMS s >
    EXEC                      => [(nil)]
    XINFO CONSUMERS s g       => []
    XREADGROUP GROUP g a STREAMS s 0
    XINFO CONSUMERS s g       => [["name", "a", "pending", (integer) 0, "idle", (integer) 0]]
  )");
}

TEST_F(StreamGroupCommandsTest, AnotherReadTakesOverWhatSetIdWentBackTo) {
  server_.Play(R"(
    XREADGROUP GROUP g a STREAMS s >
    XGROUP SETID s g 1-1
    XREADGROUP GROUP g b STREAMS s s > > => [["s", [["2-1", ["b", "2"]], ["3-1", ["c", "3"]]]]]
    XPENDING s g              => [(integer) 3, "1-1", "3-1", [["a", "1"], ["b", "2"]]]
  )");
}

TEST_F(StreamGroupCommandsTest, IdleEntriesAreClaimed) {
  server_.Play("XREADGROUP GROUP g a STREAMS s >");
  server_.clock().AdvanceMillis(1000);
  server_.Play(R"(
    XPENDING s g IDLE 1000 -  => (error) ERR syntax error
    XPENDING s g IDLE 1000 - + 10 a => [["1-1", "a", (integer) 1000, (integer) 1], ["2-1", "a", (integer) 1000, (integer) 1], ["3-1", "a", (integer) 1000, (integer) 1]]
    XPENDING s g IDLE 1001 - + 10 => []
    XPENDING s g (1-1 + 1     => [["2-1", "a", (integer) 1000, (integer) 1]]
    XPENDING s g - + 10 nosuch => []
    XPENDING s g - +          => (error) ERR syntax error
    XPENDING s g IDLE 0 - +   => (error) ERR syntax error
    XPENDING s g - + x        => (error) ERR value is not an integer or out of range
    XCLAIM s g b 1001 1-1     => []
    XINFO CONSUMERS s g       => [["name", "a", "pending", (integer) 3, "idle", (integer) 1000]]
    XCLAIM s g b 1000 1-1 9-9 => [["1-1", ["a", "1"]]]
    XCLAIM s g b 0 2-1 JUSTID IDLE 500 => ["2-1"]
    XPENDING s g - + 10       => [["1-1", "b", (integer) 0, (integer) 2], ["2-1", "b", (integer) 500, (integer) 1], ["3-1", "a", (integer) 1000, (integer) 1]]
    XCLAIM s g b 0 3-1 RETRYCOUNT 7 TIME 1000 => [["3-1", ["c", "3"]]]
    XPENDING s g 3-1 3-1 10   => [["3-1", "b", (integer) 1700000000000, (integer) 7]]
    XACK s g 1-1
    XCLAIM s g b 0 1-1        => []
    XCLAIM s g b 0 1-1 FORCE  => [["1-1", ["a", "1"]]]
    XCLAIM s g b 0 1-1 FOO    => (error) ERR Unrecognized XCLAIM option 'FOO'
    XCLAIM s g b x 1-1        => (error) ERR Invalid min-idle-time argument for XCLAIM
    XCLAIM s nog b 0 1-1      => (error) NOGROUP No such key 's' or consumer group 'nog'
    XCLAIM s g b 0 1-1 IDLE -9223372036854775808 JUSTID => ["1-1"]
    XDEL s 2-1
    XCLAIM s g b 0 2-1        => []
    XPENDING s g 2-1 2-1 10   => []
    XCLAIM s g b 0 1-1 RETRYCOUNT 9223372036854775807 JUSTID => ["1-1"]
    XCLAIM s g b 0 1-1        => [["1-1", ["a", "1"]]]
  )");
}

TEST_F(StreamGroupCommandsTest, AutoClaimGoesOnWhereItStopped) {
  server_.Play(R"(
    XREADGROUP GROUP g a STREAMS s >
    XDEL s 2-1
    XAUTOCLAIM s g b 0 - COUNT 1 => ["2-1", [["1-1", ["a", "1"]]], []]
    XAUTOCLAIM s g b 0 2-1 COUNT 1 => ["3-1", [], ["2-1"]]
    XAUTOCLAIM s g b 0 (1-1 JUSTID => ["0-0", ["3-1"], []]
    XAUTOCLAIM s g c 100 0    => ["0-0", [], []]
    XPENDING s g              => [(integer) 2, "1-1", "3-1", [["b", "2"]]]
    XAUTOCLAIM s g b 0 0 COUNT 0 => (error) ERR COUNT must be > 0
    XAUTOCLAIM s g b x 0      => (error) ERR Invalid min-idle-time argument for XAUTOCLAIM
    XAUTOCLAIM s g b 0 x      => (error) ERR Invalid stream ID specified as stream command argument
    XAUTOCLAIM s g b 0 0 FOO  => (error) ERR syntax error
    XAUTOCLAIM s nog b 0 0    => (error) NOGROUP No such key 's' or consumer group 'nog'
  )");
}

TEST_F(StreamGroupCommandsTest, LagIsKnownAsFarAsItCanBe) {
  server_.Play(R"(
    XREADGROUP GROUP g a COUNT 1 STREAMS s >
    XINFO GROUPS s            => [["name", "g", "consumers", (integer) 1, "pending", (integer) 1, "last-delivered-id", "1-1", "entries-read", (integer) 1, "lag", (integer) 2]]
    XDEL s 2-1
    XINFO GROUPS s            => [["name", "g", "consumers", (integer) 1, "pending", (integer) 1, "last-delivered-id", "1-1", "entries-read", (integer) 1, "lag", (nil)]]
    XREADGROUP GROUP g a STREAMS s >
    XINFO GROUPS s            => [["name", "g", "consumers", (integer) 1, "pending", (integer) 2, "last-delivered-id", "3-1", "entries-read", (integer) 2, "lag", (integer) 1]]
    XGROUP SETID s g 0 ENTRIESREAD 9223372036854775807
    XREADGROUP GROUP g a STREAMS s >
    XINFO GROUPS s            => [["name", "g", "consumers", (integer) 1, "pending", (integer) 2, "last-delivered-id", "3-1", "entries-read", (integer) 3, "lag", (integer) 0]]
    XADD front 1-1 a 1
    XADD front 2-1 a 1
    XGROUP CREATE front g 0 ENTRIESREAD 0
    XDEL front 1-1
    XINFO GROUPS front        => [["name", "g", "consumers", (integer) 0, "pending", (integer) 0, "last-delivered-id", "0-0", "entries-read", (integer) 0, "lag", (integer) 2]]
    XADD t 1-1 a 1
    XGROUP CREATE t g 0 ENTRIESREAD 9223372036854775807
    XREADGROUP GROUP g a STREAMS t >
    XINFO GROUPS t            => [["name", "g", "consumers", (integer) 1, "pending", (integer) 1, "last-delivered-id", "1-1", "entries-read", (integer) -9223372036854775808, "lag", (integer) -9223372036854775807]]
  )");
}

TEST_F(StreamGroupCommandsTest, InfoInFull) {
  server_.Play(R"(
    XREADGROUP GROUP g a COUNT 2 STREAMS s >
    XINFO STREAM s FULL COUNT 1 => ["length", (integer) 3, "radix-tree-keys", (integer) 1, "radix-tree-nodes", (integer) 2, "last-generated-id", "3-1", "max-deleted-entry-id", "0-0", "entries-added", (integer) 3, "recorded-first-entry-id", "1-1", "entries", [["1-1", ["a", "1"]]], "groups", [["name", "g", "last-delivered-id", "2-1", "entries-read", (integer) 2, "lag", (integer) 1, "pel-count", (integer) 2, "pending", [["1-1", "a", (integer) 1700000000000, (integer) 1]], "consumers", [["name", "a", "seen-time", (integer) 1700000000000, "pel-count", (integer) 2, "pending", [["1-1", (integer) 1700000000000, (integer) 1]]]]]]]
    XINFO STREAM s FOO        => (error) ERR unknown subcommand or wrong number of arguments for 'STREAM'. Try XINFO HELP.
    XINFO STREAM s FULL COUNT => (error) ERR unknown subcommand or wrong number of arguments for 'STREAM'. Try XINFO HELP.
    XINFO STREAM nosuch       => (error) ERR no such key
    XINFO CONSUMERS s nog     => (error) NOGROUP No such consumer group 'nog' for key name 's'
    XINFO HELP
    XGROUP HELP
  )");
}

TEST_F(StreamGroupCommandsTest, TheLagIsKnownAgainOnceWhatWasDeletedLiesBeforeTheFirstEntry) {
  server_.Play(R"(
    XADD t 1-1 a b
    XADD t 2-1 a b
    XGROUP CREATE t g 1-1
    XDEL t 1-1 2-1            => (integer) 2
    XADD t 3-1 a b
    XINFO GROUPS t            => [["name", "g", "consumers", (integer) 0, "pending", (integer) 0, "last-delivered-id", "1-1", "entries-read", (nil), "lag", (integer) 1]]
  )");
}

}  // namespace
}  // namespace cairn::data
