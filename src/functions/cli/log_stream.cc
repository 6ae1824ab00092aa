#include "functions/cli/log_stream.h"

#include <algorithm>
#include <utility>

namespace cairn::functions::cli {

bool EventReader::Append(std::string_view piece) {
  while (!piece.empty()) {
    const size_t end = std::min(piece.find('\n'), piece.size());
    line_ += piece.substr(0, end);
    if (line_.size() > kMaxLineBytes) return false;
    if (end == piece.size()) return true;
    piece.remove_prefix(end + 1);
    if (line_.ends_with('\r')) line_.pop_back();
    TakeLine(line_);
    line_.clear();
  }
  return true;
}

void EventReader::TakeLine(std::string_view line) {
  if (line.empty()) {
    if (has_data_ || !event_.event.empty()) take_(event_);
    event_ = {.id = event_.id, .event = {}, .data = {}};
    has_data_ = false;
    return;
  }
  const size_t colon = std::min(line.find(':'), line.size());
  const std::string_view field = line.substr(0, colon);
  std::string_view value = line.substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "id") event_.id = value;
  if (field == "event") event_.event = value;
  if (field == "data") {
    if (std::exchange(has_data_, true)) event_.data += '\n';
    event_.data += value;
  }
}

}  // namespace cairn::functions::cli
