#include "doors/resp/queue_scope.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::doors {
namespace {

constexpr size_t kMaxPatterns = 100;
constexpr size_t kMaxPatternBytes = 256;

std::string_view Trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  text.remove_suffix(text.size() - std::min(text.find_last_not_of(' ') + 1, text.size()));
  return text;
}

bool IsPrintable(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < ' ' || c == 0x7F; });
}

Result<QueueScope::Pattern> ParsePattern(std::string_view text) {
  QueueScope::Pattern pattern{.text = std::string(text), .prefix = text.ends_with('*')};
  if (pattern.prefix) pattern.text.pop_back();
  const bool elsewhere = pattern.text.find('*') != std::string::npos;
  if (text.empty() || text.size() > kMaxPatternBytes || elsewhere || !IsPrintable(text)) {
    return Error{ErrorCode::kInvalid,
                 "queue_scope must be names of queues with commas between them, a * only at the "
                 "end of one"};
  }
  return pattern;
}

}  // namespace

Result<QueueScope> QueueScope::Parse(std::string_view text) {
  QueueScope scope;
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    CAIRN_ASSIGN_OR_RETURN(scope.patterns_.emplace_back(),
                           ParsePattern(Trimmed(text.substr(0, comma))));
    if (scope.patterns_.size() > kMaxPatterns) {
      return Error{ErrorCode::kInvalid,
                   fmt::format("queue_scope names more than {} queues", kMaxPatterns)};
    }
    if (more) text.remove_prefix(comma + 1);
  }
  return scope;
}

bool QueueScope::Allows(std::string_view queue) const {
  return std::ranges::any_of(patterns_, [&](const Pattern& pattern) {
    return pattern.prefix ? queue.starts_with(pattern.text) : queue == pattern.text;
  });
}

std::string QueueScope::Describe() const {
  std::string text;
  for (const Pattern& pattern : patterns_) {
    if (!text.empty()) text.push_back(',');
    text += pattern.text;
    if (pattern.prefix) text.push_back('*');
  }
  return text;
}

}  // namespace cairn::doors
