#include "data/lua/lua_source.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <vector>

namespace cairn::data {
namespace {

// A token of Lua, as far as it matters here: words, and single characters. Strings and numbers are
// characters that mean nothing.
struct Token {
  std::string_view text;  // empty at the end of the source
  size_t begin = 0;
  size_t end = 0;
};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Token Next() {
    SkipBlanks();
    const size_t begin = at_;
    if (at_ >= source_.size()) return {{}, begin, begin};
    const char c = source_[at_];
    if (IsWordCharacter(c)) {
      while (at_ < source_.size() && IsWordCharacter(source_[at_])) ++at_;
    } else if (c == '"' || c == '\'') {
      SkipQuoted(c);
    } else if (!SkipLongBracket()) {
      ++at_;
    }
    return {source_.substr(begin, at_ - begin), begin, at_};
  }

 private:
  static bool IsWordCharacter(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
  }

  void SkipBlanks() {
    for (;;) {
      while (at_ < source_.size() && std::isspace(static_cast<unsigned char>(source_[at_])) != 0) {
        ++at_;
      }
      if (!source_.substr(at_).starts_with("--")) return;
      at_ += 2;
      if (!SkipLongBracket()) at_ = std::min(source_.find('\n', at_), source_.size());
    }
  }

  void SkipQuoted(char quote) {
    for (++at_; at_ < source_.size() && source_[at_] != quote; ++at_) {
      if (source_[at_] == '\\') ++at_;
    }
    at_ = std::min(at_ + 1, source_.size());
  }

  // [[ … ]], [=[ … ]=] and so on, if one begins here.
  bool SkipLongBracket() {
    size_t open = at_;
    if (open >= source_.size() || source_[open] != '[') return false;
    const size_t level = source_.find_first_not_of('=', open + 1);
    if (level == std::string_view::npos || source_[level] != '[') return false;
    const std::string close = "]" + std::string(level - open - 1, '=') + "]";
    const size_t end = source_.find(close, level + 1);
    at_ = end == std::string_view::npos ? source_.size() : end + close.size();
    return true;
  }

  const std::string_view source_;
  size_t at_ = 0;
};

template <size_t kCount>
bool IsOneOf(std::string_view text, const std::array<std::string_view, kCount>& words) {
  return std::ranges::find(words, text) != words.end();
}

constexpr std::array<std::string_view, 12> kLibraries = {"redis", "cjson",    "cmsgpack", "struct",
                                                         "bit",   "string",   "table",    "math",
                                                         "error", "tonumber", "unpack",   "assert"};
constexpr std::array<std::string_view, 4> kOpensBlock = {"function", "if", "do", "repeat"};
constexpr std::array<std::string_view, 2> kClosesBlock = {"end", "until"};
constexpr std::array<std::string_view, 3> kOpensBracket = {"(", "[", "{"};
constexpr std::array<std::string_view, 3> kClosesBracket = {")", "]", "}"};

// Whether a list of returned values is over with this token, inside no block or bracket of its own.
bool EndsStatement(std::string_view text) {
  return text.empty() || text == ";" || text == "else" || text == "elseif" ||
         IsOneOf(text, kClosesBlock) || IsOneOf(text, kClosesBracket);
}

}  // namespace

std::string ReturnsKept(std::string_view source) {
  enum class Open { kBlock, kBracket, kReturn };
  std::vector<Open> open;
  std::string kept;
  size_t copied = 0;
  const auto insert = [&](size_t before, std::string_view text) {
    kept += source.substr(copied, before - copied);
    kept += text;
    copied = before;
  };
  const auto close = [&] {
    if (!open.empty()) open.pop_back();
  };

  Lexer lexer(source);
  size_t previous_end = 0;
  bool after_return = false;
  for (;;) {
    const Token token = lexer.Next();
    if (after_return && IsOneOf(token.text, kLibraries)) {
      insert(token.begin, std::string(kKeepFunction) + "(");
      open.push_back(Open::kReturn);
    }
    if (EndsStatement(token.text) && !open.empty() && open.back() == Open::kReturn) {
      insert(previous_end, ")");
      close();
    }
    if (token.text.empty()) break;
    if (IsOneOf(token.text, kOpensBlock)) {
      open.push_back(Open::kBlock);
    } else if (IsOneOf(token.text, kOpensBracket)) {
      open.push_back(Open::kBracket);
    } else if (IsOneOf(token.text, kClosesBlock) || IsOneOf(token.text, kClosesBracket)) {
      close();
    }
    after_return = token.text == "return";
    previous_end = token.end;
  }
  kept += source.substr(copied);
  return kept;
}

}  // namespace cairn::data
