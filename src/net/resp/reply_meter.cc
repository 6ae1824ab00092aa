#include "net/resp/reply_meter.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::net {
namespace {

// Replies up to this size are not charged: what a loop makes of them in a turn is looked at often
// enough.
constexpr size_t kFreeBytes = 1024 * 1024;

// A buffer that grows is there twice while it moves.
constexpr size_t kCopies = 2;

}  // namespace

ReplyMeter::ReplyMeter(const ReplyBounds& bounds, size_t begin)
    : bounds_(bounds), begin_(begin), allowed_(begin + std::min(kFreeBytes, bounds.limit)) {}

void ReplyMeter::Restart() {
  ReleaseReserved();
  if (overrun_ == Overrun::kNone) return;
  overrun_ = Overrun::kNone;
  Release();
  allowed_ = begin_ + std::min(kFreeBytes, bounds_.limit);
}

void ReplyMeter::Release() {
  ReleaseReserved();
  if (charged_ != 0) bounds_.budget->Release(charged_);
  charged_ = 0;
}

void ReplyMeter::ReleaseReserved() {
  if (bounds_.budget != nullptr && reserved_ != 0) bounds_.budget->Release(reserved_);
  reserved_ = 0;
}

bool ReplyMeter::Fail(Overrun why) {
  overrun_ = why;
  allowed_ = 0;
  return false;
}

bool ReplyMeter::Grow(size_t bytes) {
  if (overrun()) return false;
  const size_t size = bytes - begin_;
  if (size > bounds_.limit) return Fail(Overrun::kLimit);
  const size_t next = std::min(std::max(size, 2 * (allowed_ - begin_)), bounds_.limit);
  if (bounds_.budget != nullptr) {
    const size_t charge = kCopies * next - charged_;
    if (!bounds_.budget->TryCharge(charge, charged_ + reserved_)) return Fail(Overrun::kBudget);
    charged_ += charge;
  }
  allowed_ = begin_ + next;
  return true;
}

bool ReplyMeter::Reserve(size_t bytes) {
  if (overrun()) return false;
  if (bounds_.budget == nullptr) {
    if (reserved_ + bytes > bounds_.limit) return Fail(Overrun::kLimit);
  } else if (!bounds_.budget->TryCharge(bytes, charged_ + reserved_)) {
    return Fail(Overrun::kBudget);
  }
  reserved_ += bytes;
  return true;
}

Error ReplyMeter::error() const {
  if (overrun_ == Overrun::kLimit) {
    return {ErrorCode::kTooLarge,
            fmt::format("the reply would exceed {} bytes: ask for less at a time, or raise "
                        "limits.reply",
                        bounds_.limit)};
  }
  return {ErrorCode::kTooMany,
          fmt::format("requests and replies use up the {} bytes of limits.buffers: try again, ask "
                      "for less at a time, or raise it",
                      bounds_.budget->limit())};
}

}  // namespace cairn::net
