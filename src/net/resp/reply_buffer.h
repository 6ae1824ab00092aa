#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
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

// One connection's replies between being written and leaving. The stream of bytes is cut into
// parts, each with the ticket it waits for:
//
//   bytes:  | sent | may leave | part, ticket 17 | part, ticket 0 | part, ticket 18 | not sealed |
//
// A part leaves when its ticket is released and all parts before it have left, so replies keep
// their order whatever the order of their tickets.
//
// What is sealed and large is set aside in blocks, in the order of the stream: a client that reads
// late costs what it has not read, and nothing is moved or copied because more comes behind it.
// Used by one thread at a time.
class ReplyBuffer {
 public:
  // `bytes` is where replies are appended; it must outlive this object. Nothing else may be done to
  // it.
  explicit ReplyBuffer(std::string& bytes) : bytes_(bytes) {}

  // Closes the part that began with the last Seal. Sealing nothing changes nothing.
  void Seal(uint64_t ticket, uint32_t replies, const ReleaseState& state);
  // The same for a part that is dropped: `replies` times `line` stand for it and wait for nothing.
  void Refuse(uint32_t replies, std::string_view line, const ReleaseState& state);

  // Lets go the parts at the front whose tickets are released.
  void Release(const ReleaseState& state);
  // Replaces all parts whose tickets are not released by `replies` times the failure line.
  void Fail(const ReleaseState& state);

  // What may leave now, or the first piece of it. Valid until anything is appended or called.
  std::string_view sendable() const;
  void Sent(size_t bytes);
  // How much may leave now, all pieces together.
  size_t sendable_bytes() const { return sendable_ - sent_; }

  bool waiting() const { return first_part_ < parts_.size(); }
  // Whether everything sealed has left.
  bool sealed_all_sent() const { return sent_ == sealed_; }
  size_t unsent() const { return end() - sent_; }
  // How many blocks were set aside.
  size_t blocks() const { return blocks_.size(); }
  // What all of it takes.
  size_t memory() const {
    return bytes_.capacity() + (begin_ - blocks_begin_) + parts_.capacity() * sizeof(Part);
  }

 private:
  // Places in the stream, counted from its beginning.
  using Position = size_t;

  struct Part {
    Position end;
    uint64_t ticket;
    uint32_t replies;
  };

  Position end() const { return begin_ + bytes_.size(); }
  // Appends what stands between two places to `out`.
  void CopyTo(std::string& out, Position from, Position to) const;
  void SetAside();
  void DropSent();

  std::string& bytes_;  // from begin_ on
  Position begin_ = 0;
  std::list<std::string> blocks_;  // from blocks_begin_ to begin_
  Position blocks_begin_ = 0;
  Position sent_ = 0;        // everything before has left
  Position sendable_ = 0;    // what is between sent_ and here may leave
  Position sealed_ = 0;      // what is between sendable_ and here are the parts
  std::vector<Part> parts_;  // from first_part_ on
  size_t first_part_ = 0;
};

}  // namespace cairn::net
