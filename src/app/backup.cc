#include "app/backup.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <filesystem>
#include <memory>
#include <utility>

#include "admin/backup.h"
#include "app/open_store.h"
#include "app/server_url.h"
#include "app/units.h"
#include "net/http/client.h"
#include "store/rocks/open.h"

namespace cairn::app {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Long enough for a large store on a slow disk: the server answers when the copy is complete.
constexpr std::chrono::hours kBackupTimeout{12};

Result<admin::BackupReport> AskServer(const Url& url, const Config& config,
                                      const std::string& ca_file, const json::object& request) {
  net::HttpClient client(url.address,
                         {.tls = url.tls, .ca_file = ca_file, .timeout = kBackupTimeout});
  CAIRN_ASSIGN_OR_RETURN(
      const net::HttpResponse response,
      client.Post("/v1/admin/backup", json::serialize(request), RequestHeaders(config)));
  if (response.status != 200) return Error{ErrorCode::kUnavailable, MessageOf(response)};
  return admin::BackupReport::FromJson(response.body);
}

}  // namespace

Result<admin::BackupReport> MakeBackup(const Config& config, const BackupOptions& options) {
  const std::string to = fs::absolute(options.to).lexically_normal().string();
  if (!options.url.empty()) {
    CAIRN_ASSIGN_OR_RETURN(const Url url, ParseUrl(options.url));
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
  if (report.in_use) {
    CAIRN_ASSIGN_OR_RETURN(const Url url, UrlOf(config));
    // The server behind the configured address must be the one that has this directory.
    return AskServer(url, config, options.ca_file,
                     {{"directory", to}, {"data", fs::canonical(config.data).string()}});
  }
  const SystemClock clock;
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Store> store,
                         OpenStore(config, clock, Log::Silent()));
  return admin::MakeBackup(*store, to, clock);
}

int Backup(const Config& config, const BackupOptions& options, const Terminal& terminal) {
  const Result<admin::BackupReport> report = MakeBackup(config, options);
  if (!report.ok()) {
    terminal.Complain("cannot back up: " + report.error().message);
    return kExitFailure;
  }
  if (options.json) {
    terminal.Print(report->ToJson());
  } else {
    terminal.Print(
        fmt::format("Backed up {} to {} in {:.1f} s. Restore it with:\n"
                    "  cairn restore --from {} --data NEW_DIRECTORY",
                    ReadableSize(report->bytes), report->directory,
                    static_cast<double>(report->duration_ms) / 1000, report->directory));
  }
  return kExitOk;
}

int Restore(const Config& config, const RestoreOptions& options, const Terminal& terminal) {
  const Result<void> restored = store::rocks::Restore(options.from, config.data);
  if (!restored.ok()) {
    terminal.Complain("cannot restore: " + restored.error().message);
    return kExitFailure;
  }
  if (options.json) {
    terminal.Print(json::object{{"from", options.from}, {"data", config.data}, {"verified", true}});
  } else {
    terminal.Print(fmt::format("Restored and verified {}. Serve it with:\n  cairn serve --data {}",
                               config.data, config.data));
  }
  return kExitOk;
}

}  // namespace cairn::app
