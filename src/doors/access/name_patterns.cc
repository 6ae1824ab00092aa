#include "doors/access/name_patterns.h"

#include <fmt/format.h>

#include <algorithm>

#include "doors/access/limits.h"

namespace cairn::doors {
namespace {

std::string_view Trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  text.remove_suffix(text.size() - std::min(text.find_last_not_of(' ') + 1, text.size()));
  return text;
}

bool IsPrintable(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < ' ' || c == 0x7F; });
}

Result<NamePatterns::Pattern> ParsePattern(std::string_view text) {
  NamePatterns::Pattern pattern{.text = std::string(text), .prefix = text.ends_with('*')};
  if (pattern.prefix) pattern.text.pop_back();
  const bool elsewhere = pattern.text.find('*') != std::string::npos;
  if (text.empty() || text.size() > kMaxPatternBytes || elsewhere || !IsPrintable(text)) {
    return Error{ErrorCode::kInvalid,
                 "must be names with commas between them, a * only at the end of one"};
  }
  return pattern;
}

}  // namespace

Result<NamePatterns> NamePatterns::Parse(std::string_view text) {
  NamePatterns names;
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    CAIRN_ASSIGN_OR_RETURN(names.patterns_.emplace_back(),
                           ParsePattern(Trimmed(text.substr(0, comma))));
    if (names.patterns_.size() > kMaxPatterns) {
      return Error{ErrorCode::kInvalid, fmt::format("must have at most {} names", kMaxPatterns)};
    }
    if (more) text.remove_prefix(comma + 1);
  }
  return names;
}

bool NamePatterns::Allows(std::string_view name) const {
  return std::ranges::any_of(patterns_, [&](const Pattern& pattern) {
    return pattern.prefix ? name.starts_with(pattern.text) : name == pattern.text;
  });
}

std::string NamePatterns::Describe() const {
  std::string text;
  for (const Pattern& pattern : patterns_) {
    if (!text.empty()) text.push_back(',');
    text += pattern.text;
    if (pattern.prefix) text.push_back('*');
  }
  return text;
}

}  // namespace cairn::doors
