#include "functions/cadence/heartbeats.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "functions/cadence/limits.h"
#include "functions/cadence/tasks.h"
#include "functions/model/errors.h"

namespace cairn::functions {
namespace {

namespace asio = boost::asio;
using boost::asio::awaitable;
using Steady = std::chrono::steady_clock;

class Heart final : public ActivityHeart, public std::enable_shared_from_this<Heart> {
 public:
  Heart(const HeartParts& parts, const Activation& activation, std::string hash)
      : parts_(parts),
        ns_{activation.tenant, activation.ns},
        activation_id_(activation.activation_id),
        hash_(std::move(hash)) {}

  awaitable<Result<std::string>> Beat(std::string details) override {
    if (details.size() > kMaxHeartbeatBytes) {
      co_return Refuse(Code::kTooLarge, fmt::format("cs.cadence.heartbeat: the details may have {} "
                                                    "bytes",
                                                    kMaxHeartbeatBytes));
    }
    // Held while it waits: the run may end meanwhile.
    const std::shared_ptr<Heart> self = shared_from_this();
    if (cancelled_) co_return Reply();
    if (busy_) {
      waiting_ = std::move(details);
      co_return Reply();
    }
    busy_ = true;
    co_await SendOne(std::move(details));
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::co_spawn(executor, SendWaiting(self), asio::detached);
    co_return Reply();
  }

  void End() override {
    ended_ = true;
    waiting_.reset();
  }

 private:
  std::string Reply() const { return fmt::format(R"({{"cancelRequested":{}}})", cancelled_); }

  // After each heartbeat that was sent: what was said during the pause, once it is over.
  static awaitable<void> SendWaiting(std::shared_ptr<Heart> self) {
    asio::steady_timer pause(co_await asio::this_coro::executor);
    do {
      pause.expires_after(kHeartbeatPause);
      co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
      if (self->ended_ || !self->waiting_) break;
      co_await self->SendOne(*std::exchange(self->waiting_, std::nullopt));
    } while (!self->ended_ && !self->cancelled_);
    self->busy_ = false;
  }

  awaitable<void> SendOne(std::string details) {
    if (!task_) co_await FindToken();
    if (!task_) co_return;
    const Result<bool> told = co_await parts_.frontend.Heartbeat(
        {.token = task_->token, .worker_id = task_->worker_id}, details);
    parts_.figures.CountHeartbeat({ns_.tenant, task_->domain, task_->tasklist}, told.ok());
    if (told.ok()) {
      cancelled_ = *told;
    } else if (told.error().code == ErrorCode::kNotFound) {
      cancelled_ = true;
    }
  }

  awaitable<void> FindToken() {
    std::optional<CadenceTask> found;
    const doors::RouteStore::Task read = [&](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(found, FindTask(transaction, ns_, hash_));
      return {};
    };
    const store::Scopes none;
    const Result<void> done = co_await parts_.routes.Read(none, read);
    if (!done.ok()) co_return;  // the next heartbeat looks again
    if (found && found->activation_id == activation_id_) {
      task_ = std::move(found);
    } else {
      cancelled_ = true;  // answered by now, or nobody's
    }
  }

  const HeartParts parts_;
  const NamespaceName ns_;
  const std::string activation_id_;
  const std::string hash_;
  std::optional<CadenceTask> task_;
  std::optional<std::string> waiting_;  // the newest details that were not sent
  bool busy_ = false;                   // one is being sent, or was just now
  bool cancelled_ = false;
  bool ended_ = false;
};

}  // namespace

std::shared_ptr<ActivityHeart> MakeHeart(const HeartParts& parts, const Activation& activation) {
  std::string hash = TokenHashOf(activation.trigger);
  if (hash.empty() || !parts.frontend.configured()) return nullptr;
  return std::make_shared<Heart>(parts, activation, std::move(hash));
}

}  // namespace cairn::functions
