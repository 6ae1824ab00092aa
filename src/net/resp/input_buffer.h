#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

namespace cairn::net {

// The bytes of a connection that have arrived and are not consumed, in one piece. Keeps its memory
// when it becomes empty, until it is released. Used by one thread at a time.
class InputBuffer {
 public:
  std::string_view unread() const { return {data_.get() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }
  size_t capacity() const { return capacity_; }

  // Where to read to, and how much fits there.
  char* tail() { return data_.get() + end_; }
  size_t room() const { return capacity_ - end_; }
  void Commit(size_t bytes) { end_ += bytes; }

  void Consume(size_t bytes) {
    begin_ += bytes;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  // Makes room for at least `bytes` more. Memory that is not written to costs address space only,
  // so room for a whole large argument may be made before it arrives. False if there is no memory.
  bool MakeRoom(size_t bytes) {
    if (room() >= bytes) return true;
    const size_t unread_bytes = end_ - begin_;
    if (capacity_ - unread_bytes >= bytes && begin_ >= unread_bytes) {
      std::memcpy(data_.get(), data_.get() + begin_, unread_bytes);
    } else {
      const size_t grown = std::max(unread_bytes + bytes, 2 * capacity_);
      std::unique_ptr<char[]> larger(new (std::nothrow) char[grown]);
      if (larger == nullptr) return false;
      if (unread_bytes > 0) std::memcpy(larger.get(), data_.get() + begin_, unread_bytes);
      data_ = std::move(larger);
      capacity_ = grown;
    }
    begin_ = 0;
    end_ = unread_bytes;
    return true;
  }

  bool Append(std::string_view bytes) {
    if (!MakeRoom(bytes.size())) return false;
    std::memcpy(tail(), bytes.data(), bytes.size());
    Commit(bytes.size());
    return true;
  }

  // Gives the memory back. Only while empty.
  void Release() {
    data_.reset();
    begin_ = end_ = capacity_ = 0;
  }

 private:
  std::unique_ptr<char[]> data_;
  size_t begin_ = 0;
  size_t end_ = 0;
  size_t capacity_ = 0;
};

}  // namespace cairn::net
