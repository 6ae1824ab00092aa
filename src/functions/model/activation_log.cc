#include "functions/model/activation_log.h"

#include <fmt/format.h>

namespace cairn::functions {

constexpr std::string_view kFull = "[warn] the rest of the log is left out: it is too long\n";

void ActivationLog::Add(std::string_view level, std::string_view text) {
  if (full_) return;
  std::string line = fmt::format("[{}] ", level);
  line += redactor_.empty() ? std::string(text) : redactor_.Redact(text);
  line.push_back('\n');
  if (bytes_ + line.size() + kFull.size() > kMaxLogBytes) {
    full_ = true;
    line = kFull;
  }
  bytes_ += line.size();
  waiting_ += line;
}

std::optional<LogChunk> ActivationLog::Take() {
  if (waiting_.empty()) return std::nullopt;
  LogChunk chunk{next_chunk_++, std::move(waiting_)};
  waiting_.clear();
  return chunk;
}

}  // namespace cairn::functions
