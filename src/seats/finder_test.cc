// Which seats somebody gets: over the wire, on seats that other clients have set bit by bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "seats/seat.h"
#include "seats/testing/seat_server.h"

namespace cairn::seats {
namespace {

using testing::SeatServer;

TEST(ShapeTest, IndexIsRowMajorWithoutPadding) {
  const auto index = [](int64_t row, int64_t seat, int64_t cols) {
    return Shape{100, cols}.Index(row, seat);
  };
  EXPECT_EQ(index(1, 1, 10), 0);
  EXPECT_EQ(index(1, 10, 10), 9);
  EXPECT_EQ(index(2, 1, 10), 10);
  EXPECT_EQ(index(3, 5, 8), 20);
  EXPECT_EQ(index(5, 1, 1), 4);
  EXPECT_EQ(index(20, 50, 100), 1949);
  EXPECT_EQ(SeatName(Shape{100, 100}, 1949), "20-50");
}

class FinderTest : public ::testing::Test {
 protected:
  // What the first to ask gets in a house with these seats, rows between slashes.
  std::string Best(std::string_view rows, int64_t quantity, std::string_view options = "") {
    std::string digits;
    int64_t count = 1;
    for (const char c : rows) {
      if (c == '/') {
        ++count;
      } else {
        digits.push_back(c);
      }
    }
    const std::string event = fmt::format("e{}", ++events_);
    server_.Create(event, count, static_cast<int64_t>(digits.size()) / count,
                   R"(,"max_per_booking":20)");
    server_.SetStates(event, digits);
    std::vector<std::string> args = {"SEAT.RESERVE", event, event + ":b", "A-1"};
    while (!options.empty()) {
      const size_t end = std::min(options.find(' '), options.size());
      args.emplace_back(options.substr(0, end));
      options.remove_prefix(std::min(end + 1, options.size()));
    }
    args.insert(args.end(), {"BEST", fmt::to_string(quantity)});
    const std::string reply = server_.Run(args);
    if (reply.starts_with("(error)")) return reply.substr(8, reply.find(' ', 8) - 8);
    server_.ExpectSound(event);
    // The answer of a repetition is the same.
    return server_.Seats(args);
  }

  SeatServer server_;
  int events_ = 0;
};

TEST_F(FinderTest, TakesTheFirstRunThatIsLongEnough) {
  EXPECT_EQ(Best("00000", 3), "1-1 1-2 1-3");
  EXPECT_EQ(Best("000/000", 2), "1-1 1-2");
  EXPECT_EQ(Best("110/000", 2), "2-1 2-2");
  EXPECT_EQ(Best("1100/0000/0000", 2), "1-3 1-4");
  EXPECT_EQ(Best("10000", 2), "1-2 1-3");
  EXPECT_EQ(Best("0000000000/0000000000/0000000000", 4), "1-1 1-2 1-3 1-4");
  EXPECT_EQ(Best("00111", 2), "1-1 1-2");  // exactly as many
  EXPECT_EQ(Best("02000", 3), "1-3 1-4 1-5");
  EXPECT_EQ(Best("03000", 3), "1-3 1-4 1-5");
  EXPECT_EQ(Best("110001", 3), "1-3 1-4 1-5");
  EXPECT_EQ(Best("0120120021", 2), "1-7 1-8");
  EXPECT_EQ(Best("100/000", 1), "1-2");
}

TEST_F(FinderTest, ARunDoesNotGoOnInTheNextRow) {
  EXPECT_EQ(Best("110/011", 2), "1-3 2-1");
  EXPECT_EQ(Best("110/011/000", 2), "3-1 3-2");
}

TEST_F(FinderTest, FallsBackToTheLongestRuns) {
  EXPECT_EQ(Best("010", 2), "1-1 1-3");
  EXPECT_EQ(Best("01010", 2), "1-1 1-3");
  EXPECT_EQ(Best("10011/00111/11111", 4), "1-2 1-3 2-1 2-2");
  EXPECT_EQ(Best("0110110110", 4), "1-1 1-4 1-7 1-10");
  EXPECT_EQ(Best("000101", 4), "1-1 1-2 1-3 1-5");
  EXPECT_EQ(Best("001100", 4), "1-1 1-2 1-5 1-6");
  EXPECT_EQ(Best("010100", 4), "1-5 1-6 1-1 1-3");  // the pair first
  EXPECT_EQ(Best("0101010", 4), "1-1 1-3 1-5 1-7");
  EXPECT_EQ(Best("010/001/100", 3), "2-1 2-2 3-2");  // of the last run its left end
}

TEST_F(FinderTest, RefusesWhatCannotBeHad) {
  EXPECT_EQ(Best("11111", 1), "NOT_ENOUGH_SEATS");
  EXPECT_EQ(Best("00111", 4), "NOT_ENOUGH_SEATS");
  EXPECT_EQ(Best("010", 2, "ADJACENT"), "NOT_ADJACENT");
  EXPECT_EQ(Best("010/001", 2, "ADJACENT"), "2-1 2-2");
}

TEST_F(FinderTest, PrefersTheBack) {
  EXPECT_EQ(Best("000/000/000", 2, "PREFER BACK"), "3-1 3-2");
  EXPECT_EQ(Best("000/000/011", 2, "PREFER BACK"), "2-1 2-2");
  EXPECT_EQ(Best("010/010", 3, "PREFER BACK"), "2-1 2-3 1-1");
}

TEST_F(FinderTest, PrefersTheCenter) {
  EXPECT_EQ(Best("00000/00000/00000", 1, "PREFER CENTER"), "2-3");
  EXPECT_EQ(Best("00000/00000/00000", 3, "PREFER CENTER"), "2-2 2-3 2-4");
  EXPECT_EQ(Best("00000/00000/00000", 2, "PREFER CENTER"), "2-2 2-3");
  EXPECT_EQ(Best("00000/00100/00000", 3, "PREFER CENTER"), "1-2 1-3 1-4");
  EXPECT_EQ(Best("00000/11111/00000/00000", 1, "PREFER CENTER"), "3-3");
  EXPECT_EQ(Best("00010/11111", 1, "PREFER CENTER"), "1-3");
}

TEST_F(FinderTest, AvoidsOrphansWhereItCan) {
  EXPECT_EQ(Best("000/000", 2), "1-1 1-2");
  EXPECT_EQ(Best("000/001", 2, "NOORPHANS"), "2-1 2-2");
  EXPECT_EQ(Best("0000/0000", 2, "NOORPHANS"), "1-1 1-2");
  EXPECT_EQ(Best("000/000", 2, "NOORPHANS"), "1-1 1-2");  // there is no better choice
  EXPECT_EQ(Best("00010000", 2, "NOORPHANS"), "1-5 1-6");
  EXPECT_EQ(Best("0001/0011", 2, "NOORPHANS PREFER BACK"), "2-1 2-2");
  EXPECT_EQ(Best("00000", 2, "NOORPHANS PREFER CENTER"), "1-1 1-2");
  EXPECT_EQ(Best("00110010", 3, "NOORPHANS"), "1-1 1-2 1-8");  // a whole one, not half a pair
}

TEST_F(FinderTest, WhatIsTakenIsNotFoundAgain) {
  server_.Create("many", 3, 4, R"(,"max_per_booking":5)");
  std::vector<std::string> given;
  for (int i = 0; i < 6; ++i) {
    given.push_back(
        server_.Seats({"SEAT.RESERVE", "many", fmt::format("m{}", i), "A-1", "BEST", "2"}));
  }
  EXPECT_EQ(given, (std::vector<std::string>{"1-1 1-2", "1-3 1-4", "2-1 2-2", "2-3 2-4", "3-1 3-2",
                                             "3-3 3-4"}));
  EXPECT_EQ(server_.Refusal({"SEAT.RESERVE", "many", "m9", "A-1", "BEST", "1"}),
            "NOT_ENOUGH_SEATS 1 seats were asked for; section A-1 of event many has 0");
  server_.ExpectSound("many");
}

// The row index of a section with more rows than groups, and bits in segments.
TEST_F(FinderTest, LargeSectionsAreSearchedTheSame) {
  server_.Create("large", 1200, 50, R"(,"max_per_booking":50)");
  EXPECT_EQ(server_.Seats({"SEAT.RESERVE", "large", "l1", "A-1", "PREFER", "BACK", "BEST", "1"}),
            "1200-1");
  EXPECT_EQ(server_.Seats({"SEAT.RESERVE", "large", "l2", "A-1", "PREFER", "CENTER", "BEST", "2"}),
            "600-25 600-26");
  for (int row = 1; row <= 5; ++row) {
    EXPECT_EQ(server_.Seats({"SEAT.RESERVE", "large", fmt::format("r{}", row), "A-1", "BEST", "50"})
                  .substr(0, 3),
              fmt::format("{}-1", row));
  }
  EXPECT_EQ(server_.Seats({"SEAT.RESERVE", "large", "l3", "A-1", "SEATS", "700-50"}), "700-50");
  server_.ExpectSound("large");
}

TEST_F(FinderTest, SeesWhatOtherClientsWriteIntoTheBits) {
  server_.Create("e", 2, 4);
  EXPECT_EQ(server_.Seats({"SEAT.RESERVE", "e", "b1", "A-1", "BEST", "4"}), "1-1 1-2 1-3 1-4");
  server_.SetStates("e", "11111100");
  // SetStates counts each seat as taken, and the first four were.
  server_.Run({"JSON.NUMINCRBY", "event_state:e", "$.event_stats.available", "4"});
  server_.Run({"JSON.NUMINCRBY", "event_state:e", "$.sections['A-1'].stats.available", "4"});
  EXPECT_EQ(server_.Seats({"SEAT.RESERVE", "e", "b2", "A-1", "BEST", "2"}), "2-3 2-4");
  // A seat in a row that was full.
  server_.Run({"BITFIELD", "seats_bf:e:A-1", "SET", "u2", "2", "0"});
  server_.Run({"JSON.NUMINCRBY", "event_state:e", "$.event_stats.available", "1"});
  server_.Run({"JSON.NUMINCRBY", "event_state:e", "$.sections['A-1'].stats.available", "1"});
  EXPECT_EQ(server_.Seats({"SEAT.RESERVE", "e", "b3", "A-1", "BEST", "1"}), "1-2");
}

// A section that is large enough to have an index, of which all but the first two seats are
// blocked.
class IndexTest : public FinderTest {
 protected:
  void SetUp() override {
    server_.Create("e", 1100, 1);
    std::vector<std::string> block = {"SEAT.BLOCK", "e", "A-1"};
    for (int row = 3; row <= 1100; ++row) block.push_back(fmt::format("{}-1", row));
    server_.Json(block);
  }
  // As another client frees the seat of row 2, in whichever transaction the client is.
  static void FreeSecond(doors::testing::TestClient& client) {
    client.Run({"BITFIELD", "seats_bf:e:A-1", "SET", "u2", "2", "0"});
    for (const std::string_view where : {"$.event_stats", "$.sections['A-1'].stats"}) {
      client.Run({"JSON.NUMINCRBY", "event_state:e", fmt::format("{}.available", where), "1"});
      client.Run({"JSON.NUMINCRBY", "event_state:e", fmt::format("{}.reserved", where), "-1"});
    }
  }
};

TEST_F(IndexTest, IsMadeAgainWhenAnotherClientHasWrittenTheBits) {
  doors::testing::TestClient client = server_.Connect();
  EXPECT_EQ(server_.Seats({"SEAT.RESERVE", "e", "b1", "A-1", "BEST", "2"}), "1-1 2-1");
  server_.ExpectSound("e");
  FreeSecond(client);
  EXPECT_EQ(server_.Seats({"SEAT.RESERVE", "e", "b2", "A-1", "BEST", "1"}), "2-1");
}

// The one case in which it cannot know: bits written behind an operation of ours, in the same
// transaction. It is looked at again before anybody is refused.
TEST_F(IndexTest, ASeatThatWasFreedBehindItsBackIsFound) {
  doors::testing::TestClient client = server_.Connect();
  client.Run({"MULTI"});
  client.Run({"SEAT.RESERVE", "e", "b1", "A-1", "BEST", "2"});
  FreeSecond(client);
  client.Run({"EXEC"});
  EXPECT_EQ(server_.Seats({"SEAT.RESERVE", "e", "b2", "A-1", "BEST", "1"}), "2-1");
}

}  // namespace
}  // namespace cairn::seats
