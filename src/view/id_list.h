#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "view/condition.h"
#include "view/sqlite.h"

namespace cairn::view {

// The ids of the jobs that fit, as of one moment and in order: what a bulk action works through.
//
// The view is asked once, by whichever index suits the question, and not once per step: its indexes
// are not in the order of ids, so each question would sort all jobs that are left. The ids are kept
// in a file, not in memory, since there may be millions; it has no name any more once it is open,
// and so is gone with the list or the process. Used by one thread.
class IdList {
 public:
  struct Bounds {
    std::string_view after;  // ids behind this one
    std::string_view until;  // up to this one
  };
  // Reads the ids from `view` into a new file. `go_on` is asked now and then; false ends it with
  // kUnavailable.
  static Result<IdList> Make(Database& view, const Condition& where, const Bounds& bounds,
                             const std::string& file, FunctionRef<bool()> go_on);

  // The next ids behind `after`.
  Result<std::vector<std::string>> Next(std::string_view after, int64_t limit);

  // What making it and all calls of Next have cost, see Statement::work.
  int64_t work() const { return filling_work_ + next_.work(); }

 private:
  explicit IdList(Database database) : database_(std::move(database)) {}
  Result<void> Fill(Database& view, const Condition& where, const Bounds& bounds,
                    FunctionRef<bool()> go_on);

  Database database_;
  int64_t filling_work_ = 0;
  Statement next_;  // of database_, and so gone before it
};

}  // namespace cairn::view
