#include "store/write_room.h"

namespace cairn::store {

WriteRoom::Place::Place(WriteRoom& room) : room_(room) {
  const std::lock_guard lock(room_.mutex_);
  in_line_ = room_.line_.insert(room_.line_.end(), this);
}

WriteRoom::Place::~Place() {
  {
    const std::lock_guard lock(room_.mutex_);
    room_.line_.erase(in_line_);
    room_.used_ -= bytes_;
  }
  room_.changed_.notify_all();
}

void WriteRoom::Place::Grow(size_t bytes) {
  std::unique_lock lock(room_.mutex_);
  room_.changed_.wait(
      lock, [&] { return room_.used_ + bytes <= room_.bytes_ || room_.line_.front() == this; });
  room_.used_ += bytes;
  bytes_ += bytes;
}

}  // namespace cairn::store
