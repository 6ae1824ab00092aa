#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/result.h"
#include "store/rocks/engine.h"

namespace cairn::store::rocks {

// Gets rid of range deletions, because a space that may hold one cannot be scanned by a loop
// (docs/decisions/0004). Once there are some, and the space has had none for a moment, the files
// that hold them are compacted until they are gone; what the ranges covered goes with them.
//
// Cleaning may take long and may be cut short by Stop: the next start finds what is left.
class RangeDeletions {
 public:
  RangeDeletions(Engine& engine, std::chrono::milliseconds rest) : engine_(engine), rest_(rest) {}
  ~RangeDeletions() { Stop(); }

  // Looks for those that are in files. Before Start, on a store without unflushed writes.
  Result<void> Find();
  void Start();
  void Stop();

 private:
  void Loop();
  // False when it is time to stop.
  bool Rest(std::chrono::milliseconds time);
  // Whether no space has any when it returns.
  bool CleanAll();
  // Whether nothing of the kind is left in the space's files.
  bool Clean(Space space);

  Engine& engine_;
  const std::chrono::milliseconds rest_;  // without a new one, before cleaning begins
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable stopped_;
  std::thread thread_;
};

}  // namespace cairn::store::rocks
