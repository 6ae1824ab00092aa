#include "app/serve.h"

#include <fmt/format.h>
#include <generated/version.h>
#include <pthread.h>
#include <unistd.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "app/machine.h"
#include "app/report.h"
#include "app/server.h"
#include "app/tls.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"

namespace cairn::app {
namespace {

// The signals that ask the server to stop. They are blocked in this thread, and in every thread
// started later, so that they arrive only at Wait.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  int Wait() {
    int signal = 0;
    sigwait(&signals_, &signal);
    return signal;
  }

  // From now on another signal ends the process.
  void LetThrough() { pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr); }

  // Makes Wait return, from any thread.
  static void Raise() { kill(getpid(), SIGTERM); }

 private:
  sigset_t signals_{};
};

// How long a server may take to stop after what it drains has ended or was given up.
constexpr std::chrono::seconds kGrace{5};

// Ends the process if it has not stopped in time, whatever it is that cannot be interrupted.
// Nothing that was acknowledged is lost, as with kill -9.
class LastResort {
 public:
  LastResort(std::chrono::milliseconds limit, const Log& log)
      : thread_([this, limit, &log] {
          std::unique_lock lock(mutex_);
          if (changed_.wait_for(lock, limit, [this] { return stopped_; })) return;
          log.Error("the server did not stop in time and is ended", {{"after_ms", limit.count()}});
          std::_Exit(house::kExitFailure);
        }) {}
  ~LastResort() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::thread thread_;
};

Log MakeLog(const Config& config) {
  const LogFormat by_place = house::LogsToTerminal() ? LogFormat::kText : LogFormat::kJson;
  return Log(config.log_level, config.log_format.value_or(by_place));
}

// Lowers the limits on connections to what the limit on open files allows, so that a connection too
// many is turned away with an answer instead of a file of the store failing to open.
void FitConnectionsToFileLimit(Config& config, const Log& log) {
  const uint64_t files = RaiseOpenFileLimit().soft;
  const uint64_t allowed = files > 2 * kReservedFiles ? files - kReservedFiles : files / 2;
  const uint64_t wanted = config.max_clients + config.max_http_connections;
  if (wanted <= allowed) return;
  for (size_t* limit : {&config.max_clients, &config.max_http_connections}) {
    *limit = std::max<uint64_t>(*limit * allowed / wanted, 1);
  }
  log.Warn("the limit on open files is too low for all connections: fewer are served",
           {{"open_files", files},
            {"max_clients", config.max_clients},
            {"max_http_connections", config.max_http_connections}});
}

std::string Banner(const Config& config, const Server& server, const house::Terminal& terminal) {
  const bool resp_tls = RespSpeaksTls(config);
  const std::string url = fmt::format("{}://{}", HttpSpeaksTls(config) ? "https" : "http",
                                      net::ToString(server.http()));
  const std::string redis_cli =
      fmt::format("redis-cli{}{} -p {}", resp_tls ? " --tls --insecure" : "",
                  config.password.empty() ? "" : " --askpass", server.resp().port);
  const std::string curl =
      fmt::format("curl{} {}/readyz", HttpSpeaksTls(config) ? " --insecure" : "", url);
  return fmt::format(
      "{} serves {} with durability {}\n"
      "  Redis protocol  {}{}\n"
      "  HTTP            {}\n"
      "\n"
      "Try:\n"
      "  {}\n"
      "  {}\n"
      "  {}\n",
      terminal.Paint(house::Colour::kBold, VersionLine()), StoreName(config),
      FindSetting("durability")->format(config), net::ToString(server.resp()),
      resp_tls ? " (TLS)" : "", url, redis_cli + " set greeting hello", redis_cli + " get greeting",
      curl);
}

// A file that tells others that the server is up, and where. Removed at the end.
class ReadyFile {
 public:
  static Result<std::unique_ptr<ReadyFile>> Write(const std::string& path,
                                                  const std::string& text) {
    const std::string fresh = path + ".new";
    std::ofstream file(fresh, std::ios::trunc);
    file << text << '\n';
    file.close();
    std::error_code failure;
    if (file) std::filesystem::rename(fresh, path, failure);
    if (!file || failure) return Error{ErrorCode::kIo, "cannot write the ready file " + path};
    return std::unique_ptr<ReadyFile>(new ReadyFile(path));
  }
  ~ReadyFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;

 private:
  explicit ReadyFile(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

std::string Readiness(const Config& config, const Server& server) {
  return boost::json::serialize(boost::json::object{
      {"pid", getpid()},
      {"version", kVersion},
      {"data", std::filesystem::absolute(config.data).string()},
      {"resp", net::ToString(server.resp())},
      {"resp_port", server.resp().port},
      {"http", net::ToString(server.http())},
      {"http_port", server.http().port},
  });
}

}  // namespace

int Serve(const Config& given, const ServeOptions& options, const house::Terminal& terminal) {
  StopSignals signals;            // before any thread exists
  std::signal(SIGPIPE, SIG_IGN);  // a client that is gone is an error code, not a reason to die
  const Log log = MakeLog(given);
  const SystemClock clock;
  SystemRandom random;
  Config config = given;
  FitConnectionsToFileLimit(config, log);

  Result<std::unique_ptr<Server>> server =
      Server::Start(config, {.request_stop = StopSignals::Raise}, clock, random, log);
  if (!server.ok()) {
    terminal.Complain(server.error().message);
    return house::kExitFailure;
  }
  std::unique_ptr<ReadyFile> ready_file;
  if (!options.ready_file.empty()) {
    auto written = ReadyFile::Write(options.ready_file, Readiness(config, **server));
    if (!written.ok()) {
      terminal.Complain(written.error().message);
      return house::kExitFailure;
    }
    ready_file = *std::move(written);
  }
  // Whoever asks for JSON logs reads them with a program.
  if (config.log_format != LogFormat::kJson) terminal.Print(Banner(config, **server, terminal));

  const int signal = signals.Wait();
  signals.LetThrough();
  log.Info("stopping", {{"signal", std::string_view(sigabbrev_np(signal))},
                        {"drain_timeout_ms", config.drain_timeout.count()}});
  {
    const LastResort last_resort(config.drain_timeout + kGrace, log);
    (*server)->Drain(config.drain_timeout);
    server->reset();
  }
  log.Info("stopped");
  return house::kExitOk;
}

}  // namespace cairn::app
