#include "app/verify.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "app/config.h"
#include "app/open_store.h"
#include "app/server_access.h"
#include "base/clock.h"
#include "house/configuration.h"
#include "house/verify.h"
#include "store/rocks/open.h"

namespace cairn::app {
namespace {

namespace json = boost::json;

// A layer with few rows to report may be silent for long.
constexpr std::chrono::hours kPatience{12};

// Shows what the lines of house/verify.h say, one after the other.
class Report {
 public:
  Report(const VerifyOptions& options, const house::Terminal& terminal)
      : json_(options.json),
        shows_progress_(house::LogsToTerminal() && !options.json),
        terminal_(terminal) {}

  Result<void> Take(const std::string& text) {
    boost::system::error_code failure;
    const json::value line = json::parse(text, failure);
    if (failure || !line.is_object()) {
      return Error{ErrorCode::kUnavailable, "the server's answer is not JSON"};
    }
    const json::object& members = line.as_object();
    if (const json::value* error = members.if_contains("error")) {
      return Error{ErrorCode::kUnavailable, std::string(error->as_string())};
    }
    if (json_) terminal_.Print(text);
    if (!members.contains("layer")) {
      sound_ = members.at("sound").as_bool();
      rows_ = members.at("rows").to_number<uint64_t>();
    } else if (!members.contains("sound")) {
      ShowProgress(members);
    } else if (!json_) {
      ShowLayer(members);
    }
    return {};
  }

  // Takes text that need not end with a line.
  Result<void> TakePiece(std::string_view piece) {
    rest_ += piece;
    for (size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
      const std::string line = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      CAIRN_RETURN_IF_ERROR(Take(line));
    }
    return {};
  }

  // Whether everything is sound; an error if the last line is missing.
  Result<bool> Finish() {
    if (!sound_) return Error{ErrorCode::kUnavailable, "the verification ended early; try again"};
    if (!json_) {
      terminal_.Print(*sound_ ? fmt::format("{} rows are sound.", rows_)
                              : fmt::format("{} rows were read, and problems were found.", rows_));
    }
    return *sound_;
  }

 private:
  void ShowProgress(const json::object& line) const {
    if (!shows_progress_) return;
    fmt::print(stderr, "\r{}: {} rows", std::string_view(line.at("layer").as_string()),
               line.at("rows").to_number<uint64_t>());
    std::fflush(stderr);
  }

  void ShowLayer(const json::object& line) const {
    if (shows_progress_) fmt::print(stderr, "\r\x1b[K");
    const std::string_view layer = line.at("layer").as_string();
    if (line.at("sound").as_bool()) {
      terminal_.Print(fmt::format("{}     {}: {} rows",
                                  terminal_.Paint(house::Colour::kGreen, "ok"), layer,
                                  line.at("rows").to_number<uint64_t>()));
      return;
    }
    const std::string wrong = terminal_.Paint(house::Colour::kRed, "wrong");
    for (const json::value& problem : line.at("problems").as_array()) {
      terminal_.Print(
          fmt::format("{}  {}: {}", wrong, layer, std::string_view(problem.as_string())));
    }
    if (const auto more = line.at("more_problems").to_number<int64_t>(); more > 0) {
      terminal_.Print(fmt::format("{}  {}: and {} more", wrong, layer, more));
    }
  }

  const bool json_;
  const bool shows_progress_;
  const house::Terminal& terminal_;
  std::string rest_;
  std::optional<bool> sound_;
  uint64_t rows_ = 0;
};

Result<void> AskServer(const Config& config, const VerifyOptions& options, Report& report) {
  CAIRN_ASSIGN_OR_RETURN(const house::ServerAccess server,
                         AccessTo(config, options.url, options.ca_file));
  house::ApiClient client(server, kPatience);
  return client.Download("/v1/admin/verify",
                         [&](std::string_view piece) { return report.TakePiece(piece); });
}

// Opens only what is there and nobody uses.
Result<std::unique_ptr<store::Store>> OpenUnused(const Config& config, const Clock& clock) {
  if (config.store_url.empty()) {
    CAIRN_ASSIGN_OR_RETURN(const store::rocks::DirectoryReport found,
                           store::rocks::Inspect(config.data));
    if (found.format_version == 0) {
      return Error{ErrorCode::kNotFound, config.data + " holds no data to verify"};
    }
    if (found.in_use) {
      return Error{ErrorCode::kConflict,
                   fmt::format("a server is using {}: stop it, or have it verify with --url URL",
                               config.data)};
    }
  }
  return OpenStore(config, clock, Log::Silent());
}

Result<void> CheckHere(const Config& config, const house::Layers& layers,
                       const house::Declarations& declarations, Report& report) {
  const SystemClock clock;
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Store> store, OpenUnused(config, clock));
  house::ConfigureAll(layers, declarations, ConfigurationOf(config));
  Result<void> told;
  const auto tell = [&](const std::string& line) {
    told = report.Take(line);
    return told.ok();
  };
  CAIRN_RETURN_IF_ERROR(house::VerifyAll(*store, declarations.checks(), tell));
  return told;
}

}  // namespace

int Verify(const Config& config, const house::Layers& layers,
           const house::Declarations& declarations, const VerifyOptions& options,
           const house::Terminal& terminal) {
  Report report(options, terminal);
  const Result<void> done = options.url.empty() ? CheckHere(config, layers, declarations, report)
                                                : AskServer(config, options, report);
  const Result<bool> sound = done.ok() ? report.Finish() : Result<bool>(done.error());
  if (!sound.ok()) {
    terminal.Complain("cannot verify: " + sound.error().message);
    return house::kExitFailure;
  }
  return *sound ? house::kExitOk : house::kExitFailure;
}

}  // namespace cairn::app
