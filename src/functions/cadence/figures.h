#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace cairn::functions {

// Which tasks a figure is about. Those of lists beyond the first kMaxCadenceSeries are counted
// together, under empty names.
struct TaskListName {
  std::string tenant;
  std::string domain;
  std::string tasklist;
  friend auto operator<=>(const TaskListName&, const TaskListName&) = default;
};

enum class TaskEnd : uint8_t {
  kCompleted,  // Cadence has taken the result
  kFailed,     // Cadence has taken the error
  kGone,       // there was nobody left to tell
};
inline constexpr size_t kTaskEnds = 3;
std::string_view TaskEndName(TaskEnd end);

// What this process has said to Cadence. Thread-safe.
class CadenceFigures {
 public:
  struct OfList {
    int64_t polls = 0;
    int64_t poll_errors = 0;
    int64_t ends[kTaskEnds] = {};
    int64_t heartbeats = 0;
    int64_t heartbeat_errors = 0;
  };
  using Lists = std::map<TaskListName, OfList>;

  void CountPoll(const TaskListName& list, bool ok);
  void CountEnd(const TaskListName& list, TaskEnd end);
  void CountHeartbeat(const TaskListName& list, bool ok);
  void CountRespondError();
  void SetPollers(int64_t pollers);
  void AddInflight(int64_t change);

  struct Snapshot {
    Lists lists;
    int64_t respond_errors = 0;
    int64_t pollers = 0;
    int64_t inflight = 0;
  };
  Snapshot Take() const;

 private:
  OfList& Of(const TaskListName& list);

  mutable std::mutex mutex_;
  Snapshot figures_;
};

}  // namespace cairn::functions
