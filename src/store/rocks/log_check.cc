#include "store/rocks/log_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "store/rocks/crc32c.h"
#include "store/rocks/status.h"

namespace cairn::store::rocks {
namespace {

// RocksDB's log: blocks of 32 KiB; in a block, records of checksum:4 length:2 type:1 payload,
// little endian. A payload longer than the block goes on in further records. The first payload byte
// of a write is its sequence number:8 and count:4; our note follows as tag, length, bytes.
constexpr size_t kBlockBytes = 32 * 1024;
constexpr size_t kHeaderBytes = 7;
constexpr uint8_t kFull = 1;
constexpr uint8_t kFirst = 2;
constexpr uint8_t kLast = 4;
constexpr size_t kBatchHeaderBytes = 12;
constexpr char kLogDataTag = 3;
constexpr char kNoteTag = 'd';
constexpr size_t kNoteBytes = 9;
constexpr size_t kHeadBytes = kBatchHeaderBytes + 2 + kNoteBytes;  // all that is looked at

template <typename T>
T LittleEndian(BytesView bytes) {
  T value = 0;
  for (size_t i = sizeof(T); i-- > 0;) {
    value = static_cast<T>(value << 8) | static_cast<uint8_t>(bytes[i]);
  }
  return value;
}

// CRC-32C as RocksDB stores it: rotated and shifted, so that the checksum of data that holds
// checksums is not weakened.
uint32_t StoredChecksum(BytesView bytes) {
  const uint32_t sum = ExtendCrc32c(0, bytes.data(), bytes.size());
  return ((sum >> 15) | (sum << 17)) + 0xa282ead8u;
}

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

Result<void> CheckLogs(::rocksdb::FileSystem& files, const std::string& db_path) {
  std::vector<std::string> names;
  if (const auto status = files.GetChildren(db_path, {}, &names, nullptr); !status.ok()) {
    return ToError(status, "list " + db_path);
  }
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(".log"); });
  // Numbers of six digits or more: shorter names come first, then the order of the text.
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  GapFinder gaps;
  for (const std::string& name : names) {
    CAIRN_RETURN_IF_ERROR(CheckLog(files, db_path + "/" + name, gaps));
  }
  return {};
}

}  // namespace cairn::store::rocks
