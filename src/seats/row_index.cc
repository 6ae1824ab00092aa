#include "seats/row_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/value/string_value.h"
#include "seats/limits.h"
#include "seats/refusal.h"

namespace cairn::seats {
namespace {

// The record of a section's index, if its sections have one.
Result<std::optional<data::Entry>> LoadEntry(store::Transaction& transaction, uint8_t db,
                                             const std::string& key, const Shape& shape) {
  if (!RowIndex::IsStored(shape)) return std::optional<data::Entry>();
  CAIRN_ASSIGN_OR_RETURN(data::Entry entry, data::Entry::Load(transaction, db, key));
  return std::optional(std::move(entry));
}

uint8_t Capped(int64_t run) { return static_cast<uint8_t>(std::min<int64_t>(run, kMaxIndexedRun)); }

uint8_t LongestOf(const std::vector<Run>& runs) {
  int64_t longest = 0;
  for (const Run& run : runs) longest = std::max(longest, run.length);
  return Capped(longest);
}

}  // namespace

bool RowIndex::IsStored(const Shape& shape) { return shape.seats() > kMaxUnindexedSeats; }

RowIndex::RowIndex(std::optional<data::Entry> entry, const Shape& shape)
    : entry_(std::move(entry)),
      shape_(shape),
      group_rows_((shape.rows + kMaxRowGroups - 1) / kMaxRowGroups),
      longest_(static_cast<size_t>((shape.rows + group_rows_ - 1) / group_rows_)) {}

bool RowIndex::Decode(const SeatBits& bits) {
  if (!entry_ || !entry_->Is(data::ValueType::kString) || !data::IsShortString(*entry_)) {
    return false;
  }
  BytesReader reader(entry_->payload());
  const uint64_t version = reader.Big64();
  const BytesView longest = reader.Rest();
  if (!reader.ok() || version != bits.version() || longest.size() != longest_.size()) return false;
  std::ranges::copy(longest, longest_.begin());
  return true;
}

Result<RowIndex> RowIndex::Load(store::Transaction& transaction, uint8_t db, const std::string& key,
                                SeatBits& bits) {
  CAIRN_ASSIGN_OR_RETURN(auto entry, LoadEntry(transaction, db, key, bits.shape()));
  RowIndex index(std::move(entry), bits.shape());
  if (!index.Decode(bits)) CAIRN_RETURN_IF_ERROR(index.Rebuild(bits));
  return index;
}

Result<RowIndex> RowIndex::Fresh(store::Transaction& transaction, uint8_t db,
                                 const std::string& key, const Shape& shape) {
  CAIRN_ASSIGN_OR_RETURN(auto entry, LoadEntry(transaction, db, key, shape));
  RowIndex index(std::move(entry), shape);
  std::ranges::fill(index.longest_, Capped(shape.cols));
  return index;
}

uint8_t RowIndex::longest() const { return std::ranges::max(longest_); }

Result<std::vector<Run>> RowIndex::ReadRuns(int64_t group, SeatBits& bits) const {
  const int64_t first = group * group_rows_;
  const int64_t rows = std::min(group_rows_, shape_.rows - first);
  CAIRN_ASSIGN_OR_RETURN(const std::vector<SeatState> states,
                         bits.Read(first * shape_.cols, rows * shape_.cols));
  std::vector<Run> runs;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t length = 0;
    for (int64_t seat = 0; seat <= shape_.cols; ++seat) {
      const bool free =
          seat < shape_.cols &&
          states[static_cast<size_t>(row * shape_.cols + seat)] == SeatState::kAvailable;
      if (free) {
        ++length;
      } else if (length > 0) {
        runs.push_back({first + row, seat - length, std::exchange(length, 0)});
      }
    }
  }
  return runs;
}

Result<void> RowIndex::Rebuild(SeatBits& bits) {
  for (int64_t group = 0; group < groups(); ++group) {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<Run> runs, ReadRuns(group, bits));
    longest_[static_cast<size_t>(group)] = LongestOf(runs);
  }
  return {};
}

Result<void> RowIndex::Refresh(const std::vector<int64_t>& indexes, SeatBits& bits) {
  int64_t last = -1;
  for (const int64_t index : indexes) {
    const int64_t group = GroupOf(index / shape_.cols);
    if (group == last) continue;
    last = group;
    CAIRN_ASSIGN_OR_RETURN(const std::vector<Run> runs, ReadRuns(group, bits));
    longest_[static_cast<size_t>(group)] = LongestOf(runs);
  }
  return {};
}

void RowIndex::Save() {
  if (!entry_) return;
  Bytes value;
  value.reserve(8 + longest_.size());
  AppendBig64(value, entry_->transaction().stamp());
  value.append(longest_.begin(), longest_.end());
  data::PutString(*entry_, value);
}

Result<std::string> RowIndex::FindFault(store::Transaction& transaction, uint8_t db,
                                        const std::string& key, SeatBits& bits) {
  CAIRN_ASSIGN_OR_RETURN(auto entry, LoadEntry(transaction, db, key, bits.shape()));
  RowIndex stored(std::move(entry), bits.shape());
  if (!stored.Decode(bits)) return std::string();  // would be made again
  RowIndex made = stored;
  CAIRN_RETURN_IF_ERROR(made.Rebuild(bits));
  const auto [left, right] = std::ranges::mismatch(stored.longest_, made.longest_);
  if (left == stored.longest_.end()) return std::string();
  return fmt::format("{} says that row {} has {} free seats side by side, the bits have {}", key,
                     (left - stored.longest_.begin()) * stored.group_rows_ + 1, *left, *right);
}

}  // namespace cairn::seats
