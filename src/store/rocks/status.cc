#include "store/rocks/status.h"

#include <fmt/format.h>

namespace cairn::store::rocks {

Error ToError(const ::rocksdb::Status& status, std::string_view doing) {
  ErrorCode code = ErrorCode::kInternal;
  if (status.IsIncomplete()) {
    code = ErrorCode::kWouldBlock;
  } else if (status.IsCorruption()) {
    code = ErrorCode::kCorruption;
  } else if (status.IsIOError() || status.IsNoSpace() || status.IsPathNotFound()) {
    code = ErrorCode::kIo;
  } else if (status.IsShutdownInProgress() || status.IsBusy() || status.IsTimedOut()) {
    code = ErrorCode::kUnavailable;
  }
  return {code, fmt::format("cannot {}: {}", doing, status.ToString())};
}

bool IsLackOfRoom(const ::rocksdb::Status& status) {
  // RocksDB has no code of its own for a quota.
  const bool no_room =
      status.IsNoSpace() || status.ToString().find("Disk quota exceeded") != std::string::npos;
  return no_room && status.severity() <= ::rocksdb::Status::Severity::kHardError;
}

}  // namespace cairn::store::rocks
