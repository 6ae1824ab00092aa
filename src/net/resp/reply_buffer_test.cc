#include "net/resp/reply_buffer.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace cairn::net {
namespace {

class ReplyBufferTest : public ::testing::Test {
 protected:
  void Reply(const std::string& text, uint64_t ticket, uint32_t replies = 1) {
    bytes_ += text;
    buffer_.Seal(ticket, replies, state_);
  }
  void Release(uint64_t ticket) {
    state_.released = ticket;
    buffer_.Release(state_);
  }
  void Fail() {
    state_.failure = "-ERR lost";
    buffer_.Fail(state_);
  }
  // Sends at most `limit` bytes of what may leave.
  std::string Take(size_t limit = std::string::npos) {
    std::string taken(buffer_.sendable().substr(0, limit));
    buffer_.Sent(taken.size());
    return taken;
  }

  std::string bytes_;
  ReplyBuffer buffer_{bytes_};
  ReleaseState state_;
};

TEST_F(ReplyBufferTest, WhatIsNotSealedNeverLeaves) {
  bytes_ = "a";
  EXPECT_EQ(Take(), "");
  EXPECT_EQ(buffer_.unsent(), 1U);
  buffer_.Seal(0, 1, state_);
  EXPECT_EQ(Take(), "a");
  EXPECT_EQ(buffer_.unsent(), 0U);
}

TEST_F(ReplyBufferTest, APartWaitsForItsTicket) {
  Reply("a", 5);
  EXPECT_TRUE(buffer_.waiting());
  Release(4);
  EXPECT_EQ(Take(), "");
  Release(5);
  EXPECT_EQ(Take(), "a");
  EXPECT_FALSE(buffer_.waiting());
}

TEST_F(ReplyBufferTest, APartWithoutTicketWaitsBehindEarlierOnes) {
  Reply("a", 5);
  Reply("b", 0);
  Reply("c", 7);
  Reply("d", 6);
  EXPECT_EQ(Take(), "");
  Release(5);
  EXPECT_EQ(Take(), "ab");
  Release(6);
  EXPECT_EQ(Take(), "") << "d's ticket is released, but c stands before it";
  Release(7);
  EXPECT_EQ(Take(), "cd");
}

TEST_F(ReplyBufferTest, ATicketReleasedBeforeItsSealDoesNotWait) {
  Release(9);
  Reply("a", 9);
  Reply("b", 3);
  EXPECT_EQ(Take(), "ab");
}

TEST_F(ReplyBufferTest, SealingNothingChangesNothing) {
  buffer_.Seal(5, 1, state_);
  EXPECT_FALSE(buffer_.waiting());
  Reply("a", 0);
  EXPECT_EQ(Take(), "a");
}

TEST_F(ReplyBufferTest, FailureReplacesEachUnreleasedReply) {
  Reply("ok1;", 1);
  Release(1);
  Reply("lost;lost;", 2, 2);
  Reply("pong;", 0);
  Reply("lost;", 3);
  bytes_ += "open";
  Fail();
  EXPECT_EQ(Take(), "ok1;-ERR lost\r\n-ERR lost\r\npong;-ERR lost\r\n");
  EXPECT_EQ(buffer_.unsent(), 4U) << "what is not sealed is still open";
  buffer_.Seal(4, 1, state_);
  EXPECT_EQ(Take(), "-ERR lost\r\n") << "later parts fail at once";
  Reply("fine", 0);
  Reply("old", 1);
  EXPECT_EQ(Take(), "fineold");
}

TEST_F(ReplyBufferTest, RefusedRepliesKeepTheirPlaceAndOthersWaitOn) {
  Reply("one;", 1);
  bytes_ += "untrue;untrue;";
  buffer_.Refuse(2, "-ERR full", state_);
  Reply("two;", 2);
  EXPECT_EQ(Take(), "");
  Release(1);
  EXPECT_EQ(Take(), "one;-ERR full\r\n-ERR full\r\n");
  Release(2);
  EXPECT_EQ(Take(), "two;") << "it was not for good";
  bytes_ += "untrue;";
  buffer_.Refuse(1, "-ERR full", state_);
  EXPECT_EQ(Take(), "-ERR full\r\n") << "also when what came before has left";
}

TEST_F(ReplyBufferTest, RepliesAreRefusedBehindMuchThatHasLeft) {
  Reply(std::string(200'000, 'x'), 0);
  EXPECT_EQ(Take().size(), 200'000U);
  Reply("fine;", 0);
  EXPECT_EQ(Take(), "fine;");
  bytes_ += "untrue;";
  buffer_.Refuse(1, "-ERR full", state_);
  EXPECT_EQ(Take(), "-ERR full\r\n");
}

TEST_F(ReplyBufferTest, FailureLeavesAloneWhatIsOnItsWay) {
  Reply("half sent", 1);
  Release(1);
  EXPECT_EQ(Take(4), "half");
  Reply("lost", 2);
  Fail();
  EXPECT_EQ(Take(), " sent-ERR lost\r\n");
}

TEST_F(ReplyBufferTest, ALargeReplyDoesNotKeepItsMemory) {
  Reply(std::string(1 << 23, 'x'), 0);
  while (!Take(100'000).empty()) {
  }
  EXPECT_LT(bytes_.capacity(), 1'000'000U);
}

TEST_F(ReplyBufferTest, WhatIsNotReadCostsItsOwnSize) {
  // One after the other, as a pipeline of large replies has it.
  constexpr size_t kReply = 100'000;
  for (int i = 0; i < 100; ++i) Reply(std::string(kReply, static_cast<char>('a' + i % 26)), 0);
  EXPECT_EQ(buffer_.unsent(), 100 * kReply);
  EXPECT_LT(buffer_.memory(), 101 * kReply) << "no room for as much again is kept";
  std::string all;
  while (buffer_.sendable_bytes() > 0) all += Take(70'000);
  EXPECT_EQ(all.size(), 100 * kReply);
  EXPECT_EQ(all[99 * kReply], static_cast<char>('a' + 99 % 26));
  EXPECT_EQ(buffer_.blocks(), 0U);
  EXPECT_LT(buffer_.memory(), 100'000U);
}

TEST_F(ReplyBufferTest, FailureReachesWhatWasSetAside) {
  const std::string large(200'000, 'x');
  Reply(large, 1);
  Release(1);
  Reply(large, 2);
  Reply("tail", 3);
  bytes_ += "open";
  ASSERT_EQ(Take(50'000).size(), 50'000U);
  Fail();
  std::string rest;
  while (buffer_.sendable_bytes() > 0) rest += Take();
  EXPECT_EQ(rest, large.substr(50'000).append("-ERR lost\r\n-ERR lost\r\n"));
  EXPECT_EQ(buffer_.unsent(), 4U);
}

// Against a model: a list of replies with their tickets, of which a prefix has left.
TEST_F(ReplyBufferTest, AnySequenceKeepsOrderAndTickets) {
  std::mt19937_64 random(20240607);
  std::string expected;                // every byte ever sealed
  std::map<size_t, uint64_t> tickets;  // end offset in `expected` -> ticket
  std::string left;
  uint64_t next_ticket = 1;
  for (int step = 0; step < 20'000; ++step) {
    switch (random() % 4) {
      case 0: {
        const size_t most = random() % 50 == 0 ? 300'000 : 3000;
        const std::string reply(1 + random() % most, static_cast<char>('a' + random() % 26));
        const uint64_t ticket =
            random() % 3 == 0 ? 0 : next_ticket - random() % std::min<uint64_t>(next_ticket, 3);
        expected += reply;
        tickets[expected.size()] = ticket;
        Reply(reply, ticket);
        break;
      }
      case 1:
        ++next_ticket;
        break;
      case 2:
        Release(state_.released + random() % (next_ticket - state_.released));
        break;
      default:
        left += Take(random() % (random() % 20 == 0 ? 500'000 : 5000));
    }
    ASSERT_TRUE(std::string_view(expected).starts_with(left));
    // Nothing may be sendable beyond the first reply whose ticket is not released.
    size_t may_leave = expected.size();
    size_t begin = 0;
    for (const auto& [end, ticket] : tickets) {
      if (ticket > state_.released) {
        may_leave = begin;
        break;
      }
      begin = end;
    }
    ASSERT_EQ(left.size() + buffer_.sendable_bytes(), may_leave);
    ASSERT_EQ(buffer_.sendable().empty(), buffer_.sendable_bytes() == 0);
    // Forget what has left, so that the model stays small.
    if (left.size() > 100'000) {
      const size_t drop = left.size();
      expected.erase(0, drop);
      left.clear();
      std::map<size_t, uint64_t> moved;
      for (const auto& [end, ticket] : tickets) {
        if (end > drop) moved[end - drop] = ticket;
      }
      tickets = std::move(moved);
    }
  }
}

}  // namespace
}  // namespace cairn::net
