#include "jobs/metrics.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "jobs/operations/queues.h"
#include "jobs/operations/registry.h"

namespace cairn::jobs {
namespace {

// How long the first job that a worker can have has waited.
double OldestPendingSeconds(const QueueInfo& queue, Timestamp now) {
  if (queue.oldest_pending_ns == 0) return 0;
  const double waited_us =
      static_cast<double>(now.us) - static_cast<double>(queue.oldest_pending_ns) / 1e3;
  return std::max(waited_us / 1e6, 0.0);
}

void WriteQueues(const std::vector<QueueInfo>& queues, Timestamp now,
                 house::MetricsWriter& writer) {
  for (const QueueInfo& queue : queues) {
    for (size_t state = 0; state < queue.counts.size(); ++state) {
      writer.Gauge(
          "cairn_jobs", "Jobs that are there now, by queue and state.",
          static_cast<double>(queue.counts[state]),
          {{"queue", queue.name}, {"state", std::string(StateName(static_cast<State>(state)))}});
    }
  }
  for (const QueueInfo& queue : queues) {
    writer.Counter("cairn_jobs_enqueued_total", "Jobs ever enqueued.",
                   static_cast<double>(queue.enqueued), {{"queue", queue.name}});
  }
  for (const QueueInfo& queue : queues) {
    writer.Gauge("cairn_jobs_oldest_pending_seconds",
                 "How long the first job that a worker can have has waited; 0 if there is none.",
                 OldestPendingSeconds(queue, now), {{"queue", queue.name}});
  }
  for (const QueueInfo& queue : queues) {
    writer.Gauge("cairn_jobs_queue_paused", "1 while no jobs are given out.",
                 queue.config.paused ? 1 : 0, {{"queue", queue.name}});
  }
}

void WriteGaps(const EventGaps& gaps, house::MetricsWriter& writer) {
  const auto write = [&](const char* feed, uint64_t count) {
    writer.Counter("cairn_jobs_event_gaps_total",
                   "Times that a reader found events removed which it had not read.",
                   static_cast<double>(count), {{"feed", feed}});
  };
  write("stream", gaps.streams);
  write("page", gaps.pages);
  write("webhook", gaps.webhooks);
  write("view", gaps.view);
  write("throughput", gaps.throughput);
}

}  // namespace

Result<void> WriteMetrics(store::Store& store, const EventGaps& gaps,
                          house::MetricsWriter& writer) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Snapshot> reader, store.Read());
  CAIRN_ASSIGN_OR_RETURN(const uint64_t newest, NewestEvent(*reader));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Worker> workers, ListWorkers(*reader));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<QueueInfo> queues, ListQueues(*reader));
  WriteQueues(queues, reader->now(), writer);
  writer.Gauge("cairn_jobs_workers", "Workers that were heard of lately.",
               static_cast<double>(workers.size()));
  writer.Gauge("cairn_jobs_last_event", "Number of the newest event.", static_cast<double>(newest));
  WriteGaps(gaps, writer);
  return {};
}

}  // namespace cairn::jobs
