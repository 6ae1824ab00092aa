#include "doors/resp/glob.h"

#include <algorithm>
#include <cstddef>

namespace cairn::doors {
namespace {

struct SetMatch {
  bool matches;
  size_t end;  // behind the set
};

// `at` is behind the opening bracket.
SetMatch MatchSet(std::string_view pattern, size_t at, char c) {
  // Ranges compare as signed bytes, as they do in Redis: [a-\xff] is [\xff-a].
  const auto value = static_cast<signed char>(c);
  bool found = false;
  const bool negated = at < pattern.size() && pattern[at] == '^';
  if (negated) ++at;
  while (at < pattern.size() && pattern[at] != ']') {
    if (pattern[at] == '\\' && at + 1 < pattern.size()) {
      found = found || pattern[at + 1] == c;
      at += 2;
    } else if (at + 2 < pattern.size() && pattern[at + 1] == '-') {
      const auto from = static_cast<signed char>(pattern[at]);
      const auto to = static_cast<signed char>(pattern[at + 2]);
      found = found || (std::min(from, to) <= value && value <= std::max(from, to));
      at += 3;
    } else {
      found = found || pattern[at] == c;
      ++at;
    }
  }
  return {found != negated, std::min(at + 1, pattern.size())};
}

// Matches the single element of the pattern at `at`, which is no star, against one byte.
SetMatch MatchOne(std::string_view pattern, size_t at, char c) {
  switch (pattern[at]) {
    case '?':
      return {true, at + 1};
    case '[':
      return MatchSet(pattern, at + 1, c);
    case '\\':
      if (at + 1 < pattern.size()) ++at;
      return {pattern[at] == c, at + 1};
    default:
      return {pattern[at] == c, at + 1};
  }
}

}  // namespace

bool GlobMatch(std::string_view pattern, std::string_view text) {
  // Only the last star needs to be reconsidered: an earlier one that took more bytes could not let
  // the rest match where this one does not.
  constexpr size_t kNone = std::string_view::npos;
  size_t p = 0;
  size_t t = 0;
  size_t after_star = kNone;
  size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      star_text = t;
      if (p == pattern.size()) return true;
      continue;
    }
    if (p < pattern.size()) {
      const SetMatch one = MatchOne(pattern, p, text[t]);
      if (one.matches) {
        p = one.end;
        ++t;
        continue;
      }
    }
    if (after_star == kNone) return false;
    p = after_star;
    t = ++star_text;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string_view GlobLiteralPrefix(std::string_view pattern) {
  return pattern.substr(0, pattern.find_first_of("*?[\\"));
}

}  // namespace cairn::doors
