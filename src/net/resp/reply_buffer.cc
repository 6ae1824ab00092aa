#include "net/resp/reply_buffer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cairn::net {
namespace {

// A buffer that grew beyond this for one large reply is given back once it is empty.
constexpr size_t kKeptCapacity = 64 * 1024;
// How much may have left before what remains is moved to the front.
constexpr size_t kMoveAfter = 64 * 1024;
// What is sealed and as large as this becomes a block.
constexpr size_t kBlockBytes = 64 * 1024;

void AppendFailures(std::string& out, uint32_t replies, std::string_view line) {
  for (uint32_t i = 0; i < replies; ++i) {
    out.append(line);
    out.append("\r\n", 2);
  }
}

}  // namespace

void ReplyBuffer::Seal(uint64_t ticket, uint32_t replies, const ReleaseState& state) {
  if (end() == sealed_) return;
  if (state.failure.has_value() && ticket > state.released) {
    bytes_.resize(sealed_ - begin_);
    AppendFailures(bytes_, replies, *state.failure);
    ticket = 0;
  }
  sealed_ = end();
  if (!waiting() && ticket <= state.released) {
    sendable_ = sealed_;
  } else if (waiting() && parts_.back().ticket == ticket) {
    parts_.back().end = sealed_;
    parts_.back().replies += replies;
  } else {
    parts_.push_back({sealed_, ticket, replies});
  }
  if (bytes_.size() >= kBlockBytes) SetAside();
}

// Everything is sealed: nobody holds a place in it.
void ReplyBuffer::SetAside() {
  if (blocks_.empty() && sent_ > begin_) {
    bytes_.erase(0, sent_ - begin_);
    begin_ = sent_;
  }
  if (blocks_.empty()) blocks_begin_ = begin_;
  begin_ = end();
  blocks_.push_back(std::exchange(bytes_, {}));
}

void ReplyBuffer::Refuse(uint32_t replies, std::string_view line, const ReleaseState& state) {
  bytes_.resize(sealed_ - begin_);
  AppendFailures(bytes_, replies, line);
  Seal(0, replies, state);
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
  std::string rebuilt;
  CopyTo(rebuilt, sent_, sendable_);
  Position begin = sendable_;
  for (size_t i = first_part_; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    if (part.ticket <= state.released) {
      CopyTo(rebuilt, begin, part.end);
    } else {
      AppendFailures(rebuilt, part.replies, *state.failure);
    }
    begin = part.end;
  }
  const size_t sealed = rebuilt.size();
  CopyTo(rebuilt, sealed_, end());
  blocks_.clear();
  bytes_ = std::move(rebuilt);
  begin_ = blocks_begin_ = sent_ = 0;
  sendable_ = sealed_ = sealed;
  parts_.clear();
  first_part_ = 0;
}

void ReplyBuffer::CopyTo(std::string& out, Position from, Position to) const {
  Position at = blocks_begin_;
  const auto copy = [&](const std::string& piece) {
    const Position first = std::max(from, at);
    const Position last = std::min(to, at + piece.size());
    if (first < last) out.append(piece, first - at, last - first);
    at += piece.size();
  };
  for (const std::string& block : blocks_) copy(block);
  at = begin_;
  copy(bytes_);
}

std::string_view ReplyBuffer::sendable() const {
  if (blocks_.empty()) {
    return std::string_view(bytes_).substr(sent_ - begin_, sendable_ - sent_);
  }
  return std::string_view(blocks_.front()).substr(sent_ - blocks_begin_, sendable_ - sent_);
}

void ReplyBuffer::Sent(size_t bytes) {
  CAIRN_CHECK(bytes <= sendable_ - sent_, "{} > {}", bytes, sendable_ - sent_);
  sent_ += bytes;
  while (!blocks_.empty() && sent_ >= blocks_begin_ + blocks_.front().size()) {
    blocks_begin_ += blocks_.front().size();
    blocks_.pop_front();
  }
  if (blocks_.empty()) DropSent();
}

// Only while there are no blocks: what was sent is the beginning of bytes_.
void ReplyBuffer::DropSent() {
  if (sent_ == end()) {
    bytes_.clear();
    if (bytes_.capacity() > kKeptCapacity) bytes_.shrink_to_fit();
  } else if (sent_ - begin_ >= kMoveAfter && sent_ - begin_ >= bytes_.size() / 2) {
    // Moving only when at least half has left keeps the cost per byte bounded.
    bytes_.erase(0, sent_ - begin_);
  } else {
    return;
  }
  begin_ = blocks_begin_ = sent_;
}

}  // namespace cairn::net
