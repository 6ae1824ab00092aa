#include "jobs/model/json_members.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "jobs/model/json_check.h"

namespace cairn::jobs {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The end of the string that begins at `at`, behind its closing quote. The text is valid JSON.
size_t EndOfString(std::string_view text, size_t at) {
  for (++at; text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

// Where the value that begins at `at` ends: at a comma or bracket of the level it stands on.
size_t EndOfValue(std::string_view text, size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = EndOfString(text, at);
      continue;
    }
    if (depth == 0 && (c == ',' || c == ']' || c == '}')) return at;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    ++at;
  }
  return at;
}

}  // namespace

std::optional<std::vector<RawMember>> MembersOf(std::string_view text) {
  if (!IsJson(text, JsonKind::kObject)) return std::nullopt;
  text = Trimmed(text);
  std::vector<RawMember> members;
  size_t at = text.find_first_not_of(kBlanks, 1);
  while (text[at] == '"') {
    const size_t name_end = EndOfString(text, at);
    RawMember member;
    member.name = *StringOf(text.substr(at, name_end - at));
    const size_t value = text.find(':', name_end) + 1;
    const size_t end = EndOfValue(text, value);
    member.json = Trimmed(text.substr(value, end - value));
    members.push_back(std::move(member));
    if (text[end] == '}') break;
    at = text.find_first_not_of(kBlanks, end + 1);
  }
  return members;
}

std::optional<std::string> FindRepeated(const std::vector<RawMember>& members) {
  std::vector<std::string_view> names;
  names.reserve(members.size());
  for (const RawMember& member : members) names.push_back(member.name);
  std::ranges::sort(names);
  const auto repeated = std::ranges::adjacent_find(names);
  if (repeated == names.end()) return std::nullopt;
  return std::string(*repeated);
}

std::optional<std::vector<std::string_view>> ItemsOf(std::string_view text) {
  text = Trimmed(text);
  if (!text.starts_with('[') || !IsJson(text)) return std::nullopt;
  std::vector<std::string_view> items;
  size_t at = text.find_first_not_of(kBlanks, 1);
  while (text[at] != ']') {
    const size_t end = EndOfValue(text, at);
    items.push_back(Trimmed(text.substr(at, end - at)));
    if (text[end] == ']') break;
    at = text.find_first_not_of(kBlanks, end + 1);
  }
  return items;
}

std::optional<std::string> StringOf(std::string_view text) {
  if (text.size() < 2 || text.front() != '"') return std::nullopt;
  if (text.find('\\') == std::string_view::npos) {
    if (!IsJson(text)) return std::nullopt;
    return std::string(text.substr(1, text.size() - 2));
  }
  boost::system::error_code failure;
  const boost::json::value value = boost::json::parse(text, failure);
  if (failure || !value.is_string()) return std::nullopt;
  return std::string(value.get_string());
}

}  // namespace cairn::jobs
