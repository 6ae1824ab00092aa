#include "net/buffer_budget.h"

#include <algorithm>
#include <bit>

namespace cairn::net {
namespace {

// What a connection that is served as it should be holds, and less than it.
constexpr size_t kNotCounted = 64 * 1024;

}  // namespace

// Up to the next eighth of a power of two: at most an eighth too much.
size_t BufferBudget::Share::Rounded(size_t bytes) {
  if (bytes <= kNotCounted) return 0;
  const size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

void BufferBudget::Change(Share& share, size_t bytes) {
  const std::lock_guard lock(mutex_);
  shares_ += bytes - share.bytes_;
  if (share.doomed_) {
    doomed_ += bytes - share.bytes_;
    share.bytes_ = bytes;
    return;
  }
  if (share.bytes_ != 0) largest_.erase({share.bytes_, &share});
  const bool grew = bytes > share.bytes_;
  share.bytes_ = bytes;
  if (bytes != 0) largest_.insert({bytes, &share});
  if (grew) Shed(0, 0);
}

void BufferBudget::Shed(size_t more, size_t least) {
  while (!largest_.empty() && shares_ - doomed_ + charged_ + more > limit_) {
    const auto [bytes, share] = *largest_.rbegin();
    if (bytes < least) return;
    largest_.erase(std::prev(largest_.end()));
    share->doomed_ = true;
    doomed_ += bytes;
    ++disconnected_;
    share->owner_.Disconnect(share->id_, bytes);
  }
}

bool BufferBudget::TryCharge(size_t bytes, size_t before) {
  const std::lock_guard lock(mutex_);
  Shed(bytes, before + bytes);
  if (shares_ + charged_ + bytes > limit_ + limit_ / 2) {
    ++refused_;
    return false;
  }
  charged_ += bytes;
  return true;
}

}  // namespace cairn::net
