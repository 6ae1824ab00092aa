#include "net/resp/server.h"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

#include "net/testing/resp_fixture.h"

namespace cairn::net::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_F(RespServerTest, AnswersARequest) {
  Start();
  RespClient client = Connect();
  EXPECT_EQ(Ask(client, {"PING"}), "PONG");
  EXPECT_EQ(Ask(client, {"ECHO", "hello"}), "\"hello\"");
  Send(client, "ECHO inline\r\n");
  EXPECT_EQ(Next(client), "\"inline\"");
}

TEST_F(RespServerTest, APipelineIsAnsweredInOrder) {
  Start();
  RespClient client = Connect();
  constexpr int kRequests = 20'000;
  std::thread sender([&] {
    for (int i = 0; i < kRequests; ++i) {
      ASSERT_TRUE(client.Send({"ECHO", std::to_string(i)}).ok());
    }
  });
  for (int i = 0; i < kRequests; ++i) ASSERT_EQ(Next(client), "\"" + std::to_string(i) + "\"");
  sender.join();
}

TEST_F(RespServerTest, ADeepPipelineInOneWriteIsAnsweredWhole) {
  Start();
  RespClient client = Connect();
  // More than one turn takes from one connection.
  std::string requests;
  for (int i = 0; i < 5'000; ++i) requests += "ECHO " + std::to_string(i) + "\r\n";
  Send(client, requests);
  for (int i = 0; i < 5'000; ++i) ASSERT_EQ(Next(client), "\"" + std::to_string(i) + "\"");
}

TEST_F(RespServerTest, ARequestMayArriveByteByByte) {
  Start();
  RespClient client = Connect();
  for (const char byte : std::string("*2\r\n$4\r\nECHO\r\n$3\r\na\r\n\r\nPING\r\n")) {
    Send(client, std::string_view(&byte, 1));
    Settle();
  }
  EXPECT_EQ(Next(client), "\"a\\x0d\\x0a\"");
  EXPECT_EQ(Next(client), "PONG");
}

TEST_F(RespServerTest, LargeArgumentsAndRepliesPassUnchanged) {
  Start();
  RespClient client = Connect();
  std::string large(16 * 1024 * 1024, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7 + i / 256);
  std::thread sender([&] {
    ASSERT_TRUE(client.Send({"ECHO", large}).ok());
    ASSERT_TRUE(client.Send({"PING"}).ok());
  });
  const auto reply = client.Receive();
  ASSERT_TRUE(reply.ok());
  EXPECT_TRUE(reply->text == large);
  EXPECT_EQ(Next(client), "PONG");
  sender.join();
  // Neither side of the connection keeps the memory.
  OnLoop([&] {
    server_->ForEachConnection(loop(), [](RespConnection& connection) {
      EXPECT_LT(connection.stats().input_capacity, 1'000'000U);
      EXPECT_LT(connection.stats().output_capacity, 1'000'000U);
    });
  });
}

TEST_F(RespServerTest, OneTurnServesAllConnectionsThatAreReady) {
  Start();
  std::vector<RespClient> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(Connect());
  for (RespClient& client : clients) ASSERT_EQ(Ask(client, {"PING"}), "PONG");
  // Hold the loop while all of them send.
  std::promise<void> hold;
  loop().Post([&] { hold.get_future().wait(); });
  for (RespClient& client : clients) ASSERT_TRUE(client.Send({"PING"}).ok());
  log_.turns = 0;
  hold.set_value();
  for (RespClient& client : clients) EXPECT_EQ(Next(client), "PONG");
  EXPECT_EQ(log_.turns, 1);
  EXPECT_EQ(log_.largest_turn, 20U);
}

// --- Tickets ------------------------------------------------------------------------------------

TEST_F(RespServerTest, RepliesLeaveInOrderWhateverTheOrderOfTheirTickets) {
  Start();
  RespClient client = Connect();
  Send(client, "TICKET 5\r\nPING\r\nTICKET 3\r\nTICKET 6\r\n");
  WaitUntil([&] { return log_.executed == 4; });
  Settle();
  EXPECT_FALSE(HasInput(client));
  Release(3);
  EXPECT_FALSE(HasInput(client)) << "3 stands behind 5";
  Release(5);
  EXPECT_EQ(Next(client), "(integer) 5");
  EXPECT_EQ(Next(client), "PONG");
  EXPECT_EQ(Next(client), "(integer) 3");
  EXPECT_FALSE(HasInput(client));
  Release(100);
  EXPECT_EQ(Next(client), "(integer) 6");
  EXPECT_EQ(Ask(client, {"TICKET", "99"}), "(integer) 99");
}

TEST_F(RespServerTest, OneReleaseLetsGoAllConnectionsThatWait) {
  Start();
  std::vector<RespClient> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(Connect());
    ASSERT_TRUE(clients.back().Send({"TICKET", std::to_string(i + 1)}).ok());
  }
  WaitUntil([&] { return log_.executed == 10; });
  Settle();
  Release(7);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(HasInput(clients[static_cast<size_t>(i)]), i < 7) << i;
  Release(10);
  for (RespClient& client : clients) EXPECT_TRUE(HasInput(client));
}

TEST_F(RespServerTest, RequestsAreExecutedWhileRepliesWait) {
  Start();
  RespClient client = Connect();
  for (int i = 1; i <= 50; ++i) {
    ASSERT_TRUE(client.Send({"TICKET", std::to_string(i)}).ok());
    WaitUntil([&] { return log_.executed == i; });
  }
  Settle();
  Release(50);
  for (int i = 1; i <= 50; ++i) EXPECT_EQ(Next(client), "(integer) " + std::to_string(i));
}

TEST_F(RespServerTest, AFailureAnswersWhatWaitsAndWhatComesLater) {
  Start();
  RespClient client = Connect();
  EXPECT_EQ(Ask(client, {"PING"}), "PONG");
  Release(1);
  Send(client, "TICKET 1\r\nTICKET 2\r\nTICKET 2\r\nPING\r\n");
  WaitUntil([&] { return log_.executed == 5; });
  Settle();
  OnLoop([&] { server_->Fail(loop(), "-ERR the disk is gone"); });
  EXPECT_EQ(Next(client), "(integer) 1");
  EXPECT_EQ(Next(client), "(error) ERR the disk is gone");
  EXPECT_EQ(Next(client), "(error) ERR the disk is gone");
  EXPECT_EQ(Next(client), "PONG");
  EXPECT_EQ(Ask(client, {"TICKET", "3"}), "(error) ERR the disk is gone");
  EXPECT_EQ(Ask(client, {"TICKET", "1"}), "(integer) 1");
  EXPECT_EQ(Ask(client, {"PING"}), "PONG");
}

// --- Pausing ------------------------------------------------------------------------------------

class PauseTest : public RespServerTest {
 protected:
  // Answers the paused request of the connection that paused last, and resumes.
  void Answer(const std::string& text, uint64_t ticket = 0) {
    OnLoop([&] {
      RespConnection* const connection = server_->Find(loop(), log_.last_paused);
      ASSERT_NE(connection, nullptr);
      RespWriter(connection->out(), 2).Simple(text);
      connection->Seal(ticket, 1);
      connection->Resume();
    });
  }
};

TEST_F(PauseTest, LaterRequestsOfThatConnectionWaitInOrder) {
  Start();
  RespClient client = Connect();
  RespClient other = Connect();
  Send(client, "WORK\r\nECHO 1\r\nECHO 2\r\n");
  WaitUntil([&] { return log_.executed == 1; });
  EXPECT_EQ(Ask(other, {"PING"}), "PONG");
  Send(client, "ECHO 3\r\n");
  Settle();
  EXPECT_FALSE(HasInput(client));
  EXPECT_EQ(log_.executed, 2);
  Answer("worked");
  EXPECT_EQ(Next(client), "worked");
  for (const char* text : {"\"1\"", "\"2\"", "\"3\""}) EXPECT_EQ(Next(client), text);
}

TEST_F(PauseTest, WhatWasParsedAheadOfAPauseIsExecutedAfterIt) {
  Start();
  RespClient client = Connect();
  // The handler has seen all of them when the first pauses; the last has not arrived whole.
  Send(client, "*1\r\n$4\r\nWORK\r\n*2\r\n$4\r\nECHO\r\n$1\r\na\r\n*2\r\n$4\r\nECHO\r\n$5\r\nbc");
  WaitUntil([&] { return log_.executed == 1; });
  EXPECT_EQ(log_.expected, 2);
  Answer("worked");
  EXPECT_EQ(Next(client), "worked");
  EXPECT_EQ(Next(client), "\"a\"");
  Send(client, "def\r\n*2\r\n$4\r\nECHO\r\n$1\r\ng\r\n");
  EXPECT_EQ(Next(client), "\"bcdef\"");
  EXPECT_EQ(Next(client), "\"g\"");
  EXPECT_EQ(log_.executed, 4);
}

TEST_F(PauseTest, MuchInputWaitsWithoutFillingMemory) {
  Start();
  RespClient client = Connect();
  Send(client, "WORK\r\n");
  WaitUntil([&] { return log_.executed == 1; });
  constexpr int kRequests = 200'000;
  std::thread sender([&] {
    for (int i = 0; i < kRequests / 100; ++i) {
      std::string requests;
      for (int j = 0; j < 100; ++j) requests += "ECHO abcdefghijklmnopqrstuvwxyz\r\n";
      ASSERT_TRUE(client.SendRaw(requests).ok());
    }
  });
  for (int i = 0; i < 1000; ++i) Settle();
  OnLoop([&] {
    const RespConnection* const connection = server_->Find(loop(), log_.last_paused);
    EXPECT_LT(connection->stats().input_bytes, 256U * 1024);
  });
  Answer("worked");
  EXPECT_EQ(Next(client), "worked");
  for (int i = 0; i < kRequests; ++i) {
    ASSERT_EQ(Next(client), "\"abcdefghijklmnopqrstuvwxyz\"");
  }
  sender.join();
}

TEST_F(PauseTest, AClientThatStopsSendingStillGetsAReplyThatIsBeingMade) {
  Start();
  RespClient client = Connect();
  Send(client, "WORK\r\nPING\r\n");
  client.FinishSending();
  WaitUntil([&] { return log_.executed == 1; });
  Settle();
  Answer("worked", 4);
  Settle();
  Release(4);
  EXPECT_EQ(client.ReceiveUntilClosed().value(), "+worked\r\n+PONG\r\n");
}

TEST_F(PauseTest, ABlockedClientThatLeavesIsClosed) {
  Start();
  for (const std::string_view more : {"", "PING\r\n"}) {
    RespClient client = Connect();
    Send(client, "BLOCK\r\n");
    Send(client, more);
    WaitUntil([&] { return log_.open_sessions == 1; });
    client.FinishSending();
    EXPECT_EQ(client.ReceiveUntilClosed().value(), "");
    WaitUntil([&] { return log_.open_sessions == 0; });
  }
}

TEST_F(PauseTest, ABlockedClientThatLeavesBehindMuchInputIsClosed) {
  Start();
  RespClient client = Connect();
  Send(client, "BLOCK\r\n");
  // More than the server reads while blocked, less than the kernel holds for it: so the end
  // arrives.
  Send(client, std::string(120 * 1024, 'x'));
  client.Close();
  WaitUntil([&] { return log_.executed == 1 && log_.open_sessions == 0; });
}

TEST_F(PauseTest, TheWorkOfAConnectionThatClosedFindsNothing) {
  Start();
  RespClient client = Connect();
  ASSERT_EQ(Ask(client, {"ID"}).substr(0, 9), "(integer)");
  Send(client, "BLOCK\r\n");
  WaitUntil([&] { return log_.last_paused != 0; });
  client.Close();
  WaitUntil([&] { return log_.open_sessions == 0; });
  OnLoop([&] { EXPECT_EQ(server_->Find(loop(), log_.last_paused), nullptr); });
}

// --- Closing ------------------------------------------------------------------------------------

TEST_F(RespServerTest, AClientThatStopsSendingGetsAllItsReplies) {
  Start();
  RespClient client = Connect();
  Send(client, "PING\r\nTICKET 1\r\nPING\r\n*1\r\n$4\r\nPI");
  client.FinishSending();
  WaitUntil([&] { return log_.executed == 3; });
  Settle();
  Release(1);
  EXPECT_EQ(client.ReceiveUntilClosed().value(), "+PONG\r\n:1\r\n+PONG\r\n");
}

TEST_F(RespServerTest, CloseAfterRepliesSendsWhatWasAnswered) {
  Start();
  RespClient client = Connect();
  Send(client, "TICKET 1\r\nQUIT\r\nPING\r\n");
  WaitUntil([&] { return log_.executed == 2; });
  Settle();
  EXPECT_FALSE(HasInput(client));
  Release(1);
  EXPECT_EQ(client.ReceiveUntilClosed().value(), ":1\r\n+OK\r\n");
  EXPECT_EQ(log_.executed, 2) << "nothing is executed after QUIT";
}

TEST_F(RespServerTest, OneConnectionMayCloseAnother) {
  Start();
  RespClient victim = Connect();
  RespClient killer = Connect();
  const auto id = victim.Command({"ID"});
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(Ask(killer, {"KILL", std::to_string(id->integer)}), "(integer) 1");
  EXPECT_EQ(Next(victim), "closed");
  EXPECT_EQ(Ask(killer, {"KILL", std::to_string(id->integer)}), "(integer) 0");
  const auto own = killer.Command({"ID"});
  EXPECT_EQ(Ask(killer, {"KILL", std::to_string(own->integer)}), "closed");
}

TEST_F(RespServerTest, ConnectionsAreCountedAndListed) {
  Start();
  RespClient first = Connect();
  RespClient second = Connect();
  ASSERT_EQ(Ask(first, {"PING"}), "PONG");
  ASSERT_EQ(Ask(second, {"PING"}), "PONG");
  clock_.AdvanceMillis(2000);
  ASSERT_EQ(Ask(second, {"PING"}), "PONG");
  int seen = 0;
  OnLoop([&] {
    server_->ForEachConnection(loop(), [&](RespConnection& connection) {
      ++seen;
      EXPECT_TRUE(connection.peer().starts_with("127.0.0.1:"));
      EXPECT_EQ(connection.local(), "127.0.0.1:" + std::to_string(port_));
      EXPECT_FALSE(connection.tls());
      const auto stats = connection.stats();
      EXPECT_EQ(clock_.Now().us - stats.opened.us, 2'000'000);
      EXPECT_EQ(clock_.Now().us - stats.last_active.us, stats.requests == 1 ? 2'000'000 : 0);
    });
  });
  EXPECT_EQ(seen, 2);
  const RespServerStats stats = server_->stats();
  EXPECT_EQ(stats.connections_received, 2U);
  EXPECT_EQ(stats.connections_open, 2U);
  EXPECT_EQ(stats.requests, 3U);
  EXPECT_EQ(stats.bytes_in, 3U * 14);
  EXPECT_EQ(stats.bytes_out, 3U * 7);
}

TEST_F(RespServerTest, ConnectionsAreSpreadOverTheLoops) {
  Start({}, 2);
  std::vector<RespClient> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(Connect());
    ASSERT_EQ(Ask(clients.back(), {"PING"}), "PONG");
  }
  std::atomic<int> uneven = 0;
  loops_->RunOnEach([&](Loop& loop) {
    int here = 0;
    server_->ForEachConnection(loop, [&](RespConnection&) { ++here; });
    if (here != 3) ++uneven;
  });
  EXPECT_EQ(uneven, 0);
}

// --- Draining -----------------------------------------------------------------------------------

TEST_F(PauseTest, DrainLetsRunningRequestsFinishAndRepliesLeave) {
  Start();
  RespClient idle = Connect();
  RespClient waiting = Connect();
  RespClient working = Connect();
  RespClient blocked = Connect();
  ASSERT_EQ(Ask(idle, {"PING"}), "PONG");
  Send(waiting, "TICKET 9\r\n");
  Send(blocked, "BLOCK\r\n");
  WaitUntil([&] { return log_.executed == 3; });
  Send(working, "WORK\r\nPING\r\n");
  WaitUntil([&] { return log_.executed == 4; });

  std::thread drain([&] { server_->Drain(seconds(60)); });
  EXPECT_EQ(Next(idle), "closed");
  EXPECT_EQ(Next(blocked), "closed");
  EXPECT_FALSE(RespClient::Connect({"127.0.0.1", port_}).ok());
  Answer("worked", 10);
  Settle();
  EXPECT_FALSE(HasInput(waiting));
  Release(10);
  EXPECT_EQ(waiting.ReceiveUntilClosed().value(), ":9\r\n");
  EXPECT_EQ(working.ReceiveUntilClosed().value(), "+worked\r\n");
  drain.join();
  EXPECT_EQ(log_.open_sessions, 0);
  EXPECT_EQ(server_->stats().connections_open, 0U);
}

TEST_F(RespServerTest, DrainClosesWhatIsLeftAtItsLimit) {
  Start();
  RespClient waiting = Connect();
  RespClient working = Connect();
  Send(waiting, "TICKET 9\r\n");
  Send(working, "WORK\r\n");
  WaitUntil([&] { return log_.executed == 2; });
  server_->Drain(milliseconds(20));
  EXPECT_EQ(log_.open_sessions, 0);
  EXPECT_EQ(Next(waiting), "closed");
  EXPECT_EQ(Next(working), "closed");
}

TEST_F(RespServerTest, AServerMayEndWithConnectionsOpen) {
  Start({}, 2);
  RespClient waiting = Connect();
  RespClient idle = Connect();
  ASSERT_EQ(Ask(idle, {"PING"}), "PONG");
  Send(waiting, "TICKET 9\r\n");
  WaitUntil([&] { return log_.executed == 2; });
  server_.reset();
  EXPECT_EQ(log_.open_sessions, 0);
  EXPECT_EQ(Next(idle), "closed");
}

TEST_F(RespServerTest, AServerMayEndAfterItsLoops) {
  Start({}, 2);
  RespClient client = Connect();
  ASSERT_EQ(Ask(client, {"PING"}), "PONG");
  loops_->Stop();
  server_.reset();
  EXPECT_EQ(log_.open_sessions, 0);
}

TEST_F(RespServerTest, ATakenPortIsAnError) {
  Start();
  const auto again = server_->Listen({"127.0.0.1", port_});
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message.find("127.0.0.1:" + std::to_string(port_)), std::string::npos);
}

}  // namespace
}  // namespace cairn::net::testing
