#include "seats/testing/seat_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/log.h"
#include "data/commands.h"
#include "data/value/entry.h"
#include "seats/commands.h"
#include "seats/feed.h"
#include "seats/operations.h"
#include "store/timers.h"

namespace cairn::seats::testing {
namespace {

namespace json = boost::json;

constexpr std::string_view kError = "(error) ";

json::value Parsed(const net::RespValue& reply) {
  EXPECT_FALSE(reply.ToString().starts_with(kError)) << reply.ToString();
  boost::system::error_code failure;
  json::value value = json::parse(reply.text, failure);
  EXPECT_FALSE(failure) << reply.ToString();
  return value;
}

std::vector<std::string> Owned(std::initializer_list<std::string_view> args) {
  return {args.begin(), args.end()};
}

}  // namespace

SeatServer::SeatServer(std::string prefix)
    : TestServer({.add_commands =
                      [prefix](doors::Instance& instance) {
                        data::AddDataCommands(instance);
                        AddSeatCommands(instance, prefix);
                      }}),
      prefix_(std::move(prefix)) {}

json::value SeatServer::Json(std::initializer_list<std::string_view> args) {
  return Json(Owned(args));
}

json::value SeatServer::Json(const std::vector<std::string>& args) {
  if (client_ == nullptr) client_ = std::make_unique<doors::testing::TestClient>(Connect());
  Result<net::RespValue> reply = client_->raw().Command(args);
  if (!reply.ok()) {
    client_ = std::make_unique<doors::testing::TestClient>(Connect());
    reply = client_->raw().Command(args);
  }
  EXPECT_TRUE(reply.ok());
  return reply.ok() ? Parsed(*reply) : json::value();
}

std::string SeatServer::Refusal(std::initializer_list<std::string_view> args) {
  return Refusal(Owned(args));
}

std::string SeatServer::Refusal(const std::vector<std::string>& args) {
  const std::string reply = Run(args);
  EXPECT_TRUE(reply.starts_with(kError)) << reply;
  return reply.substr(std::min(reply.size(), kError.size()));
}

void SeatServer::Create(std::string_view event, int64_t rows, int64_t cols, std::string_view more) {
  Json({"SEAT.CREATE", event,
        fmt::format(R"({{"sections":[{{"name":"A","rows":{},"cols":{},"price":1000}}]{}}})", rows,
                    cols, more)});
}

void SeatServer::SetStates(std::string_view event, std::string_view digits) {
  const std::string bits = fmt::format("{}seats_bf:{}:A-1", prefix_, event);
  const std::string state = fmt::format("{}event_state:{}", prefix_, event);
  const int64_t cols = Json({"SEAT.MAP", event, "A-1"}).at("cols").as_int64();
  const auto count = [&](std::string_view name, int64_t by) {
    for (const std::string_view where : {"$.event_stats.", "$.sections['A-1'].stats."}) {
      Run({"JSON.NUMINCRBY", state, fmt::format("{}{}", where, name), fmt::to_string(by)});
    }
  };
  for (size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] == '0') continue;
    Run({"BITFIELD", bits, "SET", "u2", fmt::to_string(2 * i), std::string(1, digits[i])});
    count("available", -1);
    if (digits[i] == '1') count("reserved", 1);
    if (digits[i] == '2') count("sold", 1);
    if (digits[i] == '3') continue;
    const auto index = static_cast<int64_t>(i);
    Run({"HSET", fmt::format("{}booking:raw:{}:{}", prefix_, event, i), "event_id",
         std::string(event), "section", "A-1", "status", "RESERVE_SUCCESS", "reserved_seats",
         fmt::format(R"(["A-1-{}-{}"])", index / cols + 1, index % cols + 1)});
    Run({"HSETNX", fmt::format("{}event_sellout_timer:{}", prefix_, event),
         "first_ticket_reserved_at", "2023-11-14T22:13:20.000000+00:00"});
  }
}

std::string SeatServer::Seats(std::initializer_list<std::string_view> args) {
  return Seats(Owned(args));
}

std::string SeatServer::Seats(const std::vector<std::string>& args) {
  const json::value answer = Json(args);
  if (!answer.is_object()) return "no answer";
  std::string seats;
  for (const json::value& seat : answer.at("booking").at("seats").as_array()) {
    if (!seats.empty()) seats.push_back(' ');
    seats += seat.as_string().c_str();
  }
  return seats;
}

std::string SeatServer::Map(std::string_view event, std::string_view section) {
  std::string map;
  const json::value answer = Json({"SEAT.MAP", event, section});
  for (const json::value& row : answer.at("seats").as_array()) {
    if (!map.empty()) map.push_back('/');
    map += row.as_string().c_str();
  }
  return map;
}

std::string SeatServer::Counts(std::string_view event) {
  const json::value state = Json({"SEAT.STATE", event});
  const json::object& stats = state.at("stats").as_object();
  return fmt::format("{}/{}/{}/{}", stats.at("available").as_int64(),
                     stats.at("reserved").as_int64(), stats.at("sold").as_int64(),
                     stats.at("blocked").as_int64());
}

void SeatServer::FireTimers() {
  data::ExpiryTimers expiry(instance().traffic().pubsub, instance().observed().expired_keys);
  data::ReclaimTimers reclaim;
  HoldTimers holds(prefix_, instance().traffic().pubsub);
  FeedTimers feeds(prefix_);
  store::TimerService timers(store(), clock(), Log::Silent());
  timers.Register(store::kTimerKeyExpiry, expiry);
  timers.Register(store::kTimerReclaim, reclaim);
  timers.Register(kTimerHold, holds);
  timers.Register(kTimerFeed, feeds);
  EXPECT_TRUE(timers.RunDue().ok());
}

void SeatServer::ExpectSound(std::string_view event) {
  const json::value report = Json({"SEAT.VERIFY", event});
  EXPECT_TRUE(report.at("sound").as_bool()) << json::serialize(report);
}

}  // namespace cairn::seats::testing
