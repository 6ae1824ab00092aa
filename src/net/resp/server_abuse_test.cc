// Clients that send garbage, too much, too little or nothing, that never read, or that vanish. Each
// may harm only its own connection.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "net/buffer_budget.h"
#include "net/resp/server.h"
#include "net/socket.h"
#include "net/testing/resp_fixture.h"

namespace cairn::net::testing {
namespace {

using std::chrono::milliseconds;

class RespAbuseTest : public RespServerTest {
 protected:
  // A client beside the abusive one must be served as ever.
  void TearDown() override {
    if (server_ != nullptr && server_->stats().connections_open < server_->max_clients()) {
      RespClient bystander = Connect();
      EXPECT_EQ(Ask(bystander, {"PING"}), "PONG");
    }
    RespServerTest::TearDown();
  }
};

TEST_F(RespAbuseTest, AMalformedFrameIsAnsweredAndClosesOnlyThatConnection) {
  Start();
  RespClient other = Connect();
  RespClient client = Connect();
  Send(client, "PING\r\nTICKET 1\r\n*1\r\n:1\r\nPING\r\n");
  WaitUntil([&] { return log_.executed == 2; });
  Settle();
  Release(1);
  EXPECT_EQ(client.ReceiveUntilClosed().value(),
            "+PONG\r\n:1\r\n-ERR Protocol error: expected '$', got ':'\r\n");
  EXPECT_EQ(Ask(other, {"PING"}), "PONG");
  EXPECT_EQ(server_->stats().protocol_errors, 1U);
}

TEST_F(RespAbuseTest, TheErrorArrivesEvenIfMuchFollowsTheBadFrame) {
  Start();
  RespClient client = Connect();
  // Unread input would make the kernel reset the connection and take the error with it.
  std::thread sender([&] {
    const std::string more(64 * 1024, 'x');
    std::string_view bad = "*1\r\nx\r\n";
    if (!client.SendRaw(bad).ok()) return;
    for (int i = 0; i < 100; ++i) {
      if (!client.SendRaw(more).ok()) return;
    }
    client.FinishSending();
  });
  EXPECT_EQ(client.ReceiveUntilClosed().value(), "-ERR Protocol error: expected '$', got 'x'\r\n");
  sender.join();
}

TEST_F(RespAbuseTest, GarbageIsRefused) {
  Start();
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    RespClient client = Connect();
    std::string garbage(1 + random() % 100'000, '\0');
    for (char& byte : garbage) byte = static_cast<char>(random());
    if (random() % 2 == 0) garbage[0] = '*';
    // The server may close while we still send: that is no failure of the test.
    (void)client.SendRaw(garbage);
    client.FinishSending();
    (void)client.ReceiveUntilClosed();
  }
  WaitUntil([&] { return log_.open_sessions == 0; });
}

TEST_F(RespAbuseTest, ATooLongLineIsRefused) {
  Start();
  RespClient client = Connect();
  Send(client, std::string(70 * 1024, 'a'));
  EXPECT_EQ(client.ReceiveUntilClosed().value(), "-ERR Protocol error: too big inline request\r\n");
}

TEST_F(RespAbuseTest, APromisedArgumentThatNeverComesCostsNoMemory) {
  Start();
  std::vector<RespClient> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(Connect());
    Send(clients.back(), "*2\r\n$4\r\nECHO\r\n$268435456\r\nonly this");
  }
  RespClient other = Connect();
  EXPECT_EQ(Ask(other, {"PING"}), "PONG");
}

TEST_F(RespAbuseTest, ARequestBeyondTheQueryBufferClosesTheConnection) {
  RespServerOptions options;
  options.limits.query_buffer_bytes = 1000;
  Start(options);
  RespClient client = Connect();
  Send(client, "PING\r\n*2\r\n$4\r\nECHO\r\n$2000\r\n");
  EXPECT_EQ(client.ReceiveUntilClosed().value(),
            "+PONG\r\n-ERR Protocol error: the request needs more than the 1000 bytes of "
            "client-query-buffer-limit\r\n");
  WaitUntil([&] { return log_.open_sessions == 0; });
}

// Many client libraries write a whole pipeline before they read the first reply. A server that
// stops reading because its replies are not read would wait for them, and they for it, for ever.
TEST_F(RespAbuseTest, WhoWritesEverythingBeforeReadingIsServed) {
  Start();
  RespClient client = Connect();
  constexpr int kRequests = 20'000;
  const std::string payload(1000, 'x');
  std::string requests;
  for (int i = 0; i < kRequests; ++i)
    requests += "*2\r\n$4\r\nECHO\r\n$1000\r\n" + payload + "\r\n";
  Send(client, requests);
  for (int i = 0; i < kRequests; ++i) {
    const auto reply = client.Receive();
    ASSERT_TRUE(reply.ok());
    ASSERT_EQ(reply->text, payload);
  }
  EXPECT_EQ(Ask(client, {"PING"}), "PONG");
}

TEST_F(RespAbuseTest, WhoseOutputPassesTheHardLimitIsClosed) {
  RespServerOptions options;
  options.output_limits[0].hard_bytes = 20'000'000;
  Start(options);
  RespClient client = Connect();
  Send(client, "BIG 30000000\r\n");
  WaitUntil([&] { return log_.executed == 1 && log_.open_sessions == 0; });
  EXPECT_EQ(client.ReceiveUntilClosed().value(), "") << "nothing of such a reply is sent";
  EXPECT_EQ(server_->stats().output_disconnects, 1U);
}

TEST_F(RespAbuseTest, ALimitOnOutputHoldsForThoseWhoAreThere) {
  Start();
  RespClient client = Connect();
  ASSERT_EQ(Ask(client, {"PING"}), "PONG");
  server_->set_output_limits(OutputClass::kNormal, {.hard_bytes = 10'000});
  Send(client, "BIG 9000\r\nBIG 9000\r\n");
  WaitUntil([&] { return log_.open_sessions == 0; });
}

TEST_F(RespAbuseTest, WhoseOutputIsPastTheSoftLimitForTooLongIsClosed) {
  RespServerOptions options;
  options.sweep_interval = milliseconds(1);
  options.output_limits[0] = {.soft_bytes = 1'000'000, .soft_for = std::chrono::seconds(10)};
  Start(options);
  RespClient client = Connect();
  Send(client, "BIG 30000000\r\n");
  WaitUntil([&] { return log_.executed == 1; });
  Settle();
  clock_.AdvanceMillis(9'000);
  Settle();
  EXPECT_EQ(log_.open_sessions, 1);
  clock_.AdvanceMillis(2'000);
  WaitUntil([&] { return log_.open_sessions == 0; });
}

TEST_F(RespAbuseTest, WhoReadsInTimeIsNotPastTheSoftLimit) {
  RespServerOptions options;
  options.sweep_interval = milliseconds(1);
  options.output_limits[0] = {.soft_bytes = 1'000'000, .soft_for = std::chrono::seconds(10)};
  Start(options);
  RespClient client = Connect();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(client.Command({"BIG", "30000000"})->text.size(), 30'000'000U);
    clock_.AdvanceMillis(9'000);
    Settle();
  }
  EXPECT_EQ(Ask(client, {"PING"}), "PONG");
}

TEST_F(RespAbuseTest, WhoHoldsTheMostIsClosedWhenMemoryIsUsedUp) {
  RespServerOptions options;
  options.budget = std::make_shared<BufferBudget>(50'000'000);
  Start(options);
  RespClient modest = Connect();
  Send(modest, "BIG 20000000\r\n");
  WaitUntil([&] { return log_.executed == 1; });
  RespClient greedy = Connect();
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += "BIG 1000000\r\n";
  Send(greedy, requests);
  WaitUntil([&] { return options.budget->disconnected() == 1 && log_.open_sessions == 1; });
  EXPECT_LT(log_.executed, 200) << "it is not served any more once it is to go";
  EXPECT_EQ(modest.Receive()->text.size(), 20'000'000U) << "the other keeps what it has not read";
}

TEST_F(RespAbuseTest, HalfRequestsCountAsMemory) {
  RespServerOptions options;
  options.budget = std::make_shared<BufferBudget>(10'000'000);
  Start(options);
  const std::string half = "*2\r\n$4\r\nECHO\r\n$2000000\r\n" + std::string(1'000'000, 'x');
  std::vector<RespClient> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(Connect());
    // It may be closed while it sends.
    (void)clients.back().SendRaw(half);
  }
  WaitUntil([&] { return options.budget->disconnected() > 5; });
  WaitUntil([&] { return options.budget->used() <= 10'000'000; });
}

TEST_F(RespAbuseTest, WhatAHandlerKeepsForAConnectionCounts) {
  RespServerOptions options;
  options.budget = std::make_shared<BufferBudget>(10'000'000);
  Start(options);
  RespClient client = Connect();
  ASSERT_EQ(Ask(client, {"PING"}), "PONG");
  OnLoop([&] {
    server_->ForEachConnection(
        loop(), [](RespConnection& connection) { connection.set_held_bytes(11'000'000); });
  });
  WaitUntil([&] { return log_.open_sessions == 0; });
}

TEST_F(RespAbuseTest, WhoDoesNotAuthenticateInTimeIsClosed) {
  RespServerOptions options;
  options.sweep_interval = milliseconds(1);
  options.auth_timeout = milliseconds(5000);
  Start(options);
  RespClient known = Connect();
  ASSERT_EQ(Ask(known, {"PING"}), "PONG");
  RespClient stranger = Connect();
  ASSERT_EQ(Ask(stranger, {"PING"}), "PONG");
  const std::string id = Ask(stranger, {"ID"});
  OnLoop([&] {
    server_->ForEachConnection(loop(), [&](RespConnection& connection) {
      if (id == "(integer) " + std::to_string(connection.id())) connection.set_authenticated(false);
    });
  });
  clock_.AdvanceMillis(4000);
  ASSERT_EQ(Ask(stranger, {"PING"}), "PONG");
  clock_.AdvanceMillis(2000);
  EXPECT_EQ(stranger.ReceiveUntilClosed().value(),
            "-ERR the connection did not authenticate in time: see auth_timeout\r\n");
  EXPECT_EQ(Ask(known, {"PING"}), "PONG");
  EXPECT_EQ(server_->stats().auth_timeouts, 1U);
}

TEST_F(RespAbuseTest, WhatAConnectionHoldsIsSeenFromAnyThread) {
  Start();
  RespClient client = Connect();
  ASSERT_EQ(Ask(client, {"PING"}), "PONG");
  RespConnection* connection = nullptr;
  OnLoop([&] {
    server_->ForEachConnection(loop(), [&](RespConnection& each) { connection = &each; });
  });
  EXPECT_EQ(connection->stats().output_bytes, 0U);
  EXPECT_GE(connection->stats().input_capacity, 16'384U) << "it was heard of a moment ago";
  Send(client, "BIG 50000000\r\n");
  WaitUntil([&] { return connection->stats().output_bytes > 10'000'000; });
  EXPECT_GE(connection->stats().output_blocks, 1U);
  OnLoop([] {});  // the connection goes with its client, after what was read of it here
}

TEST_F(RespAbuseTest, TooManyClientsAreToldSo) {
  RespServerOptions options;
  options.max_clients = 2;
  Start(options);
  RespClient first = Connect();
  RespClient second = Connect();
  ASSERT_EQ(Ask(first, {"PING"}), "PONG");
  ASSERT_EQ(Ask(second, {"PING"}), "PONG");
  RespClient third = Connect();
  EXPECT_EQ(third.ReceiveUntilClosed().value(), "-ERR max number of clients reached\r\n");
  EXPECT_EQ(server_->stats().connections_rejected, 1U);
  server_->set_max_clients(3);
  RespClient fourth = Connect();
  EXPECT_EQ(Ask(fourth, {"PING"}), "PONG");
  first.Close();
  second.Close();
  WaitUntil([&] { return log_.open_sessions == 1; });
}

TEST_F(RespAbuseTest, SilentClientsAreClosedAfterTheIdleTimeout) {
  RespServerOptions options;
  options.idle_timeout = milliseconds(5000);
  options.sweep_interval = milliseconds(1);
  Start(options);
  RespClient silent = Connect();
  RespClient active = Connect();
  RespClient blocked = Connect();
  ASSERT_EQ(Ask(active, {"PING"}), "PONG");
  Send(blocked, "BLOCK\r\n");
  WaitUntil([&] { return log_.open_sessions == 3 && log_.executed == 2; });
  clock_.AdvanceMillis(4000);
  ASSERT_EQ(Ask(active, {"PING"}), "PONG");
  clock_.AdvanceMillis(4000);
  EXPECT_EQ(Next(silent), "closed");
  EXPECT_EQ(Ask(active, {"PING"}), "PONG");
  EXPECT_EQ(log_.open_sessions, 2) << "who waits for an event is not idle";
}

TEST_F(RespAbuseTest, ASilentClientHoldsNoBuffer) {
  RespServerOptions options;
  options.sweep_interval = milliseconds(1);
  Start(options);
  RespClient client = Connect();
  ASSERT_TRUE(client.Command({"BIG", "30000"}).ok());
  size_t held = 0;
  const auto measure = [&] {
    OnLoop([&] {
      server_->ForEachConnection(loop(), [&](RespConnection& connection) {
        held = connection.stats().input_capacity + connection.stats().output_capacity;
      });
    });
  };
  measure();
  EXPECT_GT(held, 10'000U);
  clock_.AdvanceMillis(2000);
  WaitUntil([&] {
    measure();
    return held < 100;
  });
}

// Not with UBSan beside ASan: its check of vtable pointers needs descriptors itself.
#if !defined(__SANITIZE_ADDRESS__)
TEST_F(RespAbuseTest, WithoutFileDescriptorsTheServerWaitsForBetterTimes) {
  Start();
  rlimit saved{};
  getrlimit(RLIMIT_NOFILE, &saved);
  const rlimit few{256, saved.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<FileDescriptor> taken;
  while (true) {
    FileDescriptor next(dup(0));
    if (next.get() < 0) break;
    taken.push_back(std::move(next));
  }
  taken.pop_back();
  // The last descriptor is the client's: it connects, but cannot be accepted.
  RespClient client = Connect();
  ASSERT_TRUE(client.Send({"PING"}).ok());
  Settle();
  EXPECT_EQ(log_.executed, 0);
  taken.clear();
  EXPECT_EQ(Next(client), "PONG");
  setrlimit(RLIMIT_NOFILE, &saved);
}
#endif

TEST_F(RespAbuseTest, ClientsThatVanishLeaveNothingBehind) {
  Start();
  for (int round = 0; round < 200; ++round) {
    RespClient client = Connect();
    if (round % 4 != 0) Send(client, "TICKET 1000000\r\nBIG 100000\r\nWORK\r\n*1\r\n$100\r\n");
    if (round % 2 == 0) {
      // Closes with a reset instead of a farewell.
      const linger abort{1, 0};
      setsockopt(client.fd(), SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
    }
    client.Close();
  }
  // Those that wait for work wait for the server's word; give it to all of them.
  WaitUntil([&] {
    OnLoop([&] {
      server_->Release(loop(), 1'000'000);
      server_->ForEachConnection(loop(), [](RespConnection& connection) { connection.Resume(); });
    });
    return log_.open_sessions == 0;
  });
}

TEST_F(RespAbuseTest, WhoHasNotAuthenticatedIsHeldToSmallRequests) {
  Start();
  RespClient client = Connect();
  ASSERT_EQ(Ask(client, {"PING"}), "PONG");
  OnLoop([&] {
    server_->ForEachConnection(
        loop(), [](RespConnection& connection) { connection.set_authenticated(false); });
  });
  Send(client, "*2\r\n$4\r\nECHO\r\n$20000\r\n");
  EXPECT_EQ(client.ReceiveUntilClosed().value(),
            "-ERR Protocol error: unauthenticated bulk length\r\n");
}

TEST_F(RespAbuseTest, WhoHasNotAuthenticatedMayLeaveLittleUnread) {
  Start();
  RespClient client = Connect();
  ASSERT_EQ(Ask(client, {"PING"}), "PONG");
  Send(client, "BIG 30000000\r\n");
  WaitUntil([&] { return log_.executed == 2; });
  Settle();
  EXPECT_EQ(log_.open_sessions, 1) << "others may leave any amount unread";
  OnLoop([&] {
    server_->ForEachConnection(
        loop(), [](RespConnection& connection) { connection.set_authenticated(false); });
  });
  Send(client, "PING\r\n");
  WaitUntil([&] { return log_.open_sessions == 0; });
  EXPECT_EQ(server_->stats().output_disconnects, 1U);
}

}  // namespace
}  // namespace cairn::net::testing
