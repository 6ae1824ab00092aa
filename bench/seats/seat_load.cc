// The load of bench/seats/run.py: buys seats over many connections from one thread, fast enough not
// to be what is measured, and keeps every answer to check that no seat was given twice.
//
//   bench_seats resp PORT --event e --sections A-1,A-2 --requests 50000 …   SEAT.RESERVE, pipelined
//   bench_seats http PORT …                                                 POST …/bookings
//   bench_seats redis PORT …    a Lua script that finds, then MULTI/EXEC that takes, on any Redis
//   bench_seats create PORT --event e --events 100 --definition JSON        SEAT.CREATE
//
// With --events n the events are e0 … e(n-1). Request number i goes to event i mod n, and to the
// sections in turn. Prints one line of JSON.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string mode;
  int port = 0;
  std::string event = "e";
  int64_t events = 1;
  std::vector<std::string> sections = {"A-1"};
  int64_t requests = 1000;
  int64_t connections = 64;
  int64_t pipeline = 4;
  std::string definition;
  std::string tag = "b";  // of booking ids
  int64_t rows = 25;      // of every section, for redis
  int64_t cols = 20;
};

[[noreturn]] void Die(const std::string& text) {
  fmt::print(stderr, "bench_seats: {}\n", text);
  std::exit(1);
}

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

Options Parse(int argc, char** argv) {
  if (argc < 3) Die("usage: bench_seats MODE PORT [--option value]...");
  Options options{.mode = argv[1], .port = std::atoi(argv[2])};
  const std::map<std::string, int64_t*> numbers = {{"--events", &options.events},
                                                   {"--requests", &options.requests},
                                                   {"--connections", &options.connections},
                                                   {"--pipeline", &options.pipeline},
                                                   {"--rows", &options.rows},
                                                   {"--cols", &options.cols}};
  const std::map<std::string, std::string*> texts = {
      {"--event", &options.event}, {"--definition", &options.definition}, {"--tag", &options.tag}};
  for (int i = 3; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (numbers.contains(name)) {
      *numbers.at(name) = std::atoll(argv[i + 1]);
    } else if (texts.contains(name)) {
      *texts.at(name) = argv[i + 1];
    } else if (name == "--sections") {
      options.sections = Split(argv[i + 1]);
    } else {
      Die("unknown option " + name);
    }
  }
  return options;
}

std::string EncodeCommand(const std::vector<std::string>& args) {
  std::string out = fmt::format("*{}\r\n", args.size());
  for (const std::string& arg : args) out += fmt::format("${}\r\n{}\r\n", arg.size(), arg);
  return out;
}

// The end of the RESP reply that begins at `at`; npos if it is not all there.
size_t ReplyEnd(std::string_view text, size_t at) {
  const size_t line = text.find("\r\n", at);
  if (line == std::string_view::npos) return line;
  const int64_t number = std::atoll(std::string(text.substr(at + 1, line - at - 1)).c_str());
  size_t end = line + 2;
  if (text[at] == '$' && number >= 0) {
    end += static_cast<size_t>(number) + 2;
    return end <= text.size() ? end : std::string_view::npos;
  }
  if (text[at] != '*') return end;
  for (int64_t i = 0; i < number; ++i) {
    if (end >= text.size()) return std::string_view::npos;
    end = ReplyEnd(text, end);
    if (end == std::string_view::npos) return end;
  }
  return end;
}

// The end of the HTTP response that begins at `at`.
size_t ResponseEnd(std::string_view text, size_t at) {
  const size_t head = text.find("\r\n\r\n", at);
  if (head == std::string_view::npos) return head;
  const size_t length = text.find("Content-Length: ", at);
  if (length == std::string_view::npos || length > head) Die("a response without a length");
  const size_t end = head + 4 + std::strtoul(text.data() + length + 16, nullptr, 10);
  return end <= text.size() ? end : std::string_view::npos;
}

std::string Between(std::string_view text, std::string_view before, char after) {
  const size_t begin = text.find(before);
  if (begin == std::string_view::npos) return "";
  const size_t end = text.find(after, begin + before.size());
  return std::string(text.substr(begin + before.size(), end - begin - before.size()));
}

struct Connection {
  int fd = -1;
  std::string in;
  std::string out;
  size_t parsed = 0;
  bool wants_write = false;
  std::deque<std::pair<Clock::time_point, int64_t>> sent;  // when, and which request
};

struct Totals {
  std::vector<double> latencies_ms;
  std::unordered_set<std::string> seats;  // "event/section/seat"
  int64_t answered = 0;
  int64_t doubled = 0;
  int64_t failed = 0;
  std::string first_failure;
};

// Sends requests and takes replies until all are answered. What is sent and how a reply is read is
// the protocol's affair.
class Load {
 public:
  explicit Load(Options options) : options_(std::move(options)) {}
  virtual ~Load() = default;

  double Run() {
    Connect();
    Prepare(*connections_.front());
    const auto begin = Clock::now();
    for (auto& connection : connections_) Fill(*connection);
    std::vector<epoll_event> events(static_cast<size_t>(options_.connections));
    while (totals_.answered < expected()) {
      const int ready = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 60'000);
      if (ready <= 0) Die("no reply for a minute");
      for (int i = 0; i < ready; ++i)
        Serve(*static_cast<Connection*>(events[static_cast<size_t>(i)].data.ptr));
    }
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  Totals& totals() { return totals_; }

 protected:
  virtual int64_t expected() const { return options_.requests; }
  virtual size_t MessageEnd(std::string_view text, size_t at) const { return ReplyEnd(text, at); }
  virtual void Prepare(Connection& /*connection*/) {}
  // Puts new requests into connection.out while it should have more under way.
  virtual void Fill(Connection& connection) = 0;
  virtual void Take(Connection& connection, std::string_view reply) = 0;

  std::string EventOf(int64_t request) const {
    return options_.events == 1 ? options_.event
                                : fmt::format("{}{}", options_.event, request % options_.events);
  }
  const std::string& SectionOf(int64_t request) const {
    const auto turn = static_cast<size_t>(request / options_.events);
    return options_.sections[turn % options_.sections.size()];
  }

  void Answered(Clock::time_point since) {
    const std::chrono::duration<double, std::milli> took = Clock::now() - since;
    totals_.latencies_ms.push_back(took.count());
    ++totals_.answered;
  }
  void Give(const std::string& seat) {
    if (!totals_.seats.insert(seat).second) ++totals_.doubled;
  }
  void Fail(std::string_view reply) {
    if (totals_.failed++ == 0) totals_.first_failure = std::string(reply.substr(0, 300));
  }

  void Flush(Connection& connection) {
    while (!connection.out.empty()) {
      const ssize_t size =
          send(connection.fd, connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
      if (size <= 0) break;
      connection.out.erase(0, static_cast<size_t>(size));
    }
    const bool wants_write = !connection.out.empty();
    if (wants_write == connection.wants_write) return;
    connection.wants_write = wants_write;
    epoll_event event{.events = EPOLLIN | (wants_write ? EPOLLOUT : 0U),
                      .data = {.ptr = &connection}};
    epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.fd, &event);
  }

  const Options options_;
  std::vector<std::unique_ptr<Connection>> connections_;

 private:
  void Connect() {
    epoll_ = epoll_create1(0);
    for (int64_t i = 0; i < options_.connections; ++i) {
      auto connection = std::make_unique<Connection>();
      connection->fd = socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in address{.sin_family = AF_INET,
                          .sin_port = htons(static_cast<uint16_t>(options_.port))};
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      if (connect(connection->fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
        Die(fmt::format("cannot connect to port {}", options_.port));
      }
      const int on = 1;
      setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      epoll_event event{.events = EPOLLIN, .data = {.ptr = connection.get()}};
      epoll_ctl(epoll_, EPOLL_CTL_ADD, connection->fd, &event);
      connections_.push_back(std::move(connection));
    }
  }

  void Serve(Connection& connection) {
    char buffer[65536];
    const ssize_t size = recv(connection.fd, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (size == 0) Die("the server closed a connection");
    if (size > 0) connection.in.append(buffer, static_cast<size_t>(size));
    while (connection.parsed < connection.in.size()) {
      const size_t end = MessageEnd(connection.in, connection.parsed);
      if (end == std::string_view::npos) break;
      Take(connection,
           std::string_view(connection.in).substr(connection.parsed, end - connection.parsed));
      connection.parsed = end;
    }
    connection.in.erase(0, connection.parsed);
    connection.parsed = 0;
    Fill(connection);
    Flush(connection);
  }

  int epoll_ = -1;
  Totals totals_;
};

// Requests that are answered one for one.
class DirectLoad : public Load {
 public:
  using Load::Load;

 protected:
  virtual std::string Request(int64_t number) const = 0;
  virtual bool Succeeded(std::string_view reply) const = 0;
  virtual void Keep(int64_t /*request*/, std::string_view reply) {
    Give(fmt::format("{}/{}/{}", Between(reply, "\"event_id\":\"", '"'),
                     Between(reply, "\"section\":\"", '"'), Between(reply, "\"seats\":[\"", '"')));
  }

  void Fill(Connection& connection) override {
    while (next_ < options_.requests &&
           connection.sent.size() < static_cast<size_t>(options_.pipeline)) {
      connection.out += Request(next_);
      connection.sent.emplace_back(Clock::now(), next_++);
    }
    Flush(connection);
  }

  void Take(Connection& connection, std::string_view reply) override {
    const auto [since, request] = connection.sent.front();
    connection.sent.pop_front();
    Answered(since);
    if (!Succeeded(reply)) return Fail(reply);
    Keep(request, reply);
  }

 private:
  int64_t next_ = 0;
};

class RespLoad final : public DirectLoad {
 public:
  using DirectLoad::DirectLoad;

 private:
  std::string Request(int64_t number) const override {
    return EncodeCommand({"SEAT.RESERVE", EventOf(number),
                          fmt::format("{}{}", options_.tag, number), SectionOf(number), "BEST",
                          "1"});
  }
  bool Succeeded(std::string_view reply) const override { return reply.front() == '$'; }
};

class HttpLoad final : public DirectLoad {
 public:
  using DirectLoad::DirectLoad;

 private:
  size_t MessageEnd(std::string_view text, size_t at) const override {
    return ResponseEnd(text, at);
  }
  std::string Request(int64_t number) const override {
    const std::string body = fmt::format(R"({{"booking_id":"{}{}","section":"{}","quantity":1}})",
                                         options_.tag, number, SectionOf(number));
    return fmt::format(
        "POST /v1/events/{}/bookings HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
        "application/json\r\n"
        "Content-Length: {}\r\n\r\n{}",
        EventOf(number), body.size(), body);
  }
  bool Succeeded(std::string_view reply) const override {
    return reply.starts_with("HTTP/1.1 201");
  }
};

class CreateLoad final : public DirectLoad {
 public:
  using DirectLoad::DirectLoad;

 private:
  std::string Request(int64_t number) const override {
    return EncodeCommand({"SEAT.CREATE", EventOf(number), options_.definition});
  }
  bool Succeeded(std::string_view reply) const override { return reply.front() == '$'; }
  void Keep(int64_t, std::string_view) override {}
};

// The pattern of a system that keeps seats in a plain Redis: one writer per section, which asks a
// script for the first free seat and takes it with MULTI/EXEC, JSON documents as hash counters. The
// script and the commands are those that such a client would send.
constexpr std::string_view kFind = R"(
local rows, cols, quantity = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
for row = 1, rows do
  local ask = {}
  for seat = 1, cols do
    local at = #ask
    ask[at + 1] = 'GET'
    ask[at + 2] = 'u2'
    ask[at + 3] = ((row - 1) * cols + seat - 1) * 2
  end
  local states = redis.call('BITFIELD', KEYS[1], unpack(ask))
  local run = 0
  for seat = 1, cols do
    if states[seat] == 0 then run = run + 1 else run = 0 end
    if run == quantity then
      local first = seat - quantity + 1
      return {row, first, (row - 1) * cols + first - 1}
    end
  end
end
return false)";

class RedisLoad final : public Load {
 public:
  explicit RedisLoad(const Options& options) : Load(options), writers_(options.sections.size()) {
    for (size_t i = 0; i < writers_.size(); ++i) {
      writers_[i].section = options.sections[i];
      writers_[i].left = options.requests / static_cast<int64_t>(writers_.size());
    }
  }

 private:
  struct Writer {
    std::string section;
    int64_t left = 0;
    bool busy = false;
    bool taking = false;
    int64_t bookings = 0;
    std::string seat;
    int64_t index = 0;
    int replies = 0;  // still to come
    Clock::time_point since;
  };

  int64_t expected() const override {
    return options_.requests / static_cast<int64_t>(writers_.size()) *
           static_cast<int64_t>(writers_.size());
  }

  // Before anything is measured.
  void Prepare(Connection& connection) override {
    const std::string load = EncodeCommand({"SCRIPT", "LOAD", std::string(kFind)});
    char reply[128] = {};
    if (send(connection.fd, load.data(), load.size(), 0) < 0 ||
        recv(connection.fd, reply, sizeof(reply) - 1, 0) < 45) {
      Die("the script cannot be loaded");
    }
    sha_ = std::string(reply + 5, 40);
  }

  // A connection serves the writers whose number is its own, modulo the number of connections.
  void Fill(Connection& connection) override {
    size_t number = 0;
    while (connections_[number].get() != &connection) ++number;
    for (size_t i = number; i < writers_.size(); i += connections_.size()) {
      Writer& writer = writers_[i];
      if (writer.busy || writer.left == 0) continue;
      writer.busy = true;
      writer.taking = false;
      writer.since = Clock::now();
      writer.replies = 1;
      --writer.left;
      connection.out +=
          EncodeCommand({"EVAL", std::string(kFind), "1",
                         fmt::format("seats_bf:{}:{}", options_.event, writer.section),
                         fmt::to_string(options_.rows), fmt::to_string(options_.cols), "1"});
      connection.sent.emplace_back(writer.since, static_cast<int64_t>(i));
    }
    Flush(connection);
  }

  void Take(Connection& connection, std::string_view reply) override {
    Writer& writer = writers_[static_cast<size_t>(connection.sent.front().second)];
    if (--writer.replies > 0) return;
    if (!writer.taking) return TakeSeat(connection, writer, reply);
    connection.sent.pop_front();
    if (reply.front() != '*') Fail(reply);
    Give(fmt::format("{}/{}/{}", options_.event, writer.section, writer.seat));
    Answered(writer.since);
    writer.busy = false;
  }

  void TakeSeat(Connection& connection, Writer& writer, std::string_view found) {
    int row = 0;
    int seat = 0;
    int index = 0;
    if (std::sscanf(std::string(found).c_str(), "*3\r\n:%d\r\n:%d\r\n:%d", &row, &seat, &index) !=
        3) {
      Die(fmt::format("nothing found in {}: {}", writer.section, found));
    }
    writer.seat = fmt::format("{}-{}", row, seat);
    const std::string section_stats =
        fmt::format("section_stats:{}:{}", options_.event, writer.section);
    const std::string event_stats = fmt::format("event_stats:{}", options_.event);
    const std::string booking = fmt::format("booking:{}:{}", writer.section, ++writer.bookings);
    const std::vector<std::vector<std::string>> commands = {
        {"MULTI"},
        {"BITFIELD", fmt::format("seats_bf:{}:{}", options_.event, writer.section), "SET", "u2",
         fmt::to_string(2 * index), "1"},
        {"HINCRBY", section_stats, "available", "-1"},
        {"HINCRBY", section_stats, "reserved", "1"},
        {"HINCRBY", event_stats, "available", "-1"},
        {"HINCRBY", event_stats, "reserved", "1"},
        {"HGETALL", section_stats},
        {"HGETALL", event_stats},
        {"HSET",           booking,
         "event_id",       options_.event,
         "section",        writer.section,
         "quantity",       "1",
         "mode",           "best_available",
         "status",         "RESERVE_SUCCESS",
         "reserved_seats", fmt::format("[\"{}\"]", writer.seat),
         "total_price",    "1000",
         "created_at",     "2025-11-05T10:30:15.123456+00:00",
         "updated_at",     "2025-11-05T10:30:15.123456+00:00"},
        {"EXPIRE", booking, "3600"},
        {"HSETNX", fmt::format("event_sellout_timer:{}", options_.event),
         "first_ticket_reserved_at", "2025-11-05T10:30:15.123456+00:00"},
        {"EXEC"}};
    for (const auto& command : commands) connection.out += EncodeCommand(command);
    writer.replies = static_cast<int>(commands.size());
    writer.taking = true;
    // Its replies come after those of what was sent meanwhile.
    connection.sent.pop_front();
    connection.sent.emplace_back(writer.since, &writer - writers_.data());
  }

  std::string sha_;
  std::vector<Writer> writers_;
};

double Quantile(std::vector<double>& values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<size_t>(part * static_cast<double>(values.size())))];
}

}  // namespace

int main(int argc, char** argv) {
  Options options = Parse(argc, argv);
  std::unique_ptr<Load> load;
  if (options.mode == "resp") {
    load = std::make_unique<RespLoad>(options);
  } else if (options.mode == "http") {
    options.pipeline = 1;
    load = std::make_unique<HttpLoad>(options);
  } else if (options.mode == "redis") {
    load = std::make_unique<RedisLoad>(options);
  } else if (options.mode == "create") {
    options.requests = options.events;
    options.connections = std::min(options.connections, options.events);
    load = std::make_unique<CreateLoad>(options);
  } else {
    Die("unknown mode " + options.mode);
  }
  const double seconds = load->Run();
  Totals& totals = load->totals();
  fmt::print(
      "{{\"seconds\":{:.4f},\"answered\":{},\"per_second\":{:.0f},\"p50_ms\":{:.2f},"
      "\"p99_ms\":{:.2f},\"failed\":{},\"seats\":{},\"doubled\":{}}}\n",
      seconds, totals.answered, static_cast<double>(totals.answered) / seconds,
      Quantile(totals.latencies_ms, 0.5), Quantile(totals.latencies_ms, 0.99), totals.failed,
      totals.seats.size(), totals.doubled);
  if (totals.failed > 0) fmt::print(stderr, "first failure: {}\n", totals.first_failure);
  return totals.doubled == 0 ? 0 : 1;
}
