#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::net {

// How far commits have become durable, as one loop knows it.
struct ReleaseState {
  uint64_t released = 0;
  // Set when no ticket above `released` ever will be: the line that replaces each reply.
  std::optional<std::string> failure;
};

// One connection's replies between being written and leaving. The buffer is cut into parts, each
// with the ticket it waits for:
//
//   bytes:  | sent | may leave | part, ticket 17 | part, ticket 0 | part, ticket 18 | not sealed |
//
// A part leaves when its ticket is released and all parts before it have left, so replies keep
// their order whatever the order of their tickets. Used by one thread at a time.
class ReplyBuffer {
 public:
  // `bytes` is where replies are appended; it must outlive this object. Nothing else may be done to
  // it.
  explicit ReplyBuffer(std::string& bytes) : bytes_(bytes) {}

  // Closes the part that began with the last Seal. Sealing nothing changes nothing.
  void Seal(uint64_t ticket, uint32_t replies, const ReleaseState& state);

  // Lets go the parts at the front whose tickets are released.
  void Release(const ReleaseState& state);
  // Replaces all parts whose tickets are not released by `replies` times the failure line.
  void Fail(const ReleaseState& state);

  // What may leave now. Valid until anything is appended or called.
  std::string_view sendable() const {
    return std::string_view(bytes_).substr(sent_, sendable_ - sent_);
  }
  void Sent(size_t bytes);

  bool waiting() const { return first_part_ < parts_.size(); }
  // Whether everything sealed has left.
  bool sealed_all_sent() const { return sent_ == sealed_; }
  size_t unsent() const { return bytes_.size() - sent_; }

 private:
  struct Part {
    size_t end;  // offset in bytes_
    uint64_t ticket;
    uint32_t replies;
  };

  void DropSent();

  std::string& bytes_;
  size_t sent_ = 0;          // bytes_[0, sent_) has left
  size_t sendable_ = 0;      // bytes_[sent_, sendable_) may leave
  size_t sealed_ = 0;        // bytes_[sendable_, sealed_) are the parts
  std::vector<Part> parts_;  // from first_part_ on
  size_t first_part_ = 0;
};

}  // namespace cairn::net
