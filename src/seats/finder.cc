#include "seats/finder.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace cairn::seats {
namespace {

// Whether seats taken out of a run, so that `left` and `right` free ones remain beside them, leave
// one alone.
bool LeavesOrphan(int64_t left, int64_t right) { return left == 1 || right == 1; }

class Search {
 public:
  Search(const RowIndex& index, SeatBits& bits, const FindOptions& options)
      : index_(index), bits_(bits), shape_(bits.shape()), options_(options) {}

  Result<std::vector<int64_t>> Find() {
    CAIRN_ASSIGN_OR_RETURN(std::vector<int64_t> seats, FindAdjacent());
    if (!seats.empty() || options_.adjacent_only) return seats;
    if (options_.avoid_orphans) {
      CAIRN_ASSIGN_OR_RETURN(seats, FindApart(true));
      if (!seats.empty()) return seats;
    }
    return FindApart(false);
  }

 private:
  // The row that is looked at as number `step`.
  int64_t RowAt(int64_t step) const {
    switch (options_.prefer) {
      case Prefer::kFront:
        return step;
      case Prefer::kBack:
        return shape_.rows - 1 - step;
      case Prefer::kCenter:
        break;
    }
    // From the middle outwards, the front one first: with 5 rows 2 1 3 0 4, with 4 rows 1 2 0 3.
    const int64_t middle = (shape_.rows - 1) / 2;
    const int64_t away = (step + 1) / 2;
    const bool odd_rows = shape_.rows % 2 == 1;
    return (step % 2 == 1) == odd_rows ? middle - away : middle + away;
  }

  Result<const std::vector<Run>*> RunsOf(int64_t group) {
    const auto known = runs_.find(group);
    if (known != runs_.end()) return &known->second;
    CAIRN_ASSIGN_OR_RETURN(std::vector<Run> runs, index_.ReadRuns(group, bits_));
    return &runs_.emplace(group, std::move(runs)).first->second;
  }

  // Calls `visit` for each free run of at least `length`, in the order of rows, until it returns
  // true.
  template <typename Visit>
  Result<void> VisitRuns(int64_t length, Visit visit) {
    for (int64_t step = 0; step < shape_.rows; ++step) {
      const int64_t row = RowAt(step);
      const int64_t group = index_.GroupOf(row);
      if (index_.longest(group) < length) continue;
      CAIRN_ASSIGN_OR_RETURN(const std::vector<Run>* runs, RunsOf(group));
      if (visit(row, *runs)) return {};
    }
    return {};
  }

  // How far the middle of a window is from the middle of its row, in half seats.
  int64_t DistanceToMiddle(int64_t start) const {
    return std::abs(2 * start + options_.quantity - shape_.cols);
  }

  // The best place in this run for the whole quantity.
  std::optional<int64_t> PlaceIn(const Run& run, bool no_orphans) const {
    const int64_t spare = run.length - options_.quantity;
    if (spare < 0) return std::nullopt;
    if (options_.prefer != Prefer::kCenter) {
      if (no_orphans && LeavesOrphan(0, spare)) return std::nullopt;
      return run.start;
    }
    std::optional<int64_t> best;
    for (int64_t left = 0; left <= spare; ++left) {
      if (no_orphans && LeavesOrphan(left, spare - left)) continue;
      const int64_t start = run.start + left;
      if (!best || DistanceToMiddle(start) < DistanceToMiddle(*best)) best = start;
    }
    return best;
  }

  // The best place in a row.
  std::optional<int64_t> PlaceIn(int64_t row, const std::vector<Run>& runs, bool no_orphans) const {
    std::optional<int64_t> best;
    for (const Run& run : runs) {
      if (run.row != row) continue;
      const std::optional<int64_t> start = PlaceIn(run, no_orphans);
      if (!start) continue;
      if (options_.prefer != Prefer::kCenter) return start;
      if (!best || DistanceToMiddle(*start) < DistanceToMiddle(*best)) best = start;
    }
    return best;
  }

  Result<std::vector<int64_t>> FindAdjacent() {
    std::vector<int64_t> first;  // without regard to orphans
    std::vector<int64_t> found;
    const auto visit = [&](int64_t row, const std::vector<Run>& runs) {
      if (const auto start = PlaceIn(row, runs, options_.avoid_orphans)) {
        found = Window(row, *start, options_.quantity);
      } else if (options_.avoid_orphans && first.empty()) {
        if (const auto any = PlaceIn(row, runs, false))
          first = Window(row, *any, options_.quantity);
      }
      return !found.empty();
    };
    CAIRN_RETURN_IF_ERROR(VisitRuns(options_.quantity, visit));
    return found.empty() ? first : found;
  }

  std::vector<int64_t> Window(int64_t row, int64_t start, int64_t count) const {
    std::vector<int64_t> seats;
    for (int64_t i = 0; i < count; ++i) seats.push_back(row * shape_.cols + start + i);
    return seats;
  }

  // Seats that are not all side by side: whole runs, the longest first, and a part of the last.
  Result<std::vector<int64_t>> FindApart(bool no_orphans) {
    std::vector<int64_t> seats;
    const auto missing = [&] { return options_.quantity - static_cast<int64_t>(seats.size()); };
    const int64_t longest = std::min<int64_t>(index_.longest(), options_.quantity);
    for (int64_t length = longest; length > 0 && missing() > 0; --length) {
      const auto visit = [&](int64_t row, const std::vector<Run>& runs) {
        for (const Run& run : runs) {
          if (run.row != row || run.length != length || missing() == 0) continue;
          const int64_t taken = std::min(missing(), length);
          if (no_orphans && length - taken == 1) continue;
          const std::vector<int64_t> part = Window(row, run.start, taken);
          seats.insert(seats.end(), part.begin(), part.end());
        }
        return missing() == 0;
      };
      CAIRN_RETURN_IF_ERROR(VisitRuns(length, visit));
    }
    if (missing() > 0) seats.clear();
    return seats;
  }

  const RowIndex& index_;
  SeatBits& bits_;
  const Shape shape_;
  const FindOptions& options_;
  std::map<int64_t, std::vector<Run>> runs_;  // by group
};

}  // namespace

Result<std::vector<int64_t>> FindSeats(const RowIndex& index, SeatBits& bits,
                                       const FindOptions& options) {
  return Search(index, bits, options).Find();
}

}  // namespace cairn::seats
