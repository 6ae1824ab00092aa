#include "app/job_metrics.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "jobs/event.h"
#include "jobs/operations.h"

namespace cairn::app {
namespace {

admin::QueueMetrics MetricsOf(jobs::QueueInfo& info, Timestamp now) {
  admin::QueueMetrics queue{
      .name = std::move(info.name), .enqueued = info.enqueued, .paused = info.config.paused};
  for (size_t state = 0; state < info.counts.size(); ++state) {
    queue.jobs.emplace_back(jobs::StateName(static_cast<jobs::State>(state)), info.counts[state]);
  }
  if (info.oldest_pending_ns != 0) {
    const double waited_us =
        static_cast<double>(now.us) - static_cast<double>(info.oldest_pending_ns) / 1e3;
    queue.oldest_pending_seconds = std::max(waited_us / 1e6, 0.0);
  }
  return queue;
}

}  // namespace

Result<admin::JobMetrics> ReadJobMetrics(store::Store& store, const view::View& view,
                                         const jobs::EventGaps& gaps) {
  // Read first: it must not be ahead of the newest event.
  admin::JobMetrics metrics{.view_event = view.position()};
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Snapshot> reader, store.Read());
  CAIRN_ASSIGN_OR_RETURN(metrics.last_event, jobs::NewestEvent(*reader));
  metrics.event_gaps = {{"stream", gaps.streams},
                        {"page", gaps.pages},
                        {"webhook", gaps.webhooks},
                        {"view", gaps.view},
                        {"throughput", gaps.throughput}};
  CAIRN_ASSIGN_OR_RETURN(const std::vector<jobs::Worker> workers, jobs::ListWorkers(*reader));
  metrics.workers = workers.size();
  CAIRN_ASSIGN_OR_RETURN(std::vector<jobs::QueueInfo> queues, jobs::ListQueues(*reader));
  for (jobs::QueueInfo& info : queues) {
    metrics.queues.push_back(MetricsOf(info, reader->now()));
  }
  return metrics;
}

Result<admin::ClusterStatus::Events> ReadEventPositions(store::Store& store,
                                                        const view::View& view) {
  // Read first: it must not be ahead of the newest event.
  admin::ClusterStatus::Events events{.in_view = view.position()};
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Snapshot> reader, store.Read());
  CAIRN_ASSIGN_OR_RETURN(events.newest, jobs::NewestEvent(*reader));
  CAIRN_ASSIGN_OR_RETURN(events.removed, jobs::RemovedEvents(*reader));
  return events;
}

}  // namespace cairn::app
