#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <luajit-2.1/lua.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "data/lua/lua_json.h"
#include "data/value/limits.h"

namespace cairn::data {
namespace {

enum class Token : uint8_t {
  kObjectBegin,
  kObjectEnd,
  kArrayBegin,
  kArrayEnd,
  kString,
  kNumber,
  kBoolean,
  kNull,
  kColon,
  kComma,
  kEnd,
  kError,
};

// As errors call them.
const char* NameOf(Token token) {
  constexpr const char* kNames[] = {"T_OBJ_BEGIN", "T_OBJ_END", "T_ARR_BEGIN", "T_ARR_END",
                                    "T_STRING",    "T_NUMBER",  "T_BOOLEAN",   "T_NULL",
                                    "T_COLON",     "T_COMMA",   "T_END",       "T_ERROR"};
  return kNames[static_cast<size_t>(token)];
}

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::optional<uint32_t> HexDigits(std::string_view digits) {
  if (digits.size() < 4) return std::nullopt;
  uint32_t value = 0;
  for (const char c : digits.substr(0, 4)) {
    value <<= 4;
    if (c >= '0' && c <= '9') {
      value |= static_cast<uint32_t>(c - '0');
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
      value |= static_cast<uint32_t>((c | 0x20) - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return value;
}

void AppendUtf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// Reads tokens off the text, which ends with a zero byte behind its last.
class Scanner {
 public:
  Scanner(std::string_view text, const JsonOptions& options) : text_(text), options_(options) {}

  Token Next() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
    begin_ = at_;
    if (at_ == text_.size()) return Token::kEnd;
    switch (text_[at_]) {
      case '{':
        return Single(Token::kObjectBegin);
      case '}':
        return Single(Token::kObjectEnd);
      case '[':
        return Single(Token::kArrayBegin);
      case ']':
        return Single(Token::kArrayEnd);
      case ':':
        return Single(Token::kColon);
      case ',':
        return Single(Token::kComma);
      case '"':
        return String();
      default:
        return Word();
    }
  }

  size_t position() const { return begin_ + 1; }  // of the token, for errors
  const std::string& string() const { return string_; }
  double number() const { return number_; }
  bool boolean() const { return boolean_; }
  const char* error() const { return error_; }

 private:
  Token Single(Token token) {
    ++at_;
    return token;
  }

  Token Fail(const char* error, size_t position) {
    error_ = error;
    begin_ = position;
    return Token::kError;
  }

  bool Take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Token Word() {
    const char c = text_[at_];
    if (Take("true")) {
      boolean_ = true;
      return Token::kBoolean;
    }
    if (Take("false")) {
      boolean_ = false;
      return Token::kBoolean;
    }
    if (Take("null")) return Token::kNull;
    if (c == '-' || c == '+' || (c >= '0' && c <= '9')) return Number();
    if (options_.decode_invalid_numbers && LooksInvalid()) return Number();
    return Fail("invalid token", begin_);
  }

  // Infinity and NaN in any case of letters.
  bool LooksInvalid() const {
    std::string word(text_.substr(at_, 3));
    for (char& c : word) c = static_cast<char>(c | 0x20);
    return word == "inf" || word == "nan";
  }

  // Whether strtod would take what JSON does not know: hexadecimal, infinities, leading zeros.
  bool IsInvalidNumber() const {
    std::string_view rest = text_.substr(at_);
    if (rest.starts_with('+')) return true;
    if (rest.starts_with('-')) rest.remove_prefix(1);
    if (rest.empty() || rest.front() < '0' || rest.front() > '9') return true;
    if (rest.front() != '0' || rest.size() < 2) return false;
    return (rest[1] | 0x20) == 'x' || (rest[1] >= '0' && rest[1] <= '9');
  }

  Token Number() {
    if (!options_.decode_invalid_numbers && IsInvalidNumber()) {
      return Fail("invalid number", begin_);
    }
    char* end = nullptr;
    number_ = std::strtod(text_.data() + at_, &end);
    if (end == text_.data() + at_) return Fail("invalid number", begin_);
    at_ = static_cast<size_t>(end - text_.data());
    return Token::kNumber;
  }

  Token String() {
    string_.clear();
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return Token::kString;
      }
      if (c == '\\') {
        const size_t escape = at_;
        if (const char* error = Escape()) return Fail(error, escape);
      } else {
        string_ += c;
        ++at_;
      }
    }
    return Fail("unexpected end of string", at_);
  }

  // Returns what is wrong, or null.
  const char* Escape() {
    constexpr std::string_view kCodes = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char code = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (code == 'u') return Unicode();
    const size_t index = kCodes.find(code);
    if (index == std::string_view::npos) return "invalid escape code";
    string_ += kMeanings[index];
    at_ += 2;
    return nullptr;
  }

  const char* Unicode() {
    constexpr const char* kInvalid = "invalid unicode escape code";
    std::optional<uint32_t> code = HexDigits(text_.substr(at_ + 2));
    if (!code) return kInvalid;
    at_ += 6;
    if ((*code & 0xf800) == 0xd800) {
      const std::string_view rest = text_.substr(at_);
      if ((*code & 0x400) != 0 || !rest.starts_with("\\u")) return kInvalid;
      const std::optional<uint32_t> low = HexDigits(rest.substr(2));
      if (!low || (*low & 0xfc00) != 0xdc00) return kInvalid;
      at_ += 6;
      code = 0x10000 + ((*code & 0x3ff) << 10 | (*low & 0x3ff));
    }
    AppendUtf8(string_, *code);
    return nullptr;
  }

  const std::string_view text_;
  const JsonOptions& options_;
  size_t at_ = 0;
  size_t begin_ = 0;
  std::string string_;
  double number_ = 0;
  bool boolean_ = false;
  const char* error_ = "";
};

class Decoder {
 public:
  Decoder(lua_State* lua, std::string_view text, const JsonOptions& options)
      : lua_(lua), scanner_(text, options), options_(options) {}

  void Run() {
    Value(scanner_.Next(), 0);
    const Token after = scanner_.Next();
    if (after != Token::kEnd) Fail("the end", after);
  }

 private:
  void Fail(const char* expected, Token found) {
    luaL_error(lua_, "Expected %s but found %s at character %d", expected,
               found == Token::kError ? scanner_.error() : NameOf(found),
               static_cast<int>(scanner_.position()));
  }

  void Value(Token token, int depth) {
    switch (token) {
      case Token::kString:
        lua_pushlstring(lua_, scanner_.string().data(), scanner_.string().size());
        return;
      case Token::kNumber:
        return lua_pushnumber(lua_, scanner_.number());
      case Token::kBoolean:
        return lua_pushboolean(lua_, scanner_.boolean() ? 1 : 0);
      case Token::kNull:
        return lua_pushlightuserdata(lua_, nullptr);
      case Token::kObjectBegin:
        return Object(depth + 1);
      case Token::kArrayBegin:
        return Array(depth + 1);
      default:
        Fail("value", token);
    }
  }

  void Descend(int depth) {
    const int limit = std::min(options_.decode_max_depth, kMaxScriptNesting);
    if (depth <= limit && lua_checkstack(lua_, 4) != 0) return;
    luaL_error(lua_, "Found too many nested data structures (%d) at character %d", depth,
               static_cast<int>(scanner_.position()));
  }

  void Object(int depth) {
    Descend(depth);
    lua_createtable(lua_, 0, 0);
    Token token = scanner_.Next();
    if (token == Token::kObjectEnd) return;
    for (;;) {
      if (token != Token::kString) Fail("object key string", token);
      lua_pushlstring(lua_, scanner_.string().data(), scanner_.string().size());
      token = scanner_.Next();
      if (token != Token::kColon) Fail("colon", token);
      Value(scanner_.Next(), depth);
      lua_rawset(lua_, -3);
      token = scanner_.Next();
      if (token == Token::kObjectEnd) return;
      if (token != Token::kComma) Fail("comma or object end", token);
      token = scanner_.Next();
    }
  }

  void Array(int depth) {
    Descend(depth);
    lua_createtable(lua_, 0, 0);
    Token token = scanner_.Next();
    if (token == Token::kArrayEnd) return;
    for (int index = 1;; ++index) {
      Value(token, depth);
      lua_rawseti(lua_, -2, index);
      token = scanner_.Next();
      if (token == Token::kArrayEnd) return;
      if (token != Token::kComma) Fail("comma or array end", token);
      token = scanner_.Next();
    }
  }

  lua_State* lua_;
  Scanner scanner_;
  const JsonOptions& options_;
};

}  // namespace

void DecodeJson(lua_State* lua, const char* text, size_t size, const JsonOptions& options) {
  Decoder(lua, {text, size}, options).Run();
}

}  // namespace cairn::data
