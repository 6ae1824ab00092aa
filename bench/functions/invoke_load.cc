// The load of bench/functions/run.py: posts one body over keep-alive connections from one thread,
// cheap enough not to be what is measured, and checks every answer.
//
//   bench_functions PORT --path /x/{n} --body JSON --expect TEXT --requests 10000 --connections 64
//
// {n} in the path is the number of the request. An answer must be a 200 and contain TEXT. Prints
// one line of JSON; latencies are those of single requests, one at a time for each connection.
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
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  int port = 0;
  std::string path = "/";
  std::string body = "{}";
  std::string expect;
  int64_t requests = 1000;
  int64_t connections = 1;
};

[[noreturn]] void Die(const std::string& text) {
  fmt::print(stderr, "bench_functions: {}\n", text);
  std::exit(1);
}

Options Parse(int argc, char** argv) {
  if (argc < 2) Die("usage: bench_functions PORT [--option value]...");
  Options options{.port = std::atoi(argv[1])};
  const std::map<std::string, int64_t*> numbers = {{"--requests", &options.requests},
                                                   {"--connections", &options.connections}};
  const std::map<std::string, std::string*> texts = {
      {"--path", &options.path}, {"--body", &options.body}, {"--expect", &options.expect}};
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (numbers.contains(name)) {
      *numbers.at(name) = std::atoll(argv[i + 1]);
    } else if (texts.contains(name)) {
      *texts.at(name) = argv[i + 1];
    } else {
      Die("unknown option " + name);
    }
  }
  if (options.requests < 1 || options.connections < 1) Die("nothing to do");
  return options;
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Where the value of a header begins; npos if the head has none of this name. `name` is in lower
// case, with its colon.
size_t FindHeader(std::string_view head, std::string_view name) {
  const auto same = [](char a, char b) { return Lower(a) == b; };
  const auto found = std::search(head.begin(), head.end(), name.begin(), name.end(), same);
  return found == head.end() ? std::string_view::npos
                             : static_cast<size_t>(found - head.begin()) + name.size();
}

// The end of the response that `text` begins with; npos if it is not all there. Peers send chunks.
size_t ResponseEnd(std::string_view text) {
  const size_t head = text.find("\r\n\r\n");
  if (head == std::string_view::npos) return head;
  const std::string_view fields = text.substr(0, head);
  size_t end = head + 4;
  const size_t length = FindHeader(fields, "content-length:");
  if (length != std::string_view::npos) {
    end += std::strtoul(text.data() + length, nullptr, 10);
    return end <= text.size() ? end : std::string_view::npos;
  }
  if (FindHeader(fields, "transfer-encoding: chunked") == std::string_view::npos) {
    Die("a response without a length");
  }
  while (true) {
    const size_t line = text.find("\r\n", end);
    if (line == std::string_view::npos) return line;
    const size_t size = std::strtoul(text.data() + end, nullptr, 16);
    end = line + 2 + size + 2;
    if (end > text.size()) return std::string_view::npos;
    if (size == 0) return end;
  }
}

struct Connection {
  int fd = -1;
  std::string in;
  Clock::time_point since;
};

class Load {
 public:
  explicit Load(Options options) : options_(std::move(options)) {
    latencies_us_.reserve(static_cast<size_t>(options_.requests));
  }

  void Run() {
    Connect();
    const auto begin = Clock::now();
    for (auto& connection : connections_) Send(*connection);
    std::vector<epoll_event> events(connections_.size());
    while (answered_ < options_.requests) {
      const int ready = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 60'000);
      if (ready <= 0) Die("no answer for a minute");
      for (int i = 0; i < ready; ++i) {
        Receive(*static_cast<Connection*>(events[static_cast<size_t>(i)].data.ptr));
      }
    }
    seconds_ = std::chrono::duration<double>(Clock::now() - begin).count();
  }

  void Print() {
    std::sort(latencies_us_.begin(), latencies_us_.end());
    fmt::print(
        "{{\"seconds\":{:.4f},\"answered\":{},\"per_second\":{:.0f},\"p50_us\":{:.1f},"
        "\"p99_us\":{:.1f},\"max_us\":{:.1f},\"failed\":{}}}\n",
        seconds_, answered_, static_cast<double>(answered_) / seconds_, Quantile(0.5),
        Quantile(0.99), latencies_us_.back(), failed_);
    if (failed_ > 0) fmt::print(stderr, "the first wrong answer: {}\n", first_failure_);
  }

  bool ok() const { return failed_ == 0; }

 private:
  void Connect() {
    epoll_ = epoll_create1(0);
    const int64_t count = std::min(options_.connections, options_.requests);
    for (int64_t i = 0; i < count; ++i) {
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

  void Send(Connection& connection) {
    if (sent_ == options_.requests) return;
    std::string path = options_.path;
    const size_t number = path.find("{n}");
    if (number != std::string::npos) path.replace(number, 3, fmt::to_string(sent_));
    const std::string request = fmt::format(
        "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: {}\r\n\r\n{}",
        path, options_.body.size(), options_.body);
    ++sent_;
    connection.since = Clock::now();
    // One request at a time fits in the socket's buffer.
    const ssize_t size = send(connection.fd, request.data(), request.size(), MSG_NOSIGNAL);
    if (size != static_cast<ssize_t>(request.size())) Die("a request was not sent");
  }

  void Receive(Connection& connection) {
    char buffer[65536];
    const ssize_t size = recv(connection.fd, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (size == 0) Die("the server closed a connection");
    if (size < 0) return;
    connection.in.append(buffer, static_cast<size_t>(size));
    const size_t end = ResponseEnd(connection.in);
    if (end == std::string::npos) return;
    const std::chrono::duration<double, std::micro> took = Clock::now() - connection.since;
    latencies_us_.push_back(took.count());
    ++answered_;
    const std::string_view answer = std::string_view(connection.in).substr(0, end);
    if (!answer.starts_with("HTTP/1.1 200") ||
        answer.find(options_.expect) == std::string_view::npos) {
      if (failed_++ == 0) first_failure_ = std::string(answer.substr(0, 1000));
    }
    connection.in.erase(0, end);
    Send(connection);
  }

  double Quantile(double part) const {
    const auto rank = static_cast<size_t>(part * static_cast<double>(latencies_us_.size()));
    return latencies_us_[std::min(latencies_us_.size() - 1, rank)];
  }

  const Options options_;
  std::vector<std::unique_ptr<Connection>> connections_;
  int epoll_ = -1;
  int64_t sent_ = 0;
  int64_t answered_ = 0;
  int64_t failed_ = 0;
  double seconds_ = 0;
  std::string first_failure_;
  std::vector<double> latencies_us_;
};

}  // namespace

int main(int argc, char** argv) {
  Load load(Parse(argc, argv));
  load.Run();
  load.Print();
  return load.ok() ? 0 : 1;
}
