// Answers that reach their client as a function makes them: what arrives and when, the limits, and
// what is left when the client, the function or its process ends in the middle.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <boost/json/value.hpp>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "net/resp/client.h"
#include "tests/functions/functions_server.h"
#include "tests/support/await.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// One request to the gateway whose answer is read as it comes.
class Reader {
 public:
  Reader(const Server& server, std::string_view target, std::string_view headers = "")
      : client_(*net::RespClient::Connect(server.http())) {
    const std::string request = fmt::format(
        "GET /v1/web/t_test01/shop/{} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", target, headers);
    EXPECT_TRUE(client_.SendRaw(request).ok());
  }

  // Reads until `part` has come, or the end. What has come so far.
  const std::string& Until(std::string_view part) {
    std::array<char, 4'096> buffer = {};
    while (!ended_ && text_.find(part) == std::string::npos) {
      const ssize_t size = recv(client_.fd(), buffer.data(), buffer.size(), 0);
      if (size <= 0) ended_ = true;
      if (size > 0) text_.append(buffer.data(), static_cast<size_t>(size));
    }
    return text_;
  }
  const std::string& Rest() { return Until("\n there is no such line \n"); }
  bool ended() const { return ended_; }
  // The activation that answers, once its head is there.
  std::string Activation() {
    Until("\r\n\r\n");
    constexpr std::string_view kName = "X-Cairn-Activation: ";
    const size_t at = text_.find(kName);
    if (at == std::string::npos) return "";
    return text_.substr(at + kName.size(), text_.find('\r', at) - at - kName.size());
  }

 private:
  net::RespClient client_;
  std::string text_;
  bool ended_ = false;
};

constexpr std::string_view kChunkedEnd = "0\r\n\r\n";

std::string StreamEnd(const json::value& activation) {
  const json::object& record = activation.as_object();
  if (!record.contains("stream")) return "";
  return std::string(record.at("stream").at("end").as_string());
}
std::string StatusOf(const json::value& activation) {
  return std::string(activation.at("status").as_string());
}

class StreamsTest : public ::testing::Test {
 protected:
  StreamsTest() {
    // Goes on when a test sets a key.
    server_.Publish("waits", R"(
      const key = async (name) => {
        while ((await cs.kv.get('a:' + name)) === null) await new Promise((done) => setTimeout(done, 5));
      };
      export default async function* (event) {
        yield 'first\n';
        await key('second');
        yield 'second\n';
        await key('third');
        yield 'third\n';
      })");
  }
  // What the function "waits" waits for.
  void Set(std::string_view name) {
    server_.server().Command({"SET", fmt::format("cs:kv:t_test01:shop:a:{}", name), "1"});
  }

  FunctionsServer server_;
};

TEST_F(StreamsTest, EachChunkArrivesWhenItIsMade) {
  Reader reader(server_.server(), "waits/live");
  const std::string head = reader.Until("first\n");
  EXPECT_THAT(head, HasSubstr("HTTP/1.1 200 "));
  EXPECT_THAT(head, HasSubstr("Transfer-Encoding: chunked"));
  EXPECT_THAT(head, HasSubstr("content-type: text/plain;charset=UTF-8"));
  EXPECT_THAT(head, Not(HasSubstr("second")));
  const std::string id = reader.Activation();
  EXPECT_EQ(StatusOf(server_.Activation(id)), "running");
  Set("second");
  EXPECT_THAT(reader.Until("second\n"), Not(HasSubstr("third")));
  Set("third");
  EXPECT_THAT(reader.Rest(), EndsWith("third\n\r\n0\r\n\r\n"));
  const json::value activation = server_.Ended(id);
  EXPECT_EQ(StatusOf(activation), "success");
  EXPECT_EQ(StreamEnd(activation), "complete");
  EXPECT_EQ(activation.at("stream").at("bytes").as_int64(), 19);
  // The record has the answer as if it had not been streamed.
  EXPECT_EQ(activation.at("result").at("body").as_string(), Base64("first\nsecond\nthird\n"));
  EXPECT_FALSE(activation.at("result_truncated").as_bool());
}

TEST_F(StreamsTest, ResponsesStreamsAndObjectsWithABodyAreStreamedToo) {
  server_.Publish("forms", R"(
    const bytes = (text) => new TextEncoder().encode(text);
    async function* parts() { yield 'a'; yield 'b'; }
    export default (event) => {
      switch (event.rawQueryString) {
        case 'response':
          return new Response(ReadableStream.from([bytes('x'), bytes('y')]),
                              {status: 201, headers: {'content-type': 'a/b', 'content-length': '9'}});
        case 'transform':
          return ReadableStream.from(['q', 'r']).pipeThrough(new TransformStream({
            transform(chunk, controller) { controller.enqueue(chunk.toUpperCase()); }}));
        case 'object': return {statusCode: 202, cookies: ['c=1', 'd=2'], body: parts()};
        case 'lines': return ReadableStream.from([{n: 1}, {n: 2}]);
        default: return {statusCode: 203, body: 'plain'};
      }
    };)");
  const auto get = [&](std::string_view query) {
    Reader reader(server_.server(), fmt::format("forms/live?{}", query));
    return reader.Rest();
  };
  EXPECT_THAT(get("response"), HasSubstr("HTTP/1.1 201 "));
  EXPECT_THAT(get("response"), HasSubstr("content-type: a/b"));
  EXPECT_THAT(get("response"), Not(HasSubstr("ontent-length")));
  EXPECT_THAT(get("response"), EndsWith("1\r\nx\r\n1\r\ny\r\n0\r\n\r\n"));
  EXPECT_THAT(get("transform"), EndsWith("1\r\nQ\r\n1\r\nR\r\n0\r\n\r\n"));
  EXPECT_THAT(get("object"), HasSubstr("HTTP/1.1 202 "));
  EXPECT_THAT(get("object"), HasSubstr("Set-Cookie: d=2"));
  EXPECT_THAT(get("lines"), HasSubstr("application/x-ndjson"));
  EXPECT_THAT(get("lines"), HasSubstr("{\"n\":2}\n"));
  // What is no stream is not sent as one. (The connection stays, so it is not read to its end.)
  EXPECT_EQ(server_.Call("GET", "/v1/web/t_test01/shop/forms/live").text, "plain");
}

TEST_F(StreamsTest, ForWhoAsksForEventsEachChunkIsOne) {
  Set("second");
  Set("third");
  Reader reader(server_.server(), "waits/live", "Accept: text/event-stream\r\n");
  const std::string all = reader.Rest();
  EXPECT_THAT(all, HasSubstr("content-type: text/event-stream"));
  EXPECT_THAT(all, HasSubstr("Cache-Control: no-cache"));
  EXPECT_THAT(all, HasSubstr("data: first\ndata: \n\n"));
  EXPECT_THAT(all, EndsWith(kChunkedEnd));
}

TEST_F(StreamsTest, InvokeAnswersWithTheWholeAndAsynchronousActivationsKeepIt) {
  Set("second");
  Set("third");
  const JsonAnswer answer = server_.Invoke("waits");
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.body.at("result").at("body").as_string(), Base64("first\nsecond\nthird\n"));
  const json::value activation = server_.Ended(server_.InvokeLater("waits"));
  EXPECT_EQ(activation.at("result").at("body").as_string(), Base64("first\nsecond\nthird\n"));
  EXPECT_EQ(StreamEnd(activation), "");
}

TEST_F(StreamsTest, TheSameRequestAgainGetsTheSameAnswer) {
  Set("second");
  Set("third");
  Reader first(server_.server(), "waits/live", "Idempotency-Key: once\r\n");
  const std::string id = first.Activation();
  EXPECT_THAT(first.Rest(), EndsWith(kChunkedEnd));
  (void)server_.Ended(id);
  const JsonAnswer again =
      server_.Call("GET", "/v1/web/t_test01/shop/waits/live", "", {{"Idempotency-Key", "once"}});
  EXPECT_EQ(again.text, "first\nsecond\nthird\n");
  EXPECT_EQ(again.headers.Get("X-Cairn-Activation"), id);
}

TEST_F(StreamsTest, AFunctionThatFailsMidwayBreaksItsAnswerOff) {
  server_.Publish("fails", R"(
    export default async function* (event) {
      if (event.rawQueryString === 'first') throw new RangeError('at once');
      yield 'begun';
      throw new RangeError('midway');
    })");
  Reader reader(server_.server(), "fails/live");
  const std::string id = reader.Activation();
  const std::string& all = reader.Rest();
  EXPECT_THAT(all, HasSubstr("begun"));
  EXPECT_THAT(all, Not(EndsWith(kChunkedEnd)));
  const json::value activation = server_.Ended(id);
  EXPECT_EQ(StatusOf(activation), "error");
  EXPECT_EQ(activation.at("error").at("message").as_string(), "midway");
  EXPECT_EQ(StreamEnd(activation), "error");
  EXPECT_TRUE(activation.at("result").is_null());

  Reader events(server_.server(), "fails/live", "Accept: text/event-stream\r\n");
  EXPECT_THAT(events.Rest(), HasSubstr("data: begun\n\n"));
  EXPECT_THAT(events.Rest(), HasSubstr("event: error\ndata: {\"error\":{\"code\":"));
  EXPECT_THAT(events.Rest(), HasSubstr("RangeError"));
  EXPECT_THAT(events.Rest(), EndsWith(kChunkedEnd));

  // Before the first chunk there is a status to say it with.
  const JsonAnswer early = server_.Call("GET", "/v1/web/t_test01/shop/fails/live?first");
  EXPECT_EQ(early.status, 500) << early.text;
}

TEST_F(StreamsTest, TheLimitsOfBytesTimeAndPausesEndAnAnswer) {
  constexpr std::string_view kSource = R"(
    export default async function* (event) {
      yield 'begun';
      if (event.rawQueryString === 'bytes') while (true) yield 'x'.repeat(1000);
      await new Promise((done) => setTimeout(done, 60000));
    })";
  const auto expect = [&](std::string_view query, std::string_view manifest,
                          std::string_view config, std::string_view status,
                          std::string_view limit) {
    server_.Publish("limited", kSource, manifest, config);
    Reader reader(server_.server(), fmt::format("limited/live?{}", query));
    const std::string id = reader.Activation();
    EXPECT_THAT(reader.Rest(), Not(EndsWith(kChunkedEnd))) << limit;
    const json::value activation = server_.Ended(id);
    EXPECT_EQ(StatusOf(activation), status) << limit;
    EXPECT_EQ(activation.at("limit_hit").as_string(), limit);
    EXPECT_EQ(StreamEnd(activation), limit);
  };
  expect("bytes",
         R"({"limits":{"timeoutMs":30000,"memoryMb":64,"maxConcurrency":10,"streamBytes":100000}})",
         "{}", "error", "stream_bytes");
  expect("idle", "{}", R"({"stream_idle_ms":50,"timeout_ms":30000})", "error", "stream_idle");
  expect("time", "{}", R"({"timeout_ms":300})", "timeout", "wall");
}

TEST_F(StreamsTest, LimitsThatMakeNoSenseAreRefused) {
  const auto publish = [&](std::string_view manifest, std::string_view config) {
    try {
      server_.Publish("bad", "export default () => 1", manifest, config);
    } catch (const std::exception& refused) {
      return std::string(refused.what());
    }
    return std::string("published");
  };
  EXPECT_THAT(publish("{}", R"({"stream_bytes":1000})"), HasSubstr("stream_bytes"));
  EXPECT_THAT(publish("{}", R"({"stream_idle_ms":120001})"), HasSubstr("stream_idle_ms"));
  EXPECT_THAT(publish(R"({"limits":{"timeoutMs":1,"memoryMb":64,"maxConcurrency":1,
                          "streamIdleMs":9}})",
                      "{}"),
              HasSubstr("streamIdleMs"));
}

TEST_F(StreamsTest, AClientThatLeavesEndsTheStreamAndAbortsTheSignal) {
  server_.Publish("left", R"(
    export default async function* (event, ctx) {
      ctx.signal.addEventListener('abort', () => console.log('aborted:', ctx.signal.reason.message));
      try {
        yield 'begun';
        await new Promise((done) => setTimeout(done, 60000));
      } finally {
        await cs.kv.set('a:cleaned', true);
      }
    })",
                  R"({"limits":{"timeoutMs":60000,"memoryMb":64,"maxConcurrency":10}})");
  std::string id;
  {
    Reader reader(server_.server(), "left/live");
    id = reader.Activation();
    reader.Until("begun");
  }
  const json::value activation = server_.Ended(id);
  EXPECT_EQ(StatusOf(activation), "success");
  EXPECT_EQ(StreamEnd(activation), "client_left");
  EXPECT_THAT(server_.LogOf(id), HasSubstr("aborted: the client has left"));
}

TEST_F(StreamsTest, AClientThatLeavesBeforeTheAnswerAbortsTheSignalToo) {
  server_.Publish("asked", R"(
    export default (event, ctx) => new Promise((done) => {
      ctx.signal.addEventListener('abort', () => done({body: ctx.signal.reason.name}));
      cs.kv.set('a:started', ctx.activation_id);
    });)",
                  R"({"limits":{"timeoutMs":60000,"memoryMb":64,"maxConcurrency":10}})");
  std::string id;
  {
    Reader reader(server_.server(), "asked/live");
    Await("the function to start", [&] {
      id = server_.server().Command({"GET", "cs:kv:t_test01:shop:a:started"});
      return id.find("act_") != std::string::npos;
    });
  }
  id = id.substr(id.find("act_"));
  id = id.substr(0, id.find_first_of("\"\\"));
  const json::value activation = server_.Ended(id);
  EXPECT_EQ(activation.at("result").at("body").as_string(), "AbortError");
}

TEST_F(StreamsTest, WhatGoesOnAfterTheAnswerDoesNotHoldItBack) {
  server_.Publish("after", R"(
    export default async (event, ctx) => {
      ctx.waitUntil((async () => {
        while ((await cs.kv.get('a:go')) === null) await new Promise((done) => setTimeout(done, 5));
        console.log('done after');
      })());
      ctx.waitUntil(Promise.reject(new RangeError('not this one')));
      return {statusCode: 201, headers: {'x-a': ctx.activation_id}, body: 'early'};
    })");
  for (const bool web : {true, false}) {
    server_.server().Command({"DEL", "cs:kv:t_test01:shop:a:go"});
    const JsonAnswer answer =
        web ? server_.Call("GET", "/v1/web/t_test01/shop/after/live") : server_.Invoke("after");
    std::string id;
    if (web) {
      EXPECT_EQ(answer.status, 201) << answer.text;
      EXPECT_EQ(answer.text, "early");
      id = *answer.headers.Get("X-Cairn-Activation");
    } else {
      EXPECT_EQ(answer.body.at("result").at("body").as_string(), "early") << answer.text;
      id = answer.body.at("activation_id").as_string();
    }
    EXPECT_EQ(StatusOf(server_.Activation(id)), "running");
    Set("go");
    const json::value activation = server_.Ended(id);
    EXPECT_EQ(StatusOf(activation), "success");
    EXPECT_EQ(activation.at("result").at("body").as_string(), "early");
    EXPECT_THAT(server_.LogOf(id), HasSubstr("done after"));
    EXPECT_THAT(server_.LogOf(id), HasSubstr("RangeError: not this one"));
  }
}

TEST_F(StreamsTest, WhatGoesOnAfterAStreamDoesNotHoldItsEndBack) {
  server_.Publish("tail", R"(
    export default async function* (event, ctx) {
      ctx.waitUntil(new Promise((done) => setTimeout(done, 60000)));
      yield 'all of it';
    })",
                  "{}", R"({"timeout_ms":500})");
  Reader reader(server_.server(), "tail/live");
  EXPECT_THAT(reader.Rest(), EndsWith("all of it\r\n0\r\n\r\n"));
  const json::value activation = server_.Ended(reader.Activation());
  EXPECT_EQ(StatusOf(activation), "timeout");
  EXPECT_EQ(StreamEnd(activation), "complete");
}

// Resident memory of a process.
int64_t MemoryKb(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("VmRSS:")) return std::atoll(line.c_str() + std::string("VmRSS:").size());
  }
  return 0;
}

TEST_F(StreamsTest, AClientThatDoesNotReadHoldsTheFunctionBack) {
  server_.Publish("floods", R"(
    export default async function* () {
      const piece = new Uint8Array(65536);
      for (let i = 1; i <= 1600; i++) {
        if (i % 10 === 0) await cs.kv.set('a:made', i);
        yield piece;
      }
    })",
                  R"({"limits":{"timeoutMs":60000,"memoryMb":64,"maxConcurrency":10}})");
  const pid_t pid = server_.server().process().pid();
  (void)server_.Call("GET", "/v1/web/t_test01/shop/waits/nosuch");
  const int64_t before_kb = MemoryKb(pid);
  Reader reader(server_.server(), "floods/live");
  const std::string id = reader.Activation();
  // It stands still at what sockets and the window hold, far from its end.
  const auto made = [&] { return server_.server().Command({"GET", "cs:kv:t_test01:shop:a:made"}); };
  std::string last;
  int same = 0;
  Await("the function to stand still", [&] {
    const std::string now = made();
    same = now == last ? same + 1 : 0;
    last = now;
    return same > 300;
  });
  EXPECT_EQ(StatusOf(server_.Activation(id)), "running");
  EXPECT_LT(MemoryKb(pid) - before_kb, 32 * 1024);
  EXPECT_THAT(reader.Rest(), EndsWith(kChunkedEnd));
  const json::value activation = server_.Ended(id);
  EXPECT_EQ(activation.at("stream").at("bytes").as_int64(), 1600 * 65536);
  EXPECT_TRUE(activation.at("result_truncated").as_bool());
}

// Processes of functions: all below the server that have no children.
void KillChildren(pid_t server) {
  std::vector<pid_t> all = {server};
  for (size_t i = 0; i < all.size(); ++i) {
    std::ifstream tasks(fmt::format("/proc/{0}/task/{0}/children", all[i]));
    pid_t child = 0;
    while (tasks >> child) all.push_back(child);
  }
  // The first below the server is the one that forks the others.
  for (size_t i = all.size(); i > 2; --i) ::kill(all[i - 1], SIGKILL);
}

TEST_F(StreamsTest, AProcessThatIsKilledMidwayBreaksTheAnswerOff) {
  Reader reader(server_.server(), "waits/live");
  const std::string id = reader.Activation();
  reader.Until("first\n");
  KillChildren(server_.server().process().pid());
  EXPECT_THAT(reader.Rest(), Not(EndsWith(kChunkedEnd)));
  EXPECT_TRUE(reader.ended());
  const json::value activation = server_.Ended(id);
  EXPECT_EQ(StatusOf(activation), "error");
  EXPECT_EQ(StreamEnd(activation), "crash");
}

TEST_F(StreamsTest, WhoeverSawTheFirstChunkFindsTheActivationAfterACrash) {
  Reader reader(server_.server(), "waits/live");
  const std::string id = reader.Activation();
  reader.Until("first\n");
  server_.Kill();
  EXPECT_THAT(reader.Rest(), Not(EndsWith(kChunkedEnd)));
  const json::value activation = server_.Activation(id);
  ASSERT_TRUE(activation.is_object() && activation.as_object().contains("status"));
  EXPECT_EQ(StatusOf(activation), "running");
}

}  // namespace
}  // namespace cairn::testing
