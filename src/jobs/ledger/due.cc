#include "jobs/ledger/due.h"

#include <algorithm>

#include "jobs/model/keys.h"

namespace cairn::jobs {
namespace {

constexpr int64_t kSpanMs = 10;
constexpr uint64_t kNsPerMs = 1'000'000;

int64_t EndOfSpan(int64_t ms) { return (ms + kSpanMs - 1) / kSpanMs * kSpanMs; }

// The timer that looks at a row: at the end of the row's span, but one that is still to come when
// this transaction commits. A look that is being taken at that moment would take the timer away and
// not see the row.
Timestamp LookAt(uint64_t due_ns, Timestamp now) {
  const auto due_ms = static_cast<int64_t>((due_ns + kNsPerMs - 1) / kNsPerMs);
  return Timestamp::FromMillis(EndOfSpan(std::max(due_ms, now.millis() + kSpanMs)));
}

}  // namespace

uint64_t StartOfDueSpan(Timestamp timer) {
  return static_cast<uint64_t>(timer.millis() - kSpanMs) * kNsPerMs;
}

void DueRows::Set(uint64_t due_ns, DueKind kind, std::string_view queue, std::string_view job,
                  BytesView value) {
  const Bytes key = DueKey(due_ns, static_cast<uint8_t>(kind), queue, job);
  transaction_.Put(InJobs(key), value);
  const Timestamp look = LookAt(due_ns, transaction_.now());
  // A row of a time that has passed stands before the span: the look begins with it.
  if (due_ns < StartOfDueSpan(look)) return transaction_.SetTimer(look, kTimerDue, key, {});
  if (looked_at_ == look) return;
  transaction_.SetTimer(look, kTimerDue, {}, {});
  looked_at_ = look;
}

void DueRows::Cancel(uint64_t due_ns, DueKind kind, std::string_view queue, std::string_view job) {
  transaction_.Delete(InJobs(DueKey(due_ns, static_cast<uint8_t>(kind), queue, job)));
}

void SetDue(store::Transaction& transaction, uint64_t due_ns, DueKind kind, std::string_view queue,
            std::string_view job, BytesView value) {
  DueRows(transaction).Set(due_ns, kind, queue, job, value);
}

void CancelDue(store::Transaction& transaction, uint64_t due_ns, DueKind kind,
               std::string_view queue, std::string_view job) {
  DueRows(transaction).Cancel(due_ns, kind, queue, job);
}

}  // namespace cairn::jobs
