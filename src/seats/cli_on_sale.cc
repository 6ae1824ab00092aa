#include "seats/cli_on_sale.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "house/quantile.h"
#include "house/server_url.h"
#include "net/http/client.h"

namespace cairn::seats {
namespace {

namespace json = boost::json;
using house::MessageOf;
using house::Quantile;
using house::RequestHeaders;
using house::ServerAccess;
using house::Terminal;
using Steady = std::chrono::steady_clock;

constexpr int64_t kPrice = 5000;
constexpr int kBarCells = 40;

// What all buyers together have done.
struct Tally {
  std::atomic<int64_t> seats_left{0};
  std::atomic<int64_t> reserved{0};  // bookings
  std::atomic<int64_t> paid{0};
  std::atomic<int64_t> cancelled{0};
  std::atomic<int64_t> refused{0};
  std::mutex mutex;
  std::vector<double> latencies_ms;  // of reservations
  std::string failure;               // the first

  void Fail(const std::string& message) {
    const std::lock_guard lock(mutex);
    if (failure.empty()) failure = message;
  }
  bool failed() {
    const std::lock_guard lock(mutex);
    return !failure.empty();
  }
};

// One buyer after another, on one connection.
class Buyer {
 public:
  Buyer(const ServerAccess& server, const OnSaleOptions& options, Tally& tally, int64_t number)
      : options_(options),
        tally_(tally),
        number_(number),
        headers_(RequestHeaders(server.password)),
        client_(server.url.address, {.tls = server.url.tls, .ca_file = server.ca_file}),
        random_(static_cast<uint64_t>(number)) {}

  void Run() {
    for (int64_t i = 0; i < options_.sections && !tally_.failed(); ++i) {
      // Buyers begin at different sections, so that they do not all want the same one.
      BuyOut(fmt::format("S-{}", (number_ + i) % options_.sections + 1));
    }
    const std::lock_guard lock(tally_.mutex);
    tally_.latencies_ms.insert(tally_.latencies_ms.end(), latencies_ms_.begin(),
                               latencies_ms_.end());
  }

 private:
  // Buys until the section has not even one seat left.
  void BuyOut(const std::string& section) {
    int64_t quantity = options_.max_quantity;
    while (!tally_.failed()) {
      const int64_t wanted = Random(1, quantity);
      const int status = Reserve(section, wanted);
      if (status == 409 && wanted == 1) return;
      if (status == 409) quantity = wanted - 1;
    }
  }

  int Reserve(const std::string& section, int64_t quantity) {
    const std::string booking = fmt::format("{}:{}:{}", options_.event, number_, ++bookings_);
    const auto begin = Steady::now();
    const auto response =
        client_.Post(fmt::format("/v1/events/{}/bookings", options_.event),
                     json::serialize(json::object{{"booking_id", booking},
                                                  {"buyer", fmt::format("buyer-{}", number_)},
                                                  {"section", section},
                                                  {"quantity", quantity}}),
                     headers_);
    const std::chrono::duration<double, std::milli> took = Steady::now() - begin;
    if (!Expect(response, {201, 409})) return 0;
    if (response->status == 409) {
      ++tally_.refused;
      return 409;
    }
    latencies_ms_.push_back(took.count());
    ++tally_.reserved;
    Decide(booking, quantity);
    return 201;
  }

  void Decide(const std::string& booking, int64_t quantity) {
    const bool pays = Random(1, 100) <= options_.pay_percent;
    const auto response = client_.Post(
        fmt::format("/v1/bookings/{}/{}", booking, pays ? "pay" : "cancel"), "", headers_);
    if (!Expect(response, {200})) return;
    ++(pays ? tally_.paid : tally_.cancelled);
    if (pays) tally_.seats_left -= quantity;
  }

  bool Expect(const Result<net::HttpResponse>& response, std::initializer_list<int> statuses) {
    if (!response.ok()) {
      tally_.Fail(response.error().message);
      return false;
    }
    if (std::ranges::find(statuses, response->status) != statuses.end()) return true;
    tally_.Fail(MessageOf(*response));
    return false;
  }

  int64_t Random(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }

  const OnSaleOptions& options_;
  Tally& tally_;
  const int64_t number_;
  const net::HttpHeaders headers_;
  net::HttpClient client_;
  std::mt19937_64 random_;
  int64_t bookings_ = 0;
  std::vector<double> latencies_ms_;
};

void DrawBar(int64_t done, int64_t total) {
  const auto cells = static_cast<int>(kBarCells * done / total);
  const std::string bar = std::string(static_cast<size_t>(cells), '#') +
                          std::string(static_cast<size_t>(kBarCells - cells), '.');
  fmt::print(stderr, "\r[{}] {:>3}%  {} of {} seats sold", bar, 100 * done / total, done, total);
  std::fflush(stderr);
}

// Runs all buyers; returns how long they took, in seconds.
double RunBuyers(const ServerAccess& server, const OnSaleOptions& options, Tally& tally) {
  const int64_t total = tally.seats_left;
  const auto begin = Steady::now();
  std::atomic<int64_t> running{options.buyers};
  std::vector<std::jthread> threads;
  for (int64_t i = 0; i < options.buyers; ++i) {
    threads.emplace_back([&, i] {
      Buyer(server, options, tally, i).Run();
      --running;
    });
  }
  const bool shows = house::LogsToTerminal() && !options.json;
  while (running > 0) {
    if (shows) DrawBar(total - tally.seats_left, total);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  threads.clear();
  if (shows) {
    DrawBar(total - tally.seats_left, total);
    fmt::print(stderr, "\n");
  }
  return std::chrono::duration<double>(Steady::now() - begin).count();
}

struct Outcome {
  double seconds = 0;
  bool sound = false;
};

json::object ToJson(Tally& tally, const Outcome& outcome, const std::string& event) {
  return {{"event_id", event},
          {"seconds", outcome.seconds},
          {"bookings", tally.reserved.load()},
          {"paid", tally.paid.load()},
          {"cancelled", tally.cancelled.load()},
          {"refused", tally.refused.load()},
          {"bookings_per_second", static_cast<double>(tally.reserved) / outcome.seconds},
          {"p50_ms", Quantile(tally.latencies_ms, 0.5)},
          {"p99_ms", Quantile(tally.latencies_ms, 0.99)},
          {"sound", outcome.sound}};
}

void PrintResult(const json::object& result, const Terminal& terminal) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : result) {
    rows.push_back({std::string(name), value.is_double() ? fmt::format("{:.2f}", value.as_double())
                                       : value.is_string() ? std::string(value.as_string())
                                                           : json::serialize(value)});
  }
  terminal.Print(house::FormatTable(rows));
}

std::string Definition(const OnSaleOptions& options) {
  return json::serialize(
      json::object{{"id", options.event},
                   {"name", "A simulated sale"},
                   {"max_per_booking", std::max<int64_t>(options.max_quantity, 1)},
                   {"sections", json::array{json::object{{"name", "S"},
                                                         {"subsections", options.sections},
                                                         {"rows", options.rows},
                                                         {"cols", options.cols},
                                                         {"price", kPrice}}}}});
}

}  // namespace

int SimulateOnSale(const ServerAccess& server, const OnSaleOptions& options,
                   const house::Terminal& terminal) {
  const auto complain = [&](const std::string& text) {
    terminal.Complain("seats simulate: " + text);
    return int{house::kExitFailure};
  };
  net::HttpClient client(server.url.address, {.tls = server.url.tls, .ca_file = server.ca_file});
  const auto created =
      client.Post("/v1/events", Definition(options), RequestHeaders(server.password));
  if (!created.ok()) return complain(created.error().message);
  if (created->status != 201) {
    return complain(created->status == 200 ? "the event exists already; take another id"
                                           : MessageOf(*created));
  }
  Tally tally;
  tally.seats_left = options.sections * options.rows * options.cols;
  Outcome outcome;
  outcome.seconds = RunBuyers(server, options, tally);
  if (tally.failed()) return complain(tally.failure);
  const auto report = client.Get(fmt::format("/v1/events/{}/verify", options.event),
                                 RequestHeaders(server.password));
  if (!report.ok() || report->status != 200) return complain("the event cannot be verified");
  outcome.sound = json::parse(report->body).at("sound").as_bool();
  const json::object result = ToJson(tally, outcome, options.event);
  if (options.json) {
    terminal.Print(json::value(result));
  } else {
    PrintResult(result, terminal);
  }
  return outcome.sound ? house::kExitOk : house::kExitFailure;
}

}  // namespace cairn::seats
