#pragma once

#include <string>

#include "admin/backup.h"
#include "app/settings.h"
#include "base/result.h"
#include "house/terminal.h"

namespace cairn::app {

struct BackupOptions {
  std::string to;
  std::string url;      // empty: found out from the data directory and the settings
  std::string ca_file;  // for https
  bool json = false;
};

// Makes a backup: through the server that is running (its POST /v1/admin/backup), or by opening the
// data directory when none is.
Result<admin::BackupReport> MakeBackup(const Config& config, const BackupOptions& options);

// The same as a command. Returns an exit code.
int Backup(const Config& config, const BackupOptions& options, const house::Terminal& terminal);

struct RestoreOptions {
  std::string from;
  bool json = false;
};

// Makes config.data, which must be empty or missing, from a backup. Returns an exit code.
int Restore(const Config& config, const RestoreOptions& options, const house::Terminal& terminal);

}  // namespace cairn::app
