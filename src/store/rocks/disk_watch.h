#pragma once

#include <rocksdb/listener.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "store/rocks/engine.h"

namespace cairn::store::rocks {

// Lets writes go on by themselves once a full disk has room again.
//
// Room can be missing in two places. For the log: LogFiles::Reserve refuses, and nothing has
// happened. For RocksDB's tables and its manifest: then RocksDB refuses writes until DB::Resume has
// written its memtables to disk. All that is in them is in the log as well, whole and durable, so
// nothing that was answered with an error comes back by that and nothing acknowledged is lost.
//
// An error of any other kind that RocksDB meets in the background stops writes for good, before a
// write would find out. RocksDB does not resume by itself.
class DiskWatch {
 public:
  // `stopped` is called after a failure that is for good.
  DiskWatch(Engine& engine, std::function<void()> stopped)
      : engine_(engine), stopped_(std::move(stopped)) {}
  ~DiskWatch() { Stop(); }

  // For the options that the database is opened with; used until it is closed.
  std::shared_ptr<::rocksdb::EventListener> MakeListener();

  // With the database open: refuses writes from the start if there is no room for any.
  void LookForRoom();
  void Start();
  void Stop();

 private:
  class Listener;

  void BackgroundError(const ::rocksdb::Status& status);
  void ThreadMain();
  // Whether everything goes on.
  bool TryToGoOn();
  bool ResumeDatabase();

  Engine& engine_;
  const std::function<void()> stopped_;
  // RocksDB waits for Resume.
  std::atomic<bool> database_waits_{false};

  // Touched only by the thread: when DB::Resume failed last, and how much room there was.
  std::chrono::steady_clock::time_point failed_at_;
  uint64_t failed_with_bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace cairn::store::rocks
