#include "functions/pool/containment_log.h"

#include <utility>
#include <vector>

#include "base/utf8.h"

namespace cairn::functions {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr size_t kMaxReasonBytes = 200;

}  // namespace

bool ContainmentLog::TakeLine(int64_t& left_out) {
  const uint64_t second = clock_.MonotonicNs() / kNsPerSecond;
  const std::scoped_lock lock(mutex_);
  if (std::exchange(second_, second) != second) lines_ = 0;
  if (lines_ == kLinesPerSecond) {
    ++left_out_;
    return false;
  }
  ++lines_;
  left_out = std::exchange(left_out_, 0);
  return true;
}

void ContainmentLog::Note(const std::string& tenant, const RunOutcome& outcome) {
  if (outcome.limit_hit.empty()) return;
  int64_t left_out = 0;
  if (!TakeLine(left_out)) return;
  std::vector<LogField> fields = {{"tenant", tenant},
                                  {"limit", outcome.limit_hit},
                                  {"reason", CleanText(outcome.error.message, kMaxReasonBytes)}};
  if (left_out > 0) fields.emplace_back("left_out", left_out);
  // A limit is the function's affair; a process that ends otherwise may be an attack.
  if (outcome.limit_hit == "crash") {
    log_.Warn("the process of a function was ended", fields);
  } else {
    log_.Info("a function was stopped at a limit", fields);
  }
}

}  // namespace cairn::functions
