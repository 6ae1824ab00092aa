#include "app/backup.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "admin/backup.h"
#include "app/open_store.h"
#include "app/tls.h"
#include "app/units.h"
#include "net/http/client.h"
#include "store/rocks/open.h"

namespace cairn::app {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Long enough for a large store on a slow disk: the server answers when the copy is complete.
constexpr std::chrono::hours kBackupTimeout{12};

struct Url {
  bool tls = false;
  net::Address address;
};

// "http://HOST:PORT" or "https://HOST:PORT", as far as it can name a Cairn server.
Result<Url> ParseUrl(std::string_view text) {
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    url.tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return Error{ErrorCode::kInvalid,
                 fmt::format("--url '{}': expected http://HOST:PORT or https://HOST:PORT", text)};
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  Result<net::Address> address = net::ParseAddress(rest);
  if (!address.ok()) {
    return Error{ErrorCode::kInvalid, fmt::format("--url '{}': {}", text, address.error().message)};
  }
  url.address = *std::move(address);
  return url;
}

// Where this machine reaches the server that runs with these settings.
Result<Url> UrlOf(const Config& config) {
  Url url{.tls = HttpSpeaksTls(config), .address = config.http};
  if (url.address.host == "0.0.0.0") url.address.host = "127.0.0.1";
  if (url.address.host == "::") url.address.host = "::1";
  if (url.address.port == 0) {
    return Error{ErrorCode::kInvalid,
                 "a server is using the data directory; say where it listens with --url"};
  }
  return url;
}

// What the server says is wrong, from {"error":{"message":…}}; else the status.
std::string MessageOf(const net::HttpResponse& response) {
  boost::system::error_code failure;
  const json::value body = json::parse(response.body, failure);
  if (const auto* message = failure ? nullptr : body.find_pointer("/error/message", failure);
      message != nullptr && message->is_string()) {
    return std::string(message->get_string());
  }
  return fmt::format("the server answered {} {}", response.status,
                     net::HttpReason(response.status));
}

Result<admin::BackupReport> AskServer(const Url& url, const Config& config,
                                      const std::string& ca_file, const json::object& request) {
  net::HttpClient client(url.address,
                         {.tls = url.tls, .ca_file = ca_file, .timeout = kBackupTimeout});
  net::HttpHeaders headers{{"Content-Type", "application/json"}};
  if (!config.password.empty()) headers.Add("Authorization", "Bearer " + config.password);
  CAIRN_ASSIGN_OR_RETURN(const net::HttpResponse response,
                         client.Post("/v1/admin/backup", json::serialize(request), headers));
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
