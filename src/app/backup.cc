#include "app/backup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "admin/backup.h"
#include "app/open_store.h"
#include "app/server_access.h"
#include "house/units.h"
#include "net/http/client.h"
#include "store/rocks/open.h"

namespace cairn::app {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Long enough for a large store on a slow disk: the server answers when the copy is complete.
constexpr std::chrono::hours kBackupTimeout{12};

Result<admin::BackupReport> AskServer(const house::Url& url, const Config& config,
                                      const std::string& ca_file, const json::object& request) {
  net::HttpClient client(url.address,
                         {.tls = url.tls, .ca_file = ca_file, .timeout = kBackupTimeout});
  CAIRN_ASSIGN_OR_RETURN(const net::HttpResponse response,
                         client.Post("/v1/admin/backup", json::serialize(request),
                                     house::RequestHeaders(config.password)));
  if (response.status != 200) return Error{ErrorCode::kUnavailable, house::MessageOf(response)};
  return admin::BackupReport::FromJson(response.body);
}

Result<void> Sync(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && fsync(file) == 0;
  const int reason = errno;
  if (file >= 0) close(file);
  if (synced) return {};
  return Error{ErrorCode::kIo, fmt::format("cannot sync {}: {}", path.string(),
                                           std::generic_category().message(reason))};
}

// Onto another file system. Returns when the copy is durable.
Result<void> CopyTree(const fs::path& from, const fs::path& to) {
  std::error_code failure;
  fs::copy(from, to, fs::copy_options::recursive, failure);
  if (failure) return Error{ErrorCode::kIo, failure.message()};
  CAIRN_RETURN_IF_ERROR(Sync(to));
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(to)) {
    CAIRN_RETURN_IF_ERROR(Sync(entry.path()));
  }
  return {};
}

Result<void> MoveTree(const fs::path& from, const fs::path& to) {
  std::error_code failure;
  fs::create_directories(to.parent_path(), failure);
  if (!failure) fs::rename(from, to, failure);
  if (failure == std::errc::cross_device_link) {
    CAIRN_RETURN_IF_ERROR(CopyTree(from, to));
    fs::remove_all(from, failure);  // what stays is a backup too
  } else if (failure) {
    return Error{ErrorCode::kIo, failure.message()};
  }
  return Sync(to.parent_path());
}

// The server of this machine writes below its own directory of backups only. Where the backup goes
// from there is for whoever runs this program, with their own rights.
Result<admin::BackupReport> FetchFromServer(const Config& config, const BackupOptions& options,
                                            const std::string& to) {
  CAIRN_ASSIGN_OR_RETURN(const house::Url url, UrlOf(config));
  if (fs::exists(to)) {
    return Error{ErrorCode::kConflict, to + " exists: a backup goes into a new directory"};
  }
  // The server behind the configured address must be the one that has this directory.
  CAIRN_ASSIGN_OR_RETURN(
      admin::BackupReport report,
      AskServer(
          url, config, options.ca_file,
          {{"directory", fmt::format("for-{}-{}", getpid(), fs::path(to).filename().string())},
           {"data", fs::canonical(config.data).string()}}));
  const std::string made = std::exchange(report.directory, to);
  if (const Result<void> moved = MoveTree(made, to); !moved.ok()) {
    return Error{moved.error().code,
                 fmt::format("the backup is complete in {}, but cannot be moved "
                             "to {}: {}",
                             made, to, moved.error().message)};
  }
  return report;
}

}  // namespace

Result<admin::BackupReport> MakeBackup(const Config& config, const BackupOptions& options) {
  const fs::path place = fs::absolute(options.to).lexically_normal();
  const std::string to = (place.has_filename() ? place : place.parent_path()).string();
  if (!options.url.empty()) {
    CAIRN_ASSIGN_OR_RETURN(const house::Url url, house::ParseUrl(options.url));
    return AskServer(url, config, options.ca_file, {{"directory", to}});
  }
  if (!config.store_url.empty()) {
    const SystemClock clock;
    CAIRN_ASSIGN_OR_RETURN(const auto store, OpenStore(config, clock, Log::Silent()));
    return admin::MakeBackup(*store, to, clock);  // which names the tool to use instead
  }
  CAIRN_ASSIGN_OR_RETURN(const store::rocks::DirectoryReport report,
                         store::rocks::Inspect(config.data));
  if (report.format_version == 0) {
    return Error{ErrorCode::kNotFound, config.data + " holds no data to back up"};
  }
  if (report.in_use) return FetchFromServer(config, options, to);
  const SystemClock clock;
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Store> store,
                         OpenStore(config, clock, Log::Silent()));
  return admin::MakeBackup(*store, to, clock);
}

int Backup(const Config& config, const BackupOptions& options, const house::Terminal& terminal) {
  const Result<admin::BackupReport> report = MakeBackup(config, options);
  if (!report.ok()) {
    terminal.Complain("cannot back up: " + report.error().message);
    return house::kExitFailure;
  }
  if (options.json) {
    terminal.Print(report->ToJson());
  } else {
    terminal.Print(
        fmt::format("Backed up {} to {} in {:.1f} s. Restore it with:\n"
                    "  cairn restore --from {} --data NEW_DIRECTORY",
                    house::ReadableSize(report->bytes), report->directory,
                    static_cast<double>(report->duration_ms) / 1000, report->directory));
  }
  return house::kExitOk;
}

int Restore(const Config& config, const RestoreOptions& options, const house::Terminal& terminal) {
  const Result<void> restored = store::rocks::Restore(options.from, config.data);
  if (!restored.ok()) {
    terminal.Complain("cannot restore: " + restored.error().message);
    return house::kExitFailure;
  }
  if (options.json) {
    terminal.Print(json::object{{"from", options.from}, {"data", config.data}, {"verified", true}});
  } else {
    terminal.Print(fmt::format("Restored and verified {}. Serve it with:\n  cairn serve --data {}",
                               config.data, config.data));
  }
  return house::kExitOk;
}

}  // namespace cairn::app
