#include "store/rocks/disk_watch.h"

#include "store/rocks/status.h"

namespace cairn::store::rocks {
namespace {

using ::rocksdb::Status;
using std::chrono::steady_clock;

// How often is looked for room.
constexpr std::chrono::milliseconds kLook{250};
// Room for writes to go on with; less would be gone at once.
constexpr uint64_t kRoomBytes = 1024 * 1024;
// DB::Resume writes until the disk is full again, so it is not tried each time: with this much more
// room than when it failed, or after this long.
constexpr uint64_t kMoreRoomBytes = 1024 * 1024;
constexpr std::chrono::seconds kTryAnyway{10};

}  // namespace

class DiskWatch::Listener final : public ::rocksdb::EventListener {
 public:
  explicit Listener(DiskWatch& watch) : watch_(watch) {}

  void OnBackgroundError(::rocksdb::BackgroundErrorReason /*reason*/, Status* error) override {
    watch_.BackgroundError(*error);
  }
  void OnErrorRecoveryBegin(::rocksdb::BackgroundErrorReason /*reason*/, Status /*error*/,
                            bool* auto_recovery) override {
    *auto_recovery = false;
  }

 private:
  DiskWatch& watch_;
};

std::shared_ptr<::rocksdb::EventListener> DiskWatch::MakeListener() {
  return std::make_shared<Listener>(*this);
}

void DiskWatch::LookForRoom() {
  const ::rocksdb::IOStatus status = engine_.log_files->LookForRoom(kRoomBytes);
  if (status.ok()) return engine_.log_files->KeepRoomForStart();
  const Error error = ToError(status, "write");
  IsLackOfRoom(status) ? engine_.failure.Fill(error) : engine_.failure.Stop(error);
}

void DiskWatch::Start() {
  thread_ = std::thread([this] { ThreadMain(); });
}

void DiskWatch::Stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void DiskWatch::BackgroundError(const Status& status) {
  const Error error = ToError(status, "write the store's files");
  if (!IsLackOfRoom(status)) {
    engine_.failure.Stop(error);
    stopped_();
    return;
  }
  // A compaction that has no room can wait; writes go on meanwhile.
  if (status.severity() == Status::Severity::kHardError) engine_.failure.Fill(error);
  database_waits_ = true;
}

void DiskWatch::ThreadMain() {
  std::unique_lock lock(mutex_);
  bool full = false;
  while (!changed_.wait_for(lock, kLook, [this] { return stopping_; })) {
    lock.unlock();
    const auto failure = engine_.failure.get();
    if (engine_.failure.full() && failure && !std::exchange(full, true)) {
      engine_.log.Error("the disk is full", {{"reason", failure->message}});
    }
    if ((engine_.failure.full() || database_waits_) && TryToGoOn() && std::exchange(full, false)) {
      engine_.log.Info("the disk has room again: writes go on", {});
    }
    lock.lock();
  }
}

bool DiskWatch::TryToGoOn() {
  if (engine_.failure.stopped()) return false;
  if (!engine_.log_files->LookForRoom(kRoomBytes).ok()) return false;
  if (database_waits_ && !ResumeDatabase()) return false;
  engine_.log_files->KeepRoomForStart();
  engine_.failure.Resume();
  return true;
}

bool DiskWatch::ResumeDatabase() {
  uint64_t free_bytes = 0;
  engine_.log_files->GetFreeSpace(engine_.db->GetName(), {}, &free_bytes, nullptr);
  const auto now = steady_clock::now();
  if (now < failed_at_ + kTryAnyway && free_bytes < failed_with_bytes_ + kMoreRoomBytes) {
    return false;
  }
  database_waits_ = false;  // before: another error may follow at once
  if (engine_.db->Resume().ok()) return true;
  database_waits_ = true;
  failed_at_ = now;
  failed_with_bytes_ = free_bytes;
  return false;
}

}  // namespace cairn::store::rocks
