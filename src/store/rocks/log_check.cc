#include "store/rocks/log_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "store/rocks/log_format.h"
#include "store/rocks/status.h"

namespace cairn::store::rocks {
namespace {

using log_format::kBatchHeaderBytes;
using log_format::kBlockBytes;
using log_format::kFirst;
using log_format::kFull;
using log_format::kHeaderBytes;
using log_format::kLast;
using log_format::kLogDataTag;
using log_format::LittleEndian;
using log_format::StoredChecksum;

// Our note is the first operation of a write: tag, length, bytes.
constexpr char kNoteTag = 'd';
constexpr size_t kNoteBytes = 9;
constexpr size_t kHeadBytes = kBatchHeaderBytes + 2 + kNoteBytes;  // all that is looked at

// The beginning of a write, as far as it matters here.
struct Write {
  uint64_t first = 0;
  uint64_t count = 0;
  uint64_t durable = 0;
};

std::optional<Write> ParseWrite(BytesView payload) {
  if (payload.size() < kBatchHeaderBytes) return std::nullopt;
  Write write{LittleEndian<uint64_t>(payload), LittleEndian<uint32_t>(payload.substr(8)), 0};
  const BytesView rest = payload.substr(kBatchHeaderBytes);
  if (rest.size() >= 2 + kNoteBytes && rest[0] == kLogDataTag && rest[1] == kNoteBytes &&
      rest[2] == kNoteTag) {
    write.durable = BytesReader(rest.substr(3)).Big64();
  }
  return write;
}

// Follows the writes of all logs in order and notices a gap that should not be there.
class GapFinder {
 public:
  void StartLog() { damaged_ = false; }
  void SawDamage() { damaged_ = true; }
  // False: this write proves that something durable is missing before it.
  bool Saw(const Write& write) {
    if (!next_) {
      // Nothing whole was seen yet; damage earlier in this log hides what came just before.
      if (damaged_ && write.first > 0 && write.durable >= write.first - 1) return false;
      next_ = write.first;
    }
    // Smaller numbers come again after a recovery that cut off a torn end.
    if (write.first <= *next_) {
      next_ = write.first + write.count;
      return true;
    }
    return write.durable < *next_;  // else something durable is missing before it
  }
  Commit newest() const { return {next_.value_or(0) > 0 ? *next_ - 1 : 0}; }

 private:
  std::optional<uint64_t> next_;  // the sequence number that continues what is whole
  bool damaged_ = false;          // in the log being read
};

// Reads the records of one log, block by block.
class LogReader {
 public:
  LogReader(const std::string& path, GapFinder& gaps) : path_(path), gaps_(gaps) {}

  Result<void> ReadBlock(BytesView block, uint64_t block_offset) {
    size_t at = 0;
    while (at + kHeaderBytes <= block.size()) {
      const BytesView header = block.substr(at, kHeaderBytes);
      const size_t length = LittleEndian<uint16_t>(header.substr(4));
      const auto type = static_cast<uint8_t>(header[6]);
      const bool fits = at + kHeaderBytes + length <= block.size();
      if (type == 0 || type > kLast || !fits ||
          StoredChecksum(block.substr(at + 6, 1 + length)) != LittleEndian<uint32_t>(header)) {
        // The rest of the block cannot be trusted.
        if (!damage_) damage_ = block_offset + at;
        head_.reset();
        gaps_.SawDamage();
        return {};
      }
      CAIRN_RETURN_IF_ERROR(
          Fragment(type, block.substr(at + kHeaderBytes, length), block_offset + at));
      at += kHeaderBytes + length;
    }
    return {};
  }

 private:
  // A write counts when it is complete; its beginning may be spread over fragments.
  Result<void> Fragment(uint8_t type, BytesView payload, uint64_t offset) {
    if (type == kFull || type == kFirst) head_.emplace();
    if (!head_) return {};  // the middle of a write whose beginning is damaged
    if (head_->size() < kHeadBytes) head_->append(payload.substr(0, kHeadBytes));
    if (type != kFull && type != kLast) return {};
    const auto write = ParseWrite(*head_);
    head_.reset();
    if (write && !gaps_.Saw(*write)) {
      return Error{ErrorCode::kCorruption,
                   fmt::format("{} is damaged at byte {}: commits that were durable are missing "
                               "before commit {}",
                               path_, damage_.value_or(offset), write->first)};
    }
    return {};
  }

  const std::string& path_;
  GapFinder& gaps_;
  std::optional<Bytes> head_;       // of the write being put together
  std::optional<uint64_t> damage_;  // where the first bad record is
};

Result<void> CheckLog(::rocksdb::FileSystem& files, const std::string& path, GapFinder& gaps) {
  std::unique_ptr<::rocksdb::FSSequentialFile> file;
  auto status = files.NewSequentialFile(path, ::rocksdb::FileOptions(), &file, nullptr);
  std::string buffer(kBlockBytes, '\0');
  LogReader reader(path, gaps);
  gaps.StartLog();
  for (uint64_t offset = 0; status.ok(); offset += kBlockBytes) {
    ::rocksdb::Slice block;
    status = file->Read(kBlockBytes, {}, &block, buffer.data(), nullptr);
    if (!status.ok() || block.empty()) break;
    CAIRN_RETURN_IF_ERROR(reader.ReadBlock({block.data(), block.size()}, offset));
  }
  if (!status.ok()) return ToError(status, "read " + path);
  return {};
}

}  // namespace

Bytes EncodeDurableNote(uint64_t durable_commit) {
  Bytes note(1, kNoteTag);
  AppendBig64(note, durable_commit);
  return note;
}

Result<std::vector<std::string>> LogNames(::rocksdb::FileSystem& files,
                                          const std::string& db_path) {
  std::vector<std::string> names;
  if (const auto status = files.GetChildren(db_path, {}, &names, nullptr); !status.ok()) {
    return ToError(status, "list " + db_path);
  }
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(".log"); });
  // Numbers of six digits or more: shorter names come first, then the order of the text.
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return names;
}

Result<Commit> CheckLogs(::rocksdb::FileSystem& files, const std::string& db_path) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> names, LogNames(files, db_path));
  GapFinder gaps;
  for (const std::string& name : names) {
    CAIRN_RETURN_IF_ERROR(CheckLog(files, db_path + "/" + name, gaps));
  }
  return gaps.newest();
}

}  // namespace cairn::store::rocks
