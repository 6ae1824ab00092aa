#pragma once

#include <boost/json/value.hpp>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "doors/testing/test_server.h"

namespace cairn::seats::testing {

// A server with the commands of data and of this layer. Time stands still unless the test moves it.
class SeatServer final : public doors::testing::TestServer {
 public:
  explicit SeatServer(std::string prefix = "");

  // The JSON of a reply; fails the test if the reply is an error.
  boost::json::value Json(std::initializer_list<std::string_view> args);
  boost::json::value Json(const std::vector<std::string>& args);
  // An error reply without "(error) "; fails the test if the reply is none.
  std::string Refusal(std::initializer_list<std::string_view> args);
  std::string Refusal(const std::vector<std::string>& args);

  // An event of one section A-1, all of it available, price 1000.
  void Create(std::string_view event, int64_t rows, int64_t cols, std::string_view more = "");
  // Gives the seats of A-1 these states, one digit a seat as the bits have them, by BITFIELD, and
  // bookings and counts to match.
  void SetStates(std::string_view event, std::string_view digits);

  // "1-1 1-2": the seats of a reservation's answer.
  std::string Seats(std::initializer_list<std::string_view> args);
  std::string Seats(const std::vector<std::string>& args);
  // "..rs/xx..": what SEAT.MAP draws, a slash between rows.
  std::string Map(std::string_view event, std::string_view section = "A-1");
  // "available/reserved/sold/blocked" of the event.
  std::string Counts(std::string_view event);

  // Fires the timers that are due.
  void FireTimers();
  // Fails the test if SEAT.VERIFY finds something.
  void ExpectSound(std::string_view event);

 private:
  const std::string prefix_;
  std::unique_ptr<doors::testing::TestClient> client_;  // of Json; made again after a restart
};

}  // namespace cairn::seats::testing
