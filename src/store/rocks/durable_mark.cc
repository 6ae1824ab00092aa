#include "store/rocks/durable_mark.h"

#include <rocksdb/env.h>

#include "base/bytes.h"
#include "store/rocks/crc32c.h"
#include "store/rocks/directory.h"
#include "store/rocks/status.h"

namespace cairn::store::rocks {
namespace {

constexpr BytesView kMagic = "cairndur";
constexpr size_t kBytes = 20;

Bytes Encode(Commit commit) {
  Bytes bytes(kMagic);
  AppendBig64(bytes, commit.number);
  AppendBig32(bytes, ExtendCrc32c(0, bytes.data(), bytes.size()));
  return bytes;
}

}  // namespace

Result<std::optional<Commit>> DurableMark::Read(::rocksdb::FileSystem& files,
                                                const std::string& path) {
  if (!files.FileExists(path, {}, nullptr).ok()) return std::optional<Commit>();
  std::string text;
  const auto status = ::rocksdb::ReadFileToString(&files, path, &text);
  if (!status.ok()) return ToError(status, "read " + path);
  if (text.size() == kBytes && text.starts_with(kMagic)) {
    const Commit commit{BytesReader(BytesView(text).substr(kMagic.size())).Big64()};
    if (Encode(commit) == text) return std::optional(commit);
  }
  return Error{ErrorCode::kCorruption,
               path +
                   " is damaged: it should tell how far the log was durable. Look after the "
                   "disk; to start without this check of the log, remove the file"};
}

Result<void> DurableMark::Open(::rocksdb::FileSystem& files, const std::string& path) {
  if (!files.FileExists(path, {}, nullptr).ok()) {
    const std::string fresh = path + ".new";
    auto status =
        ::rocksdb::WriteStringToFile(&files, Encode(Commit{0}), fresh, /*should_sync=*/true);
    if (status.ok()) status = files.RenameFile(fresh, path, {}, nullptr);
    if (!status.ok()) return ToError(status, "write " + path);
    CAIRN_RETURN_IF_ERROR(SyncDirectory(files, path.substr(0, path.rfind('/'))));
  }
  const auto status = files.NewRandomRWFile(path, ::rocksdb::FileOptions(), &file_, nullptr);
  if (!status.ok()) return ToError(status, "open " + path);
  return {};
}

void DurableMark::Set(Commit commit) {
  if (file_ != nullptr) file_->Write(0, Encode(commit), {}, nullptr);
}

}  // namespace cairn::store::rocks
