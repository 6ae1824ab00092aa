#pragma once

#include <cstddef>
#include <optional>

#include "base/result.h"
#include "net/buffer_budget.h"

namespace cairn::net {

// What bounds the replies of a server: each by itself, and all that are being made together.
struct ReplyBounds {
  BufferBudget* budget = nullptr;  // null: none
  size_t limit = BufferBudget::kUnlimited;
};

// Watches one reply grow. A RespWriter that is given a meter writes nothing more once the reply is
// past a bound, so that its size is bounded whatever the command does; who made the writer then
// asks for the overrun and fails the request with it.
//
// The first piece is free, so nearly every reply costs one comparison per element. Used by one
// thread at a time.
class ReplyMeter {
 public:
  // The reply begins at out[begin].
  explicit ReplyMeter(const ReplyBounds& bounds, size_t begin = 0);
  ~ReplyMeter() { Release(); }
  ReplyMeter(const ReplyMeter&) = delete;
  ReplyMeter& operator=(const ReplyMeter&) = delete;

  // Whether the buffer may grow to `bytes`, counted from its own beginning.
  bool Allows(size_t bytes) { return bytes <= allowed_ || Grow(bytes); }

  // Memory that the command takes beside its reply, until the reply is made again or released.
  // False: there is no room for it, and the reply counts as overrun.
  bool Reserve(size_t bytes);

  // The reply is written again from its beginning.
  void Restart();
  // The reply is part of its connection's buffer now, or gone.
  void Release();

  bool overrun() const { return overrun_ != Overrun::kNone; }
  // Why the reply could not be written; only if it was overrun.
  Error error() const;

 private:
  enum class Overrun { kNone, kLimit, kBudget };

  bool Grow(size_t bytes);
  bool Fail(Overrun why);
  void ReleaseReserved();

  const ReplyBounds& bounds_;
  const size_t begin_;
  size_t allowed_;
  size_t charged_ = 0;   // for the reply
  size_t reserved_ = 0;  // for the rest
  Overrun overrun_ = Overrun::kNone;
};

}  // namespace cairn::net
