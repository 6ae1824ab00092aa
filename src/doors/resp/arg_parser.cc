#include "doors/resp/arg_parser.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "doors/access/limits.h"

namespace cairn::doors {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

}  // namespace

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (Lower(a[i]) != Lower(b[i])) return false;
  }
  return true;
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.starts_with('0') && text != "0") return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> SplitWords(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string_view Quotable(std::string_view arg) { return arg.substr(0, arg.find('\0')); }

std::string WrongArity(std::string_view name) {
  return fmt::format("ERR wrong number of arguments for '{}' command", name);
}

std::string_view ArgParser::Next() {
  if (rest_.empty()) {
    Fail(kSyntaxError);
    return {};
  }
  const std::string_view arg = rest_.front();
  rest_ = rest_.subspan(1);
  return arg;
}

int64_t ArgParser::Integer(std::string_view error) {
  const std::optional<int64_t> value = ParseInteger(Next());
  if (!value) Fail(error);
  return value.value_or(0);
}

uint8_t ArgParser::Database() {
  const int64_t db = Integer();
  // Redis reads it as an int before it looks which databases there are.
  if (db < std::numeric_limits<int32_t>::min() || db > std::numeric_limits<int32_t>::max()) {
    Fail("ERR value is out of range, value must between -2147483648 and 2147483647");
  }
  if (db < 0 || db >= kDatabases) Fail("ERR DB index is out of range");
  return ok() ? static_cast<uint8_t>(db) : 0;
}

bool ArgParser::Keyword(std::string_view name) {
  if (rest_.empty() || !EqualsIgnoreCase(rest_.front(), name)) return false;
  rest_ = rest_.subspan(1);
  return true;
}

void ArgParser::Fail(std::string_view error) {
  if (error_.empty()) error_ = error;
}

bool ArgParser::Finish() {
  if (!rest_.empty()) Fail(kSyntaxError);
  return ok();
}

}  // namespace cairn::doors
