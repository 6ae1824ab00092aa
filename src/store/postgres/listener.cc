#include "store/postgres/listener.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <charconv>

#include "store/timers.h"

namespace cairn::store::postgres {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLookAtTimers{1'000};
constexpr milliseconds kWakeAll{5'000};
constexpr milliseconds kWakeAllWithoutNews{500};  // where the server has no notifications
constexpr milliseconds kForgetMarkers{600'000};
constexpr milliseconds kReconnect{500};

template <typename Number>
bool Parse(std::string_view text, Number& number, int base) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

// Something that is done every so often.
class Regularly {
 public:
  explicit Regularly(milliseconds every) : every_(every), next_(steady_clock::now() + every) {}
  bool IsDue() {
    const auto now = steady_clock::now();
    if (now < next_) return false;
    next_ = now + every_;
    return true;
  }

 private:
  const milliseconds every_;
  steady_clock::time_point next_;
};

}  // namespace

Result<std::unique_ptr<Connection>> Listener::Connect() const {
  CAIRN_ASSIGN_OR_RETURN(
      auto connection,
      Connection::Open({node_.options.url, node_.options.statement_timeout}, &node_.statements));
  if (!node_.channel.empty()) {
    const Replies replies = connection->Execute(fmt::format("LISTEN \"{}\"", node_.channel));
    if (!replies.ok()) return *replies.error;
  }
  return connection;
}

Result<void> Listener::Start() {
  CAIRN_ASSIGN_OR_RETURN(auto connection, Connect());
  wake_fd_ = eventfd(0, EFD_CLOEXEC);
  CAIRN_CHECK(wake_fd_ >= 0);
  thread_ = std::thread([this, shared = std::shared_ptr(std::move(connection))]() mutable {
    ThreadMain(std::move(shared));
  });
  return {};
}

void Listener::Stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  eventfd_write(wake_fd_, 1);
  thread_.join();
  close(wake_fd_);
}

void Listener::Sleep(milliseconds limit) const {
  pollfd waited{wake_fd_, POLLIN, 0};
  poll(&waited, 1, static_cast<int>(limit.count()));
}

void Listener::ThreadMain(std::shared_ptr<Connection> connection) {
  bool complained = false;
  for (;;) {
    Serve(*connection);
    if (stopping_) return;
    auto fresh = Connect();
    while (!fresh.ok()) {
      if (!std::exchange(complained, true)) {
        node_.log.Warn("PostgreSQL cannot be reached; trying again",
                       {{"reason", fresh.error().message}});
      }
      Sleep(kReconnect);
      if (stopping_) return;
      fresh = Connect();
    }
    if (std::exchange(complained, false)) node_.log.Info("PostgreSQL is back");
    connection = *std::move(fresh);
    node_.wakeups.WakeAll();  // what was announced meanwhile went unheard
  }
}

void Listener::Serve(Connection& connection) {
  Regularly timers(kLookAtTimers);
  Regularly wake_all(node_.channel.empty() ? kWakeAllWithoutNews : kWakeAll);
  Regularly markers(kForgetMarkers);
  LookAtFirstTimer(connection);
  while (!stopping_ && !connection.lost()) {
    // Before the wait too: an exchange may have taken notifications in on its way.
    for (const std::string& payload : connection.TakeNotifications()) Hear(payload);
    connection.WaitForNews(wake_fd_, std::min(kLookAtTimers, kWakeAllWithoutNews));
    if (stopping_) return;
    for (const std::string& payload : connection.TakeNotifications()) Hear(payload);
    if (timers.IsDue()) LookAtFirstTimer(connection);
    if (wake_all.IsDue()) node_.wakeups.WakeAll();
    if (markers.IsDue()) {
      connection.Send(Statement::kForgetOldMarkers);
      connection.Exchange();
    }
  }
}

void Listener::Hear(std::string_view payload) {
  uint64_t sender = 0;
  if (payload.size() < 17 || !Parse(payload.substr(0, 16), sender, 16)) return;
  if (sender == node_.id) return;  // heard already, when it was committed
  payload.remove_prefix(17);
  if (payload.starts_with('t')) {
    int64_t due_us = 0;
    if (Parse(payload.substr(1), due_us, 10)) TellTimer({due_us});
    return;
  }
  std::vector<Topic> topics;
  while (payload.size() >= 17) {
    Topic topic;
    if (Parse(payload.substr(0, 16), topic.id, 16)) topics.push_back(topic);
    payload.remove_prefix(17);
  }
  node_.wakeups.Wake(topics);
}

void Listener::LookAtFirstTimer(Connection& connection) {
  connection.Send({Space::kTimers, SpaceStatement::kForward}, {BytesView(), EncodeNumber(1)});
  const Replies replies = connection.Exchange();
  if (!replies.ok() || replies.rows[0].size() == 0) return;
  if (const auto timer = DecodeTimerKey(*replies.rows[0].at(0, 0))) TellTimer(timer->due);
}

void Listener::TellTimer(Timestamp due) {
  const std::lock_guard lock(node_.timer_mutex);
  if (node_.earlier_timer) node_.earlier_timer(due);
}

}  // namespace cairn::store::postgres
