#include "doors/access/failed_logins.h"

#include <algorithm>

namespace cairn::doors {
namespace {

constexpr std::chrono::milliseconds kFirstDelay{100};
constexpr uint32_t kMostDoublings = 5;
// One line in so long tells of all failures since the one before.
constexpr uint64_t kLogEveryNs = 10'000'000'000;

}  // namespace

std::chrono::milliseconds FailedLogins::DelayAfter(uint32_t failures) {
  const uint32_t doublings = std::min(failures == 0 ? 0 : failures - 1, kMostDoublings);
  return kFirstDelay * (1U << doublings);
}

void FailedLogins::Note(uint64_t now_ns, std::string_view peer, const Log& log) {
  const uint64_t count = ++count_;
  uint64_t due_ns = next_log_ns_.load();
  if (now_ns < due_ns) return;
  // Of several threads, one logs.
  if (!next_log_ns_.compare_exchange_strong(due_ns, now_ns + kLogEveryNs)) return;
  const uint64_t since = count - logged_count_.exchange(count);
  log.Warn("failed logins: wrong password, user or key", {{"count", since}, {"last_client", peer}});
}

}  // namespace cairn::doors
