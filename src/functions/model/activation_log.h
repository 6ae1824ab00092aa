#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "functions/model/limits.h"
#include "functions/model/secrets.h"

namespace cairn::functions {

struct LogChunk {
  uint64_t number = 0;
  std::string text;  // whole lines, each with its end
};

// The log of one activation, as it is written: lines "[level] text", secrets taken out, cut into
// chunks. What goes beyond kMaxLogBytes is left out, and the last line says so, the same way each
// time.
//
// Used on one loop.
class ActivationLog {
 public:
  // `redactor` outlives it.
  explicit ActivationLog(const Redactor& redactor) : redactor_(redactor) {}

  // Goes on where the log of an earlier run has ended. Before the first line.
  void GoOnFrom(uint64_t chunks, size_t bytes) {
    next_chunk_ = chunks;
    bytes_ = bytes;
  }
  uint64_t chunks() const { return next_chunk_; }
  size_t bytes() const { return bytes_; }

  void Add(std::string_view level, std::string_view text);
  // What was added since the last call, as the next chunk; nullopt: nothing.
  std::optional<LogChunk> Take();
  bool empty() const { return waiting_.empty(); }

 private:
  const Redactor& redactor_;
  std::string waiting_;
  size_t bytes_ = 0;  // so far, with what waits
  bool full_ = false;
  uint64_t next_chunk_ = 0;
};

}  // namespace cairn::functions
