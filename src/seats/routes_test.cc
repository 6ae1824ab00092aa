// The HTTP door of seats: every answer is checked against the schema of its row.
#include "seats/routes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "net/http/client.h"
#include "net/http/server.h"
#include "net/loop.h"
#include "net/resp/client.h"
#include "seats/testing/seat_server.h"
#include "tests/support/await.h"
#include "tests/support/test_store.h"

namespace cairn::seats {
namespace {

namespace json = boost::json;
using testing::SeatServer;

// One open event stream, read as it comes.
class EventReader {
 public:
  EventReader(uint16_t port, const std::string& path, const std::string& last_event_id = "")
      : client_(*net::RespClient::Connect({"127.0.0.1", port})) {
    std::string request = fmt::format("GET {} HTTP/1.1\r\nHost: test\r\n", path);
    if (!last_event_id.empty()) request += "Last-Event-ID: " + last_event_id + "\r\n";
    EXPECT_TRUE(client_.SendRaw(request + "\r\n").ok());
  }

  // The next event's "id event data", its data cut to what is asked for.
  std::string Next() {
    while (true) {
      const size_t end = text_.find("\n\n");
      if (end == std::string::npos) {
        if (!ReadMore()) return "no event came: " + text_;
        continue;
      }
      const std::string block = text_.substr(0, end);
      text_.erase(0, end + 2);
      const size_t begin = block.find("id: ");
      if (begin != std::string::npos) return Summary(block.substr(begin));
    }
  }
  const std::string& last_id() const { return last_id_; }

 private:
  bool ReadMore() {
    pollfd ready{client_.fd(), POLLIN, 0};
    if (poll(&ready, 1, 60'000) <= 0) return false;
    char buffer[4096];
    const ssize_t size = recv(client_.fd(), buffer, sizeof(buffer), 0);
    if (size <= 0) return false;
    text_.append(buffer, static_cast<size_t>(size));
    return true;
  }

  std::string Summary(const std::string& block) {
    last_id_ = block.substr(4, block.find('\n') - 4);
    const json::value data = json::parse(block.substr(block.find("data: ") + 6));
    if (block.find("event: snapshot") != std::string::npos) {
      return "snapshot " + json::serialize(data.at("stats").at("available"));
    }
    return fmt::format("{} {} {}", data.at("change").as_string().c_str(),
                       json::serialize(data.at("seats")),
                       json::serialize(data.at("event_stats").at("available")));
  }

  net::RespClient client_;
  std::string text_;
  std::string last_id_;
};

class SeatRoutesTest : public ::testing::Test {
 protected:
  SeatRoutesTest()
      : loops_(1),
        store_(server_.instance().traffic().turns, loops_, server_.instance().pools().store),
        http_({}, loops_, Factory(), server_.clock(), random_, Log::Silent()) {
    loops_.Start();
    const auto port = http_.Listen({"127.0.0.1", 0});
    EXPECT_TRUE(port.ok());
    port_ = *port;
    client_ = std::make_unique<net::HttpClient>(net::Address{"127.0.0.1", port_});
  }
  ~SeatRoutesTest() override {
    client_.reset();
    http_.Drain(std::chrono::seconds(30));
    loops_.Stop();
    server_.instance().pools().store.Stop();
  }

  net::HttpHandlerFactory Factory() {
    AddSeatRoutes(
        {.store = store_, .pubsub = server_.instance().traffic().pubsub, .key_prefix = ""}, table_);
    return [this](net::Loop& loop) { return table_.MakeHandler(loop); };
  }

  // Asks, and checks the answer against the row of `path`, in which the words of `at` stand for its
  // parameters.
  net::HttpResponse Ask(std::string_view method, std::string_view path,
                        std::vector<std::string> at = {}, const std::string& body = "") {
    std::string target;
    size_t word = 0;
    for (size_t i = 0; i < path.size(); ++i) {
      if (path[i] != '{') {
        target.push_back(path[i]);
        continue;
      }
      target += at[word++];
      i = path.find('}', i);
    }
    const auto response = client_->Request(method, target, body, {{"X-Request-Id", "r1"}});
    EXPECT_TRUE(response.ok()) << response.error().message;
    CheckSchema(method, path.substr(0, path.find('?')), *response);
    return *response;
  }

  void CheckSchema(std::string_view method, std::string_view path,
                   const net::HttpResponse& response) {
    for (size_t i = 0; i < table_.size(); ++i) {
      if (table_.row(i).path != path || table_.row(i).method != method) continue;
      const doors::JsonSchema* schema = table_.ResponseSchema(i, response.status);
      ASSERT_NE(schema, nullptr) << path << " has no status " << response.status << ": "
                                 << response.body;
      EXPECT_EQ(schema->FindFault(json::parse(response.body)).value_or(""), "") << response.body;
      return;
    }
    FAIL() << "no row " << method << " " << path;
  }

  json::value Create(const std::string& id, int rows = 2, int cols = 3) {
    const auto response = Ask(
        "POST", "/v1/events", {},
        fmt::format(
            R"({{"id":"{}","name":"A show","sections":[{{"name":"A","rows":{},"cols":{},"price":1000}}]}})",
            id, rows, cols));
    EXPECT_EQ(response.status, 201) << response.body;
    return json::parse(response.body);
  }

  net::HttpResponse Book(const std::string& event, const std::string& body) {
    return Ask("POST", "/v1/events/{id}/bookings", {event}, body);
  }
  net::HttpResponse Booking(const std::string& id, const std::string& what,
                            const std::string& body = "") {
    return Ask("POST", "/v1/bookings/{id}/" + what, {id}, body);
  }
  static std::string CodeOf(const net::HttpResponse& response) {
    const json::value body = json::parse(response.body);
    return fmt::format("{} {}", response.status, body.at("error").at("code").as_string().c_str());
  }
  static std::string StatusOf(const net::HttpResponse& response) {
    const json::value body = json::parse(response.body);
    return fmt::format("{} {}", response.status,
                       body.at("booking").at("status").as_string().c_str());
  }

  SeatServer server_;
  SeededRandom random_{7};
  net::LoopGroup loops_;
  doors::RouteTable table_;
  doors::RouteStore store_;
  net::HttpServer http_;
  uint16_t port_ = 0;
  std::unique_ptr<net::HttpClient> client_;
};

TEST_F(SeatRoutesTest, AnEventIsCreatedListedAndShown) {
  EXPECT_EQ(Create("e1").at("stats").at("available").as_int64(), 6);
  Create("e2");
  Create("e3");
  EXPECT_EQ(Ask("GET", "/v1/events/{id}", {"e1"}).status, 200);
  const auto page = json::parse(Ask("GET", "/v1/events?limit=2").body);
  EXPECT_EQ(page.at("events").as_array().size(), 2U);
  EXPECT_EQ(page.at("next").as_string(), "e2");
  const auto rest = json::parse(Ask("GET", "/v1/events?limit=2&after=e2").body);
  EXPECT_EQ(rest.at("events").as_array().size(), 1U);
  EXPECT_TRUE(rest.at("next").is_null());
  // Again: the same event. Otherwise: a conflict.
  const std::string same =
      R"({"id":"e1","name":"A show","sections":[{"name":"A","rows":2,"cols":3,"price":1000}]})";
  EXPECT_EQ(Ask("POST", "/v1/events", {}, same).status, 200);
  EXPECT_EQ(CodeOf(Ask("POST", "/v1/events", {},
                       R"({"id":"e1","sections":[{"name":"B","rows":2,"cols":3,"price":1}]})")),
            "409 event_exists");
}

TEST_F(SeatRoutesTest, ABookingIsMadePaidAndRefunded) {
  Create("e");
  const std::string request =
      R"({"booking_id":"b1","buyer":"ann","section":"A-1","seats":["1-2"]})";
  const auto made = Book("e", request);
  EXPECT_EQ(StatusOf(made), "201 reserved");
  EXPECT_EQ(StatusOf(Book("e", request)), "200 reserved");  // once
  EXPECT_EQ(CodeOf(Book("e", R"({"booking_id":"b1","section":"A-1","seats":["1-3"]})")),
            "409 booking_conflict");
  EXPECT_EQ(Ask("GET", "/v1/bookings/{id}", {"b1"}).status, 200);
  EXPECT_EQ(StatusOf(Booking("b1", "extend", R"({"seconds":30})")), "200 reserved");
  EXPECT_EQ(StatusOf(Booking("b1", "pay")), "200 paid");
  EXPECT_EQ(CodeOf(Booking("b1", "cancel")), "409 already_paid");
  EXPECT_EQ(StatusOf(Booking("b1", "refund", R"({"reason":"rain"})")), "200 refunded");
  EXPECT_EQ(CodeOf(Booking("b1", "pay")), "409 not_held");
  EXPECT_EQ(server_.Counts("e"), "6/0/0/0");
  server_.ExpectSound("e");
}

TEST_F(SeatRoutesTest, BestAvailableTakesItsOptions) {
  Create("e", 3, 5);
  const auto seats = [&](const std::string& body) {
    return json::serialize(json::parse(Book("e", body).body).at("booking").at("seats"));
  };
  EXPECT_EQ(seats(R"({"booking_id":"1","section":"A-1","quantity":2})"), R"(["1-1","1-2"])");
  EXPECT_EQ(seats(R"({"booking_id":"2","section":"A-1","quantity":1,"prefer":"center"})"),
            R"(["2-3"])");
  EXPECT_EQ(
      seats(R"({"booking_id":"3","section":"any","quantity":2,"prefer":"back","max_price":1000,
                      "avoid_orphans":true,"adjacent":"required","hold_seconds":60,"mode":"best_available"})"),
      R"(["3-1","3-2"])");
  EXPECT_EQ(CodeOf(Book("e", R"({"booking_id":"4","section":"any","quantity":1,"max_price":999})")),
            "409 not_enough_seats");
  server_.ExpectSound("e");
}

TEST_F(SeatRoutesTest, ATakenSeatIsNamed) {
  Create("e");
  Book("e", R"({"booking_id":"b1","section":"A-1","seats":["1-2"]})");
  const auto refused = Book("e", R"({"booking_id":"b2","section":"A-1","seats":["1-1","1-2"]})");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.body,
            R"({"error":{"code":"seat_taken","message":"1-2 of section A-1 is reserved",)"
            R"("request_id":"r1","seat":"1-2"}})");
  EXPECT_EQ(server_.Map("e"), ".r./...");
}

TEST_F(SeatRoutesTest, MalformedRequestsAre422AndMissingThings404) {
  Create("e");
  for (const std::string body :
       {"{", "[]", R"({"section":"A-1","quantity":1})", R"({"booking_id":"b","section":"A-1"})",
        R"({"booking_id":"b","section":"A-1","quantity":0})",
        R"({"booking_id":"b","section":"A-1","quantity":5})",
        R"({"booking_id":"b","section":"A-1","quantity":"1"})",
        R"({"booking_id":"b","section":"A-1","quantity":1,"prefer":"up"})",
        R"({"booking_id":"b","section":"A-1","quantity":1,"colour":"red"})",
        R"({"booking_id":"b","section":"A-1","quantity":18446744073709551615})",
        R"({"booking_id":"b","section":"A-1","seats":["1-1","1-1"]})",
        R"({"booking_id":"b","section":"A-1","seats":["9-9"]})",
        R"({"booking_id":"b","section":"A-1","seats":["x"]})",
        R"({"booking_id":"b","section":"A-1","seats":["1-1"],"quantity":2})"}) {
    EXPECT_EQ(Book("e", body).status, 422) << body;
  }
  EXPECT_EQ(CodeOf(Book("none", R"({"booking_id":"b","section":"A-1","quantity":1})")),
            "404 no_such_event");
  EXPECT_EQ(CodeOf(Book("e", R"({"booking_id":"b","section":"B-1","quantity":1})")),
            "404 no_such_section");
  EXPECT_EQ(CodeOf(Booking("none", "pay")), "404 no_such_booking");
  EXPECT_EQ(CodeOf(Ask("GET", "/v1/bookings/{id}", {"none"})), "404 no_such_booking");
  EXPECT_EQ(CodeOf(Ask("GET", "/v1/events/{id}", {"none"})), "404 no_such_event");
  EXPECT_EQ(CodeOf(Ask("GET", "/v1/events/{id}/sections/{section}/seats", {"e", "Z-1"})),
            "404 no_such_section");
  EXPECT_EQ(Ask("POST", "/v1/events", {}, R"({"id":"x","sections":[]})").status, 422);
  EXPECT_EQ(server_.Counts("e"), "6/0/0/0");
}

TEST_F(SeatRoutesTest, SeatsAreBlockedAndDrawn) {
  Create("e");
  EXPECT_EQ(Ask("POST", "/v1/events/{id}/sections/{section}/block", {"e", "A-1"},
                R"({"seats":["1-1","2-3"]})")
                .status,
            200);
  EXPECT_EQ(
      json::serialize(
          json::parse(Ask("GET", "/v1/events/{id}/sections/{section}/seats", {"e", "A-1"}).body)
              .at("seats")),
      R"(["x..","..x"])");
  EXPECT_EQ(Ask("POST", "/v1/events/{id}/sections/{section}/unblock", {"e", "A-1"},
                R"({"seats":["1-1"]})")
                .status,
            200);
  const auto report = json::parse(Ask("GET", "/v1/events/{id}/verify", {"e"}).body);
  EXPECT_TRUE(report.at("sound").as_bool());
}

TEST_F(SeatRoutesTest, AnExpiredHoldCannotBePaid) {
  Create("e");
  Book("e", R"({"booking_id":"b1","section":"A-1","quantity":1,"hold_seconds":10})");
  server_.clock().AdvanceMillis(10'000);
  EXPECT_EQ(CodeOf(Booking("b1", "pay")), "409 hold_expired");
  server_.FireTimers();
  EXPECT_EQ(CodeOf(Booking("b1", "pay")), "409 hold_expired");
  EXPECT_EQ(server_.Counts("e"), "6/0/0/0");
}

TEST_F(SeatRoutesTest, AStreamTellsASnapshotThenEveryChange) {
  Create("e");
  Create("other");
  EventReader reader(port_, "/v1/events/e/stream");
  EXPECT_EQ(reader.Next(), "snapshot 6");
  Book("other", R"({"booking_id":"o1","section":"A-1","quantity":1})");
  Book("e", R"({"booking_id":"b1","section":"A-1","quantity":2})");
  EXPECT_EQ(reader.Next(), R"(reserved ["1-1","1-2"] 4)");
  server_.Json({"SEAT.PAY", "e", "b1"});  // through the other door
  EXPECT_EQ(reader.Next(), R"(sold ["1-1","1-2"] 4)");
  server_.Json({"SEAT.BLOCK", "e", "A-1", "2-1"});
  EXPECT_EQ(reader.Next(), R"(blocked ["2-1"] 3)");
}

TEST_F(SeatRoutesTest, AStreamGoesOnWhereItWasInterrupted) {
  Create("e");
  std::string last;
  {
    EventReader reader(port_, "/v1/events/e/stream");
    EXPECT_EQ(reader.Next(), "snapshot 6");
    Book("e", R"({"booking_id":"b1","section":"A-1","quantity":1})");
    EXPECT_EQ(reader.Next(), R"(reserved ["1-1"] 5)");
    last = reader.last_id();
  }
  Book("e", R"({"booking_id":"b2","section":"A-1","quantity":1})");
  Booking("b1", "cancel");
  EventReader resumed(port_, "/v1/events/e/stream", last);
  EXPECT_EQ(resumed.Next(), R"(reserved ["1-2"] 4)");
  EXPECT_EQ(resumed.Next(), R"(released ["1-1"] 5)");
  // A browser that cannot send the header.
  EventReader browser(port_, "/v1/events/e/stream?last_event_id=" + last);
  EXPECT_EQ(browser.Next(), R"(reserved ["1-2"] 4)");
}

TEST_F(SeatRoutesTest, AStreamThatWasAwayTooLongStartsAnew) {
  Create("e");
  EventReader reader(port_, "/v1/events/e/stream");
  reader.Next();
  Book("e", R"({"booking_id":"b1","section":"A-1","quantity":1,"hold_seconds":7200})");
  reader.Next();
  const std::string last = reader.last_id();
  server_.clock().AdvanceMillis(181'000);
  server_.FireTimers();
  EventReader late(port_, "/v1/events/e/stream", last);
  EXPECT_EQ(late.Next(), "snapshot 5");
  EXPECT_EQ(CodeOf(Ask("GET", "/v1/events/{id}/stream", {"none"})), "404 no_such_event");
}

TEST_F(SeatRoutesTest, NothingIsToldBeforeItIsDurable) {
  CAIRN_TEST_ROCKS_ONLY("commits that are seen before they are durable");
  Create("e");
  EventReader reader(port_, "/v1/events/e/stream");
  EXPECT_EQ(reader.Next(), "snapshot 6");
  server_.store().CloseGate();
  std::string reply;
  std::thread buyer([&] {
    net::HttpClient client({"127.0.0.1", port_});
    const auto response =
        client.Post("/v1/events/e/bookings", R"({"booking_id":"b1","section":"A-1","quantity":1})");
    reply = response.ok() ? fmt::to_string(response->status) : response.error().message;
  });
  // The commit is there once its hold is; the answer is not.
  const auto reserved = [&] {
    const auto snapshot = server_.store().Read();
    return (*snapshot)
        ->Get({store::Space::kData, std::string("\x01\x00", 2) + "booking:b1"})
        ->has_value();
  };
  cairn::testing::Await("the seats to be reserved", [&] { return reserved(); });
  std::atomic<bool> durable = false;
  std::thread visitor([&] {
    net::HttpClient client({"127.0.0.1", port_});
    const auto listed = client.Get("/v1/events");
    EXPECT_TRUE(listed.ok() && listed->status == 200);
    EXPECT_TRUE(durable) << "a list showed what a crash could take back";
  });
  // A wrong answer would be under way before these.
  for (int round = 0; round < 8; ++round) EXPECT_EQ(server_.Run({"PING"}), "PONG");
  EXPECT_EQ(reply, "");
  durable = true;
  server_.store().MakeDurable();
  visitor.join();
  buyer.join();
  EXPECT_EQ(reply, "201");
  EXPECT_EQ(reader.Next(), R"(reserved ["1-1"] 5)");
}

TEST_F(SeatRoutesTest, SubscribersHearOfChanges) {
  Create("e");
  doors::testing::TestClient listener = server_.Connect();
  listener.Run({"SUBSCRIBE", "seats:e"});
  Book("e", R"({"booking_id":"b1","section":"A-1","quantity":1})");
  const std::string message = listener.Receive();
  EXPECT_NE(
      message.find(R"("change":"reserved","section":"A-1","state":"reserved","seats":["1-1"])"),
      std::string::npos)
      << message;
}

}  // namespace
}  // namespace cairn::seats
