#include <gtest/gtest.h>

#include <string>

#include "data/testing/script.h"

namespace cairn::data {
namespace {

using testing::DataServer;

class KeyCommandsTest : public ::testing::Test {
 protected:
  ~KeyCommandsTest() override { server_.CheckConsistency(); }

  DataServer server_;
};

TEST_F(KeyCommandsTest, Existence) {
  server_.Play(R"(
    MSET a 1 b 2 c 3
    EXISTS a b nosuch a       => (integer) 3
    TOUCH a nosuch            => (integer) 1
    TYPE a                    => string
    TYPE nosuch               => none
    DEL a nosuch a            => (integer) 1
    UNLINK b                  => (integer) 1
    DBSIZE                    => (integer) 1
  )");
}

TEST_F(KeyCommandsTest, RenameAndCopy) {
  server_.Play(R"(
    RENAME nosuch x           => (error) ERR no such key
    SET a 1 EX 100
    RENAME a b                => OK
    TTL b                     => (integer) 100
    EXISTS a                  => (integer) 0
    RENAME b b                => OK
    SET c 3
    RENAMENX b c              => (integer) 0
    RENAMENX b d              => (integer) 1
    RENAMENX d d              => (integer) 0
    RENAME d c                => OK
    GET c                     => "1"
    TTL c                     => (integer) 100
    COPY c e                  => (integer) 1
    TTL e                     => (integer) 100
    COPY c e                  => (integer) 0
    SET c 9
    COPY c e REPLACE          => (integer) 1
    TTL e                     => (integer) -1
    COPY nosuch e REPLACE     => (integer) 0
    COPY c c                  => (error) ERR source and destination objects are the same
    COPY c c DB 3             => (integer) 1
    COPY c x DB 16            => (error) ERR DB index is out of range
    COPY c x DB y             => (error) ERR value is not an integer or out of range
    DBSIZE                    => (integer) 2
    SELECT 3
    GET c                     => "9"
  )");
}

TEST_F(KeyCommandsTest, MoveBetweenDatabases) {
  server_.Play(R"(
    SET a 1 EX 100
    MOVE a 1                  => (integer) 1
    MOVE a 1                  => (integer) 0
    SET a 2
    MOVE a 1                  => (integer) 0
    MOVE a 0                  => (error) ERR source and destination objects are the same
    MOVE a 99                 => (error) ERR DB index is out of range
    MOVE a x                  => (error) ERR value is not an integer or out of range
    SELECT 1
    GET a                     => "1"
    TTL a                     => (integer) 100
    DBSIZE                    => (integer) 1
  )");
}

TEST_F(KeyCommandsTest, ValuesWithElementsAreCopiedAndMoved) {
  const std::string large(10'000, 'x');
  server_.Run({"SET", "s", large});
  server_.Play(R"(
    HSET h a 1 b 2
    EXPIRE h 100
    COPY h copy               => (integer) 1
    HSET copy a 9             => (integer) 0
    HGET h a                  => "1"
    HGET copy b               => "2"
    TTL copy                  => (integer) 100
    COPY s copy REPLACE       => (integer) 1
    APPEND copy y             => (integer) 10001
    STRLEN s                  => (integer) 10000
    COPY s s DB 1             => (integer) 1
    MOVE h 1                  => (integer) 1
    EXISTS h                  => (integer) 0
  )");
  server_.FireTimers();
  server_.Play(R"(
    SELECT 1
    HGET h b                  => "2"
    HLEN h                    => (integer) 2
    STRLEN s                  => (integer) 10000
    DBSIZE                    => (integer) 2
  )");
  auto client = server_.Connect();
  EXPECT_EQ(client.RunValue({"GET", "s"}).text, large);
  EXPECT_EQ(client.RunValue({"GET", "copy"}).text, large + "y");
}

TEST_F(KeyCommandsTest, DatabasesAreSwapped) {
  server_.Run({"SET", "big", std::string(10'000, 'x')});
  server_.Play(R"(
    SET both zero EX 100
    HSET h a 1
    SET gone x PX 10
    SELECT 1
    SET both one
    SET only 1
  )");
  server_.clock().AdvanceMillis(10);
  server_.Play("SWAPDB 0 1 => OK");
  server_.CheckConsistency();
  server_.FireTimers();
  server_.Play(R"(
    KEYS *                    => ["both", "only"]
    DBSIZE                    => (integer) 2
    GET both                  => "one"
    TTL both                  => (integer) -1
    SELECT 1
    KEYS *                    => ["big", "both", "h"]
    GET both                  => "zero"
    TTL both                  => (integer) 100
    HGET h a                  => "1"
    STRLEN big                => (integer) 10000
    SWAPDB 1 1                => OK
    DBSIZE                    => (integer) 3
    SWAPDB x 1                => (error) ERR invalid first DB index
    SWAPDB 0 x                => (error) ERR invalid second DB index
    SWAPDB 99999999999 0      => (error) ERR invalid first DB index
    SWAPDB 0 16               => (error) ERR DB index is out of range
    SWAPDB -1 0               => (error) ERR DB index is out of range
  )");
}

TEST_F(KeyCommandsTest, WatchedKeysNoticeASwap) {
  for (const char* database : {"0", "1"}) {
    auto watcher = server_.Connect();
    server_.Play("FLUSHALL");
    server_.Play(std::string("SELECT ") + database + "\nSET k v");
    DataServer::Play(watcher, R"(
      WATCH k                 => OK
      SWAPDB 0 1              => OK
      MULTI                   => OK
      PING                    => QUEUED
      EXEC                    => (nil)
    )");
  }
  auto watcher = server_.Connect();
  DataServer::Play(watcher, R"(
    WATCH nosuch              => OK
    SWAPDB 0 1                => OK
    MULTI                     => OK
    PING                      => QUEUED
    EXEC                      => [PONG]
  )");
}

TEST_F(KeyCommandsTest, ExpiryConditions) {
  server_.Play(R"(
    SET k v
    EXPIRE nosuch 10          => (integer) 0
    EXPIRE k 100 XX           => (integer) 0
    EXPIRE k 100 GT           => (integer) 0
    EXPIRE k 100 NX           => (integer) 1
    EXPIRE k 200 NX           => (integer) 0
    EXPIRE k 50 GT            => (integer) 0
    EXPIRE k 200 GT           => (integer) 1
    EXPIRE k 300 LT           => (integer) 0
    EXPIRE k 150 LT           => (integer) 1
    EXPIRE k 170 XX GT        => (integer) 1
    TTL k                     => (integer) 170
    PEXPIRE k 1499            => (integer) 1
    TTL k                     => (integer) 1
    PTTL k                    => (integer) 1499
    PERSIST k                 => (integer) 1
    PERSIST k                 => (integer) 0
    EXPIRE k 100 LT           => (integer) 1
    EXPIREAT k 2000000000     => (integer) 1
    EXPIRETIME k              => (integer) 2000000000
    PEXPIREAT k 2000000000123 => (integer) 1
    PEXPIRETIME k             => (integer) 2000000000123
    EXPIRETIME nosuch         => (integer) -2
    EXPIRE k 1 NX XX          => (error) ERR NX and XX, GT or LT options at the same time are not compatible
    EXPIRE k 1 GT LT          => (error) ERR GT and LT options at the same time are not compatible
    EXPIRE k 1 foo            => (error) ERR Unsupported option foo
    EXPIRE k x                => (error) ERR value is not an integer or out of range
    EXPIRE k 9223372036854775807 => (error) ERR invalid expire time in 'expire' command
    EXPIRE k -1               => (integer) 1
    EXISTS k                  => (integer) 0
    TTL k                     => (integer) -2
  )");
}

TEST_F(KeyCommandsTest, ObjectTellsWhatRedisWould) {
  server_.Play(R"(
    SET i 12345
    SET s short
    SET l 012345678901234567890123456789012345678901234567
    OBJECT ENCODING i         => "int"
    OBJECT ENCODING s         => "embstr"
    OBJECT ENCODING l         => "raw"
    OBJECT ENCODING nosuch    => (nil)
    OBJECT REFCOUNT s         => (integer) 1
    SET small 7
    OBJECT REFCOUNT small     => (integer) 2147483647
    SET large 10000
    OBJECT REFCOUNT large     => (integer) 1
    OBJECT IDLETIME s         => (error) ERR the time of a key's last use is not kept, idle time not tracked.
    OBJECT FREQ nosuch        => (nil)
  )");
}

TEST_F(KeyCommandsTest, ObjectTellsWhatRedisWouldOfCollections) {
  const std::string wide(65, 'w');
  server_.Run({"SET", "segmented", std::string(9000, '1')});
  server_.Run({"HSET", "wide", "f", wide});
  for (int i = 0; i < 513; ++i) server_.Run({"HSET", "many", std::to_string(i), "v"});
  for (int i = 0; i < 513; ++i) server_.Run({"SADD", "ints", std::to_string(i)});
  server_.Play(R"(
    HSET h f v
    SADD s 1 2
    SADD words a
    OBJECT ENCODING segmented => "raw"
    OBJECT ENCODING h         => "listpack"
    OBJECT ENCODING wide      => "hashtable"
    OBJECT ENCODING many      => "hashtable"
    OBJECT ENCODING s         => "intset"
    OBJECT ENCODING words     => "hashtable"
    OBJECT ENCODING ints      => "hashtable"
  )");
}

TEST_F(KeyCommandsTest, MemoryUsageCountsElements) {
  server_.Run({"SET", "large", std::string(100'000, 'x')});
  for (int i = 100; i < 200; ++i) server_.Run({"HSET", "h", std::to_string(i), "value"});
  const auto usage = [&](const char* key, const char* samples) {
    return server_.Connect().RunValue({"MEMORY", "USAGE", key, "SAMPLES", samples}).integer;
  };
  EXPECT_GT(usage("large", "5"), 100'000);
  EXPECT_LT(usage("large", "0"), 102'000);
  // Elements of equal size: a few tell as much as all.
  EXPECT_EQ(usage("h", "3"), usage("h", "0"));
  EXPECT_GT(usage("h", "1"), 100 * 8);
}

// --- Time ---------------------------------------------------------------------------------------

TEST_F(KeyCommandsTest, AKeyIsGoneForReadersAtTheMillisecond) {
  server_.Play("SET k v PX 1000 => OK");
  server_.clock().AdvanceMillis(999);
  server_.Play(R"(
    GET k                     => "v"
    PTTL k                    => (integer) 1
  )");
  server_.clock().AdvanceMillis(1);
  server_.Play(R"(
    GET k                     => (nil)
    EXISTS k                  => (integer) 0
    PTTL k                    => (integer) -2
    TYPE k                    => none
    DEL k                     => (integer) 0
    KEYS *                    => []
    SCAN 0                    => ["0", []]
    RANDOMKEY                 => (nil)
    RENAME k x                => (error) ERR no such key
    DBSIZE                    => (integer) 1
  )");
  server_.FireTimers();
  server_.Play("DBSIZE => (integer) 0");
}

TEST_F(KeyCommandsTest, AnExpiredKeyCanBeWrittenAgain) {
  server_.Play("SET k v PX 10");
  server_.clock().AdvanceMillis(10);
  server_.Play(R"(
    SET k w NX                => OK
    PTTL k                    => (integer) -1
    DBSIZE                    => (integer) 1
  )");
  server_.FireTimers();
  server_.Play("GET k => \"w\"");
}

TEST_F(KeyCommandsTest, EveryWriteSeesAnExpiredKeyAsMissing) {
  for (const char* write :
       {"APPEND k x => (integer) 1", "INCR k => (integer) 1", "SETRANGE k 0 x => (integer) 1",
        "GETSET k x => (nil)", "SETNX k x => (integer) 1", "INCRBYFLOAT k 2 => \"2\"",
        "SET k x KEEPTTL => OK"}) {
    server_.Play("SET k old PX 10");
    server_.clock().AdvanceMillis(10);
    server_.Play(write);
    server_.Play("PTTL k => (integer) -1");
  }
  for (const char* write :
       {"SET k x XX => (nil)", "PERSIST k => (integer) 0", "EXPIRE k 10 => (integer) 0",
        "GETDEL k => (nil)", "COPY k other => (integer) 0", "MOVE k 1 => (integer) 0"}) {
    server_.Play("SET k old PX 10");
    server_.clock().AdvanceMillis(10);
    server_.Play(write);
    server_.Play("EXISTS k => (integer) 0");
  }
}

TEST_F(KeyCommandsTest, ATimerOfAnEarlierExpiryDoesNotRemoveTheKey) {
  server_.Play(R"(
    SET k v PX 10
    FLUSHALL
    SET k w PX 1000
  )");
  server_.clock().AdvanceMillis(10);
  server_.FireTimers();
  server_.Play("GET k => \"w\"");
  server_.clock().AdvanceMillis(990);
  server_.FireTimers();
  server_.Play("DBSIZE => (integer) 0");
}

TEST_F(KeyCommandsTest, ExpiryOutlivesARestart) {
  server_.Play("SET k v PX 1000");
  server_.Restart();
  server_.Play("PTTL k => (integer) 1000");
  server_.clock().AdvanceMillis(1000);
  server_.FireTimers();
  server_.Play("DBSIZE => (integer) 0");
}

}  // namespace
}  // namespace cairn::data
