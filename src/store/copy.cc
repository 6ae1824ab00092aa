#include "store/copy.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/hash.h"

namespace cairn::store {
namespace {

constexpr BytesView kUnfinished = "migration";
constexpr BytesView kStampBound = "number/stamp";
constexpr BytesView kEventBound = "number/event";
constexpr BytesView kNumbers = "number/";
constexpr BytesView kTimersLease = "timers/lease";

constexpr size_t kRowsAtOnce = 1000;
constexpr size_t kBytesAtOnce = 1 << 20;

using RowMap = std::map<Bytes, Bytes>;

bool IsCopied(Key key) {
  if (key.space != Space::kSystem) return true;
  return !key.bytes.starts_with(kNumbers) && key.bytes != kTimersLease && key.bytes != kUnfinished;
}

int64_t CounterValue(BytesView value) { return static_cast<int64_t>(BytesReader(value).Big64()); }

// A counter that stands at zero may as well be missing.
bool Matters(Key key, BytesView value, const CopyOptions& options) {
  return IsCopied(key) && !(options.is_counter(key) && CounterValue(value) == 0);
}

// The rows of `range` from its begin, some at a time; `range` then begins behind them. Whether
// there may be more.
Result<bool> TakeRows(Reader& reader, Range& range, const CopyOptions& options, RowMap& rows) {
  size_t count = 0;
  size_t bytes = 0;
  std::optional<Bytes> last;
  CAIRN_RETURN_IF_ERROR(
      reader.Scan(range, {.limit = kRowsAtOnce}, [&](BytesView key, BytesView value) {
        if (Matters({range.space, key}, value, options)) rows.emplace(key, value);
        last = Bytes(key);
        ++count;
        bytes += key.size() + value.size();
        return bytes < kBytesAtOnce;
      }));
  if (last) {
    range.begin = *std::move(last);
    range.begin.push_back('\0');
  }
  return count == kRowsAtOnce || bytes >= kBytesAtOnce;
}

Result<RowMap> AllRows(Reader& reader, Range range, const CopyOptions& options) {
  RowMap rows;
  CAIRN_RETURN_IF_ERROR(reader.Scan(range, {}, [&](BytesView key, BytesView value) {
    if (Matters({range.space, key}, value, options)) rows.emplace(key, value);
    return true;
  }));
  return rows;
}

void PutRow(Transaction& transaction, Key key, BytesView value, const Bytes* before,
            const CopyOptions& options) {
  if (!options.is_counter(key)) return transaction.Put(key, value);
  transaction.Add(key, CounterValue(value) - (before != nullptr ? CounterValue(*before) : 0));
}

void DeleteRow(Transaction& transaction, Key key, BytesView value, const CopyOptions& options) {
  if (!options.is_counter(key)) return transaction.Delete(key);
  transaction.Add(key, -CounterValue(value));
}

// Makes `to` hold `wanted` where it holds `found`, in one transaction.
Result<void> WriteDifference(Store& to, Space space, const RowMap& wanted, const RowMap& found,
                             const CopyOptions& options, CopyCounts& counts) {
  CopyCounts made;
  CAIRN_RETURN_IF_ERROR(to.Run({}, [&](Transaction& transaction) -> Result<void> {
    made = {};
    for (const auto& [key, value] : wanted) {
      const auto there = found.find(key);
      if (there != found.end() && there->second == value) continue;
      PutRow(transaction, {space, key}, value, there == found.end() ? nullptr : &there->second,
             options);
      ++made.written;
    }
    for (const auto& [key, value] : found) {
      if (wanted.contains(key)) continue;
      DeleteRow(transaction, {space, key}, value, options);
      ++made.deleted;
    }
    return {};
  }));
  counts.written += made.written;
  counts.deleted += made.deleted;
  return {};
}

Result<void> CopySpace(Reader& from, Store& to, Space space, const CopyOptions& options,
                       CopyProgress& progress, CopyCounts& counts) {
  progress.space = space;
  CAIRN_ASSIGN_OR_RETURN(const auto destination, to.Read());
  Range left = Range::All(space);
  for (bool more = true; more;) {
    Range there{space, left.begin, std::nullopt};
    RowMap wanted;
    CAIRN_ASSIGN_OR_RETURN(more, TakeRows(from, left, options, wanted));
    if (more) there.end = left.begin;
    CAIRN_ASSIGN_OR_RETURN(const RowMap found, AllRows(*destination, there, options));
    if (wanted != found) {
      CAIRN_RETURN_IF_ERROR(WriteDifference(to, space, wanted, found, options, counts));
    }
    progress.rows += wanted.size();
    for (const auto& [key, value] : wanted) progress.bytes += key.size() + value.size();
    options.progress(progress);
  }
  return {};
}

Result<void> PutSystem(Store& store, BytesView key, const std::optional<Bytes>& value) {
  CAIRN_ASSIGN_OR_RETURN(const Commit commit,
                         store.Run({}, [&](Transaction& transaction) -> Result<void> {
                           if (value) {
                             transaction.Put({Space::kSystem, key}, *value);
                           } else {
                             transaction.Delete({Space::kSystem, key});
                           }
                           return {};
                         }));
  return store.Durable(commit);
}

Result<uint64_t> ReadNumber(Reader& reader, BytesView key) {
  CAIRN_ASSIGN_OR_RETURN(const auto value, reader.Get({Space::kSystem, key}));
  return value ? BytesReader(*value).Big64() : 0;
}

}  // namespace

Result<std::vector<SpaceContent>> ReadContent(Reader& reader, const CopyOptions& options) {
  std::vector<SpaceContent> contents;
  CopyProgress progress{};
  for (const Space space : kAllSpaces) {
    SpaceContent content{.space = space};
    uint64_t low = 1;
    uint64_t high = 2;
    progress.space = space;
    CAIRN_RETURN_IF_ERROR(reader.Scan(Range::All(space), {}, [&](BytesView key, BytesView value) {
      if (!Matters({space, key}, value, options)) return true;
      low = Hash64(value, Hash64(key, low));
      high = Hash64(value, Hash64(key, high));
      ++content.rows;
      content.bytes += key.size() + value.size();
      if (++progress.rows % kRowsAtOnce == 0) options.progress(progress);
      progress.bytes += key.size() + value.size();
      return true;
    }));
    content.checksum = fmt::format("{:016x}{:016x}", high, low);
    contents.push_back(std::move(content));
  }
  return contents;
}

Result<CopyCounts> CopyAll(Reader& from, Store& to, const std::string& source,
                           const CopyOptions& options) {
  CAIRN_RETURN_IF_ERROR(PutSystem(to, kUnfinished, Bytes(source)));
  CopyCounts counts;
  CopyProgress progress{};
  for (const Space space : kAllSpaces) {
    CAIRN_RETURN_IF_ERROR(CopySpace(from, to, space, options, progress, counts));
  }
  return counts;
}

Result<std::optional<std::string>> UnfinishedCopyOf(Reader& reader) {
  return reader.Get({Space::kSystem, kUnfinished});
}

Result<std::optional<std::string>> UnfinishedCopyOf(Store& store) {
  CAIRN_ASSIGN_OR_RETURN(const auto snapshot, store.Read());
  return UnfinishedCopyOf(*snapshot);
}

Result<bool> IsEmpty(Store& store) {
  CAIRN_ASSIGN_OR_RETURN(const auto snapshot, store.Read());
  bool empty = true;
  for (const Space space : kAllSpaces) {
    CAIRN_RETURN_IF_ERROR(snapshot->Scan(Range::All(space), {}, [&](BytesView key, BytesView) {
      empty = !IsCopied({space, key});
      return empty;
    }));
    if (!empty) break;
  }
  return empty;
}

Result<void> FinishCopy(Store& store) { return PutSystem(store, kUnfinished, std::nullopt); }

Result<Numbers> ReadStoredNumbers(Reader& reader) {
  Numbers numbers;
  CAIRN_ASSIGN_OR_RETURN(numbers.stamp, ReadNumber(reader, kStampBound));
  CAIRN_ASSIGN_OR_RETURN(numbers.event, ReadNumber(reader, kEventBound));
  return numbers;
}

Result<void> RaiseStoredNumbers(Store& store, const Numbers& numbers) {
  CAIRN_ASSIGN_OR_RETURN(const auto snapshot, store.Read());
  CAIRN_ASSIGN_OR_RETURN(const Numbers now, ReadStoredNumbers(*snapshot));
  const auto raise = [&](BytesView key, uint64_t from, uint64_t to) -> Result<void> {
    if (from >= to) return {};
    Bytes value;
    AppendBig64(value, to);
    return PutSystem(store, key, value);
  };
  CAIRN_RETURN_IF_ERROR(raise(kStampBound, now.stamp, numbers.stamp));
  return raise(kEventBound, now.event, numbers.event);
}

}  // namespace cairn::store
