#include "net/resp/reply_buffer.h"

#include "base/check.h"

namespace cairn::net {
namespace {

// A buffer that grew beyond this for one large reply is given back once it is empty.
constexpr size_t kKeptCapacity = 64 * 1024;
// How much may have left before what remains is moved to the front.
constexpr size_t kMoveAfter = 64 * 1024;

void AppendFailures(std::string& out, uint32_t replies, const std::string& line) {
  for (uint32_t i = 0; i < replies; ++i) {
    out.append(line);
    out.append("\r\n", 2);
  }
}

}  // namespace

void ReplyBuffer::Seal(uint64_t ticket, uint32_t replies, const ReleaseState& state) {
  if (bytes_.size() == sealed_) return;
  if (state.failure.has_value() && ticket > state.released) {
    bytes_.resize(sealed_);
    AppendFailures(bytes_, replies, *state.failure);
    ticket = 0;
  }
  sealed_ = bytes_.size();
  if (!waiting() && ticket <= state.released) {
    sendable_ = sealed_;
  } else if (waiting() && parts_.back().ticket == ticket) {
    parts_.back().end = sealed_;
    parts_.back().replies += replies;
  } else {
    parts_.push_back({sealed_, ticket, replies});
  }
}

void ReplyBuffer::Release(const ReleaseState& state) {
  while (waiting() && parts_[first_part_].ticket <= state.released) {
    sendable_ = parts_[first_part_].end;
    ++first_part_;
  }
  if (!waiting()) {
    parts_.clear();
    first_part_ = 0;
  } else if (first_part_ > parts_.size() / 2) {
    parts_.erase(parts_.begin(), parts_.begin() + static_cast<ptrdiff_t>(first_part_));
    first_part_ = 0;
  }
}

void ReplyBuffer::Fail(const ReleaseState& state) {
  CAIRN_CHECK(state.failure.has_value());
  if (!waiting()) return;
  const std::string unsealed = bytes_.substr(sealed_);
  std::string rebuilt;
  size_t begin = sendable_;
  for (size_t i = first_part_; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    if (part.ticket <= state.released) {
      rebuilt.append(bytes_, begin, part.end - begin);
    } else {
      AppendFailures(rebuilt, part.replies, *state.failure);
    }
    begin = part.end;
  }
  bytes_.resize(sendable_);
  bytes_.append(rebuilt);
  sendable_ = sealed_ = bytes_.size();
  bytes_.append(unsealed);
  parts_.clear();
  first_part_ = 0;
}

void ReplyBuffer::Sent(size_t bytes) {
  CAIRN_CHECK(bytes <= sendable_ - sent_, "{} > {}", bytes, sendable_ - sent_);
  sent_ += bytes;
  DropSent();
}

void ReplyBuffer::DropSent() {
  if (sent_ == bytes_.size()) {
    bytes_.clear();
    if (bytes_.capacity() > kKeptCapacity) bytes_.shrink_to_fit();
    sent_ = sendable_ = sealed_ = 0;
    return;
  }
  // Moving only when at least half has left keeps the cost per byte bounded.
  if (sent_ < kMoveAfter || sent_ < bytes_.size() / 2) return;
  bytes_.erase(0, sent_);
  sendable_ -= sent_;
  sealed_ -= sent_;
  for (size_t i = first_part_; i < parts_.size(); ++i) parts_[i].end -= sent_;
  sent_ = 0;
}

}  // namespace cairn::net
