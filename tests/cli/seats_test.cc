// `cairn seats …` against the real binary, and the example programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

class SeatsCommandTest : public ::testing::Test {
 protected:
  std::string url() const { return "http://" + net::ToString(server_.http()); }

  Finished Seats(std::vector<std::string> args) {
    args.insert(args.begin(), "seats");
    args.insert(args.end(), {"--url", url()});
    return RunCairn(args);
  }

  std::string WriteDefinition() {
    std::string file = directory_ / "hall.json";
    std::ofstream(file) << R"({"id":"hall","name":"Opening","sections":[
                               {"name":"A","rows":2,"cols":4,"price":10}]})";
    return file;
  }

  TempDirectory directory_;
  Server server_ = Server::MustStart({.data = directory_ / "data"});
};

TEST_F(SeatsCommandTest, AnEventIsCreatedFromAFileShownDrawnAndVerified) {
  const Finished created = Seats({"create", WriteDefinition()});
  ASSERT_EQ(created.status.code, 0) << created.err;
  EXPECT_THAT(created.out, HasSubstr("hall  Opening  available"));
  server_.Command({"SEAT.RESERVE", "hall", "b1", "A-1", "SEATS", "1-2", "2-4"});
  server_.Command({"SEAT.PAY", "hall", "b1"});
  server_.Command({"SEAT.RESERVE", "hall", "b2", "A-1", "BEST", "1"});
  server_.Command({"SEAT.BLOCK", "hall", "A-1", "2-1"});

  const Finished map = Seats({"map", "hall", "A-1"});
  ASSERT_EQ(map.status.code, 0) << map.err;
  EXPECT_THAT(map.out, HasSubstr("    1  rs..\n    2  x..s\n"));
  EXPECT_THAT(map.out, HasSubstr(". 4 available  r 1 reserved  s 2 sold  x 1 blocked"));

  const Finished state = Seats({"state", "hall", "--json"});
  ASSERT_EQ(state.status.code, 0) << state.err;
  EXPECT_EQ(json::parse(state.out).at("stats").at("sold").as_int64(), 2);

  EXPECT_THAT(Seats({"events"}).out, HasSubstr("hall"));
  const Finished sound = Seats({"verify", "hall"});
  EXPECT_EQ(sound.status.code, 0);
  EXPECT_THAT(sound.out, HasSubstr("ok hall: 8 seats in 1 sections and 2 bookings agree"));

  server_.Command({"BITFIELD", "seats_bf:hall:A-1", "SET", "u2", "6", "2"});
  const Finished broken = Seats({"verify", "hall"});
  EXPECT_EQ(broken.status.code, 1);
  EXPECT_THAT(broken.out, HasSubstr("wrong section A-1 counts"));
}

TEST_F(SeatsCommandTest, WhatIsWrongIsToldInOneLine) {
  const Finished missing = Seats({"state", "nowhere"});
  EXPECT_EQ(missing.status.code, 1);
  EXPECT_EQ(missing.err,
            "cairn: seats: there is no event \"nowhere\"; create it with SEAT.CREATE\n");
  EXPECT_THAT(Seats({"stat", "hall"}).err,
              HasSubstr("unknown action 'stat' (did you mean 'state'?)"));
  const Finished usage = Seats({"map", "hall"});
  EXPECT_EQ(usage.status.code, 2);
  EXPECT_THAT(usage.err, HasSubstr("usage: cairn seats map EVENT SECTION"));
  EXPECT_THAT(Seats({"create", directory_ / "none.json"}).err, HasSubstr("cannot read"));
  const Finished away = RunCairn({"seats", "events", "--url", "http://127.0.0.1:1"});
  EXPECT_EQ(away.status.code, 1);
}

TEST_F(SeatsCommandTest, ASimulatedOnSaleSellsEverySeatOnce) {
  const Finished run = Seats({"simulate", "rehearsal", "--buyers", "8", "--sections", "2", "--rows",
                              "5", "--cols", "10", "--pay-percent", "80", "--json"});
  ASSERT_EQ(run.status.code, 0) << run.err;
  const json::value result = json::parse(run.out);
  EXPECT_TRUE(result.at("sound").as_bool());
  EXPECT_EQ(result.at("bookings").as_int64(),
            result.at("paid").as_int64() + result.at("cancelled").as_int64());
  const json::value state = json::parse(Seats({"state", "rehearsal", "--json"}).out);
  EXPECT_EQ(state.at("stats").at("reserved").as_int64(), 0);
  EXPECT_GT(state.at("stats").at("sold").as_int64(), 0);
  // A table for people, and no second event of the same name.
  EXPECT_THAT(
      Seats({"simulate", "rehearsal", "--sections", "2", "--rows", "5", "--cols", "10"}).err,
      HasSubstr("the event exists already"));
}

TEST_F(SeatsCommandTest, TheExamplesRun) {
  const auto run = [&](const std::string& program, const std::string& address) {
    const Finished example =
        RunToEnd({.args = {"/usr/bin/python3", "examples/seats/" + program, address},
                  .environment = {},
                  .directory = ""},
                 std::chrono::seconds(300));
    EXPECT_TRUE(example.status.ok()) << example.out << example.err;
    EXPECT_THAT(example.out, HasSubstr("everything agrees"));
  };
  run("box_office_resp.py", net::ToString(server_.resp()));
  run("box_office_http.py", url());
}

}  // namespace
}  // namespace cairn::testing
