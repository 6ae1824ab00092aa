#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "seats/event.h"
#include "seats/keys.h"
#include "store/transaction.h"

// The invariants of an event, checked in one pass over it:
//
//   - the counts of each section are those of its bits, and those of the event their sum;
//   - every reserved or sold seat belongs to exactly one booking, which is reserved or paid;
//   - every hold has its timer;
//   - the seats of buyers, where they are limited, are those of their bookings;
//   - the sellout timer has its first moment iff a seat is or was taken, and the last if none is
//     left;
//   - a row index that claims to be made from the bits says what they say.
namespace cairn::seats {

struct VerifyReport {
  std::string event;
  int64_t sections = 0;
  int64_t bookings = 0;
  Counts counts;                      // of the bits
  std::vector<std::string> problems;  // one sentence each, kMaxProblems at most
  int64_t more_problems = 0;          // that are not in `problems`

  bool sound() const { return problems.empty(); }
  std::string ToJson() const;
};

inline constexpr size_t kMaxProblems = 100;

// Refuses an event that does not exist. Reads all of the event: for a thread that may wait.
Result<VerifyReport> VerifyEvent(store::Transaction& transaction, const Keys& keys,
                                 std::string_view event);

}  // namespace cairn::seats
