#include "jobs/ledger/event_trim.h"

#include <algorithm>
#include <vector>

#include "jobs/ledger/event.h"
#include "jobs/model/keys.h"

namespace cairn::jobs {
namespace {

using store::Space;

store::Range EventsAfter(uint64_t number) {
  store::Range range = store::Range::Prefix(Space::kJobs, family::kEvent);
  range.begin = EventKey(number + 1);
  return range;
}

// One transaction's work on the log.
class Trim {
 public:
  Trim(store::Transaction& transaction, const EventLimits& limits, const EventTail& tail,
       uint64_t newest)
      : transaction_(transaction), limits_(limits), tail_(tail), newest_(newest) {}

  // How many events there are at most.
  uint64_t most() const { return tail_.count + (newest_ - std::min(newest_, tail_.counted)); }

  // Counts on until it is certain that there are not too many, or all are counted.
  Result<void> Count() {
    size_t rows = 0;
    if (most() <= limits_.kept) return {};
    CAIRN_RETURN_IF_ERROR(
        transaction_.Scan(EventsAfter(tail_.counted), {.limit = limits_.rows_at_once},
                          [&](BytesView key, BytesView value) {
                            tail_.counted = DecodeEventNumber(key).value_or(tail_.counted);
                            tail_.count += EventRowCount(value);
                            ++rows;
                            return most() > limits_.kept;
                          }));
    more_ = more_ || rows == limits_.rows_at_once;
    changed_ = changed_ || rows > 0;
    return {};
  }

  Result<void> Remove() {
    const auto now_ns = static_cast<uint64_t>(transaction_.now().us) * 1000;
    const uint64_t kept_ns = static_cast<uint64_t>(limits_.kept_ms) * 1'000'000;
    const uint64_t oldest_ns = now_ns - std::min(now_ns, kept_ns);
    std::vector<Bytes> old;
    CAIRN_RETURN_IF_ERROR(
        transaction_.Scan(EventsAfter(tail_.removed), {.limit = limits_.rows_at_once},
                          [&](BytesView key, BytesView value) {
                            const uint64_t events = EventRowCount(value);
                            if (!IsSurplus(events) && EventRowTime(value) >= oldest_ns) {
                              return false;
                            }
                            old.emplace_back(key);
                            Forget(DecodeEventNumber(key).value_or(0), events);
                            return true;
                          }));
    for (const Bytes& key : old) transaction_.Delete(InJobs(key));
    more_ = more_ || old.size() == limits_.rows_at_once;
    changed_ = changed_ || !old.empty();
    return {};
  }

  // Whether there is more to do.
  bool Finish() {
    if (changed_) transaction_.Put(InJobs(EventCursorKey()), EncodeEventTail(tail_));
    return more_;
  }

 private:
  // Whether enough events are left without the oldest row, which has so many.
  bool IsSurplus(uint64_t events) const { return tail_.count >= limits_.kept + events; }

  void Forget(uint64_t number, uint64_t events) {
    tail_.removed = number;
    if (number <= tail_.counted) {
      tail_.count -= std::min(tail_.count, events);
    } else {
      tail_.counted = number;
      tail_.count = 0;
    }
  }

  store::Transaction& transaction_;
  const EventLimits& limits_;
  EventTail tail_;
  const uint64_t newest_;
  bool more_ = false;
  bool changed_ = false;
};

}  // namespace

Result<bool> TrimEvents(store::Transaction& transaction, const EventLimits& limits) {
  CAIRN_ASSIGN_OR_RETURN(const EventTail tail, LoadEventTail(transaction));
  CAIRN_ASSIGN_OR_RETURN(const uint64_t newest, NewestEvent(transaction));
  Trim trim(transaction, limits, tail, newest);
  CAIRN_RETURN_IF_ERROR(trim.Count());
  CAIRN_RETURN_IF_ERROR(trim.Remove());
  return trim.Finish();
}

}  // namespace cairn::jobs
