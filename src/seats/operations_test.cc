// What can be done with seats, over the wire: the scenarios of a box office.
#include "seats/operations.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <boost/json/serialize.hpp>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "doors/resp/command.h"
#include "seats/refusal.h"
#include "seats/testing/seat_server.h"
#include "store/store.h"
#include "tests/support/test_store.h"

namespace cairn::seats {
namespace {

namespace json = boost::json;
using testing::SeatServer;

class OperationsTest : public ::testing::Test {
 protected:
  void SetUp() override { server_.Create("e", 2, 3); }
  void TearDown() override { server_.ExpectSound("e"); }

  // Runs commands that are refused and change nothing.
  void ExpectRefused(const std::vector<std::string>& args, const std::string& refusal) {
    const std::string map = server_.Map("e");
    const std::string counts = server_.Counts("e");
    EXPECT_EQ(server_.Refusal(args), refusal);
    EXPECT_EQ(server_.Map("e"), map);
    EXPECT_EQ(server_.Counts("e"), counts);
  }

  json::value Reserve(const std::string& booking, const std::string& seat) {
    return server_.Json({"SEAT.RESERVE", "e", booking, "A-1", "SEATS", seat});
  }
  std::string StatusOf(const std::string& booking) {
    return server_.Json({"SEAT.BOOKING", booking}).at("status").as_string().c_str();
  }

  SeatServer server_;
};

// Client-side caching knows nothing of seats: it hears of the records, whoever writes them.
TEST_F(OperationsTest, WhoCachesRecordsHearsOfWhatSeatsChange) {
  CAIRN_TEST_ROCKS_ONLY("client tracking");
  doors::testing::TestClient client = server_.Connect();
  client.Run({"HELLO", "3"});
  ASSERT_EQ(client.Run({"CLIENT", "TRACKING", "ON", "BCAST"}), "OK");
  Reserve("b", "1-1");
  EXPECT_TRUE(client.Receive().starts_with("push[\"invalidate\", [\""));
  client.Run({"CLIENT", "TRACKING", "OFF"});
  client.Run({"CLIENT", "TRACKING", "ON", "BCAST"});
  server_.clock().AdvanceMillis(24LL * 3600 * 1000);
  server_.FireTimers();
  EXPECT_TRUE(client.Receive().starts_with("push[\"invalidate\", [\""));
}

// --- Creating
// --------------------------------------------------------------------------------------

TEST_F(OperationsTest, AnEventStartsWithAllSeatsAvailable) {
  server_.Json({"SEAT.CREATE", "show", R"({"name":"A show","sections":[
      {"name":"A","subsections":1,"rows":10,"cols":20,"price":3000},
      {"name":"B","subsections":2,"rows":10,"cols":20,"price":2000}]})"});
  EXPECT_EQ(server_.Counts("show"), "600/0/0/0");
  const json::value state = server_.Json({"SEAT.STATE", "show"});
  EXPECT_EQ(state.at("name").as_string(), "A show");
  EXPECT_EQ(state.at("status").as_string(), "available");
  EXPECT_EQ(state.at("sections").as_object().size(), 3U);
  EXPECT_EQ(state.at("sections").at("B-2").at("price").as_int64(), 2000);
  EXPECT_EQ(server_.Run({"STRLEN", "seats_bf:show:A-1"}), "(integer) 50");
  EXPECT_EQ(server_.Run({"JSON.GET", "event_state:show", "$.sections['B-2'].stats.available"}),
            "\"[200]\"");
  server_.ExpectSound("show");
}

TEST_F(OperationsTest, CreatingTheSameAgainIsNoMistake) {
  const std::string definition = R"({"sections":[{"name":"A","rows":2,"cols":3,"price":1000}]})";
  EXPECT_FALSE(server_.Json({"SEAT.CREATE", "e", definition}).at("created").as_bool());
  Reserve("b1", "1-1");
  EXPECT_FALSE(server_.Json({"SEAT.CREATE", "e", definition}).at("created").as_bool());
  ExpectRefused({"SEAT.CREATE", "e", R"({"sections":[{"name":"A","rows":2,"cols":4,"price":1}]})"},
                "EVENT_EXISTS event e exists with another definition");
}

TEST_F(OperationsTest, BadDefinitionsAreRefusedAndLeaveNothing) {
  const auto refusal = [&](const std::string& definition) {
    return server_.Refusal({"SEAT.CREATE", "bad", definition});
  };
  EXPECT_EQ(refusal("{"),
            "BAD_REQUEST the definition is not JSON: EOF while parsing an object at "
            "line 1 column 1");
  EXPECT_EQ(refusal("[]"), "BAD_REQUEST the definition is not an object");
  EXPECT_EQ(refusal("{}"), "BAD_REQUEST the definition needs an array 'sections'");
  EXPECT_EQ(refusal(R"({"sections":[]})"), "BAD_REQUEST an event needs at least one section");
  EXPECT_EQ(refusal(R"({"sections":[],"seats":1})"),
            "BAD_REQUEST the definition has no member 'seats'");
  const auto section = [&](const std::string& text) {
    return refusal(R"({"sections":[)" + text + "]}");
  };
  EXPECT_EQ(section(R"({"name":"A","rows":1,"cols":1})"),
            "BAD_REQUEST a section needs name, rows, cols and price, and may have subsections; all "
            "but the name are whole numbers");
  EXPECT_EQ(section(R"({"name":"A-1","rows":1,"cols":1,"price":1})"),
            "BAD_REQUEST section name 'A-1' is not 1 to 16 letters, digits and underscores");
  EXPECT_EQ(section(R"({"name":"A","rows":1,"cols":1,"price":-1})"),
            "BAD_REQUEST price of section A is -1; it must be from 0 to 1000000000000");
  EXPECT_EQ(section(R"({"name":"A","rows":0,"cols":1,"price":1})"),
            "BAD_REQUEST rows of section A is 0; it must be from 1 to 10000");
  EXPECT_EQ(section(R"({"name":"A","rows":10000,"cols":10000,"price":1})"),
            "BAD_REQUEST seats of section A is 100000000; it must be from 1 to 1000000");
  EXPECT_EQ(
      section(
          R"({"name":"A","rows":1,"cols":1,"price":1},{"name":"A","rows":1,"cols":1,"price":1})"),
      "BAD_REQUEST section A is named twice");
  EXPECT_EQ(
      refusal(R"({"sections":[{"name":"A","rows":1,"cols":1,"price":1}],"max_per_booking":0})"),
      "BAD_REQUEST max_per_booking is 0; it must be from 1 to 100");
  EXPECT_EQ(server_.Refusal({"SEAT.CREATE", "a b", "{\"sections\":[]}"}),
            "BAD_REQUEST event id 'a b' is not 1 to 64 letters, digits, '_', '.', '-'");
  EXPECT_EQ(server_.Run({"EXISTS", "event_state:bad", "seats_bf:bad:A-1"}), "(integer) 0");
}

TEST_F(OperationsTest, AFreeSeatMayCostNothing) {
  server_.Json(
      {"SEAT.CREATE", "free", R"({"sections":[{"name":"A","rows":1,"cols":1,"price":0}]})"});
  EXPECT_EQ(server_.Json({"SEAT.RESERVE", "free", "f1", "A-1", "BEST", "1"})
                .at("booking")
                .at("total_price")
                .as_int64(),
            0);
}

// --- Reserving
// -------------------------------------------------------------------------------------

TEST_F(OperationsTest, ManualSeatsAreReservedTogether) {
  const json::value answer =
      server_.Json({"SEAT.RESERVE", "e", "b1", "A-1", "BUYER", "ann", "SEATS", "1-3", "2-1"});
  EXPECT_EQ(server_.Map("e"), "..r/r..");
  const json::object& booking = answer.at("booking").as_object();
  EXPECT_EQ(json::serialize(booking.at("seats")), R"(["1-3","2-1"])");
  EXPECT_EQ(booking.at("status").as_string(), "reserved");
  EXPECT_EQ(booking.at("total_price").as_int64(), 2000);
  EXPECT_EQ(booking.at("buyer").as_string(), "ann");
  EXPECT_EQ(booking.at("expires_at").as_string(), "2023-11-14T22:28:20.000000+00:00");
  EXPECT_EQ(json::serialize(answer.at("section_stats")),
            R"({"available":4,"reserved":2,"sold":0,"blocked":0,"total":6})");
  EXPECT_EQ(answer.at("event_stats"), answer.at("section_stats"));
}

TEST_F(OperationsTest, TheSeedsKeysShowAReservation) {
  server_.Json({"SEAT.RESERVE", "e", "b1", "A-1", "SEATS", "1-1", "1-2"});
  EXPECT_EQ(server_.Run({"BITFIELD", "seats_bf:e:A-1", "GET", "u2", "0", "GET", "u2", "2", "GET",
                         "u2", "4"}),
            "[(integer) 1, (integer) 1, (integer) 0]");
  EXPECT_EQ(server_.Run({"GETBIT", "seats_bf:e:A-1", "1"}), "(integer) 1");
  EXPECT_EQ(server_.Run({"JSON.GET", "event_state:e", "$.event_stats"}),
            R"("[{"available":4,"reserved":2,"sold":0,"total":6,"updated_at":1700000000}]")");
  EXPECT_EQ(server_.Run({"HGET", "booking:b1", "reserved_seats"}), R"("["1-1","1-2"]")");
  EXPECT_EQ(server_.Run({"HGET", "booking:b1", "total_price"}), "\"2000\"");
  EXPECT_EQ(server_.Run({"TTL", "booking:b1"}), "(integer) -1");
}

// Golden bytes: 5 columns, seats 1 and 2 reserved, seats 10 and 11 sold.
TEST_F(OperationsTest, BitsAreWhereBitfieldWouldPutThem) {
  server_.Create("g", 3, 5);
  server_.Json({"SEAT.RESERVE", "g", "g1", "A-1", "SEATS", "1-1", "1-2"});
  server_.Json({"SEAT.RESERVE", "g", "g2", "A-1", "SEATS", "2-5", "3-1"});
  server_.Json({"SEAT.PAY", "g", "g2"});
  EXPECT_EQ(server_.Run({"GETRANGE", "seats_bf:g:A-1", "0", "2"}), "\"P\\x00(\"");
}

TEST_F(OperationsTest, OneTakenSeatRefusesAllOfThem) {
  Reserve("b1", "1-2");
  ExpectRefused({"SEAT.RESERVE", "e", "b2", "A-1", "SEATS", "1-1", "1-2", "1-3"},
                "SEAT_TAKEN 1-2 of section A-1 is reserved");
  server_.Json({"SEAT.PAY", "e", "b1"});
  ExpectRefused({"SEAT.RESERVE", "e", "b2", "A-1", "SEATS", "2-1", "1-2"},
                "SEAT_TAKEN 1-2 of section A-1 is sold");
  EXPECT_EQ(server_.Run({"EXISTS", "booking:b2"}), "(integer) 0");
}

TEST_F(OperationsTest, BadSeatsAreRefusedEachInItsOwnWords) {
  const auto refused = [&](const std::string& seat, const std::string& refusal) {
    ExpectRefused({"SEAT.RESERVE", "e", "b", "A-1", "SEATS", "1-1", seat}, refusal);
  };
  refused("1-1", "DUPLICATE_SEAT 1-1 is named twice");
  refused("3-1", "NO_SUCH_SEAT 3-1 is not in section A-1, which has 2 rows of 3 seats");
  refused("1-4", "NO_SUCH_SEAT 1-4 is not in section A-1, which has 2 rows of 3 seats");
  for (const std::string seat : {"0-1", "1-0", "-1-1", "1", "a-b", "1-1.5", "0x1-1", "01-1",
                                 "1-1-1", "99999999999999999999-1"}) {
    refused(seat, fmt::format("BAD_SEAT {} is not a seat such as 2-11: row, dash, seat", seat));
  }
  refused(" 1-1", "BAD_SEAT ' 1-1' is not a seat such as 2-11: row, dash, seat");
}

TEST_F(OperationsTest, BadRequestsAreRefusedEachInItsOwnWords) {
  ExpectRefused({"SEAT.RESERVE", "none", "b", "A-1", "BEST", "1"},
                "NO_SUCH_EVENT there is no event \"none\"; create it with SEAT.CREATE");
  ExpectRefused({"SEAT.RESERVE", "e", "b", "B-1", "BEST", "1"},
                "NO_SUCH_SECTION event e has no section \"B-1\"");
  ExpectRefused({"SEAT.RESERVE", "e", "b", "A", "BEST", "1"},
                "NO_SUCH_SECTION event e has no section \"A\"");
  ExpectRefused({"SEAT.RESERVE", "e", "b", "A-1", "BEST", "0"},
                "BAD_QUANTITY quantity is 0; it must be at least 1");
  ExpectRefused({"SEAT.RESERVE", "e", "b", "A-1", "BEST", "-2"},
                "BAD_QUANTITY quantity is -2; it must be at least 1");
  ExpectRefused({"SEAT.RESERVE", "e", "b", "A-1", "BEST", "x"},
                "BAD_REQUEST BEST needs a whole number");
  ExpectRefused({"SEAT.RESERVE", "e", "b", "A-1", "BEST", "5"},
                "LIMIT_PER_BOOKING 5 seats were asked for; a booking of event e may have 4");
  ExpectRefused({"SEAT.RESERVE", "e", "b", "A-1", "SEATS", "1-1", "1-2", "1-3", "2-1", "2-2"},
                "LIMIT_PER_BOOKING 5 seats were asked for; a booking of event e may have 4");
  ExpectRefused({"SEAT.RESERVE", "e", "b", "A-1", "BEST", "1", "SEATS", "1-1", "1-2"},
                "BAD_QUANTITY quantity is 1, but 2 seats are named");
  ExpectRefused({"SEAT.RESERVE", "e", "b", "A-1", "SEATS"}, "BAD_QUANTITY mode manual needs seats");
  ExpectRefused({"SEAT.RESERVE", "e", "b", "A-1", "ADJACENT"},
                "BAD_QUANTITY say which seats you want: BEST quantity or SEATS seat …");
  ExpectRefused({"SEAT.RESERVE", "e", "b c", "A-1", "BEST", "1"},
                "BAD_REQUEST a booking id has 1 to 128 letters, digits, '_', '-', '.', ':'");
  ExpectRefused({"SEAT.RESERVE", "e", "b", "A-1", "HOLD", "0", "BEST", "1"},
                "BAD_REQUEST hold_seconds must be at least 1");
  ExpectRefused({"SEAT.RESERVE", "e", "b", "A-1", "HOLD", "7201", "BEST", "1"},
                "HOLD_TOO_LONG a hold of event e lasts 7200 seconds at most");
  ExpectRefused({"SEAT.RESERVE", "e", "b", "A-1", "PREFER", "UP", "BEST", "1"},
                "BAD_REQUEST PREFER is followed by FRONT, CENTER or BACK");
  ExpectRefused({"SEAT.RESERVE", "e", "b", "A-1", "FAST", "BEST", "1"},
                "BAD_REQUEST 'FAST' is not an option");
  ExpectRefused({"SEAT.RESERVE", "e", "b", "A-1", "MAXPRICE", "1", "BEST", "1"},
                "BAD_REQUEST a price range needs section any");
  ExpectRefused({"SEAT.RESERVE", "e", "b", "any", "SEATS", "1-1"},
                "BAD_REQUEST mode manual needs one section; 'any' is for best_available");
  EXPECT_EQ(server_.Run({"EXISTS", "booking:b"}), "(integer) 0");
}

TEST_F(OperationsTest, TheSameBookingAgainIsTheSameAnswer) {
  const std::vector<std::string> args = {"SEAT.RESERVE", "e",  "b1",   "A-1",
                                         "HOLD",         "60", "BEST", "2"};
  const json::value answer = server_.Json(args);
  Reserve("b2", "2-1");
  server_.clock().AdvanceMillis(1000);
  EXPECT_EQ(server_.Json(args), answer);
  EXPECT_EQ(server_.Counts("e"), "3/3/0/0");
  for (const std::vector<std::string>& other : std::vector<std::vector<std::string>>{
           {"SEAT.RESERVE", "e", "b1", "A-1", "HOLD", "60", "BEST", "1"},
           {"SEAT.RESERVE", "e", "b1", "A-1", "HOLD", "61", "BEST", "2"},
           {"SEAT.RESERVE", "e", "b1", "A-1", "BEST", "2"},
           {"SEAT.RESERVE", "e", "b1", "A-1", "HOLD", "60", "BUYER", "bob", "BEST", "2"},
           {"SEAT.RESERVE", "e", "b1", "A-1", "HOLD", "60", "ADJACENT", "BEST", "2"},
           {"SEAT.RESERVE", "e", "b1", "any", "HOLD", "60", "BEST", "2"},
           {"SEAT.RESERVE", "e", "b1", "A-1", "HOLD", "60", "SEATS", "1-1", "1-2"}}) {
    ExpectRefused(
        other,
        "BOOKING_CONFLICT booking b1 exists with different arguments; use another booking id");
  }
}

TEST_F(OperationsTest, ARefusedBookingCanBeTriedAgain) {
  Reserve("b1", "1-1");
  ExpectRefused({"SEAT.RESERVE", "e", "b2", "A-1", "SEATS", "1-1"},
                "SEAT_TAKEN 1-1 of section A-1 is reserved");
  server_.Json({"SEAT.RELEASE", "e", "b1"});
  Reserve("b2", "1-1");
}

TEST_F(OperationsTest, ABookingIdThatAnotherClientUsesIsLeftAlone) {
  server_.Run({"HSET", "booking:b1", "status", "PENDING_RESERVATION"});
  ExpectRefused({"SEAT.RESERVE", "e", "b1", "A-1", "BEST", "1"},
                "BOOKING_CONFLICT booking b1 was written by another client");
  server_.Run({"SET", "booking:b2", "text"});
  ExpectRefused({"SEAT.RESERVE", "e", "b2", "A-1", "BEST", "1"},
                "BOOKING_CONFLICT the key booking:b2 is not a booking");
}

TEST_F(OperationsTest, SectionsAreCountedApart) {
  server_.Json({"SEAT.CREATE", "two",
                R"({"sections":[{"name":"A","subsections":2,"rows":1,"cols":3,"price":5}]})"});
  server_.Json({"SEAT.RESERVE", "two", "t1", "A-2", "BEST", "2"});
  const json::value state = server_.Json({"SEAT.STATE", "two"});
  EXPECT_EQ(state.at("sections").at("A-1").at("stats").at("available").as_int64(), 3);
  EXPECT_EQ(state.at("sections").at("A-2").at("stats").at("available").as_int64(), 1);
  EXPECT_EQ(server_.Counts("two"), "4/2/0/0");
  server_.ExpectSound("two");
}

TEST_F(OperationsTest, AnySectionIsTheFirstThatFits) {
  server_.Json({"SEAT.CREATE", "any", R"({"sections":[
      {"name":"A","rows":1,"cols":2,"price":30},{"name":"B","rows":1,"cols":3,"price":20},
      {"name":"C","rows":2,"cols":3,"price":10}]})"});
  const auto section = [&](const std::string& id, std::vector<std::string> options) {
    std::vector<std::string> args = {"SEAT.RESERVE", "any", id, "any"};
    args.insert(args.end(), options.begin(), options.end());
    return std::string(server_.Json(args).at("booking").at("section").as_string());
  };
  EXPECT_EQ(section("1", {"BEST", "1"}), "A-1");
  EXPECT_EQ(section("2", {"BEST", "2"}), "B-1");
  EXPECT_EQ(section("3", {"MAXPRICE", "15", "BEST", "1"}), "C-1");
  EXPECT_EQ(section("4", {"MINPRICE", "20", "MAXPRICE", "25", "BEST", "1"}), "B-1");
  EXPECT_EQ(section("5", {"BEST", "3"}), "C-1");
  // Two apart in C-1 are left; with ADJACENT that is not enough.
  EXPECT_EQ(server_.Refusal({"SEAT.RESERVE", "any", "6", "any", "MINPRICE", "20", "BEST", "2"}),
            "NOT_ENOUGH_SEATS 2 seats were asked for; no section in range of event any has enough");
  EXPECT_EQ(section("7", {"ADJACENT", "BEST", "2"}), "C-1");
  EXPECT_EQ(section("8", {"BEST", "1"}), "A-1");
  EXPECT_EQ(server_.Refusal({"SEAT.RESERVE", "any", "9", "any", "BEST", "1"}),
            "NOT_ENOUGH_SEATS 1 seats were asked for; no section in range of event any has enough");
  EXPECT_EQ(server_.Counts("any"), "0/11/0/0");
  server_.ExpectSound("any");
}

// Sections that the index has found empty are looked at again before anybody is refused.
TEST_F(OperationsTest, AnySectionIsFoundAfterAnotherClientFreedASeat) {
  server_.Json({"SEAT.CREATE", "any",
                R"({"sections":[{"name":"A","subsections":3,"rows":1,"cols":1,"price":1}]})"});
  for (const std::string id : {"1", "2", "3"}) {
    EXPECT_EQ(server_.Json({"SEAT.RESERVE", "any", id, "any", "BEST", "1"})
                  .at("booking")
                  .at("section")
                  .as_string(),
              "A-" + id);
  }
  EXPECT_EQ(server_.Run({"GET", "seats_sections:any"}), "\"\\x00\\x00\\x00\"");
  server_.Json({"SEAT.RELEASE", "any", "2"});
  EXPECT_EQ(server_.Run({"GET", "seats_sections:any"}), "\"\\x00\\x01\\x00\"");
  EXPECT_EQ(server_.Json({"SEAT.RESERVE", "any", "4", "any", "BEST", "1"})
                .at("booking")
                .at("section")
                .as_string(),
            "A-2");
  server_.Run({"SET", "seats_bf:any:A-3", ""});
  for (const std::string_view where : {"$.event_stats", "$.sections['A-3'].stats"}) {
    server_.Run({"JSON.NUMINCRBY", "event_state:any", fmt::format("{}.available", where), "1"});
    server_.Run({"JSON.NUMINCRBY", "event_state:any", fmt::format("{}.reserved", where), "-1"});
  }
  EXPECT_EQ(server_.Json({"SEAT.RESERVE", "any", "5", "any", "BEST", "1"})
                .at("booking")
                .at("section")
                .as_string(),
            "A-3");
}

TEST_F(OperationsTest, ABuyerIsLimitedOverAllBookings) {
  server_.Create("lim", 1, 10, R"(,"max_per_buyer":3)");
  EXPECT_EQ(server_.Refusal({"SEAT.RESERVE", "lim", "l0", "A-1", "BEST", "1"}),
            "BAD_REQUEST this event limits the seats per buyer: name the buyer");
  server_.Json({"SEAT.RESERVE", "lim", "l1", "A-1", "BUYER", "ann", "BEST", "2"});
  EXPECT_EQ(server_.Refusal({"SEAT.RESERVE", "lim", "l2", "A-1", "BUYER", "ann", "BEST", "2"}),
            "LIMIT_PER_BUYER 2 seats were asked for; a buyer may have 3 at event lim and has 2");
  server_.Json({"SEAT.RESERVE", "lim", "l3", "A-1", "BUYER", "ann", "BEST", "1"});
  server_.Json({"SEAT.RESERVE", "lim", "l4", "A-1", "BUYER", "bob", "BEST", "3"});
  server_.Json({"SEAT.RELEASE", "lim", "l1"});
  server_.Json({"SEAT.RESERVE", "lim", "l5", "A-1", "BUYER", "ann", "BEST", "2"});
  server_.ExpectSound("lim");
}

// --- Paying, releasing, expiring
// -------------------------------------------------------------------

TEST_F(OperationsTest, PayingSells) {
  Reserve("b1", "1-2");
  server_.clock().AdvanceMillis(5000);
  const json::value answer = server_.Json({"SEAT.PAY", "e", "b1"});
  EXPECT_EQ(answer.at("booking").at("status").as_string(), "paid");
  EXPECT_EQ(answer.at("booking").at("paid_at").as_string(), "2023-11-14T22:13:25.000000+00:00");
  EXPECT_EQ(server_.Map("e"), ".s./...");
  EXPECT_EQ(server_.Counts("e"), "5/0/1/0");
  // Again: the same answer, and no second sale.
  EXPECT_EQ(server_.Json({"SEAT.PAY", "e", "b1"}), answer);
  EXPECT_EQ(server_.Json({"SEAT.PAY", "e", "b1", "SECTION", "A-1"}), answer);
  // Paid seats do not lapse.
  server_.clock().AdvanceMillis(10'000'000);
  server_.FireTimers();
  EXPECT_EQ(server_.Map("e"), ".s./...");
}

TEST_F(OperationsTest, OnlyAHoldCanBePaid) {
  ExpectRefused({"SEAT.PAY", "e", "none"}, "NO_SUCH_BOOKING booking 'none'");
  Reserve("b1", "1-1");
  server_.Create("other", 1, 1);
  ExpectRefused({"SEAT.PAY", "other", "b1"}, "NO_SUCH_BOOKING event \"other\" has no booking b1");
  ExpectRefused({"SEAT.PAY", "e", "b1", "SECTION", "A-2"},
                "NO_SUCH_BOOKING booking b1 has no seats in section 'A-2'");
  server_.Json({"SEAT.RELEASE", "e", "b1"});
  ExpectRefused({"SEAT.PAY", "e", "b1"}, "NOT_HELD booking b1 is cancelled");
}

TEST_F(OperationsTest, ReleasedSeatsCanBeBookedAgain) {
  server_.Json({"SEAT.RESERVE", "e", "b1", "A-1", "SEATS", "1-1", "2-2", "2-3"});
  const json::value answer = server_.Json({"SEAT.RELEASE", "e", "b1"});
  EXPECT_EQ(answer.at("booking").at("status").as_string(), "cancelled");
  EXPECT_EQ(server_.Map("e"), ".../...");
  EXPECT_EQ(server_.Counts("e"), "6/0/0/0");
  EXPECT_EQ(server_.Json({"SEAT.RELEASE", "e", "b1"}).at("booking"), answer.at("booking"));
  EXPECT_EQ(server_.Run({"TTL", "booking:b1"}), "(integer) 3600");
  Reserve("b2", "2-2");
  EXPECT_EQ(server_.Json({"SEAT.RELEASE", "e", "b1"}).at("booking"), answer.at("booking"));
  EXPECT_EQ(server_.Map("e"), ".../.r.");  // not somebody else's seat
  server_.clock().AdvanceMillis(3'600'000);
  EXPECT_EQ(server_.Refusal({"SEAT.BOOKING", "b1"}), "NO_SUCH_BOOKING booking 'b1'");
}

TEST_F(OperationsTest, ASoldSeatIsNotReleased) {
  Reserve("b1", "1-1");
  server_.Json({"SEAT.PAY", "e", "b1"});
  ExpectRefused({"SEAT.RELEASE", "e", "b1"}, "ALREADY_PAID booking b1 is paid");
}

TEST_F(OperationsTest, AHoldExpiresByItself) {
  server_.Json({"SEAT.RESERVE", "e", "b1", "A-1", "HOLD", "60", "BEST", "2"});
  server_.clock().AdvanceMillis(59'999);
  server_.FireTimers();
  EXPECT_EQ(StatusOf("b1"), "reserved");
  server_.clock().AdvanceMillis(1);
  // From the millisecond on it is expired for everyone, whether or not the timer has fired.
  EXPECT_EQ(StatusOf("b1"), "expired");
  ExpectRefused({"SEAT.PAY", "e", "b1"},
                "HOLD_EXPIRED booking b1 held its seats until 2023-11-14T22:14:20.000000+00:00");
  EXPECT_EQ(server_.Map("e"), "rr./...");
  server_.FireTimers();
  EXPECT_EQ(server_.Map("e"), ".../...");
  EXPECT_EQ(server_.Counts("e"), "6/0/0/0");
  ExpectRefused({"SEAT.PAY", "e", "b1"},
                "HOLD_EXPIRED booking b1 held its seats until 2023-11-14T22:14:20.000000+00:00");
  EXPECT_EQ(server_.Json({"SEAT.BOOKING", "b1"}).at("error_message").as_string(),
            "the hold expired before it was paid");
  EXPECT_EQ(server_.Run({"TTL", "booking:b1"}), "(integer) 3600");
}

TEST_F(OperationsTest, PayingInTimeKeepsTheTimerFromFiring) {
  server_.Json({"SEAT.RESERVE", "e", "b1", "A-1", "HOLD", "60", "BEST", "1"});
  server_.clock().AdvanceMillis(59'999);
  server_.Json({"SEAT.PAY", "e", "b1"});
  server_.clock().AdvanceMillis(1'000);
  server_.FireTimers();
  EXPECT_EQ(StatusOf("b1"), "paid");
  EXPECT_EQ(server_.Map("e"), "s../...");
}

TEST_F(OperationsTest, AHoldIsExtendedOnce) {
  server_.Json({"SEAT.RESERVE", "e", "b1", "A-1", "HOLD", "60", "BEST", "1"});
  ExpectRefused({"SEAT.EXTEND", "e", "b1", "0"},
                "BAD_REQUEST a hold must be extended by at least 1 second");
  ExpectRefused({"SEAT.EXTEND", "e", "b1", "7141"},
                "HOLD_TOO_LONG a hold of event e lasts 7200 seconds at most");
  ExpectRefused({"SEAT.EXTEND", "e", "b1", "9223372036854775807"},
                "HOLD_TOO_LONG a hold of event e lasts 7200 seconds at most");
  const json::value answer = server_.Json({"SEAT.EXTEND", "e", "b1", "30"});
  EXPECT_EQ(answer.at("booking").at("expires_at").as_string(), "2023-11-14T22:14:50.000000+00:00");
  EXPECT_EQ(server_.Json({"SEAT.EXTEND", "e", "b1", "30"}), answer);
  ExpectRefused({"SEAT.EXTEND", "e", "b1", "31"},
                "ALREADY_EXTENDED booking b1 was extended by 30 seconds");
  server_.clock().AdvanceMillis(60'000);
  server_.FireTimers();
  EXPECT_EQ(StatusOf("b1"), "reserved");
  server_.clock().AdvanceMillis(30'000);
  server_.FireTimers();
  EXPECT_EQ(StatusOf("b1"), "expired");
  EXPECT_EQ(server_.Counts("e"), "6/0/0/0");
  EXPECT_EQ(server_.Refusal({"SEAT.EXTEND", "e", "b1", "5"}).substr(0, 12), "HOLD_EXPIRED");
}

TEST_F(OperationsTest, ARefundGivesSoldSeatsBack) {
  server_.Json({"SEAT.RESERVE", "e", "b1", "A-1", "BUYER", "ann", "BEST", "2"});
  ExpectRefused({"SEAT.REFUND", "e", "b1"}, "NOT_PAID booking b1 is reserved");
  server_.Json({"SEAT.PAY", "e", "b1"});
  const json::value answer = server_.Json({"SEAT.REFUND", "e", "b1", "show moved"});
  EXPECT_EQ(answer.at("booking").at("status").as_string(), "refunded");
  EXPECT_EQ(server_.Map("e"), ".../...");
  EXPECT_EQ(server_.Run({"HMGET", "refund:b1", "amount", "reason", "seats", "buyer"}),
            R"(["2000", "show moved", "["1-1","1-2"]", "ann"])");
  Reserve("b2", "1-1");
  EXPECT_EQ(server_.Json({"SEAT.REFUND", "e", "b1", "show moved"}).at("booking"),
            answer.at("booking"));
  EXPECT_EQ(server_.Map("e"), "r../...");
}

TEST_F(OperationsTest, BlockedSeatsAreNotForSale) {
  server_.Json({"SEAT.BLOCK", "e", "A-1", "1-1", "1-2"});
  EXPECT_EQ(server_.Counts("e"), "4/0/0/2");
  EXPECT_EQ(server_.Map("e"), "xx./...");
  EXPECT_EQ(server_.Seats({"SEAT.RESERVE", "e", "b1", "A-1", "BEST", "2"}), "2-1 2-2");
  ExpectRefused({"SEAT.RESERVE", "e", "b2", "A-1", "SEATS", "1-1"},
                "SEAT_TAKEN 1-1 of section A-1 is blocked");
  ExpectRefused({"SEAT.BLOCK", "e", "A-1", "1-3", "2-1"},
                "SEAT_TAKEN 2-1 of section A-1 is reserved");
  ExpectRefused({"SEAT.UNBLOCK", "e", "A-1", "1-1", "1-3"},
                "SEAT_NOT_BLOCKED 1-3 of section A-1 is available");
  server_.Json({"SEAT.UNBLOCK", "e", "A-1", "1-1"});
  EXPECT_EQ(server_.Counts("e"), "3/2/0/1");
}

// --- The sellout timer
// -----------------------------------------------------------------------------

TEST_F(OperationsTest, TheSelloutIsTimed) {
  const auto timer = [&] { return server_.Json({"SEAT.STATE", "e"}).at("sellout"); };
  EXPECT_EQ(json::serialize(timer()), "{}");
  server_.clock().AdvanceMillis(1);
  Reserve("b1", "1-1");
  EXPECT_EQ(json::serialize(timer()),
            R"({"first_ticket_reserved_at":"2023-11-14T22:13:20.001000+00:00"})");
  server_.Json({"SEAT.RELEASE", "e", "b1"});
  server_.clock().AdvanceMillis(2500);
  server_.Json({"SEAT.RESERVE", "e", "b2", "A-1", "BEST", "3"});
  server_.Json({"SEAT.RESERVE", "e", "b3", "A-1", "BEST", "3"});
  EXPECT_EQ(
      json::serialize(timer()),
      R"({"first_ticket_reserved_at":"2023-11-14T22:13:20.001000+00:00",)"
      R"("fully_reserved_at":"2023-11-14T22:13:22.501000+00:00","duration_seconds":"2.500000"})");
  EXPECT_EQ(server_.Json({"SEAT.STATE", "e"}).at("status").as_string(), "sold_out");
  server_.Json({"SEAT.RELEASE", "e", "b2"});
  EXPECT_EQ(server_.Json({"SEAT.STATE", "e"}).at("status").as_string(), "available");
}

// --- Beside others
// ----------------------------------------------------------------------------------------------

// Holds the scope of a key, as a transaction on another thread does, until it is destroyed.
class OtherBody {
 public:
  OtherBody(store::Store& store, std::string_view key) {
    store::Scopes scopes;
    Bytes scratch;
    doors::AddKeyScope(0, key, scopes, scratch);
    thread_ = std::thread([this, &store, scopes] {
      const auto ran = store.Run(scopes, [&](store::Transaction& transaction) -> Result<void> {
        CAIRN_RETURN_IF_ERROR(transaction.Get({store::Space::kSystem, "nothing"}));
        if (!std::exchange(told_, true)) begun_.set_value();
        end_.wait();
        return {};
      });
      EXPECT_TRUE(ran.ok());
    });
    begun_.get_future().wait();
  }
  ~OtherBody() {
    go_.set_value();
    thread_.join();
  }

 private:
  std::promise<void> begun_;
  std::promise<void> go_;
  std::shared_future<void> end_ = go_.get_future().share();
  bool told_ = false;
  std::thread thread_;
};

bool HasReplyWithin(doors::testing::TestClient& client, int ms) {
  pollfd poll_fd{client.raw().fd(), POLLIN, 0};
  return poll(&poll_fd, 1, ms) == 1;
}

TEST_F(OperationsTest, WhatHappensToABookingDoesNotWaitForOthers) {
  for (const char* id : {"b1", "b2"}) {
    server_.Json({"SEAT.RESERVE", "e", id, "A-1", "BEST", "1"});
  }
  doors::testing::TestClient client = server_.Connect();
  {
    const OtherBody other(server_.store(), "a key of somebody else");
    client.Send({"SEAT.PAY", "e", "b1"});
    client.Send({"SEAT.REFUND", "e", "b1"});
    client.Send({"SEAT.RELEASE", "e", "b2"});
    client.Send({"MULTI"});
    client.Send({"SEAT.PAY", "e", "b1"});
    client.Send({"EXEC"});
    EXPECT_TRUE(HasReplyWithin(client, 10'000));
    for (int i = 0; i < 3; ++i) {
      const std::string reply = client.Receive();
      EXPECT_EQ(reply.find("(error)"), std::string::npos) << reply;
    }
    EXPECT_EQ(client.Receive(), "OK");
    EXPECT_EQ(client.Receive(), "QUEUED");
    EXPECT_EQ(client.Receive(), "[(error) NOT_HELD booking b1 is refunded]");
  }
  EXPECT_EQ(server_.Map("e"), ".../...");
}

TEST_F(OperationsTest, PayingWaitsForWhoChangesTheSeats) {
  CAIRN_TEST_ROCKS_ONLY("scopes that alone keep bodies apart");
  Reserve("b1", "1-1");
  doors::testing::TestClient client = server_.Connect();
  {
    const OtherBody other(server_.store(), "seats_bf:e:A-1");
    client.Send({"SEAT.PAY", "e", "b1"});
    EXPECT_FALSE(HasReplyWithin(client, 50));
  }
  const std::string reply = client.Receive();
  EXPECT_NE(reply.find("paid"), std::string::npos) << reply;
}

TEST_F(OperationsTest, ManyPayAtOnceWithoutSayingWhere) {
  constexpr int kClients = 4;
  constexpr int kEach = 12;
  server_.Json({"SEAT.CREATE", "hall", R"({"sections":[
      {"name":"A","subsections":4,"rows":6,"cols":8,"price":10}]})"});
  std::vector<std::thread> threads;
  for (int who = 0; who < kClients; ++who) {
    threads.emplace_back([this, who] {
      doors::testing::TestClient client = server_.Connect();
      for (int i = 0; i < kEach; ++i) {
        const std::string id = fmt::format("b{}.{}", who, i);
        const std::string section = fmt::format("A-{}", 1 + (who + i) % 4);
        client.Send({"SEAT.RESERVE", "hall", id, section, "BEST", "2"});
        client.Send({i % 3 == 0 ? "SEAT.RELEASE" : "SEAT.PAY", "hall", id});
        for (int reply = 0; reply < 2; ++reply) {
          const std::string text = client.Receive();
          EXPECT_FALSE(text.starts_with("(error)")) << text;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  constexpr int kSold = kClients * kEach * 2 * 2 / 3;
  EXPECT_EQ(server_.Counts("hall"), fmt::format("{}/0/{}/0", 192 - kSold, kSold));
  server_.ExpectSound("hall");
}

// --- Together with everything else
// -----------------------------------------------------------------

TEST_F(OperationsTest, AMultiSpansSeatsAndData) {
  doors::testing::TestClient client = server_.Connect();
  client.Run({"MULTI"});
  client.Run({"SEAT.RESERVE", "e", "b1", "A-1", "BEST", "1"});
  client.Run({"SEAT.PAY", "e", "b1"});
  client.Run({"LPUSH", "mail", "b1"});
  client.Run({"SEAT.RESERVE", "e", "b2", "A-1", "SEATS", "1-1"});
  const std::string replies = client.Run({"EXEC"});
  EXPECT_NE(replies.find("SEAT_TAKEN 1-1 of section A-1 is sold"), std::string::npos) << replies;
  EXPECT_EQ(server_.Map("e"), "s../...");
  EXPECT_EQ(server_.Run({"LLEN", "mail"}), "(integer) 1");
}

TEST_F(OperationsTest, ScriptsReserve) {
  const std::string script =
      "local a = cjson.decode(redis.call('SEAT.RESERVE', KEYS[1], ARGV[1], 'A-1', 'BEST', '2')) "
      "return a.booking.seats";
  EXPECT_EQ(server_.Run({"EVAL", script, "1", "e", "b1"}), R"(["1-1", "1-2"])");
  EXPECT_EQ(server_.Run({"EVAL", "return redis.pcall('SEAT.PAY', 'e', 'nope').err", "0"}),
            "\"NO_SUCH_BOOKING booking 'nope'\"");
}

TEST_F(OperationsTest, ThePlainPatternOfOtherClientsWorksOnTheSameKeys) {
  doors::testing::TestClient client = server_.Connect();
  Reserve("b1", "1-1");
  client.Run({"MULTI"});
  client.Run({"BITFIELD", "seats_bf:e:A-1", "SET", "u2", "2", "1"});
  client.Run({"JSON.NUMINCRBY", "event_state:e", "$.sections['A-1'].stats.available", "-1"});
  client.Run({"JSON.NUMINCRBY", "event_state:e", "$.sections['A-1'].stats.reserved", "1"});
  client.Run({"JSON.NUMINCRBY", "event_state:e", "$.event_stats.available", "-1"});
  client.Run({"JSON.NUMINCRBY", "event_state:e", "$.event_stats.reserved", "1"});
  client.Run({"HSET", "booking:raw", "event_id", "e", "section", "A", "subsection", "1", "status",
              "RESERVE_SUCCESS", "reserved_seats", R"(["A-1-1-2"])"});
  client.Run({"EXEC"});
  EXPECT_EQ(server_.Counts("e"), "4/2/0/0");
  server_.ExpectSound("e");
  EXPECT_EQ(server_.Seats({"SEAT.RESERVE", "e", "b2", "A-1", "BEST", "1"}), "1-3");
}

TEST_F(OperationsTest, AnEventMadeByAnotherClientIsServed) {
  server_.Run({"JSON.SET", "event_state:raw", "$",
               R"({"event_stats":{"available":4,"reserved":0,"sold":0,"total":4,"updated_at":1},
                   "sections":{"A-1":{"rows":2,"cols":2,"price":7,
                   "stats":{"available":4,"reserved":0,"sold":0,"total":4,"updated_at":1}}}})"});
  EXPECT_EQ(server_.Seats({"SEAT.RESERVE", "raw", "r1", "any", "BEST", "2"}), "1-1 1-2");
  EXPECT_EQ(server_.Map("raw"), "rr/..");
  server_.ExpectSound("raw");
  server_.Run({"JSON.SET", "event_state:odd", "$", R"({"sections":{}})"});
  EXPECT_EQ(server_.Refusal({"SEAT.STATE", "odd"}), "BAD_EVENT event_state:odd has no event_stats");
  server_.Run({"SET", "event_state:text", "x"});
  EXPECT_EQ(server_.Refusal({"SEAT.STATE", "text"}),
            "BAD_EVENT event_state:text is not a JSON document");
}

TEST_F(OperationsTest, VerifyFindsWhatDoesNotAgree) {
  Reserve("b1", "1-1");
  const auto problem = [&] {
    const json::value report = server_.Json({"SEAT.VERIFY", "e"});
    EXPECT_FALSE(report.at("sound").as_bool());
    const json::array& problems = report.at("problems").as_array();
    return problems.empty() ? std::string() : std::string(problems[0].as_string());
  };
  server_.Run({"BITFIELD", "seats_bf:e:A-1", "SET", "u2", "2", "2"});
  EXPECT_EQ(problem(),
            R"(section A-1 counts {"available":5,"reserved":1,"sold":0,"blocked":0,"total":6}, )"
            R"(its seats are {"available":4,"reserved":1,"sold":1,"blocked":0,"total":6})");
  server_.Run({"BITFIELD", "seats_bf:e:A-1", "SET", "u2", "2", "0"});
  server_.ExpectSound("e");
  server_.Run({"SREM", "event_bookings:e", "b1"});
  EXPECT_EQ(problem(), "seat 1-1 of section A-1 is reserved and belongs to no booking");
  server_.Run({"SADD", "event_bookings:e", "b1"});
  server_.ExpectSound("e");
  server_.Run({"DEL", "event_sellout_timer:e"});
  EXPECT_EQ(problem(), "seats are taken, but no first ticket is noted");
  server_.Run({"HSET", "event_sellout_timer:e", "first_ticket_reserved_at", "x"});
}

TEST_F(OperationsTest, APrefixKeepsHousesApart) {
  SeatServer other("test_");
  other.Create("e", 1, 2);
  other.Json({"SEAT.RESERVE", "e", "b1", "A-1", "HOLD", "5", "BEST", "1"});
  EXPECT_EQ(other.Run({"EXISTS", "test_event_state:e", "test_booking:b1", "event_state:e"}),
            "(integer) 2");
  other.clock().AdvanceMillis(5000);
  other.FireTimers();
  EXPECT_EQ(other.Counts("e"), "2/0/0/0");
  other.ExpectSound("e");
}

TEST(RefusalTest, EveryReasonIsFoundByItsName) {
  for (int i = 0; i <= static_cast<int>(Reason::kNotPaid); ++i) {
    const ReasonRow& row = ReasonRowOf(static_cast<Reason>(i));
    const Error error = Refuse(row.reason, "text and more");
    ASSERT_EQ(FindReason(error), &row) << row.name;
    EXPECT_EQ(RefusalText(error), "text and more");
    EXPECT_EQ(RefusedSeat(error), row.names_subject ? "text" : "");
  }
  EXPECT_EQ(FindReason({ErrorCode::kIo, "SEAT_TAKEN x"}), nullptr);
  EXPECT_EQ(FindReason({ErrorCode::kConflict, "other"}), nullptr);
}

}  // namespace
}  // namespace cairn::seats
