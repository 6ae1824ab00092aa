#include "view/layer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/thread_pool.h"
#include "house/configuration.h"
#include "house/declarations.h"
#include "house/registry.h"
#include "view/bulk.h"
#include "view/limits.h"
#include "view/routes.h"
#include "view/view.h"

namespace cairn::view {
namespace {

constexpr size_t kSearchThreads = 4;

// How far the view is in the event log; nothing if the store cannot be read.
Result<void> AddMirror(store::Store& store, const View& view, boost::json::object& status) {
  // Read first: it must not be ahead of the newest event.
  const uint64_t applied = view.position();
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Snapshot> reader, store.Read());
  CAIRN_ASSIGN_OR_RETURN(const uint64_t newest, jobs::NewestEvent(*reader));
  // The view leaves no event out: what the log no longer has, it makes up for by reading all.
  status["sqlite_mirror"] = {{"async", true},
                             {"applied", applied},
                             {"newest_event", newest},
                             {"lag", newest - std::min(newest, applied)},
                             {"dropped", 0}};
  return {};
}

constexpr std::string_view kFile = "view.file";

// As set, or a file of this server's own in the data directory. Servers that share a database may
// share that directory, too, so there the port is part of its name.
std::string FileOf(const house::Configuration& configuration) {
  if (const std::string& set = configuration.Text(kFile); !set.empty()) return set;
  if (!configuration.shared_store) return configuration.data + "/view.sqlite";
  const int own = configuration.http.port != 0 ? configuration.http.port : getpid();
  return fmt::format("{}/view-{}.sqlite", configuration.data, own);
}

class ViewLayer final : public house::Layer {
 public:
  explicit ViewLayer(std::shared_ptr<jobs::EventGaps> gaps) : gaps_(std::move(gaps)) {}

  std::string_view name() const override { return "view"; }

  // It has no rows to check: the file is a copy, and its routes ask for permissions of jobs.
  void Declare(house::Declarations& declarations) const override {
    declarations.AddSetting(house::WithDefaultText(
        house::PathSetting({kFile,
                            "The SQLite file of the search view over jobs, one per server. If it "
                            "is lost, it is rebuilt."},
                           "FILE"),
        "view.sqlite in the data directory"));
  }

  void Configure(const house::Configuration& configuration) override {
    file_ = FileOf(configuration);
  }

  void Register(house::Registry& registry) override {
    const house::Parts& parts = registry.parts();
    view_.emplace(parts.store, file_, parts.random, parts.log, gaps_);
    bulk_.emplace(parts.store, *view_, parts.clock, parts.random, parts.log);
    pool_.emplace(ThreadPool::Options{
        .name = "search", .threads = kSearchThreads, .queue_limit = kMaxWaitingSearches});
    AddViewRoutes({.view = *view_,
                   .bulk = *bulk_,
                   .store = parts.route_store,
                   .pool = *pool_,
                   .clock = parts.clock},
                  parts.routes);
    registry.AddMetrics("cairn_jobs_view", [this](house::MetricsWriter& writer) {
      writer.Gauge("cairn_jobs_view_event", "Number of the newest event in the search view.",
                   static_cast<double>(view_->position()));
    });
    registry.AddStatus([this, &store = parts.store](boost::json::object& status) {
      (void)AddMirror(store, *view_, status);
    });
  }

  Result<void> Start() override {
    view_->Start();
    bulk_->Start();
    return {};
  }

  void Stop() override {
    if (!view_) return;
    bulk_->Stop();
    view_->Stop();  // searches that wait for it fail
    pool_->Stop();
  }

 private:
  const std::shared_ptr<jobs::EventGaps> gaps_;
  std::string file_;
  std::optional<View> view_;
  std::optional<Bulk> bulk_;
  std::optional<ThreadPool> pool_;
};

}  // namespace

std::unique_ptr<house::Layer> MakeViewLayer(std::shared_ptr<jobs::EventGaps> gaps) {
  return std::make_unique<ViewLayer>(std::move(gaps));
}

}  // namespace cairn::view
