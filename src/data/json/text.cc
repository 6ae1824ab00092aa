#include "data/json/text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/json_text.h"
#include "data/value/limits.h"

namespace cairn::data {
namespace {

// Names are compared one by one up to here; larger objects get an index while they are read.
constexpr size_t kIndexedMembers = 24;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<JsonValue> Parse() {
    std::optional<JsonValue> value = Value(0);
    SkipSpace();
    if (value && at_ != text_.size()) Fail("trailing characters");
    if (!error_.empty()) return Error{ErrorCode::kInvalid, error_};
    return *std::move(value);
  }

 private:
  bool AtEnd() const { return at_ == text_.size(); }
  char Peek() const { return AtEnd() ? '\0' : text_[at_]; }
  bool Take(char c) {
    if (AtEnd() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void SkipSpace() {
    while (!AtEnd() && (Peek() == ' ' || Peek() == '\n' || Peek() == '\r' || Peek() == '\t')) ++at_;
  }

  std::nullopt_t Fail(std::string_view what) {
    if (!error_.empty()) return std::nullopt;
    size_t line = 1;
    size_t column = 0;
    for (size_t i = 0; i < at_ + 1 && i < text_.size(); ++i) {
      const bool breaks = text_[i] == '\n';
      line += breaks ? 1 : 0;
      column = breaks ? 0 : column + 1;
    }
    error_ = fmt::format("{} at line {} column {}", what, line, column);
    return std::nullopt;
  }

  std::optional<JsonValue> Word(std::string_view word, JsonValue value) {
    if (!text_.substr(at_).starts_with(word)) return Fail("expected ident");
    at_ += word.size();
    return value;
  }

  std::optional<JsonValue> Value(size_t depth) {
    SkipSpace();
    if (AtEnd()) return Fail("EOF while parsing a value");
    switch (Peek()) {
      case '{':
        return ObjectValue(depth + 1);
      case '[':
        return ArrayValue(depth + 1);
      case '"': {
        std::optional<std::string> text = String();
        if (!text) return std::nullopt;
        return JsonValue(*std::move(text));
      }
      case 't':
        return Word("true", JsonValue(true));
      case 'f':
        return Word("false", JsonValue(false));
      case 'n':
        return Word("null", JsonValue());
      default:
        return Number();
    }
  }

  std::optional<JsonValue> ArrayValue(size_t depth) {
    if (depth > kMaxJsonDepth) return Fail("recursion limit exceeded");
    ++at_;
    JsonValue::Array elements;
    SkipSpace();
    if (Take(']')) return JsonValue(std::move(elements));
    while (true) {
      std::optional<JsonValue> element = Value(depth);
      if (!element) return std::nullopt;
      elements.push_back(*std::move(element));
      SkipSpace();
      if (Take(']')) return JsonValue(std::move(elements));
      if (AtEnd()) return Fail("EOF while parsing a list");
      if (!Take(',')) return Fail("expected `,` or `]`");
      SkipSpace();
      if (Peek() == ']') return Fail("trailing comma");
    }
  }

  std::optional<JsonValue> ObjectValue(size_t depth) {
    if (depth > kMaxJsonDepth) return Fail("recursion limit exceeded");
    ++at_;
    ObjectBuilder builder;
    SkipSpace();
    if (Take('}')) return std::move(builder).Finish();
    while (true) {
      SkipSpace();
      if (AtEnd()) return Fail("EOF while parsing an object");
      if (Peek() == '}') return Fail("trailing comma");
      if (Peek() != '"') return Fail("key must be a string");
      std::optional<std::string> name = String();
      if (!name) return std::nullopt;
      SkipSpace();
      if (AtEnd()) return Fail("EOF while parsing an object");
      if (!Take(':')) return Fail("expected `:`");
      std::optional<JsonValue> value = Value(depth);
      if (!value) return std::nullopt;
      builder.Add(*std::move(name), *std::move(value));
      SkipSpace();
      if (Take('}')) return std::move(builder).Finish();
      if (AtEnd()) return Fail("EOF while parsing an object");
      if (!Take(',')) return Fail("expected `,` or `}`");
    }
  }

  class ObjectBuilder {
   public:
    void Add(std::string name, JsonValue value) {
      if (members_.size() < kIndexedMembers) {
        for (JsonMember& member : members_) {
          if (member.name == name) {
            member.value = std::move(value);
            return;
          }
        }
      } else {
        if (places_.empty()) {
          for (size_t i = 0; i < members_.size(); ++i) places_.emplace(members_[i].name, i);
        }
        const auto [place, added] = places_.emplace(name, members_.size());
        if (!added) {
          members_[place->second].value = std::move(value);
          return;
        }
      }
      members_.push_back({std::move(name), std::move(value)});
    }
    JsonValue Finish() && { return JsonValue(std::move(members_)); }

   private:
    JsonValue::Object members_;
    std::unordered_map<std::string, size_t> places_;
  };

  std::optional<JsonValue> Number() {
    const size_t begin = at_;
    Take('-');
    if (!Take('0')) {
      if (!Digits()) return Fail(begin == at_ ? "expected value" : "invalid number");
    }
    bool integral = true;
    if (Take('.')) {
      integral = false;
      if (!Digits()) return Fail("invalid number");
    }
    if (Take('e') || Take('E')) {
      integral = false;
      if (!Take('+')) Take('-');
      if (!Digits()) return Fail("invalid number");
    }
    const char* first = text_.data() + begin;
    const char* last = text_.data() + at_;
    if (integral && text_.substr(begin, at_ - begin) != "-0") {
      int64_t small = 0;
      if (std::from_chars(first, last, small).ec == std::errc()) return JsonValue(small);
      uint64_t large = 0;
      if (*first != '-' && std::from_chars(first, last, large).ec == std::errc()) {
        return JsonValue(large);
      }
    }
    return Double(first, last);
  }

  std::optional<JsonValue> Double(const char* first, const char* last) {
    double value = 0;
    if (std::from_chars(first, last, value).ec == std::errc()) return JsonValue(value);
    // Out of range: too close to zero is zero, too large is no number at all.
    value = std::strtod(std::string(first, last).c_str(), nullptr);
    if (std::abs(value) > 1) return Fail("number out of range");
    return JsonValue(value);
  }

  bool Digits() {
    const size_t begin = at_;
    while (Peek() >= '0' && Peek() <= '9') ++at_;
    return at_ > begin;
  }

  std::optional<std::string> String() {
    ++at_;
    std::string out;
    while (true) {
      const size_t begin = at_;
      while (!AtEnd() && Peek() != '"' && Peek() != '\\' &&
             static_cast<unsigned char>(Peek()) >= 0x20) {
        ++at_;
      }
      if (!IsUtf8(text_.substr(begin, at_ - begin))) return Fail("invalid unicode code point");
      out += text_.substr(begin, at_ - begin);
      if (AtEnd()) return Fail("EOF while parsing a string");
      if (Take('"')) return out;
      if (!Take('\\')) {
        return Fail("control character (\\u0000-\\u001F) found while parsing a string");
      }
      if (!Escape(out)) return std::nullopt;
    }
  }

  bool Escape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (AtEnd()) {
      Fail("EOF while parsing a string");
      return false;
    }
    if (Take('u')) return UnicodeEscape(out);
    const size_t which = kLetters.find(Peek());
    if (which == std::string_view::npos) {
      Fail("invalid escape");
      return false;
    }
    out += kMeanings[which];
    ++at_;
    return true;
  }

  bool UnicodeEscape(std::string& out) {
    std::optional<uint32_t> code = Hex4();
    if (!code) return false;
    if (*code >= 0xDC00 && *code <= 0xDFFF) {
      Fail("lone leading surrogate in hex escape");
      return false;
    }
    if (*code >= 0xD800 && *code <= 0xDBFF) {
      if (!Take('\\') || !Take('u')) {
        Fail("unexpected end of hex escape");
        return false;
      }
      const std::optional<uint32_t> low = Hex4();
      if (!low) return false;
      if (*low < 0xDC00 || *low > 0xDFFF) {
        Fail("lone leading surrogate in hex escape");
        return false;
      }
      code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
    }
    AppendUtf8(*code, out);
    return true;
  }

  std::optional<uint32_t> Hex4() {
    if (text_.size() - at_ < 4) return Fail("EOF while parsing a string");
    uint32_t code = 0;
    const char* first = text_.data() + at_;
    if (std::from_chars(first, first + 4, code, 16).ptr != first + 4) {
      return Fail("invalid escape");
    }
    at_ += 4;
    return code;
  }

  static void AppendUtf8(uint32_t code, std::string& out) {
    if (code < 0x80) {
      out += static_cast<char>(code);
      return;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr uint8_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
    out += static_cast<char>(kLead[more] | (code >> (6 * more)));
    for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | (code >> (6 * i) & 0x3F));
  }

  // Without overlong forms, surrogates, and what lies beyond U+10FFFF.
  static bool IsUtf8(std::string_view text) {
    for (size_t i = 0; i < text.size();) {
      const auto lead = static_cast<uint8_t>(text[i]);
      if (lead < 0x80) {
        ++i;
        continue;
      }
      const size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
      if (lead < 0xC2 || lead > 0xF4 || text.size() - i <= more) return false;
      uint32_t code = lead & (0x3FU >> more);
      for (size_t k = 1; k <= more; ++k) {
        const auto next = static_cast<uint8_t>(text[i + k]);
        if ((next & 0xC0) != 0x80) return false;
        code = code << 6 | (next & 0x3F);
      }
      constexpr uint32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
      if (code < kSmallest[more] || code > 0x10FFFF) return false;
      if (code >= 0xD800 && code <= 0xDFFF) return false;
      i += more + 1;
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string error_;
};

class Printer {
 public:
  Printer(const JsonFormat& format, std::string& out) : format_(format), out_(out) {}

  void Print(const JsonValue& value) {
    if (value.array() != nullptr) {
      PrintArray(*value.array());
    } else if (value.object() != nullptr) {
      PrintObject(*value.object());
    } else if (value.string() != nullptr) {
      AppendJsonString(*value.string(), out_);
    } else if (value.boolean() != nullptr) {
      out_ += *value.boolean() ? "true" : "false";
    } else if (value.integer() != nullptr) {
      fmt::format_to(std::back_inserter(out_), "{}", *value.integer());
    } else if (value.large_integer() != nullptr) {
      fmt::format_to(std::back_inserter(out_), "{}", *value.large_integer());
    } else if (value.floating() != nullptr) {
      out_ += PrintJsonDouble(*value.floating());
    } else {
      CAIRN_CHECK(value.split() == nullptr);
      out_ += "null";
    }
  }

 private:
  void Break() {
    out_ += format_.newline;
    for (size_t i = 0; i < level_; ++i) out_ += format_.indent;
  }

  void PrintArray(const JsonValue::Array& array) {
    out_ += '[';
    ++level_;
    for (size_t i = 0; i < array.size(); ++i) {
      if (i > 0) out_ += ',';
      Break();
      Print(array[i]);
    }
    --level_;
    if (!array.empty()) Break();
    out_ += ']';
  }

  void PrintObject(const JsonValue::Object& object) {
    out_ += '{';
    ++level_;
    for (size_t i = 0; i < object.size(); ++i) {
      if (i > 0) out_ += ',';
      Break();
      AppendJsonString(object[i].name, out_);
      out_ += ':';
      out_ += format_.space;
      Print(object[i].value);
    }
    --level_;
    if (!object.empty()) Break();
    out_ += '}';
  }

  const JsonFormat& format_;
  std::string& out_;
  size_t level_ = 0;
};

}  // namespace

Result<JsonValue> ParseJson(std::string_view text) {
  if (text.size() > kMaxJsonTextBytes) {
    return Error{ErrorCode::kTooLarge, "the JSON text is too long"};
  }
  return Parser(text).Parse();
}

std::string PrintJsonDouble(double value) {
  // The shortest digits, d.ddde±xx, are taken apart and put together as RedisJSON does: plainly
  // from 1e-5 up to 1e16, with an exponent beyond.
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<size_t>(end.ptr - buffer));
  const bool negative = text.front() == '-';
  const size_t mark = text.find('e');
  std::string digits;
  for (const char c : text.substr(0, mark)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  const int exponent = std::atoi(std::string(text.substr(mark + 1)).c_str());
  const int point = exponent + 1;  // digits in front of the point
  const auto count = static_cast<int>(digits.size());
  std::string out = negative ? "-" : "";
  if (point > 16 || point <= -5) {
    out += digits.substr(0, 1);
    if (count > 1) out += "." + digits.substr(1);
    return out + "e" + std::to_string(exponent);
  }
  if (point <= 0) return out + "0." + std::string(static_cast<size_t>(-point), '0') + digits;
  if (point >= count) {
    return out + digits + std::string(static_cast<size_t>(point - count), '0') + ".0";
  }
  const auto split = static_cast<size_t>(point);
  return out + digits.substr(0, split) + "." + digits.substr(split);
}

void AppendJson(const JsonValue& value, const JsonFormat& format, std::string& out) {
  Printer(format, out).Print(value);
}

std::string PrintJson(const JsonValue& value, const JsonFormat& format) {
  std::string out;
  AppendJson(value, format, out);
  return out;
}

}  // namespace cairn::data
