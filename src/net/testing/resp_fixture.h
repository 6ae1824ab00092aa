#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <charconv>
#include <future>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "net/loop.h"
#include "net/resp/client.h"
#include "net/resp/server.h"
#include "net/resp/writer.h"
#include "net/tls.h"
#include "tests/support/await.h"

namespace cairn::net::testing {

// What a ToyHandler saw. Safe to read from any thread.
struct ToyLog {
  std::atomic<int> open_sessions = 0;
  std::atomic<int> executed = 0;
  std::atomic<int> expected = 0;  // requests announced before they were executed
  std::atomic<int> turns = 0;
  std::atomic<size_t> largest_turn = 0;   // connections served
  std::atomic<uint64_t> last_paused = 0;  // connection id
};

// A handler with just enough commands to try a server:
//   PING | ECHO text       answer at once, sealed at the end of the turn
//   TICKET n               answers n, sealed under ticket n
//   BIG n                  answers n bytes
//   WORK | BLOCK           pause; the test resumes
//   KILL id | QUIT
class ToyHandler final : public RespHandler {
 public:
  ToyHandler(ToyLog& log, RespServer*& server) : log_(log), server_(server) {}

  std::unique_ptr<RespSession> Open(RespConnection& connection) override {
    connection.set_authenticated(true);
    return std::make_unique<Session>(log_);
  }

  void Execute(RespConnection& connection, std::span<const std::string_view> args) override {
    ++log_.executed;
    auto& session = static_cast<Session&>(connection.session());
    RespWriter writer(connection.out(), 2);
    const std::string_view name = args[0];
    ++session.replies;
    if (name == "PING") {
      writer.Simple("PONG");
    } else if (name == "ECHO" && args.size() == 2) {
      writer.Bulk(args[1]);
    } else if (name == "BIG") {
      writer.Bulk(std::string(Number(args[1]), 'x'));
    } else if (name == "TICKET") {
      SealAll(connection, session.replies - 1);
      writer.Integer(static_cast<int64_t>(Number(args[1])));
      connection.Seal(Number(args[1]), 1);
    } else if (name == "WORK" || name == "BLOCK") {
      --session.replies;
      connection.Pause(name == "WORK" ? PauseReason::kWorking : PauseReason::kBlocked);
      log_.last_paused = connection.id();
    } else if (name == "ID") {
      writer.Integer(static_cast<int64_t>(connection.id()));
    } else if (name == "KILL") {
      RespConnection* const found = server_->Find(connection.loop(), Number(args[1]));
      writer.Integer(found != nullptr ? 1 : 0);
      if (found != nullptr) found->CloseNow();
    } else if (name == "QUIT") {
      writer.Ok();
      connection.CloseAfterReplies();
    } else {
      writer.Error("ERR unknown command");
    }
  }

  void Expect(RespConnection& /*connection*/, std::span<const Request> requests) override {
    log_.expected += static_cast<int>(requests.size());
  }

  void TurnEnd(std::span<RespConnection* const> served) override {
    ++log_.turns;
    log_.largest_turn = std::max<size_t>(log_.largest_turn, served.size());
    for (RespConnection* connection : served) {
      SealAll(*connection, static_cast<Session&>(connection->session()).replies);
    }
  }

  static uint64_t Number(std::string_view text) {
    uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }

 private:
  struct Session : RespSession {
    explicit Session(ToyLog& to) : log(to) { ++log.open_sessions; }
    ~Session() override { --log.open_sessions; }
    ToyLog& log;
    uint32_t replies = 0;
  };

  static void SealAll(RespConnection& connection, uint32_t replies) {
    connection.Seal(0, replies);
    static_cast<Session&>(connection.session()).replies = 0;
  }

  ToyLog& log_;
  RespServer*& server_;
};

// A RespServer with a ToyHandler on 127.0.0.1. Time stands still unless `clock` is advanced.
class RespServerTest : public ::testing::Test {
 protected:
  void Start(const RespServerOptions& options = {}, size_t loops = 1,
             std::shared_ptr<TlsContext> tls = nullptr) {
    loops_ = std::make_unique<LoopGroup>(loops);
    loops_->Start();
    server_ = std::make_unique<RespServer>(
        options, *loops_, [this](Loop&) { return std::make_unique<ToyHandler>(log_, server_ptr_); },
        clock_, Log::Silent());
    server_ptr_ = server_.get();
    auto port = server_->Listen({"127.0.0.1", 0}, std::move(tls));
    ASSERT_TRUE(port.ok()) << port.error().message;
    port_ = *port;
  }

  void TearDown() override {
    server_.reset();
    EXPECT_EQ(log_.open_sessions, 0);
  }

  RespClient Connect() {
    auto client = RespClient::Connect({"127.0.0.1", port_});
    EXPECT_TRUE(client.ok()) << client.error().message;
    return *std::move(client);
  }

  Loop& loop() { return loops_->at(0); }

  // Runs `function` on the first loop and waits for it.
  void OnLoop(const std::function<void()>& function) {
    std::promise<void> done;
    loop().Post([&] {
      function();
      done.set_value();
    });
    done.get_future().wait();
  }

  // Lets the loop do whatever is ready.
  void Settle() {
    for (int i = 0; i < 3; ++i) OnLoop([] {});
  }

  void Release(uint64_t ticket) {
    OnLoop([&] { server_->Release(loop(), ticket); });
  }

  // Returns once `condition` holds (tests/support/await.h).
  static void WaitUntil(const std::function<bool()>& condition,
                        const std::source_location& where = std::source_location::current()) {
    cairn::testing::Await("what that line says", condition, cairn::testing::kAwaitLimit, where);
  }

  // The next reply as text, as redis-cli would show it.
  static std::string Next(RespClient& client) {
    const auto reply = client.Receive();
    return reply.ok() ? reply->ToString() : "closed";
  }
  static std::string Ask(RespClient& client, std::initializer_list<std::string_view> args) {
    const auto reply = client.Command(args);
    return reply.ok() ? reply->ToString() : "closed";
  }
  static void Send(RespClient& client, std::string_view bytes) {
    ASSERT_TRUE(client.SendRaw(bytes).ok());
  }
  // Whether anything has arrived. Loopback delivers within the sender's system call, so what the
  // loop has written is there.
  static bool HasInput(RespClient& client) {
    char byte = 0;
    return recv(client.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
  }

  ManualClock clock_;
  ToyLog log_;
  std::unique_ptr<LoopGroup> loops_;
  std::unique_ptr<RespServer> server_;
  RespServer* server_ptr_ = nullptr;
  uint16_t port_ = 0;
};

}  // namespace cairn::net::testing
