#include "view/payload_query.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/parse.hpp>
#include <cctype>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace cairn::view {
namespace {

namespace json = boost::json;

// JSON's own functions give up, for the whole query, on what is nested too deeply for SQLite.
constexpr std::string_view kReadable = "json_valid(payload)";

bool IsNameChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Condition> Parse() {
    CAIRN_RETURN_IF_ERROR(ParsePath());
    CAIRN_ASSIGN_OR_RETURN(const Condition condition,
                           Take("|") ? ParseFunction() : ParseComparison());
    SkipBlanks();
    if (at_ != text_.size()) return Wrong("nothing more");
    return condition.If(kReadable);
  }

 private:
  Error Wrong(std::string_view expected) const {
    return {ErrorCode::kInvalid,
            fmt::format("payload_jq: expected {} at '{}'", expected, Printable(text_.substr(at_)))};
  }
  void SkipBlanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Take(std::string_view token) {
    SkipBlanks();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  // Into a path of SQLite's: $."user"."plan"[0]
  Result<void> ParsePath() {
    if (!Take(".")) return Wrong("a path such as .user.plan");
    path_ = "$";
    for (bool first = true; at_ < text_.size(); first = false) {
      if (text_[at_] == '[') {
        CAIRN_RETURN_IF_ERROR(ParseIndex());
        continue;
      }
      if (!first) {
        if (text_[at_] != '.') return {};
        ++at_;
      }
      CAIRN_ASSIGN_OR_RETURN(const std::string name, ParseName());
      if (name.empty()) {
        if (first) return {};  // the payload itself
        return Wrong("a name");
      }
      path_ += fmt::format(".\"{}\"", name);
    }
    return {};
  }

  Result<void> ParseIndex() {
    size_t end = at_ + 1;
    while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end])) != 0) ++end;
    const size_t digits = end - at_ - 1;
    if (digits == 0 || digits > 9 || end == text_.size() || text_[end] != ']') {
      return Wrong("an index such as [0]");
    }
    path_ += text_.substr(at_, end + 1 - at_);
    at_ = end + 1;
    return {};
  }

  Result<std::string> ParseName() {
    if (at_ < text_.size() && text_[at_] == '"') {
      CAIRN_ASSIGN_OR_RETURN(const json::value name, ParseLiteral());
      const std::string text(name.as_string());
      // SQLite's paths have no way to write a quote inside a name.
      if (text.find('"') != std::string::npos) return Wrong("a name without quotes in it");
      return text;
    }
    const size_t begin = at_;
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  // A scalar of JSON.
  Result<json::value> ParseLiteral() {
    SkipBlanks();
    size_t end = at_;
    if (end < text_.size() && text_[end] == '"') {
      for (++end; end < text_.size() && text_[end] != '"'; ++end) {
        if (text_[end] == '\\') ++end;
      }
      ++end;
    } else {
      while (end < text_.size() && text_[end] != ' ' && text_[end] != ')') ++end;
    }
    boost::system::error_code failure;
    if (end > text_.size()) return Wrong("the end of a string");
    json::value value = json::parse(json::string_view(text_.data() + at_, end - at_), failure);
    if (failure || value.is_array() || value.is_object()) {
      return Wrong("a string, a number, true, false or null");
    }
    at_ = end;
    return value;
  }

  Result<std::string> ParseOperator() {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOperators = {
        {{"==", "="}, {"!=", "!="}, {">=", ">="}, {"<=", "<="}, {">", ">"}, {"<", "<"}}};
    for (const auto& [written, sql] : kOperators) {
      if (Take(written)) return std::string(sql);
    }
    return Wrong("one of == != > >= < <= |");
  }

  Result<Condition> ParseComparison() {
    CAIRN_ASSIGN_OR_RETURN(const std::string sign, ParseOperator());
    CAIRN_ASSIGN_OR_RETURN(const json::value literal, ParseLiteral());
    if (sign == "!=") {
      CAIRN_ASSIGN_OR_RETURN(const Condition same, Compare("=", literal));
      return same.Not();
    }
    return Compare(sign, literal);
  }

  Result<Condition> Compare(const std::string& sign, const json::value& literal) {
    if (literal.is_string()) {
      return Condition("json_type(payload, ?) = 'text' AND json_extract(payload, ?) " + sign + " ?",
                       {path_, path_, std::string(literal.as_string())});
    }
    if (literal.is_number()) {
      Condition::Value number = literal.is_int64() ? Condition::Value(literal.as_int64())
                                                   : Condition::Value(literal.to_number<double>());
      return Condition(
          "json_type(payload, ?) IN ('integer', 'real') AND json_extract(payload, ?) " + sign +
              " ?",
          {path_, path_, std::move(number)});
    }
    if (sign != "=") return Wrong("== or != before true, false and null");
    const std::string type = literal.is_null() ? "null" : literal.as_bool() ? "true" : "false";
    return Condition("coalesce(json_type(payload, ?), 'null') = ?", {path_, type});
  }

  Result<Condition> ParseFunction() {
    if (Take("startswith")) {
      CAIRN_ASSIGN_OR_RETURN(const std::string text, ParseArgument());
      return Condition(
          "json_type(payload, ?) = 'text' AND substr(json_extract(payload, ?), 1, length(?)) = ?",
          {path_, path_, text, text});
    }
    if (Take("contains")) {
      CAIRN_ASSIGN_OR_RETURN(const std::string text, ParseArgument());
      return Condition(
          "CASE json_type(payload, ?) "
          "WHEN 'array' THEN EXISTS (SELECT 1 FROM json_each(payload, ?) AS element "
          "WHERE element.type = 'text' AND element.value = ?) "
          "WHEN 'text' THEN instr(json_extract(payload, ?), ?) > 0 ELSE FALSE END",
          {path_, path_, text, path_, text});
    }
    if (Take("length")) {
      CAIRN_ASSIGN_OR_RETURN(const std::string sign, ParseOperator());
      CAIRN_ASSIGN_OR_RETURN(const json::value number, ParseLiteral());
      if (!number.is_int64()) return Wrong("a whole number");
      return Condition(
          "CASE json_type(payload, ?) "
          "WHEN 'array' THEN json_array_length(payload, ?) "
          "WHEN 'text' THEN length(json_extract(payload, ?)) "
          "WHEN 'object' THEN (SELECT count(*) FROM json_each(payload, ?)) END " +
              sign + " ?",
          {path_, path_, path_, path_, number.as_int64()});
    }
    return Wrong("startswith, contains or length");
  }

  Result<std::string> ParseArgument() {
    if (!Take("(")) return Wrong("(");
    CAIRN_ASSIGN_OR_RETURN(const json::value text, ParseLiteral());
    if (!text.is_string()) return Wrong("a string");
    if (!Take(")")) return Wrong(")");
    return std::string(text.as_string());
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::string path_;
};

}  // namespace

Result<Condition> ParsePayloadQuery(std::string_view text) { return Parser(text).Parse(); }

}  // namespace cairn::view
