#include "admin/verify_routes.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <condition_variable>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "doors/access/principal.h"
#include "doors/turn/on_pool.h"

namespace cairn::admin {

// One verification under way: a thread of the pool tells lines, the request takes them.
class VerifyRun {
 public:
  // Whether somebody still wants to hear of it.
  bool Tell(std::string line) {
    {
      const std::lock_guard lock(mutex_);
      if (abandoned_) return false;
      lines_.push_back(std::move(line));
    }
    changed_.notify_all();
    return true;
  }
  void End() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
  }
  // Nobody takes lines any more.
  void Abandon() {
    {
      const std::lock_guard lock(mutex_);
      abandoned_ = true;
    }
    changed_.notify_all();
  }
  // Waits for the next line; nullopt: there is none.
  std::optional<std::string> Next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !lines_.empty() || ended_ || abandoned_; });
    if (abandoned_ || lines_.empty()) return std::nullopt;
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  bool ended_ = false;
  bool abandoned_ = false;
};

namespace {

using boost::asio::awaitable;
using doors::RouteCall;
using net::HttpReply;

// Gives the verification up when the request ends, whatever ends it.
class Abandoning {
 public:
  explicit Abandoning(std::shared_ptr<VerifyRun> run) : run_(std::move(run)) {}
  ~Abandoning() { run_->Abandon(); }
  Abandoning(const Abandoning&) = delete;
  Abandoning& operator=(const Abandoning&) = delete;

 private:
  const std::shared_ptr<VerifyRun> run_;
};

awaitable<bool> SendLines(ThreadPool& pool, std::shared_ptr<VerifyRun> run,
                          std::shared_ptr<const doors::Principal> principal, net::BodySink& sink) {
  const Abandoning abandoning(run);
  while (principal == nullptr || !principal->ended()) {
    auto work = [run]() -> Result<std::optional<std::string>> { return run->Next(); };
    Result<std::optional<std::string>> line = co_await doors::OnPool(pool, std::move(work));
    if (!line.ok()) co_return false;
    if (!*line) co_return true;
    const bool sent = co_await sink.Write(**std::move(line) + "\n");
    if (!sent) co_return false;
  }
  co_return false;
}

}  // namespace

Result<std::shared_ptr<VerifyRun>> VerifyRoutes::Begin() {
  const std::lock_guard lock(mutex_);
  if (current_ != nullptr) {
    return Error{ErrorCode::kTooMany, "a verification is under way; try again when it has ended"};
  }
  auto run = std::make_shared<VerifyRun>();
  const auto check = [this, run] {
    const Result<bool> sound = house::VerifyAll(
        store_, checks_, [&](std::string line) { return run->Tell(std::move(line)); });
    if (!sound.ok()) {
      run->Tell(boost::json::serialize(boost::json::object{{"error", sound.error().message}}));
    }
    {
      const std::lock_guard relock(mutex_);
      current_ = nullptr;
    }
    run->End();
  };
  if (!pool_.Submit(check)) return Error{ErrorCode::kUnavailable, "the server is stopping"};
  current_ = run;
  return run;
}

void VerifyRoutes::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (current_ != nullptr) current_->Abandon();
  }
  pool_.Stop();
}

void VerifyRoutes::AddTo(doors::RouteTable& table) {
  const auto handle = [this](const RouteCall& call) -> awaitable<Result<HttpReply>> {
    Result<std::shared_ptr<VerifyRun>> run = Begin();
    if (!run.ok()) co_return run.error();
    net::HttpBodyStream stream;
    stream.headers.Set("Content-Type", "application/x-ndjson");
    stream.run = [this, run = *std::move(run), principal = call.principal](net::BodySink& sink) {
      return SendLines(pool_, run, principal, sink);
    };
    co_return HttpReply(std::move(stream));
  };
  table.Add({.method = "GET",
             .path = "/v1/admin/verify",
             .permission = "admin.verify",
             .summary = "Reads everything and checks the invariants of all layers.",
             .tag = "admin",
             .responses = {{200,
                            "Lines of JSON: how far each layer is, what is wrong with it, and in "
                            "the last line whether all is sound.",
                            "", "application/x-ndjson"}},
             .handler = handle});
}

}  // namespace cairn::admin
