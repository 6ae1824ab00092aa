#include "functions/steps/history.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/value/collection.h"
#include "data/value/entry.h"
#include "functions/control/values.h"
#include "functions/model/errors.h"
#include "functions/model/keys.h"
#include "functions/model/limits.h"
#include "functions/steps/hash.h"

namespace cairn::functions {
namespace {

constexpr std::string_view kInput = "input";
constexpr size_t kFieldBytes = 6;

std::string FieldOf(uint32_t position) { return fmt::format("{:06}", position); }

}  // namespace

uint32_t History::next_seq() const {
  uint32_t next = 0;
  for (const auto& [position, record] : steps) {
    if (record.seq) next = std::max(next, *record.seq + 1);
  }
  return next;
}

size_t History::bytes() const {
  size_t bytes = 0;
  for (const auto& [position, record] : steps) bytes += kFieldBytes + Encode(record).size();
  return bytes;
}

Result<History> LoadHistory(store::Transaction& transaction, std::string_view tenant,
                            std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(data::Fields hash, LoadHash(transaction, StepsKey(tenant, id)));
  History history;
  const auto read = [&](BytesView field, BytesView value) -> Result<bool> {
    if (field == kInput) {
      history.input = std::string(value);
      return true;
    }
    CAIRN_ASSIGN_OR_RETURN(StepRecord record, DecodeStepRecord(value));
    history.steps[record.position] = std::move(record);
    return true;
  };
  CAIRN_RETURN_IF_ERROR(hash.ForEachInAnyOrder(read));
  return history;
}

Result<void> PutSteps(store::Transaction& transaction, std::string_view tenant, std::string_view id,
                      std::span<const StepRecord> records,
                      const std::optional<HistoryBegin>& begin) {
  const std::string key = StepsKey(tenant, id);
  CAIRN_ASSIGN_OR_RETURN(data::Fields hash, LoadHash(transaction, key));
  for (const StepRecord& record : records) {
    CAIRN_ASSIGN_OR_RETURN(const bool added, hash.Put(FieldOf(record.position), Encode(record)));
    (void)added;
  }
  if (begin && begin->input.size() <= kMaxKeptInputBytes) {
    CAIRN_ASSIGN_OR_RETURN(const bool added, hash.Put(kInput, begin->input));
    (void)added;
  }
  hash.Save();
  return begin ? SetExpiry(transaction, key, begin->expire_ms) : Result<void>();
}

Result<void> ForgetLastFailures(store::Transaction& transaction, std::string_view tenant,
                                std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(const History history, LoadHistory(transaction, tenant, id));
  int64_t last_done = -1;
  for (const auto& [position, record] : history.steps) {
    if (record.state == StepState::kDone) last_done = std::max<int64_t>(last_done, *record.seq);
  }
  CAIRN_ASSIGN_OR_RETURN(data::Fields hash, LoadHash(transaction, StepsKey(tenant, id)));
  bool changed = false;
  for (const auto& [position, record] : history.steps) {
    if (record.state != StepState::kFailed || *record.seq < last_done) continue;
    CAIRN_ASSIGN_OR_RETURN(const bool removed, hash.Remove(FieldOf(position)));
    changed |= removed;
  }
  if (changed) hash.Save();
  return {};
}

Result<void> EndHistory(store::Transaction& transaction, std::string_view tenant,
                        std::string_view id) {
  const int64_t expire_ms = transaction.now().millis() + kActivationTtlMs;
  CAIRN_RETURN_IF_ERROR(SetExpiry(transaction, StepsKey(tenant, id), expire_ms));
  return SetExpiry(transaction, EventsKey(tenant, id), expire_ms);
}

int64_t HistoryExpiry(int64_t now_ms) { return now_ms + 2 * kMaxSuspendedMs + kActivationTtlMs; }

Result<void> CheckRoom(const StepRecord& record, size_t steps, size_t bytes) {
  const std::string what = record.name.empty()
                               ? fmt::format("step {}", record.position)
                               : fmt::format("step {}, \"{}\"", record.position, record.name);
  if (record.value.size() > kMaxStepResultBytes) {
    return Refuse(Code::kTooLarge,
                  fmt::format("{}: its result has {} bytes, and may have {}: keep what is large "
                              "with cs.kv, and return its key",
                              what, record.value.size(), kMaxStepResultBytes));
  }
  if (record.position >= kMaxSteps || steps > kMaxSteps) {
    return Refuse(Code::kTooLarge,
                  fmt::format("{}: an activation has up to {} steps: let it invoke another one for "
                              "the rest",
                              what, kMaxSteps));
  }
  const size_t total = bytes + kFieldBytes + Encode(record).size();
  if (total > kMaxHistoryBytes) {
    return Refuse(Code::kTooLarge,
                  fmt::format("{}: the history of the activation would have {} bytes, and may have "
                              "{}: return less from steps, and keep what is large with cs.kv",
                              what, total, kMaxHistoryBytes));
  }
  return {};
}

}  // namespace cairn::functions
