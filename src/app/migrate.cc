#include "app/migrate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "app/backup.h"
#include "app/layers.h"
#include "app/open_store.h"
#include "base/clock.h"
#include "base/log.h"
#include "house/declarations.h"
#include "house/units.h"
#include "store/copy.h"
#include "store/rocks/open.h"

namespace cairn::app {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using std::chrono::steady_clock;

// One line on the terminal that is drawn again and again; nothing where nobody looks.
class ProgressBar {
 public:
  explicit ProgressBar(std::string what)
      : what_(std::move(what)), shown_(house::LogsToTerminal()) {}
  ~ProgressBar() {
    if (drawn_) std::fputs("\r\x1b[K", stderr);
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `total_bytes` 0: not known.
  void Show(const store::CopyProgress& progress, uint64_t total_bytes) {
    const auto now = steady_clock::now();
    if (!shown_ || now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    drawn_ = true;
    constexpr size_t kWidth = 30;
    std::string bar;
    if (total_bytes > 0) {
      const size_t done = std::min(kWidth, kWidth * progress.bytes / total_bytes);
      bar = fmt::format("[{}{}] {:3}% ", std::string(done, '#'), std::string(kWidth - done, '.'),
                        std::min<uint64_t>(100, 100 * progress.bytes / total_bytes));
    }
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    const auto rate = static_cast<uint64_t>(static_cast<double>(progress.bytes) / seconds);
    fmt::print(stderr, "\r\x1b[K{} {}{}: {} rows, {}, {}/s", what_, bar, SpaceName(progress.space),
               progress.rows, house::ReadableSize(progress.bytes), house::ReadableSize(rate));
  }

 private:
  const std::string what_;
  const bool shown_;
  const steady_clock::time_point begin_ = steady_clock::now();
  steady_clock::time_point next_ = begin_;
  bool drawn_ = false;
};

// A store at one end of the copy.
struct End {
  Config config;
  std::string name;
  bool postgres = false;
  std::string backup;  // a directory to be removed; empty: none
  std::unique_ptr<store::Store> store;

  End() = default;
  End(End&&) = default;
  End& operator=(End&&) = delete;
  ~End() {
    store.reset();
    std::error_code ignored;
    if (!backup.empty()) fs::remove_all(backup, ignored);
  }
};

End Describe(const Config& config, const std::string& place) {
  End end;
  end.config = config;
  end.config.store_url.clear();
  end.postgres = store::postgres::IsUrl(place);
  if (end.postgres) {
    end.config.store_url = place;
    end.name =
        fmt::format("{} schema {}", store::postgres::PublicUrl(place), config.postgres_schema);
  } else {
    end.config.data = fs::absolute(place).lexically_normal().string();
    end.name = end.config.data;
  }
  return end;
}

class Migration {
 public:
  Migration(const Config& config, const MigrateOptions& options)
      : final_(!options.source_in_use),
        from_(Describe(config, options.from)),
        to_(Describe(config, options.to)) {}

  Result<void> Run() {
    if (from_.name == to_.name) {
      return Error{ErrorCode::kInvalid, "--from and --to are the same store"};
    }
    CAIRN_RETURN_IF_ERROR(OpenSource());
    CAIRN_RETURN_IF_ERROR(OpenDestination());
    CAIRN_ASSIGN_OR_RETURN(const auto snapshot, from_.store->Read());
    CAIRN_ASSIGN_OR_RETURN(contents_, Read(*snapshot, "reading  "));
    uint64_t total = 0;
    for (const store::SpaceContent& content : contents_) total += content.bytes;
    CAIRN_RETURN_IF_ERROR(Copy(*snapshot, total));
    CAIRN_RETURN_IF_ERROR(CopyNumbers(*snapshot));
    CAIRN_RETURN_IF_ERROR(Compare());
    if (final_) CAIRN_RETURN_IF_ERROR(store::FinishCopy(*to_.store));
    return {};
  }

  bool final() const { return final_; }
  const std::vector<store::SpaceContent>& contents() const { return contents_; }
  const store::CopyCounts& counts() const { return counts_; }
  const std::string& source() const { return from_.name; }
  const std::string& destination() const { return to_.name; }

 private:
  Result<void> OpenSource() {
    if (from_.postgres) {
      CAIRN_ASSIGN_OR_RETURN(const auto report,
                             store::postgres::Inspect(PostgresOptions(from_.config)));
      if (report.schema_version == 0) {
        return Error{ErrorCode::kNotFound, from_.name + " holds nothing to copy"};
      }
    } else {
      CAIRN_ASSIGN_OR_RETURN(const auto report, store::rocks::Inspect(from_.config.data));
      if (report.format_version == 0) {
        return Error{ErrorCode::kNotFound, from_.name + " holds nothing to copy"};
      }
      if (report.in_use) CAIRN_RETURN_IF_ERROR(TakeBackup());
    }
    CAIRN_ASSIGN_OR_RETURN(from_.store, OpenStore(from_.config, clock_, Log::Silent()));
    return {};
  }

  Result<void> TakeBackup() {
    final_ = false;
    from_.backup = fmt::format("{}.migrating-{}", from_.config.data, getpid());
    CAIRN_RETURN_IF_ERROR(MakeBackup(from_.config, {.to = from_.backup}));
    from_.config.data = from_.backup;
    return {};
  }

  Result<void> OpenDestination() {
    CAIRN_ASSIGN_OR_RETURN(to_.store, OpenStore(to_.config, clock_, Log::Silent()));
    CAIRN_ASSIGN_OR_RETURN(const auto unfinished, store::UnfinishedCopyOf(*to_.store));
    if (unfinished && *unfinished != from_.name) {
      return Error{ErrorCode::kConflict, fmt::format("{} is an unfinished copy of {}, not of {}",
                                                     to_.name, *unfinished, from_.name)};
    }
    if (unfinished) return {};
    CAIRN_ASSIGN_OR_RETURN(const bool empty, store::IsEmpty(*to_.store));
    if (empty) return {};
    return Error{ErrorCode::kConflict,
                 to_.name + " holds data already: a copy needs an empty store"};
  }

  Result<std::vector<store::SpaceContent>> Read(store::Reader& reader, const std::string& what,
                                                uint64_t total = 0) {
    ProgressBar bar(what);
    return store::ReadContent(
        reader, {.is_counter = is_counter_, .progress = [&](const store::CopyProgress& progress) {
                   bar.Show(progress, total);
                 }});
  }

  Result<void> Copy(store::Reader& reader, uint64_t total) {
    ProgressBar bar("copying  ");
    CAIRN_ASSIGN_OR_RETURN(counts_,
                           store::CopyAll(reader, *to_.store, from_.name,
                                          {.is_counter = is_counter_,
                                           .progress = [&](const store::CopyProgress& progress) {
                                             bar.Show(progress, total);
                                           }}));
    return {};
  }

  Result<void> CopyNumbers(store::Reader& reader) {
    Result<store::Numbers> numbers =
        from_.postgres ? store::postgres::ReadNumbers(PostgresOptions(from_.config))
                       : store::ReadStoredNumbers(reader);
    if (!numbers.ok()) return numbers.error();
    if (to_.postgres) return store::postgres::RaiseNumbers(PostgresOptions(to_.config), *numbers);
    return store::RaiseStoredNumbers(*to_.store, *numbers);
  }

  Result<void> Compare() {
    CAIRN_ASSIGN_OR_RETURN(const auto snapshot, to_.store->Read());
    uint64_t total = 0;
    for (const store::SpaceContent& content : contents_) total += content.bytes;
    CAIRN_ASSIGN_OR_RETURN(const auto copied, Read(*snapshot, "comparing", total));
    for (size_t i = 0; i < contents_.size(); ++i) {
      if (copied[i] == contents_[i]) continue;
      return Error{ErrorCode::kCorruption,
                   fmt::format("space {} differs: {} rows with checksum {} became {} rows with {}",
                               SpaceName(contents_[i].space), contents_[i].rows,
                               contents_[i].checksum, copied[i].rows, copied[i].checksum)};
    }
    return {};
  }

  const SystemClock clock_;
  const house::Layers layers_ = MakeLayers();
  const house::Declarations declarations_{layers_};
  const std::function<bool(store::Key)> is_counter_ = [this](store::Key key) {
    return declarations_.IsCounter(key);
  };
  bool final_;
  End from_;
  End to_;
  std::vector<store::SpaceContent> contents_;
  store::CopyCounts counts_;
};

void PrintReport(const Migration& migration, bool as_json, const house::Terminal& terminal) {
  if (as_json) {
    json::array spaces;
    for (const store::SpaceContent& content : migration.contents()) {
      spaces.push_back(json::object{{"space", SpaceName(content.space)},
                                    {"rows", content.rows},
                                    {"bytes", content.bytes},
                                    {"checksum", content.checksum}});
    }
    return terminal.Print(json::object{{"from", migration.source()},
                                       {"to", migration.destination()},
                                       {"spaces", spaces},
                                       {"written", migration.counts().written},
                                       {"deleted", migration.counts().deleted},
                                       {"finished", migration.final()}});
  }
  std::vector<std::vector<std::string>> table = {{"space", "rows", "size", "checksum"}};
  for (const store::SpaceContent& content : migration.contents()) {
    table.push_back({std::string(SpaceName(content.space)), std::to_string(content.rows),
                     house::ReadableSize(content.bytes), content.checksum});
  }
  terminal.Print(house::FormatTable(table));
  terminal.Print(fmt::format("Copied and compared: {} rows written, {} deleted.",
                             migration.counts().written, migration.counts().deleted));
  if (!migration.final()) {
    terminal.Print(std::string_view(
        "The source is in use: what it has changed since is missing, and the copy cannot be served "
        "yet.\nStop the servers of the source and run the same command again; it writes only what "
        "differs."));
  }
}

}  // namespace

int Migrate(const Config& config, const MigrateOptions& options, const house::Terminal& terminal) {
  Migration migration(config, options);
  const Result<void> done = migration.Run();
  if (!done.ok()) {
    terminal.Complain("cannot migrate: " + done.error().message);
    return house::kExitFailure;
  }
  PrintReport(migration, options.json, terminal);
  return house::kExitOk;
}

}  // namespace cairn::app
