#include "functions/cadence/figures.h"

#include "functions/cadence/limits.h"

namespace cairn::functions {

std::string_view TaskEndName(TaskEnd end) {
  switch (end) {
    case TaskEnd::kCompleted:
      return "completed";
    case TaskEnd::kFailed:
      return "failed";
    case TaskEnd::kGone:
      break;
  }
  return "gone";
}

CadenceFigures::OfList& CadenceFigures::Of(const TaskListName& list) {
  const bool known = figures_.lists.contains(list);
  const bool room = figures_.lists.size() < kMaxCadenceSeries;
  return figures_.lists[known || room ? list : TaskListName()];
}

void CadenceFigures::CountPoll(const TaskListName& list, bool ok) {
  const std::scoped_lock lock(mutex_);
  OfList& figures = Of(list);
  ++figures.polls;
  if (!ok) ++figures.poll_errors;
}

void CadenceFigures::CountEnd(const TaskListName& list, TaskEnd end) {
  const std::scoped_lock lock(mutex_);
  ++Of(list).ends[static_cast<size_t>(end)];
}

void CadenceFigures::CountHeartbeat(const TaskListName& list, bool ok) {
  const std::scoped_lock lock(mutex_);
  OfList& figures = Of(list);
  ++figures.heartbeats;
  if (!ok) ++figures.heartbeat_errors;
}

void CadenceFigures::CountRespondError() {
  const std::scoped_lock lock(mutex_);
  ++figures_.respond_errors;
}

void CadenceFigures::SetPollers(int64_t pollers) {
  const std::scoped_lock lock(mutex_);
  figures_.pollers = pollers;
}

void CadenceFigures::AddInflight(int64_t change) {
  const std::scoped_lock lock(mutex_);
  figures_.inflight += change;
}

CadenceFigures::Snapshot CadenceFigures::Take() const {
  const std::scoped_lock lock(mutex_);
  return figures_;
}

}  // namespace cairn::functions
