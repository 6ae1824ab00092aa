#pragma once

#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>

namespace cairn::store {

// The memory that the writes of several transactions may take together before they are committed.
//
// A transaction that writes much has a place and asks for room as it grows. Where there is none
// left, it waits until others have committed. The one with the oldest place never waits, so that
// one always goes on and each becomes the oldest in its turn. All together take at most the room
// and what one transaction may write.
//
// Safe to use from any thread. Outlives its places.
class WriteRoom {
 public:
  explicit WriteRoom(size_t bytes) : bytes_(bytes) {}
  WriteRoom(const WriteRoom&) = delete;
  WriteRoom& operator=(const WriteRoom&) = delete;

  // The room of one transaction. Destroying it gives the room back. Used by one thread at a time.
  //
  // Whoever grows may hold scopes, but nothing else that another transaction could need before its
  // commit: the oldest must not have to wait for it.
  class Place {
   public:
    explicit Place(WriteRoom& room);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // Takes `bytes` more; waits for them if need be.
    void Grow(size_t bytes);

   private:
    WriteRoom& room_;
    std::list<const Place*>::iterator in_line_;
    size_t bytes_ = 0;
  };

  size_t used() const {
    const std::lock_guard lock(mutex_);
    return used_;
  }

 private:
  const size_t bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<const Place*> line_;  // the oldest first
  size_t used_ = 0;
};

}  // namespace cairn::store
