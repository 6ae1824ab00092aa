#include "data/value/scan_cursors.h"

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <string>

namespace cairn::data {
namespace {

constexpr uint64_t kCursorBound = uint64_t{1} << 53;

}  // namespace

std::optional<uint64_t> ParseCursor(std::string_view text) {
  if (text.empty()) return 0;
  if (std::isspace(static_cast<unsigned char>(text.front())) != 0) return std::nullopt;
  const std::string terminated(text);
  char* end = nullptr;
  errno = 0;
  const uint64_t cursor = std::strtoull(terminated.c_str(), &end, 10);
  if (errno == ERANGE || end != terminated.c_str() + terminated.size()) return std::nullopt;
  return cursor;
}

ScanCursors::ScanCursors(Random& random, size_t max_cursors, size_t max_bytes)
    : random_(random), max_cursors_(max_cursors), max_bytes_(max_bytes) {}

uint64_t ScanCursors::Save(uint8_t db, BytesView next_key) {
  const std::lock_guard lock(mutex_);
  uint64_t cursor = 0;
  while (cursor == 0 || by_cursor_.contains(cursor)) cursor = random_.Below(kCursorBound);
  recent_.push_front({cursor, db, Bytes(next_key)});
  by_cursor_.emplace(cursor, recent_.begin());
  bytes_ += next_key.size();
  while (recent_.size() > max_cursors_ || (bytes_ > max_bytes_ && recent_.size() > 1)) {
    bytes_ -= recent_.back().next_key.size();
    by_cursor_.erase(recent_.back().cursor);
    recent_.pop_back();
  }
  return cursor;
}

std::optional<Bytes> ScanCursors::Find(uint64_t cursor, uint8_t db) {
  const std::lock_guard lock(mutex_);
  const auto found = by_cursor_.find(cursor);
  if (found == by_cursor_.end() || found->second->db != db) return std::nullopt;
  recent_.splice(recent_.begin(), recent_, found->second);
  return found->second->next_key;
}

size_t ScanCursors::size() const {
  const std::lock_guard lock(mutex_);
  return recent_.size();
}

}  // namespace cairn::data
