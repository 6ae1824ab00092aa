// An on-sale in a storm: 64 connections over both doors reserve by hand and by quantity, pay,
// cancel and let holds lapse, all on one event, while the server is killed with -9 in the middle,
// again and again. Holds last a second, so payments race their expiry.
//
// Every client remembers what it was told. After each kill the server is started again on the same
// directory: the event verifies, every booking that was acknowledged is there with its seats, a
// paid one is still paid, and no seat was given to two who both paid.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>

#include "base/random.h"
#include "tests/support/await.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;

constexpr int kClients = 64;
constexpr int kHttpEvery = 4;  // every fourth client speaks HTTP
constexpr uint64_t kSections = 8;
constexpr uint64_t kRows = 8;
constexpr uint64_t kCols = 10;

int Rounds() {
  const char* rounds = std::getenv("CAIRN_SEAT_STORM_ROUNDS");
  return rounds != nullptr ? std::atoi(rounds) : 5;
}

// What a client was told about one of its bookings.
struct Told {
  std::string section;
  std::string seats;     // JSON
  std::string status;    // the newest that was acknowledged
  std::string in_doubt;  // what it may be instead: a request whose answer never came
};

struct Counts {
  std::atomic<uint64_t> reserved{0};
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> paid{0};
  std::atomic<uint64_t> cancelled{0};
  std::atomic<uint64_t> expired{0};  // found when paying or cancelling
  uint64_t checked = 0;
};

struct Answer {
  bool ok = false;
  std::string code;  // of a refusal, in capitals
  json::value body;
};

// One connection through one of the doors. nullopt: it is gone.
class Door {
 public:
  virtual ~Door() = default;
  virtual std::optional<Answer> Reserve(const std::string& event, const std::string& id,
                                        const std::string& section, uint64_t quantity,
                                        const std::vector<std::string>& seats) = 0;
  virtual std::optional<Answer> Change(const std::string& event, const std::string& id,
                                       const std::string& section, bool pay) = 0;
};

class RespDoor final : public Door {
 public:
  explicit RespDoor(net::RespClient client) : client_(std::move(client)) {}

  std::optional<Answer> Reserve(const std::string& event, const std::string& id,
                                const std::string& section, uint64_t quantity,
                                const std::vector<std::string>& seats) override {
    std::vector<std::string> args = {"SEAT.RESERVE", event, id, section};
    if (seats.empty()) {
      args.insert(args.end(), {"BEST", fmt::to_string(quantity)});
    } else {
      args.emplace_back("SEATS");
      args.insert(args.end(), seats.begin(), seats.end());
    }
    return Ask(args);
  }
  std::optional<Answer> Change(const std::string& event, const std::string& id,
                               const std::string& section, bool pay) override {
    std::vector<std::string> args = {pay ? "SEAT.PAY" : "SEAT.RELEASE", event, id};
    if (!section.empty()) args.insert(args.end(), {"SECTION", section});
    return Ask(args);
  }

 private:
  std::optional<Answer> Ask(const std::vector<std::string>& args) {
    const auto reply = client_.Command(args);
    if (!reply.ok()) return std::nullopt;
    if (reply->is_error()) {
      return Answer{.code = reply->text.substr(0, reply->text.find(' '))};
    }
    return Answer{.ok = true, .body = json::parse(reply->text)};
  }

  net::RespClient client_;
};

class HttpDoor final : public Door {
 public:
  explicit HttpDoor(net::HttpClient client) : client_(std::move(client)) {}

  std::optional<Answer> Reserve(const std::string& event, const std::string& id,
                                const std::string& section, uint64_t quantity,
                                const std::vector<std::string>& seats) override {
    const std::string what = seats.empty()
                                 ? fmt::format("\"quantity\":{}", quantity)
                                 : fmt::format("\"seats\":[\"{}\"]", fmt::join(seats, "\",\""));
    return Ask(fmt::format("/v1/events/{}/bookings", event),
               fmt::format(R"({{"booking_id":"{}","section":"{}",{}}})", id, section, what));
  }
  std::optional<Answer> Change(const std::string& /*event*/, const std::string& id,
                               const std::string& /*section*/, bool pay) override {
    return Ask(fmt::format("/v1/bookings/{}/{}", id, pay ? "pay" : "cancel"), "");
  }

 private:
  std::optional<Answer> Ask(const std::string& path, const std::string& body) {
    const auto response = client_.Post(path, body);
    if (!response.ok()) return std::nullopt;
    boost::system::error_code failure;
    json::value answer = json::parse(response->body, failure);
    if (failure) return std::nullopt;
    if (response->status < 300) return Answer{.ok = true, .body = std::move(answer)};
    std::string code(answer.at("error").at("code").as_string());
    for (char& c : code) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return Answer{.code = code};
  }

  net::HttpClient client_;
};

// One client's memory, across all restarts of a round.
class Client {
 public:
  explicit Client(int id) : id_(id), random_(static_cast<uint64_t>(id) + 1) {}

  void Load(const Server& server, const std::string& event, Counts& counts) {
    std::unique_ptr<Door> door;
    if (id_ % kHttpEvery == 0) {
      door = std::make_unique<HttpDoor>(server.Http());
    } else {
      auto connection = server.Connect();
      if (!connection.ok()) return;
      door = std::make_unique<RespDoor>(*std::move(connection));
    }
    while (Step(*door, event, counts)) {
    }
  }

  std::map<std::string, Told>& bookings() { return bookings_; }

 private:
  bool Step(Door& door, const std::string& event, Counts& counts) {
    return random_.Below(2) == 0 || held_.empty() ? Reserve(door, event, counts)
                                                  : Decide(door, event, counts);
  }

  bool Reserve(Door& door, const std::string& event, Counts& counts) {
    const std::string id = fmt::format("{}.{}.{}", event, id_, next_++);
    const bool any = random_.Below(16) == 0;
    const std::string section = any ? "any" : fmt::format("A-{}", random_.Below(kSections) + 1);
    std::vector<std::string> seats;
    if (!any && random_.Below(2) == 0) {
      seats.push_back(fmt::format("{}-{}", random_.Below(kRows) + 1, random_.Below(kCols) + 1));
    }
    const auto answer = door.Reserve(event, id, section, random_.Below(3) + 1, seats);
    if (!answer) return false;  // it may be there: a hold that nobody was told of
    if (!answer->ok) {
      EXPECT_TRUE(answer->code == "SEAT_TAKEN" || answer->code == "NOT_ENOUGH_SEATS")
          << answer->code;
      ++counts.refused;
      return true;
    }
    const json::value& booking = answer->body.at("booking");
    bookings_[id] = {.section = std::string(booking.at("section").as_string()),
                     .seats = json::serialize(booking.at("seats")),
                     .status = "reserved"};
    held_.push_back(id);
    ++counts.reserved;
    return true;
  }

  bool Decide(Door& door, const std::string& event, Counts& counts) {
    const size_t which = random_.Below(held_.size());
    const std::string id = held_[which];
    held_.erase(held_.begin() + static_cast<ptrdiff_t>(which));
    Told& told = bookings_[id];
    const uint64_t choice = random_.Below(10);
    if (choice < 3) return true;  // it is left to expire
    const bool pay = choice < 8;
    if (choice == 3) {  // at the moment its time is up
      std::this_thread::sleep_for(std::chrono::milliseconds(950 + random_.Below(100)));
    }
    told.in_doubt = pay ? "paid" : "cancelled";
    const auto answer = door.Change(event, id, random_.Below(4) == 0 ? "" : told.section, pay);
    if (!answer) return false;
    told.in_doubt.clear();
    if (answer->ok) {
      told.status = pay ? "paid" : "cancelled";
      ++(pay ? counts.paid : counts.cancelled);
    } else {
      EXPECT_EQ(answer->code, "HOLD_EXPIRED") << id;
      told.status = "expired";
      ++counts.expired;
    }
    return true;
  }

  const int id_;
  SeededRandom random_;
  uint64_t next_ = 0;
  std::vector<std::string> held_;  // not decided about yet
  std::map<std::string, Told> bookings_;
};

// Whether a booking may be `found` after what its client was told.
bool Fits(const Told& told, std::string_view found) {
  if (found == told.status || found == told.in_doubt) return true;
  return told.status == "reserved" && found == "expired";
}

class SeatStorm {
 public:
  void Run() {
    for (int round = 0; round < Rounds(); ++round) {
      const std::string event = fmt::format("r{}", round);
      ASSERT_NO_FATAL_FAILURE(RunRound(event, round));
      events_.push_back(event);
    }
    fmt::print(
        "{} rounds, {} connections: {} reserved, {} refused, {} paid, {} cancelled, {} found "
        "expired; after the kills {} bookings compared\n",
        Rounds(), kClients, counts_.reserved.load(), counts_.refused.load(), counts_.paid.load(),
        counts_.cancelled.load(), counts_.expired.load(), counts_.checked);
    EXPECT_GT(counts_.paid, 0U);
  }

 private:
  void RunRound(const std::string& event, int round) {
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < kClients; ++i) clients.push_back(std::make_unique<Client>(i));
    {
      Server server = Server::MustStart({.data = directory_ / "data"});
      const std::string created = server.Command(
          {"SEAT.CREATE", event,
           fmt::format(
               R"({{"hold_seconds":1,"sections":[{{"name":"A","subsections":{},"rows":{},"cols":{},"price":100}}]}})",
               kSections, kRows, kCols)});
      ASSERT_FALSE(created.starts_with("(error)")) << created;
      std::vector<std::jthread> threads;
      for (auto& client : clients) {
        threads.emplace_back([&] { client->Load(server, event, counts_); });
      }
      // Longer than a hold, and not the same in every round.
      std::this_thread::sleep_for(std::chrono::milliseconds(1300 + 170 * (round % 4)));
      server.process().Kill();
    }
    Server server = Server::MustStart({.data = directory_ / "data"});
    ASSERT_NO_FATAL_FAILURE(Compare(server, event, clients));
    ASSERT_NO_FATAL_FAILURE(WaitForHolds(server, event));
    for (const std::string& earlier : events_) Verify(server, earlier);
    EXPECT_TRUE(server.Stop().ok());
  }

  void Compare(Server& server, const std::string& event,
               std::vector<std::unique_ptr<Client>>& clients) {
    Verify(server, event);
    auto connection = server.Connect();
    ASSERT_TRUE(connection.ok());
    std::set<std::string> sold;
    for (auto& client : clients) {
      for (const auto& [id, told] : client->bookings()) {
        const auto reply = connection->Command({"SEAT.BOOKING", id});
        ASSERT_TRUE(reply.ok());
        ASSERT_FALSE(reply->is_error()) << "acknowledged and lost: " << id << " " << reply->text;
        const json::value booking = json::parse(reply->text);
        const std::string status(booking.at("status").as_string());
        ++counts_.checked;
        EXPECT_EQ(json::serialize(booking.at("seats")), told.seats) << id;
        EXPECT_TRUE(Fits(told, status))
            << id << " was told " << told.status << " and is " << status;
        if (status != "paid") continue;
        for (const json::value& seat : booking.at("seats").as_array()) {
          EXPECT_TRUE(sold.insert(told.section + "/" + std::string(seat.as_string())).second)
              << "sold twice: " << told.section << " " << seat;
        }
      }
    }
  }

  // Holds that outlived the kill lapse all the same.
  void WaitForHolds(Server& server, const std::string& event) {
    cairn::testing::Await("the holds of " + event + " to expire", [&] {
      const auto state = Ask(server, {"SEAT.STATE", event});
      return state.at("stats").at("reserved").as_int64() == 0;
    });
    Verify(server, event);
  }

  static json::value Ask(Server& server, std::initializer_list<std::string_view> args) {
    auto connection = server.Connect();
    const auto reply = connection->Command(args);
    EXPECT_TRUE(reply.ok() && !reply->is_error());
    return json::parse(reply->text);
  }

  static void Verify(Server& server, const std::string& event) {
    const json::value report = Ask(server, {"SEAT.VERIFY", event});
    EXPECT_TRUE(report.at("sound").as_bool()) << report;
  }

  TempDirectory directory_;
  Counts counts_;
  std::vector<std::string> events_;
};

TEST(SeatStormTest, NoSeatIsSoldTwiceAndNothingAcknowledgedIsLost) { SeatStorm().Run(); }

}  // namespace
}  // namespace cairn::testing
