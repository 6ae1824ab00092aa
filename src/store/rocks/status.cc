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

}  // namespace cairn::store::rocks
