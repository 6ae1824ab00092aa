#include "store/rocks/log_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/function_ref.h"
#include "store/rocks/directory.h"
#include "store/rocks/log_format.h"
#include "store/rocks/status.h"

namespace cairn::store::rocks {
namespace {

using log_format::AppendLittleEndian;
using log_format::kBatchHeaderBytes;
using log_format::kBlockBytes;
using log_format::kFirst;
using log_format::kFull;
using log_format::kHeaderBytes;
using log_format::kLast;
using log_format::kMiddle;
using log_format::LittleEndian;
using log_format::StoredChecksum;

constexpr std::string_view kSuffix = ".split";
constexpr size_t kBufferBytes = 1024 * 1024;

Error NotSplittable(std::string_view why) {
  return {ErrorCode::kCorruption, fmt::format("a write of the log {}", why)};
}

// --- Reading ------------------------------------------------------------------------------------

// A part of a write. Views last until the next one.
struct Fragment {
  bool first = false;
  bool last = false;
  BytesView payload;
};
using FragmentVisitor = FunctionRef<Result<void>(const Fragment& fragment)>;

// Takes the fragments of one log in order, as RocksDB would, up to the first that does not check
// out.
class FragmentReader {
 public:
  explicit FragmentReader(FragmentVisitor visit) : visit_(visit) {}

  // False at the first damage; nothing is visited from there on.
  Result<bool> ReadBlock(BytesView block) {
    size_t at = 0;
    while (at + kHeaderBytes <= block.size()) {
      const BytesView header = block.substr(at, kHeaderBytes);
      const size_t length = LittleEndian<uint16_t>(header.substr(4));
      const auto type = static_cast<uint8_t>(header[6]);
      if (type == 0 && length == 0) return !inside_;  // zeros: on to the next block
      const bool begins = type == kFull || type == kFirst;
      if (type > kLast || begins == inside_ || at + kHeaderBytes + length > block.size() ||
          StoredChecksum(block.substr(at + 6, 1 + length)) != LittleEndian<uint32_t>(header)) {
        return false;
      }
      const bool ends = type == kFull || type == kLast;
      inside_ = !ends;
      CAIRN_RETURN_IF_ERROR(visit_({begins, ends, block.substr(at + kHeaderBytes, length)}));
      at += kHeaderBytes + length;
    }
    // Less than a header is left of a whole block; of the last one, it is the begin of one.
    return block.size() == kBlockBytes || at == block.size();
  }

  // In the middle of a write.
  bool inside() const { return inside_; }

 private:
  FragmentVisitor visit_;
  bool inside_ = false;
};

// Visits a log's fragments. Whether all of the file checked out.
Result<bool> ReadLog(::rocksdb::FileSystem& files, const std::string& path, FragmentVisitor visit) {
  std::unique_ptr<::rocksdb::FSSequentialFile> file;
  auto status = files.NewSequentialFile(path, ::rocksdb::FileOptions(), &file, nullptr);
  std::string buffer(kBlockBytes, '\0');
  FragmentReader reader(visit);
  while (status.ok()) {
    ::rocksdb::Slice block;
    status = file->Read(kBlockBytes, {}, &block, buffer.data(), nullptr);
    if (!status.ok() || block.empty()) break;
    CAIRN_ASSIGN_OR_RETURN(const bool whole, reader.ReadBlock({block.data(), block.size()}));
    if (!whole) return false;
  }
  if (!status.ok()) return ToError(status, "read " + path);
  return !reader.inside();
}

// What a log holds, as far as splitting it matters.
struct Survey {
  size_t whole_writes = 0;        // before the damage, if there is any
  std::set<size_t> large_writes;  // which of them, counted from 0
  bool damaged = false;
  bool torn_is_large = false;  // RocksDB gathers what is there of a write before it finds it torn
};

Result<Survey> SurveyLog(::rocksdb::FileSystem& files, const std::string& path, size_t largest) {
  Survey survey;
  uint64_t bytes = 0;
  CAIRN_ASSIGN_OR_RETURN(const bool whole, ReadLog(files, path, [&](const Fragment& fragment) {
                           bytes = (fragment.first ? 0 : bytes) + fragment.payload.size();
                           if (!fragment.last) return Result<void>();
                           if (bytes > largest) survey.large_writes.insert(survey.whole_writes);
                           ++survey.whole_writes;
                           bytes = 0;
                           return Result<void>();
                         }));
  survey.damaged = !whole;
  survey.torn_is_large = bytes > largest;
  return survey;
}

// --- Writing ------------------------------------------------------------------------------------

// Writes a log.
class LogWriter {
 public:
  explicit LogWriter(std::unique_ptr<::rocksdb::FSWritableFile> file) : file_(std::move(file)) {}

  Result<void> Append(BytesView write) {
    bool first = true;
    do {
      if (const size_t left = LeftInBlock(); left < kHeaderBytes) buffer_.append(left, '\0');
      const BytesView payload = write.substr(0, LeftInBlock() - kHeaderBytes);
      write.remove_prefix(payload.size());
      const bool last = write.empty();
      const uint8_t type = first ? (last ? kFull : kFirst) : (last ? kLast : kMiddle);
      first = false;
      AppendFragment(type, payload, 0);
      if (buffer_.size() >= kBufferBytes) CAIRN_RETURN_IF_ERROR(Flush());
    } while (!write.empty());
    return {};
  }

  // Something that does not check out, where the log did not.
  void AppendDamage() {
    if (const size_t left = LeftInBlock(); left < kHeaderBytes + 1) buffer_.append(left, '\0');
    AppendFragment(kFull, "?", 1);
  }

  // Fills up with zeros, so that the log is not shorter than what is noted of it elsewhere.
  Result<void> Finish(uint64_t least_bytes) {
    while (written_ + buffer_.size() < least_bytes) {
      buffer_.append(std::min<uint64_t>(kBufferBytes, least_bytes - written_ - buffer_.size()),
                     '\0');
      CAIRN_RETURN_IF_ERROR(Flush());
    }
    CAIRN_RETURN_IF_ERROR(Flush());
    auto status = file_->Fsync({}, nullptr);
    if (status.ok()) status = file_->Close({}, nullptr);
    if (!status.ok()) return ToError(status, "write a log");
    return {};
  }

 private:
  size_t LeftInBlock() const { return kBlockBytes - (written_ + buffer_.size()) % kBlockBytes; }

  void AppendFragment(uint8_t type, BytesView payload, uint32_t error) {
    Bytes summed(1, static_cast<char>(type));
    summed.append(payload);
    AppendLittleEndian(buffer_, StoredChecksum(summed) + error);
    AppendLittleEndian(buffer_, static_cast<uint16_t>(payload.size()));
    buffer_.append(summed);
  }

  Result<void> Flush() {
    const auto status = file_->Append(buffer_, {}, nullptr);
    written_ += buffer_.size();
    buffer_.clear();
    if (!status.ok()) return ToError(status, "write a log");
    return {};
  }

  std::unique_ptr<::rocksdb::FSWritableFile> file_;
  Bytes buffer_;
  uint64_t written_ = 0;
};

// --- Splitting ----------------------------------------------------------------------------------

// An operation of a write: what follows its tag, and whether it takes a sequence number. Those that
// Cairn uses, and RocksDB's forms of them for its default column family.
struct Operation {
  char tag;
  bool column;  // a varint
  int strings;  // each a varint of its length, and the bytes
  bool counted;
};
constexpr Operation kOperations[] = {
    {0x0, false, 1, true},  // delete
    {0x1, false, 2, true},  // put
    {log_format::kLogDataTag, false, 1, false},
    {0x4, true, 1, true},    // delete
    {0x5, true, 2, true},    // put
    {0xD, false, 0, false},  // nothing
    {0xE, true, 2, true},    // delete a range
    {0xF, false, 2, true},   // delete a range
};

// Takes a varint off the front of `bytes`; nullopt if it is not all there.
std::optional<uint32_t> TakeVarint(BytesView& bytes) {
  constexpr size_t kMaxBytes = 5;
  uint32_t value = 0;
  for (size_t i = 0; i < std::min(bytes.size(), kMaxBytes); ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    value |= static_cast<uint32_t>(byte & 0x7F) << (7 * i);
    if ((byte & 0x80) == 0) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

// How many bytes of `bytes` the operation at its front takes; nullopt if it is not all there.
std::optional<size_t> LengthOf(const Operation& operation, BytesView bytes) {
  BytesView rest = bytes.substr(1);
  if (operation.column && !TakeVarint(rest)) return std::nullopt;
  for (int i = 0; i < operation.strings; ++i) {
    const auto length = TakeVarint(rest);
    if (!length || rest.size() < *length) return std::nullopt;
    rest.remove_prefix(*length);
  }
  return bytes.size() - rest.size();
}

// Turns one write, given in parts, into several.
class WriteSplitter {
 public:
  WriteSplitter(LogWriter& writer, size_t piece_bytes)
      : writer_(writer), piece_bytes_(piece_bytes) {}

  Result<void> Add(BytesView part) {
    unread_.append(part);
    BytesView rest = unread_;
    if (!begun_) {
      if (rest.size() < kBatchHeaderBytes) return {};
      sequence_ = LittleEndian<uint64_t>(rest);
      left_ = LittleEndian<uint32_t>(rest.substr(8));
      rest.remove_prefix(kBatchHeaderBytes);
      begun_ = true;
    }
    while (!rest.empty()) {
      CAIRN_ASSIGN_OR_RETURN(const size_t taken, TakeOperation(rest));
      if (taken == 0) break;
      rest.remove_prefix(taken);
    }
    unread_.erase(0, unread_.size() - rest.size());
    return {};
  }

  Result<void> Finish() {
    if (!begun_ || !unread_.empty() || left_ != 0) return NotSplittable("is not whole");
    return piece_.empty() ? Result<void>() : WritePiece();
  }

 private:
  // The bytes it took of `rest`; 0 if the operation there goes on in the next part.
  Result<size_t> TakeOperation(BytesView rest) {
    const auto* operation = std::ranges::find(kOperations, rest[0], &Operation::tag);
    if (operation == std::end(kOperations)) {
      return NotSplittable(
          fmt::format("has an operation of kind {}", static_cast<uint8_t>(rest[0])));
    }
    const auto length = LengthOf(*operation, rest);
    if (!length) return 0;
    if (operation->counted) {
      if (left_ == 0) return NotSplittable("has more operations than it says");
      --left_;
      ++count_;
    }
    piece_.append(rest.substr(0, *length));
    if (piece_.size() >= piece_bytes_) CAIRN_RETURN_IF_ERROR(WritePiece());
    return *length;
  }

  Result<void> WritePiece() {
    Bytes write;
    write.reserve(kBatchHeaderBytes + piece_.size());
    AppendLittleEndian(write, sequence_);
    AppendLittleEndian(write, count_);
    write.append(piece_);
    sequence_ += count_;
    count_ = 0;
    piece_.clear();
    return writer_.Append(write);
  }

  LogWriter& writer_;
  const size_t piece_bytes_;
  Bytes unread_;  // the begin of an operation
  bool begun_ = false;
  uint64_t sequence_ = 0;  // of the next piece
  uint32_t left_ = 0;      // operations to come
  Bytes piece_;            // operations of the next piece
  uint32_t count_ = 0;     // of them
};

// Writes the log anew into `writer`.
Result<void> RewriteLog(::rocksdb::FileSystem& files, const std::string& path, const Survey& survey,
                        LogWriter& writer, const LogSplitOptions& options) {
  size_t number = 0;
  Bytes write;
  std::optional<WriteSplitter> splitter;
  CAIRN_RETURN_IF_ERROR(ReadLog(files, path, [&](const Fragment& fragment) -> Result<void> {
    if (number == survey.whole_writes) return {};  // torn
    if (fragment.first && survey.large_writes.contains(number)) {
      splitter.emplace(writer, options.piece_bytes);
    }
    if (splitter) {
      CAIRN_RETURN_IF_ERROR(splitter->Add(fragment.payload));
    } else {
      write.append(fragment.payload);
    }
    if (!fragment.last) return {};
    ++number;
    if (splitter) {
      CAIRN_RETURN_IF_ERROR(splitter->Finish());
      splitter.reset();
      return {};
    }
    CAIRN_RETURN_IF_ERROR(writer.Append(write));
    write.clear();
    return {};
  }));
  if (survey.damaged) writer.AppendDamage();
  return {};
}

Result<void> ReplaceLog(::rocksdb::FileSystem& files, const std::string& db_path,
                        const std::string& path, uint64_t size, const Survey& survey,
                        const LogSplitOptions& options) {
  const std::string fresh = path + std::string(kSuffix);
  std::unique_ptr<::rocksdb::FSWritableFile> file;
  auto status = files.NewWritableFile(fresh, ::rocksdb::FileOptions(), &file, nullptr);
  if (!status.ok()) return ToError(status, "make " + fresh);
  LogWriter writer(std::move(file));
  CAIRN_RETURN_IF_ERROR(RewriteLog(files, path, survey, writer, options));
  CAIRN_RETURN_IF_ERROR(writer.Finish(size));
  status = files.RenameFile(fresh, path, {}, nullptr);
  if (!status.ok()) return ToError(status, "rename " + fresh);
  return SyncDirectory(files, db_path);
}

Result<void> SplitLog(::rocksdb::FileSystem& files, const std::string& db_path,
                      const std::string& path, const Log& log, const LogSplitOptions& options) {
  uint64_t size = 0;
  if (const auto status = files.GetFileSize(path, {}, &size, nullptr); !status.ok()) {
    return ToError(status, "read the size of " + path);
  }
  if (size <= options.largest_write_bytes) return {};
  CAIRN_ASSIGN_OR_RETURN(const Survey survey, SurveyLog(files, path, options.largest_write_bytes));
  if (survey.large_writes.empty() && !survey.torn_is_large) return {};
  log.Info("a large write in the log is split", {{"file", path}, {"bytes", size}});
  return ReplaceLog(files, db_path, path, size, survey, options);
}

}  // namespace

void SplitLargeWrites(::rocksdb::FileSystem& files, const std::string& db_path, const Log& log,
                      const LogSplitOptions& options) {
  std::vector<std::string> names;
  if (!files.GetChildren(db_path, {}, &names, nullptr).ok()) return;
  for (const std::string& name : names) {
    const std::string path = db_path + "/" + name;
    if (name.ends_with(kSuffix)) files.DeleteFile(path, {}, nullptr);  // a crash left it
    if (!name.ends_with(".log")) continue;
    const Result<void> split = SplitLog(files, db_path, path, log, options);
    if (split.ok()) continue;
    files.DeleteFile(path + std::string(kSuffix), {}, nullptr);
    log.Warn("the log is not split; starting may take much memory",
             {{"file", path}, {"reason", split.error().message}});
  }
}

}  // namespace cairn::store::rocks
