// Random operations against a trivial model: a map from seats to bookings. Time is moved by hand,
// the server is stopped and started again now and then, and after every step the house is drawn and
// compared, and the event is verified.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "seats/testing/seat_server.h"

namespace cairn::seats {
namespace {

namespace json = boost::json;
using testing::SeatServer;

constexpr int kRows = 4;
constexpr int kCols = 6;
constexpr int kSteps = 300;
constexpr int64_t kHoldSeconds = 100;

struct ModelBooking {
  std::string status = "reserved";
  std::vector<int> seats;
  int64_t expires_ms = 0;
  bool extended = false;
};

class Model {
 public:
  explicit Model(uint64_t seed) : random_(seed), map_(kRows * kCols, '.') {
    server_.Create("e", kRows, kCols, fmt::format(R"(,"hold_seconds":{})", kHoldSeconds));
  }

  void Step() {
    switch (random_.Below(12)) {
      case 0:
      case 1:
      case 2:
        return ReserveBest();
      case 3:
      case 4:
        return ReserveManual();
      case 5:
      case 6:
        return Pay();
      case 7:
        return Release();
      case 8:
        return Block();
      case 9:
        return Extend();
      case 10:
        return Refund();
      default:
        return MoveTime();
    }
  }

  void Check() {
    std::string drawn = server_.Map("e");
    std::erase(drawn, '/');
    ASSERT_EQ(drawn, map_);
    const auto count = [&](char letter) { return std::ranges::count(map_, letter); };
    ASSERT_EQ(server_.Counts("e"),
              fmt::format("{}/{}/{}/{}", count('.'), count('r'), count('s'), count('x')));
    server_.ExpectSound("e");
  }

  void Restart() { server_.Restart(); }

 private:
  int64_t now_ms() { return server_.clock().Now().millis(); }
  static std::string Name(int seat) {
    return fmt::format("{}-{}", seat / kCols + 1, seat % kCols + 1);
  }

  // Any booking, or one that does not exist.
  std::string AnyBooking() { return fmt::format("b{}", random_.Below(next_ + 1)); }

  void Take(const std::string& id, std::vector<int> seats) {
    for (const int seat : seats) {
      ASSERT_EQ(map_[static_cast<size_t>(seat)], '.') << "sold twice: " << Name(seat);
      map_[static_cast<size_t>(seat)] = 'r';
    }
    bookings_[id] = {.seats = std::move(seats), .expires_ms = now_ms() + kHoldSeconds * 1000};
  }

  void ReserveBest() {
    const std::string id = fmt::format("b{}", next_++);
    const auto quantity = static_cast<int64_t>(random_.Below(4) + 1);
    std::vector<std::string> args = {"SEAT.RESERVE", "e", id, "A-1"};
    if (random_.Below(3) == 0)
      args.insert(args.end(), {"PREFER", random_.Below(2) == 0 ? "BACK" : "CENTER"});
    if (random_.Below(3) == 0) args.emplace_back("NOORPHANS");
    const bool adjacent = random_.Below(4) == 0;
    if (adjacent) args.emplace_back("ADJACENT");
    args.insert(args.end(), {"BEST", fmt::to_string(quantity)});
    const std::string reply = server_.Run(args);
    if (reply.starts_with("(error)")) {
      const bool enough = std::ranges::count(map_, '.') >= quantity;
      ASSERT_TRUE(adjacent || !enough) << reply;
      ASSERT_EQ(reply.find(enough ? "NOT_ADJACENT" : "NOT_ENOUGH_SEATS"), 8U) << reply;
      return;
    }
    std::vector<int> seats;
    const json::value answer = server_.Json(args);
    for (const json::value& seat : answer.at("booking").at("seats").as_array()) {
      int row = 0;
      int number = 0;
      ASSERT_EQ(std::sscanf(seat.as_string().c_str(), "%d-%d", &row, &number), 2);
      seats.push_back((row - 1) * kCols + number - 1);
    }
    ASSERT_EQ(seats.size(), static_cast<size_t>(quantity));
    Take(id, seats);
  }

  void ReserveManual() {
    const std::string id = fmt::format("b{}", next_++);
    std::vector<int> seats;
    for (uint64_t i = random_.Below(3) + 1; i > 0; --i) {
      seats.push_back(static_cast<int>(random_.Below(kRows * kCols)));
    }
    std::vector<std::string> args = {"SEAT.RESERVE", "e", id, "A-1", "SEATS"};
    for (const int seat : seats) args.push_back(Name(seat));
    const std::string reply = server_.Run(args);
    std::vector<int> sorted = seats;
    std::ranges::sort(sorted);
    const bool twice = std::ranges::adjacent_find(sorted) != sorted.end();
    const auto taken = std::ranges::find_if(
        seats, [&](int seat) { return map_[static_cast<size_t>(seat)] != '.'; });
    if (twice) {
      ASSERT_EQ(reply.find("DUPLICATE_SEAT"), 8U) << reply;
    } else if (taken != seats.end()) {
      ASSERT_EQ(reply.find("SEAT_TAKEN " + Name(*taken)), 8U) << reply;
    } else {
      ASSERT_FALSE(reply.starts_with("(error)")) << reply;
      Take(id, seats);
    }
  }

  // Runs the command; whether it succeeds must be what the model says.
  bool Try(const std::vector<std::string>& args, bool expected) {
    const std::string reply = server_.Run(args);
    EXPECT_EQ(!reply.starts_with("(error)"), expected)
        << args[0] << " " << args[2] << ": " << reply;
    return expected;
  }

  void Paint(const ModelBooking& booking, char letter) {
    for (const int seat : booking.seats) map_[static_cast<size_t>(seat)] = letter;
  }

  bool Holds(const std::string& id) {
    const auto found = bookings_.find(id);
    return found != bookings_.end() && found->second.status == "reserved" &&
           found->second.expires_ms > now_ms();
  }
  bool Is(const std::string& id, std::string_view status) {
    const auto found = bookings_.find(id);
    return found != bookings_.end() && found->second.status == status;
  }

  void Pay() {
    const std::string id = AnyBooking();
    const bool again = Is(id, "paid");
    if (!Try({"SEAT.PAY", "e", id}, again || Holds(id)) || again) return;
    bookings_[id].status = "paid";
    Paint(bookings_[id], 's');
  }

  void Release() {
    const std::string id = AnyBooking();
    const bool again = Is(id, "cancelled");
    if (!Try({"SEAT.RELEASE", "e", id, "SECTION", "A-1"}, again || Holds(id)) || again) return;
    bookings_[id].status = "cancelled";
    Paint(bookings_[id], '.');
  }

  void Refund() {
    const std::string id = AnyBooking();
    const bool again = Is(id, "refunded");
    if (!Try({"SEAT.REFUND", "e", id}, again || Is(id, "paid")) || again) return;
    bookings_[id].status = "refunded";
    Paint(bookings_[id], '.');
  }

  void Extend() {
    const std::string id = AnyBooking();
    if (!Try({"SEAT.EXTEND", "e", id, "50"}, Holds(id))) return;
    ModelBooking& booking = bookings_[id];
    if (!booking.extended) booking.expires_ms += 50'000;
    booking.extended = true;
  }

  void Block() {
    const auto seat = static_cast<size_t>(random_.Below(kRows * kCols));
    const bool blocked = map_[seat] == 'x';
    if (Try({blocked ? "SEAT.UNBLOCK" : "SEAT.BLOCK", "e", "A-1", Name(static_cast<int>(seat))},
            blocked || map_[seat] == '.')) {
      map_[seat] = blocked ? '.' : 'x';
    }
  }

  // At most 50 seconds, so that what is kept for an hour is not forgotten here.
  void MoveTime() {
    server_.clock().AdvanceMillis(static_cast<int64_t>(random_.Below(50'000)));
    server_.FireTimers();
    for (auto& [id, booking] : bookings_) {
      if (booking.status != "reserved" || booking.expires_ms > now_ms()) continue;
      booking.status = "expired";
      Paint(booking, '.');
    }
  }

  SeatServer server_;
  SeededRandom random_;
  std::string map_;
  std::map<std::string, ModelBooking> bookings_;
  uint64_t next_ = 0;
};

class SeatModelTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(SeatModelTest, AgreesWithTheModelAfterEveryStep) {
  Model model(GetParam());
  for (int step = 0; step < kSteps; ++step) {
    SCOPED_TRACE(step);
    if (step % 100 == 99) model.Restart();
    ASSERT_NO_FATAL_FAILURE(model.Step());
    ASSERT_NO_FATAL_FAILURE(model.Check());
    if (::testing::Test::HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SeatModelTest, ::testing::Values(1, 2));

}  // namespace
}  // namespace cairn::seats
