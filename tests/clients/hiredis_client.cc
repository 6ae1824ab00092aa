#include "tests/clients/hiredis_client.h"

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::testing {
namespace {

constexpr timeval kTimeout{60, 0};

// A reply as text: [a, b] for arrays, (nil), -error.
std::string Show(const redisReply* reply) {
  if (reply == nullptr) return "no reply";
  switch (reply->type) {
    case REDIS_REPLY_INTEGER:
      return std::to_string(reply->integer);
    case REDIS_REPLY_NIL:
      return "(nil)";
    case REDIS_REPLY_ERROR:
      return "-" + std::string(reply->str, reply->len);
    case REDIS_REPLY_ARRAY: {
      std::string text = "[";
      for (size_t i = 0; i < reply->elements; ++i) {
        text += (i == 0 ? "" : ", ") + Show(reply->element[i]);
      }
      return text + "]";
    }
    default:
      return {reply->str, reply->len};
  }
}

class Connection {
 public:
  Connection(const char* host, uint16_t port)
      : context_(redisConnectWithTimeout(host, port, kTimeout), redisFree) {
    EXPECT_NE(context_, nullptr);
    EXPECT_EQ(context_->err, 0) << context_->errstr;
    EXPECT_EQ(redisSetTimeout(context_.get(), kTimeout), REDIS_OK);
  }

  std::string Command(const std::vector<std::string_view>& args) {
    Append(args);
    return Next();
  }

  // Queues a command; it is sent with the first Next().
  void Append(const std::vector<std::string_view>& args) {
    std::vector<const char*> starts;
    std::vector<size_t> sizes;
    for (const std::string_view arg : args) {
      starts.push_back(arg.data());
      sizes.push_back(arg.size());
    }
    EXPECT_EQ(redisAppendCommandArgv(context_.get(), static_cast<int>(args.size()), starts.data(),
                                     sizes.data()),
              REDIS_OK);
  }

  std::string Next() {
    void* reply = nullptr;
    if (redisGetReply(context_.get(), &reply) != REDIS_OK) return context_->errstr;
    const std::unique_ptr<void, void (*)(void*)> owner(reply, freeReplyObject);
    return Show(static_cast<redisReply*>(reply));
  }

 private:
  std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
};

void CheckCommands(Connection& redis) {
  EXPECT_EQ(redis.Command({"SET", "k", "v"}), "OK");
  EXPECT_EQ(redis.Command({"GET", "k"}), "v");
  EXPECT_EQ(redis.Command({"GET", "missing"}), "(nil)");
  EXPECT_EQ(redis.Command({"RPUSH", "list", "a", "b", "c"}), "3");
  EXPECT_EQ(redis.Command({"LRANGE", "list", "0", "-1"}), "[a, b, c]");
  EXPECT_EQ(redis.Command({"ZADD", "zset", "1", "one", "2", "two"}), "2");
  EXPECT_EQ(redis.Command({"ZRANGE", "zset", "0", "-1", "WITHSCORES"}), "[one, 1, two, 2]");
  EXPECT_EQ(redis.Command({"HSET", "hash", "f", "1"}), "1");
  EXPECT_EQ(redis.Command({"HINCRBY", "hash", "f", "41"}), "42");
  EXPECT_EQ(redis.Command({"EVAL", "return {1, {ARGV[1], false}, 'x'}", "0", "y"}),
            "[1, [y, (nil)], x]");
  EXPECT_EQ(redis.Command({"INCR", "list"}),
            "-WRONGTYPE Operation against a key holding the wrong kind of value");
  EXPECT_EQ(redis.Command({"GET"}), "-ERR wrong number of arguments for 'get' command");
}

void CheckBinaryValues(Connection& redis) {
  std::string binary = "\r\n$-1\r\n";
  for (int i = 0; i < 256; ++i) binary.push_back(static_cast<char>(i));
  EXPECT_EQ(redis.Command({"SET", binary, binary}), "OK");
  EXPECT_EQ(redis.Command({"GET", binary}), binary);
  EXPECT_EQ(redis.Command({"SADD", "set", binary, ""}), "2");
  EXPECT_EQ(redis.Command({"SISMEMBER", "set", binary}), "1");
  EXPECT_EQ(redis.Command({"SISMEMBER", "set", ""}), "1");
  const std::string large(4 * 1024 * 1024, 'x');
  EXPECT_EQ(redis.Command({"SET", "large", large}), "OK");
  EXPECT_TRUE(redis.Command({"GET", "large"}) == large);
}

void CheckPipelines(Connection& redis) {
  constexpr int kCommands = 10'000;
  for (int i = 0; i < kCommands; ++i) {
    redis.Append({"INCR", "counter"});
    redis.Append({"LPUSH", "pushed", std::to_string(i)});
  }
  for (int i = 1; i <= kCommands; ++i) {
    ASSERT_EQ(redis.Next(), std::to_string(i));
    ASSERT_EQ(redis.Next(), std::to_string(i));
  }
  EXPECT_EQ(redis.Command({"LINDEX", "pushed", "0"}), std::to_string(kCommands - 1));
}

void CheckTransactions(Connection& redis, Connection& other) {
  EXPECT_EQ(redis.Command({"MULTI"}), "OK");
  EXPECT_EQ(redis.Command({"SET", "t", "1"}), "QUEUED");
  EXPECT_EQ(redis.Command({"LPOP", "t"}), "QUEUED");
  EXPECT_EQ(redis.Command({"INCR", "t"}), "QUEUED");
  EXPECT_EQ(redis.Command({"EXEC"}),
            "[OK, -WRONGTYPE Operation against a key holding the wrong kind of value, 2]");
  EXPECT_EQ(redis.Command({"WATCH", "t"}), "OK");
  EXPECT_EQ(other.Command({"SET", "t", "7"}), "OK");
  EXPECT_EQ(redis.Command({"MULTI"}), "OK");
  EXPECT_EQ(redis.Command({"SET", "t", "8"}), "QUEUED");
  EXPECT_EQ(redis.Command({"EXEC"}), "(nil)");
  EXPECT_EQ(redis.Command({"GET", "t"}), "7");
}

void CheckMessages(Connection& redis, Connection& other) {
  EXPECT_EQ(redis.Command({"SUBSCRIBE", "news"}), "[subscribe, news, 1]");
  EXPECT_EQ(redis.Command({"PSUBSCRIBE", "new?"}), "[psubscribe, new?, 2]");
  EXPECT_EQ(other.Command({"PUBLISH", "news", "hello"}), "2");
  EXPECT_EQ(redis.Next(), "[message, news, hello]");
  EXPECT_EQ(redis.Next(), "[pmessage, new?, news, hello]");
  EXPECT_EQ(redis.Command({"UNSUBSCRIBE", "news"}), "[unsubscribe, news, 1]");
  EXPECT_EQ(redis.Command({"PUNSUBSCRIBE"}), "[punsubscribe, new?, 0]");
  EXPECT_EQ(redis.Command({"GET", "t"}), "7");
}

void CheckBlocking(Connection& redis, Connection& other) {
  redis.Append({"BLPOP", "jobs", "0"});
  redis.Append({"PING"});
  EXPECT_EQ(other.Command({"RPUSH", "jobs", "work"}), "1");
  EXPECT_EQ(redis.Next(), "[jobs, work]");
  EXPECT_EQ(redis.Next(), "PONG");
}

}  // namespace

void RunHiredis(const char* host, uint16_t port) {
  Connection redis(host, port);
  Connection other(host, port);
  EXPECT_EQ(redis.Command({"FLUSHALL"}), "OK");
  CheckCommands(redis);
  CheckBinaryValues(redis);
  CheckPipelines(redis);
  CheckTransactions(redis, other);
  CheckMessages(redis, other);
  CheckBlocking(redis, other);
}

}  // namespace cairn::testing
