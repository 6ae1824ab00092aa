#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "store/store.h"

namespace cairn::admin {

// What a backup tells when it is done, over HTTP and on the command line.
struct BackupReport {
  std::string directory;
  uint64_t bytes = 0;
  uint64_t duration_ms = 0;

  boost::json::object ToJson() const;
  static Result<BackupReport> FromJson(std::string_view text);
};

// Where a backup goes that is to be made at `wanted`, a path below `directory` or relative to it;
// `directory` is absolute, and made if it does not exist, as are those between. kForbidden for what
// would be elsewhere, also by a symbolic link. Waits for the disk.
Result<std::string> PlaceOfBackup(const std::string& directory, const std::string& wanted);

// Copies the store into `directory`, which is absolute and must not exist. Waits for the disk; the
// store stays in use meanwhile.
Result<BackupReport> MakeBackup(store::Store& store, const std::string& directory,
                                const Clock& clock);

}  // namespace cairn::admin
