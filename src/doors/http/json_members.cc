#include "doors/http/json_members.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <set>
#include <utility>

namespace cairn::doors {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// Where the string that begins at text[at] ends: behind its closing quote, or at the text's end.
size_t EndOfString(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

// "a" and "\u0061" are the same name.
std::string NameOf(std::string_view quoted) {
  boost::system::error_code failure;
  const boost::json::value name = boost::json::parse(quoted, failure);
  return failure || !name.is_string() ? std::string(quoted) : std::string(name.as_string());
}

}  // namespace

std::optional<std::string> FindRepeatedMember(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos || text[begin] != '{') return std::nullopt;
  std::set<std::string> names;
  int depth = 0;
  for (size_t at = begin; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c != '"') continue;
    const size_t end = EndOfString(text, at);
    const size_t next = text.find_first_not_of(kBlanks, end);
    const bool is_name = depth == 1 && next != std::string_view::npos && text[next] == ':';
    if (is_name) {
      std::string name = NameOf(text.substr(at, end - at));
      if (names.contains(name)) return name;
      names.insert(std::move(name));
    }
    at = end - 1;
  }
  return std::nullopt;
}

}  // namespace cairn::doors
