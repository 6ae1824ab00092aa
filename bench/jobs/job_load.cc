// The load of bench/jobs/run.py, over many connections from one thread.
//
//   bench_jobs enqueue PORT --queue q --jobs 200000 --concurrency 10 --batch 64    JOB.ENQUEUEM
//   bench_jobs lifecycle PORT …    each frame acknowledges what the last one fetched, and fetches
//   bench_jobs combined PORT …     as many producers and consumers as --concurrency at once
//   bench_jobs http PORT …         POST /api/v1/enqueue, one job each
//   bench_jobs wake PORT …         one job at a time to a worker that waits
//
// A connection has one frame under way: it sends the next when the last is answered. Payloads and
// results are {}. As many jobs are fetched as are acknowledged: none is left leased. Prints one
// line of JSON; fails if a job is given out twice or refused.
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
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string mode;
  int port = 0;
  std::string queue = "bench";
  int64_t jobs = 10'000;
  int64_t concurrency = 10;
  int64_t batch = 64;
};

[[noreturn]] void Die(const std::string& text) {
  fmt::print(stderr, "bench_jobs: {}\n", text);
  std::exit(1);
}

Options Parse(int argc, char** argv) {
  if (argc < 3) Die("usage: bench_jobs MODE PORT [--option value]...");
  Options options{.mode = argv[1], .port = std::atoi(argv[2])};
  const std::map<std::string, int64_t*> numbers = {{"--jobs", &options.jobs},
                                                   {"--concurrency", &options.concurrency},
                                                   {"--batch", &options.batch}};
  for (int i = 3; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (numbers.contains(name)) {
      *numbers.at(name) = std::atoll(argv[i + 1]);
    } else if (name == "--queue") {
      options.queue = argv[i + 1];
    } else {
      Die("unknown option " + name);
    }
  }
  return options;
}

std::string EncodeCommand(const std::vector<std::string_view>& args) {
  std::string out = fmt::format("*{}\r\n", args.size());
  for (const std::string_view arg : args) {
    out += fmt::format("${}\r\n", arg.size());
    out += arg;
    out += "\r\n";
  }
  return out;
}

// The end of the RESP reply that begins at `at`; npos if it is not all there.
size_t ReplyEnd(std::string_view text, size_t at) {
  const size_t line = text.find("\r\n", at);
  if (line == std::string_view::npos) return line;
  const int64_t number = std::strtoll(text.data() + at + 1, nullptr, 10);
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

struct FetchedJob {
  std::string id;
  std::string token;
};

// The jobs in a reply of JOB.FETCH: each a list of names and values.
std::vector<FetchedJob> JobsIn(std::string_view reply) {
  if (reply.front() != '*') Die("JOB.FETCH: " + std::string(reply.substr(0, 200)));
  std::vector<FetchedJob> jobs;
  const auto value_after = [&](std::string_view name, size_t& at) {
    at = reply.find(name, at);
    if (at == std::string_view::npos) return std::string();
    at = reply.find("\r\n", at + name.size()) + 2;  // behind the length of the value
    const size_t end = reply.find("\r\n", at);
    return std::string(reply.substr(at, end - at));
  };
  size_t at = 0;
  while (true) {
    std::string id = value_after("$6\r\njob_id\r\n", at);
    if (at == std::string_view::npos) return jobs;
    std::string token = value_after("$11\r\nlease_token\r\n", at);
    jobs.push_back({std::move(id), std::move(token)});
  }
}

struct Connection {
  int fd = -1;
  bool consumes = false;
  std::string in;
  std::string out;
  bool wants_write = false;
  bool acknowledges = false;  // the next reply is that of JOB.ACKM
  int64_t asked = 0;          // jobs of the JOB.FETCH under way
  int replies = 0;            // to come, of the frame under way
  Clock::time_point since;
  Clock::time_point fetch_since;  // of the jobs held
  std::vector<FetchedJob> held;
  int64_t sent = 0;  // jobs of the frame under way
  std::string worker;
};

int Connect(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    Die(fmt::format("cannot connect to port {}", port));
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

class Load {
 public:
  explicit Load(Options options) : options_(std::move(options)) {
    if (options_.mode == "http") options_.batch = 1;
    std::vector<std::string_view> args = {"JOB.ENQUEUEM", options_.queue, "PAYLOADS"};
    args.insert(args.end(), static_cast<size_t>(options_.batch), "{}");
    enqueue_frame_ = EncodeCommand(args);
  }

  double Run() {
    epoll_ = epoll_create1(0);
    const bool combined = options_.mode == "combined";
    const bool lifecycle = options_.mode == "lifecycle";
    for (int64_t i = 0; i < options_.concurrency * (combined ? 2 : 1); ++i) {
      Add(lifecycle || (combined && i >= options_.concurrency));
    }
    const auto begin = Clock::now();
    for (auto& connection : connections_) Next(*connection);
    std::vector<epoll_event> events(connections_.size());
    while (done_ < options_.jobs) {
      const int ready = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 60'000);
      if (ready <= 0) Die(fmt::format("no reply for a minute, {} jobs are done", done_));
      for (int i = 0; i < ready; ++i) {
        Serve(*static_cast<Connection*>(events[static_cast<size_t>(i)].data.ptr));
      }
    }
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  std::vector<double>& latencies_ms() { return latencies_ms_; }

 private:
  void Add(bool consumes) {
    auto connection = std::make_unique<Connection>();
    connection->fd = Connect(options_.port);
    connection->consumes = consumes;
    connection->worker = fmt::format("bench-{}", connections_.size());
    epoll_event event{.events = EPOLLIN, .data = {.ptr = connection.get()}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, connection->fd, &event);
    connections_.push_back(std::move(connection));
  }

  // The next frame, if there is something to do.
  void Next(Connection& connection) {
    connection.since = Clock::now();
    if (connection.consumes) {
      NextConsumed(connection);
    } else if (left() > 0) {
      NextProduced(connection);
    }
    Flush(connection);
  }

  int64_t left() const { return options_.jobs - produced_; }

  void NextProduced(Connection& connection) {
    connection.sent = std::min(options_.batch, left());
    produced_ += connection.sent;
    connection.replies = 1;
    if (options_.mode == "http") {
      const std::string body = fmt::format(R"({{"queue":"{}","payload":{{}}}})", options_.queue);
      connection.out += fmt::format(
          "POST /api/v1/enqueue HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
          "Content-Length: {}\r\n\r\n{}",
          body.size(), body);
    } else if (connection.sent == options_.batch) {
      connection.out += enqueue_frame_;
    } else {
      std::vector<std::string_view> args = {"JOB.ENQUEUEM", options_.queue, "PAYLOADS"};
      args.insert(args.end(), static_cast<size_t>(connection.sent), "{}");
      connection.out += EncodeCommand(args);
    }
  }

  void NextConsumed(Connection& connection) {
    // Consumers of a combined run begin when a tenth is there.
    if (options_.mode == "combined" && enqueued_ < options_.jobs / 10) return;
    connection.acknowledges = !connection.held.empty();
    if (connection.acknowledges) {
      std::vector<std::string_view> args = {"JOB.ACKM", "RESULTS"};
      for (const FetchedJob& job : connection.held) {
        args.insert(args.end(), {job.id, job.token, "{}"});
      }
      connection.out += EncodeCommand(args);
      ++connection.replies;
    }
    connection.asked = std::min(options_.batch, options_.jobs - asked_);
    if (connection.asked == 0) return;
    asked_ += connection.asked;
    ++connection.replies;
    const std::string count = fmt::to_string(connection.asked);
    std::vector<std::string_view> args = {"JOB.FETCH",       "COUNT",    count,
                                          "LEASE",           "30000",    "WORKER",
                                          connection.worker, "HOSTNAME", "bench-host"};
    if (options_.mode == "combined") args.insert(args.end(), {"BLOCK", "1000"});
    args.insert(args.end(), {"QUEUES", options_.queue});
    connection.out += EncodeCommand(args);
  }

  void Take(Connection& connection, std::string_view reply) {
    const bool ok =
        options_.mode == "http" ? reply.starts_with("HTTP/1.1 201") : reply.front() == '*';
    if (!ok) Die("refused: " + std::string(reply.substr(0, 300)));
    --connection.replies;
    if (!connection.consumes) {
      Measure(connection.since, connection.sent);
      enqueued_ += connection.sent;
      if (options_.mode != "combined") done_ += connection.sent;
      if (options_.mode == "combined" && !consuming_ && enqueued_ >= options_.jobs / 10) {
        consuming_ = true;
        for (auto& other : connections_) {
          if (other->consumes) Next(*other);
        }
      }
    } else if (std::exchange(connection.acknowledges, false)) {
      Acknowledged(connection, reply);
    } else {
      Fetched(connection, reply);
    }
  }

  void Fetched(Connection& connection, std::string_view reply) {
    connection.held = JobsIn(reply);
    connection.fetch_since = connection.since;
    const auto missing = connection.asked - static_cast<int64_t>(connection.held.size());
    if (missing == 0) return;
    // They are to be had later, perhaps by one that had nothing left to ask for.
    asked_ -= missing;
    for (auto& other : connections_) {
      if (other->consumes && other->replies == 0 && other.get() != &connection) Next(*other);
    }
  }

  void Acknowledged(Connection& connection, std::string_view reply) {
    if (reply.find("\r\n-") != std::string_view::npos) {
      Die("an acknowledgement was refused: " + std::string(reply.substr(0, 300)));
    }
    for (const FetchedJob& job : connection.held) {
      if (!seen_.insert(job.id).second) Die(job.id + " was given out twice");
    }
    const auto count = static_cast<int64_t>(connection.held.size());
    Measure(connection.fetch_since, count);
    done_ += count;
    connection.held.clear();
  }

  void Measure(Clock::time_point since, int64_t count) {
    const std::chrono::duration<double, std::milli> took = Clock::now() - since;
    latencies_ms_.insert(latencies_ms_.end(), static_cast<size_t>(count), took.count());
  }

  void Serve(Connection& connection) {
    char buffer[65536];
    const ssize_t size = recv(connection.fd, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (size == 0) Die("the server closed a connection");
    if (size > 0) connection.in.append(buffer, static_cast<size_t>(size));
    size_t parsed = 0;
    while (parsed < connection.in.size()) {
      const size_t end = options_.mode == "http" ? ResponseEnd(connection.in, parsed)
                                                 : ReplyEnd(connection.in, parsed);
      if (end == std::string_view::npos) break;
      Take(connection, std::string_view(connection.in).substr(parsed, end - parsed));
      parsed = end;
    }
    connection.in.erase(0, parsed);
    if (parsed > 0 && connection.replies == 0 && done_ < options_.jobs) Next(connection);
    Flush(connection);
  }

  void Flush(Connection& connection) {
    while (!connection.out.empty()) {
      const ssize_t size = send(connection.fd, connection.out.data(), connection.out.size(),
                                MSG_NOSIGNAL | MSG_DONTWAIT);
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

  Options options_;
  std::string enqueue_frame_;
  int epoll_ = -1;
  std::vector<std::unique_ptr<Connection>> connections_;
  int64_t produced_ = 0;  // sent
  int64_t enqueued_ = 0;  // answered
  int64_t asked_ = 0;     // by JOB.FETCH, without those that were not there
  int64_t done_ = 0;
  bool consuming_ = false;
  std::unordered_set<std::string> seen_;
  std::vector<double> latencies_ms_;
};

std::string Await(int fd) {
  std::string in;
  char buffer[65536];
  while (true) {
    const ssize_t size = recv(fd, buffer, sizeof(buffer), 0);
    if (size <= 0) Die("the server closed a connection");
    in.append(buffer, static_cast<size_t>(size));
    if (ReplyEnd(in, 0) != std::string::npos) return in;
  }
}

void Send(int fd, const std::vector<std::string_view>& args) {
  const std::string request = EncodeCommand(args);
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) < 0) Die("cannot send");
}

// One worker that waits, and a producer that gives it one job after the other.
std::vector<double> Wake(const Options& options) {
  const int worker = Connect(options.port);
  const int producer = Connect(options.port);
  std::vector<double> samples_ms;
  for (int64_t i = 0; i < options.jobs; ++i) {
    Send(worker,
         {"JOB.FETCH", "COUNT", "1", "LEASE", "30000", "BLOCK", "0", "QUEUES", options.queue});
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // it waits by now
    const auto start = Clock::now();
    Send(producer, {"JOB.ENQUEUE", options.queue, "{}"});
    const std::vector<FetchedJob> jobs = JobsIn(Await(worker));
    const std::chrono::duration<double, std::milli> took = Clock::now() - start;
    if (jobs.size() != 1) Die("the worker did not get the job");
    samples_ms.push_back(took.count());
    Await(producer);
    Send(worker, {"JOB.ACK", jobs.front().id, "TOKEN", jobs.front().token});
    const std::string acknowledged = Await(worker);
    if (acknowledged.front() != '+') Die("JOB.ACK: " + acknowledged);
  }
  return samples_ms;
}

double Quantile(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1,
                         static_cast<size_t>(part * static_cast<double>(sorted.size())))];
}

// [[bound, how many are not above it but above the bound before]…], bounds that double.
std::string Histogram(const std::vector<double>& sorted) {
  std::string out = "[";
  auto begin = sorted.begin();
  for (double bound = 0.0625; begin != sorted.end(); bound *= 2) {
    const auto end = std::upper_bound(begin, sorted.end(), bound);
    if (end != begin) {
      out += fmt::format("{}[{},{}]", out.size() == 1 ? "" : ",", bound, end - begin);
    }
    begin = end;
  }
  return out + "]";
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = Parse(argc, argv);
  double seconds = 0;
  std::vector<double> latencies_ms;
  if (options.mode == "wake") {
    const auto begin = Clock::now();
    latencies_ms = Wake(options);
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  } else {
    constexpr std::string_view kModes[] = {"enqueue", "lifecycle", "combined", "http"};
    if (std::find(std::begin(kModes), std::end(kModes), options.mode) == std::end(kModes)) {
      Die("unknown mode " + options.mode);
    }
    Load load(options);
    seconds = load.Run();
    latencies_ms = std::move(load.latencies_ms());
  }
  std::sort(latencies_ms.begin(), latencies_ms.end());
  fmt::print(
      "{{\"seconds\":{:.4f},\"jobs\":{},\"per_second\":{:.0f},\"p50_ms\":{:.3f},\"p99_ms\":{:.3f},"
      "\"histogram\":{}}}\n",
      seconds, options.jobs, static_cast<double>(options.jobs) / seconds,
      Quantile(latencies_ms, 0.5), Quantile(latencies_ms, 0.99), Histogram(latencies_ms));
  return 0;
}
