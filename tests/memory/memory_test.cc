// Clients that try to make the server use more memory than there is. It is told to use 256 MiB and
// must stay below 1 GiB, which is what a small machine or a container would give it; whatever
// cannot be done within that is refused by name, and everybody else is served.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <charconv>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "net/http/client.h"
#include "net/resp/client.h"
#include "net/socket.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kMegabyte = 1'000'000;
constexpr uint64_t kAllowedBytes = 1ULL << 30;

std::string Bulk(std::string_view text) { return fmt::format("${}\r\n{}\r\n", text.size(), text); }

std::string Request(const std::vector<std::string>& args) {
  std::string request = fmt::format("*{}\r\n", args.size());
  for (const std::string& arg : args) request += Bulk(arg);
  return request;
}

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

class MemoryTest : public ::testing::Test {
 protected:
  MemoryTest()
      : server_(Server::MustStart({.data = directory_ / "data",
                                   .flags = {"--memory", "256MiB", "--durability", "os"}})) {}

  // Whatever was tried: the server is there, serves others, and has never used too much.
  void TearDown() override {
    ASSERT_TRUE(server_.process().running()) << server_.process().err();
    EXPECT_EQ(server_.Command({"PING"}), "PONG");
    EXPECT_EQ(server_.Http().Get("/healthz")->status, 200);
    EXPECT_LT(PeakBytes(), kAllowedBytes);
    EXPECT_TRUE(server_.Stop().ok());
  }

  uint64_t PeakBytes() { return BytesOf("VmHWM:"); }
  uint64_t ResidentBytes() { return BytesOf("VmRSS:"); }

  uint64_t BytesOf(std::string_view name) {
    std::ifstream status(fmt::format("/proc/{}/status", server_.process().pid()));
    std::string line;
    while (std::getline(status, line)) {
      if (line.starts_with(name)) return std::stoull(line.substr(name.size())) * 1024;
    }
    ADD_FAILURE() << "no " << name;
    return 0;
  }

  net::RespClient Connect() { return server_.Connect().value(); }

  // A connection that sends and never reads. It may be cut off while it sends.
  net::RespClient SendUnread(const std::string& bytes) {
    net::RespClient client = Connect();
    (void)client.SendRaw(bytes);
    return client;
  }

  std::string Ask(const std::vector<std::string>& args) {
    net::RespClient client = Connect();
    const auto reply = client.Command(args);
    return reply.ok() ? reply->ToString().substr(0, 500) : reply.error().message;
  }

  // Runs it on connections of their own, at once.
  void AtOnce(int count, const std::function<void(int)>& step) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back([&step, i] { step(i); });
  }

  void PutMegabyte() { ASSERT_EQ(Ask({"SET", "k", std::string(kMegabyte, 'x')}), "OK"); }

  TempDirectory directory_;
  Server server_;
};

TEST_F(MemoryTest, ATransactionThatReadsTooMuchIsRefusedAndNothingOfItRemains) {
  PutMegabyte();
  net::RespClient client = Connect();
  std::string requests = Request({"MULTI"}) + Request({"SET", "written", "1"});
  requests += Repeated(Request({"GET", "k"}), 3000) + Request({"EXEC"});
  ASSERT_TRUE(client.SendRaw(requests).ok());
  for (int i = 0; i < 3002; ++i) ASSERT_TRUE(client.Receive().ok());
  EXPECT_THAT(client.Receive()->ToString(), HasSubstr("limits.reply"));
  EXPECT_EQ(Ask({"EXISTS", "written"}), "(integer) 0");
}

TEST_F(MemoryTest, OneReplyThatIsTooLargeIsRefused) {
  PutMegabyte();
  std::vector<std::string> mget(3001, "k");
  mget[0] = "MGET";
  EXPECT_THAT(Ask(mget), HasSubstr("limits.reply"));
  // What is large and allowed still works.
  mget.resize(41);
  net::RespClient client = Connect();
  EXPECT_EQ(client.Command(mget)->items.size(), 40U);
}

TEST_F(MemoryTest, RepliesThatNobodyReads) {
  PutMegabyte();
  std::vector<std::string> mget(51, "k");
  mget[0] = "MGET";
  std::vector<net::RespClient> unread;
  for (int i = 0; i < 20; ++i) unread.push_back(SendUnread(Request(mget)));
  for (int i = 0; i < 20; ++i) unread.push_back(SendUnread(Repeated(Request({"GET", "k"}), 1000)));
  EXPECT_EQ(Ask({"PING"}), "PONG");
  EXPECT_THAT(Ask({"GET", "k"}), HasSubstr("xxx")) << "who reads is served";
}

// Served, refused by name, or cut off because the requests of all together are more than
// limits.buffers.
TEST_F(MemoryTest, LargeValuesThatAreSetAndReadAtOnce) {
  constexpr int kClients = 18;
  std::atomic<int> set = 0;
  std::atomic<int> read = 0;
  AtOnce(kClients, [&](int i) {
    const std::string key = fmt::format("large{}", i);
    const std::string value(40 * kMegabyte + static_cast<size_t>(i) * 20 * kMegabyte / kClients,
                            static_cast<char>('a' + i));
    const std::string request = Request({"SET", key, value});
    for (int round = 0; round < 4; ++round) {
      net::RespClient client = SendUnread(request);
      const auto written = client.Receive();
      if (written.ok() && written->ToString() == "OK") {
        ++set;
      } else if (written.ok()) {
        EXPECT_THAT(written->ToString(), HasSubstr("limits."));
      }
      net::RespClient reader = Connect();
      const auto found = reader.Command({"GET", key});
      if (found.ok() && found->text == value) {
        ++read;
      } else if (found.ok() && found->is_error()) {
        EXPECT_THAT(found->text, HasSubstr("limits."));
      } else if (found.ok()) {
        EXPECT_TRUE(found->is_null()) << found->text.size() << " bytes of " << value.size();
      }
    }
  });
  EXPECT_GT(set, 0);
  EXPECT_GT(read, 0);
  // Large transactions take turns. Eight at once would need more than this.
  EXPECT_LT(PeakBytes(), 830 * kMegabyte);
}

TEST_F(MemoryTest, RequestsThatNeverEnd) {
  const std::string half = fmt::format("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n", 40 * kMegabyte) +
                           std::string(20 * kMegabyte, 'x');
  std::vector<net::RespClient> unfinished;
  for (int i = 0; i < 60; ++i) unfinished.push_back(SendUnread(half));
  EXPECT_EQ(Ask({"PING"}), "PONG");
  EXPECT_THAT(Ask({"SET", "k", std::string(200 * kMegabyte, 'x')}), Not(HasSubstr("OK")));
}

TEST_F(MemoryTest, QueuesOfTransactionsThatAreNeverRun) {
  const std::string queued = Request({"SET", "k", std::string(kMegabyte, 'x')});
  std::vector<net::RespClient> open;
  for (int i = 0; i < 20; ++i)
    open.push_back(SendUnread(Request({"MULTI"}) + Repeated(queued, 60)));
  EXPECT_EQ(Ask({"PING"}), "PONG");
}

TEST_F(MemoryTest, NamesThatAreKept) {
  const std::string name(10 * kMegabyte, 'x');
  std::vector<net::RespClient> open;
  for (int i = 0; i < 30; ++i) {
    open.push_back(SendUnread(Request({"SUBSCRIBE", name + "1"}) +
                              Request({"SUBSCRIBE", name + "2"}) +
                              Request({"SUBSCRIBE", name + "3"})));
    open.push_back(SendUnread(Request({"WATCH", name, name + "1", name + "2"})));
    open.push_back(SendUnread(Request({"BLPOP", name, name + "1", name + "2", "0"})));
  }
  EXPECT_EQ(Ask({"PING"}), "PONG");
}

TEST_F(MemoryTest, JsonOfManySmallValues) {
  std::string numbers = "[1";
  while (numbers.size() < 5 * kMegabyte) numbers += ",1";
  numbers += "]";
  AtOnce(4, [&](int i) {
    EXPECT_THAT(Ask({"JSON.SET", fmt::format("doc{}", i), "$", numbers}), HasSubstr("limits."));
  });
  // In pieces it can be made; then it cannot be had in one piece.
  std::string piece = "[1";
  for (int i = 1; i < 100'000; ++i) piece += ",1";
  EXPECT_EQ(Ask({"JSON.SET", "doc", "$", piece + "]"}), "OK");
}

// Neither what was refused nor what was stored and removed again stays with the allocator.
TEST_F(MemoryTest, MemoryComesBackAfterLargeDocuments) {
  const auto purged = [&] {
    EXPECT_EQ(Ask({"FLUSHALL"}), "OK");
    EXPECT_EQ(Ask({"MEMORY", "PURGE"}), "OK");
    return ResidentBytes();
  };
  const uint64_t before = purged();
  std::string numbers = "[1";
  for (int i = 1; i < 100'000; ++i) numbers += ",1";
  std::string too_many = numbers;
  while (too_many.size() < 5 * kMegabyte) too_many += ",1";
  numbers += "]";
  too_many += "]";
  AtOnce(4, [&](int i) {
    EXPECT_THAT(Ask({"JSON.SET", fmt::format("refused{}", i), "$", too_many}),
                HasSubstr("limits."));
  });
  EXPECT_LT(purged(), before + 40 * kMegabyte);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(Ask({"JSON.SET", fmt::format("doc{}", i), "$", numbers}), "OK");
    }
    // The rows stand in write buffers, a quarter of --memory, until these are full.
    EXPECT_LT(purged(), before + 120 * kMegabyte) << "in round " << round;
  }
}

TEST_F(MemoryTest, CollectionsThatAreAskedForAsAWhole) {
  const std::string megabyte(kMegabyte, 'x');
  for (int i = 0; i < 300; ++i) {
    const std::string member = fmt::format("{:06}{}", i, megabyte);
    ASSERT_EQ(Ask({"SADD", i % 2 == 0 ? "even" : "odd", member}), "(integer) 1");
    ASSERT_EQ(Ask({"ZADD", "sorted", "1", member}), "(integer) 1");
    ASSERT_EQ(Ask({"RPUSH", "list", member}), fmt::format("(integer) {}", i + 1));
  }
  const std::vector<std::vector<std::string>> questions = {
      {"SUNION", "even", "odd"},     {"SMEMBERS", "even"},      {"ZRANGE", "sorted", "0", "-1"},
      {"LRANGE", "list", "0", "-1"}, {"SORT", "list", "ALPHA"}, {"SRANDMEMBER", "even", "-300"},
      {"SDIFF", "even", "odd"}};
  AtOnce(static_cast<int>(questions.size()),
         [&](int i) { EXPECT_THAT(Ask(questions[static_cast<size_t>(i)]), HasSubstr("limits.")); });
}

TEST_F(MemoryTest, ScriptsThatFillTheirMemory) {
  const std::string script =
      "local t = {} for i = 1, 200 do t[i] = string.rep('x', 1000000) .. i end return #t";
  AtOnce(8, [&](int) { (void)Ask({"EVAL", script, "0"}); });
  PutMegabyte();
  EXPECT_THAT(Ask({"EVAL",
                   "local t = {} for i = 1, 3000 do t[i] = 'k' end return #redis.call('MGET', "
                   "unpack(t))",
                   "0"}),
              HasSubstr("limits.reply"));
}

TEST_F(MemoryTest, PagesOfLargeJobs) {
  const std::string body =
      fmt::format(R"({{"queue":"mail","payload":{{"text":"{}"}}}})", std::string(250'000, 'x'));
  net::HttpClient http = server_.Http();
  for (int i = 0; i < 300; ++i) {
    const auto enqueued = http.Post("/api/v1/enqueue", body);
    ASSERT_TRUE(enqueued.ok()) << enqueued.error().message;
    ASSERT_LT(enqueued->status, 300) << enqueued->body;
  }
  AtOnce(10, [&](int) {
    net::HttpClient client = server_.Http();
    const auto page = client.Get("/api/v1/jobs?limit=1000");
    ASSERT_TRUE(page.ok()) << page.error().message;
    EXPECT_EQ(page->status, 200);
    EXPECT_LT(page->body.size(), 17 * kMegabyte);
    EXPECT_THAT(page->body.substr(page->body.size() - 2000), HasSubstr(R"("has_more":true)"));
  });
}

}  // namespace
}  // namespace cairn::testing
