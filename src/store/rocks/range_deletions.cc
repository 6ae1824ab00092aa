#include "store/rocks/range_deletions.h"

#include <algorithm>
#include <set>
#include <string>

#include "store/rocks/status.h"

namespace cairn::store::rocks {
namespace {

constexpr std::chrono::milliseconds kLongestRest = std::chrono::minutes(1);

// Files are named by their paths in one of RocksDB's answers and by their names in the other.
std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Result<std::set<std::string>> FilesWithRangeDeletions(const Engine& engine, Space space) {
  ::rocksdb::TablePropertiesCollection tables;
  const auto status = engine.db->GetPropertiesOfAllTables(engine.column(space), &tables);
  if (!status.ok()) return ToError(status, "read table properties");
  std::set<std::string> names;
  for (const auto& [path, properties] : tables) {
    if (properties->num_range_deletions > 0) names.insert(FileName(path));
  }
  return names;
}

}  // namespace

Result<void> RangeDeletions::Find() {
  for (const Space space : kAllSpaces) {
    CAIRN_ASSIGN_OR_RETURN(const auto names, FilesWithRangeDeletions(engine_, space));
    engine_.range_deletions[static_cast<size_t>(space)] = names.size();
  }
  return {};
}

void RangeDeletions::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void RangeDeletions::Stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  engine_.range_deletion_news.fetch_add(1);
  engine_.range_deletion_news.notify_all();
  thread_.join();
}

bool RangeDeletions::Rest(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !stopped_.wait_for(lock, time, [this] { return stopping_.load(); });
}

void RangeDeletions::Loop() {
  std::chrono::milliseconds rest = rest_;
  for (;;) {
    const uint64_t news = engine_.range_deletion_news.load();
    if (!Rest(rest)) return;
    if (engine_.range_deletion_news.load() != news) continue;  // they still come
    const bool clean = CleanAll();
    // What a snapshot holds on to is tried again, ever more seldom.
    rest = clean ? rest_ : std::min(rest * 2, kLongestRest);
    if (clean) engine_.range_deletion_news.wait(news);
    if (stopping_) return;
  }
}

bool RangeDeletions::CleanAll() {
  bool clean = true;
  for (const Space space : kAllSpaces) {
    std::atomic<uint64_t>& count = engine_.range_deletions[static_cast<size_t>(space)];
    uint64_t before = count.load();
    if (before == 0) continue;
    // Those that are counted are written when the writes end that have begun by now.
    const uint64_t begun = engine_.writes_begun.load();
    while (engine_.writes_ended.load() < begun) {
      if (!Rest(std::chrono::milliseconds(1))) return false;
    }
    // One that came while the others went away is still there.
    clean =
        !engine_.failure.get() && Clean(space) && count.compare_exchange_strong(before, 0) && clean;
  }
  return clean;
}

bool RangeDeletions::Clean(Space space) {
  ::rocksdb::ColumnFamilyHandle* column = engine_.column(space);
  // Only files tell whether they hold any.
  if (!engine_.db->Flush(::rocksdb::FlushOptions(), column).ok()) return false;
  const auto dirty = FilesWithRangeDeletions(engine_, space);
  if (!dirty.ok()) return false;

  ::rocksdb::ColumnFamilyMetaData files;
  engine_.db->GetColumnFamilyMetaData(column, &files);
  ::rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  options.bottommost_level_compaction = ::rocksdb::BottommostLevelCompaction::kForceOptimized;
  options.canceled = &stopping_;
  for (const auto& level : files.levels) {
    for (const auto& file : level.files) {
      if (!dirty->contains(FileName(file.name))) continue;
      const ::rocksdb::Slice begin(file.smallestkey);
      const ::rocksdb::Slice end(file.largestkey);
      const auto status = engine_.db->CompactRange(options, column, &begin, &end);
      if (!status.ok()) {
        if (!stopping_) {
          engine_.log.Warn("range deletions could not be compacted",
                           {{"reason", status.ToString()}});
        }
        return false;
      }
    }
  }
  const auto left = FilesWithRangeDeletions(engine_, space);
  return left.ok() && left->empty();
}

}  // namespace cairn::store::rocks
