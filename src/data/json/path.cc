#include "data/json/path.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "data/json/text.h"
#include "data/value/limits.h"

namespace cairn::data {
namespace {

// The path from $ on that a legacy path stands for.
std::string FromRoot(std::string_view text) {
  if (text == ".") return "$";
  return (text.starts_with('.') ? "$" : "$.") + std::string(text);
}

bool IsLegacy(std::string_view text) {
  return !text.starts_with('$') || (text.size() > 1 && text[1] != '.' && text[1] != '[');
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<JsonSegment>> Parse() {
    ++at_;  // $
    std::vector<JsonSegment> segments = Segments();
    if (ok() && !AtEnd()) Fail("'.', '['");
    if (!ok()) return Error{ErrorCode::kInvalid, error_};
    return segments;
  }

 private:
  bool ok() const { return error_.empty(); }
  bool AtEnd() const { return at_ >= text_.size(); }
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool Take(std::string_view token) {
    if (!text_.substr(std::min(at_, text_.size())).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void SkipSpace() {
    while (Peek() == ' ' || Peek() == '\t') ++at_;
  }
  void Fail(std::string_view expected) {
    if (!ok()) return;
    const size_t at = std::min(at_, text_.size());
    error_ = fmt::format(
        "Error occurred on position {}, \"{} ---->>>> {}\", expected one of the "
        "following: {}.",
        at, text_.substr(0, at), text_.substr(at), expected);
  }

  // As many as there are.
  std::vector<JsonSegment> Segments() {
    std::vector<JsonSegment> segments;
    while (ok() && (Peek() == '.' || Peek() == '[')) {
      JsonSegment segment;
      segment.descendants = Take("..");
      const bool dot = segment.descendants || Take(".");
      if (Peek() == '[') {
        segment.selectors = Brackets();
      } else if (dot) {
        segment.selectors.push_back(AfterDot());
      }
      segments.push_back(std::move(segment));
    }
    return segments;
  }

  // A name without quotes ends where something else of the path or of a filter begins.
  bool EndsName(char c) const {
    const std::string_view ends = depth_ == 0 ? ".[]()*?,'\"" : ".[]()*?,'\"=<>!&| \t";
    return ends.find(c) != std::string_view::npos;
  }

  JsonSelector AfterDot() {
    if (Take("*")) return JsonWildcard{};
    const size_t begin = at_;
    while (!AtEnd() && !EndsName(Peek())) ++at_;
    if (at_ == begin) Fail("'<string>', '*', '['");
    return JsonName{std::string(text_.substr(begin, at_ - begin))};
  }

  std::vector<JsonSelector> Brackets() {
    ++at_;
    std::vector<JsonSelector> selectors;
    do {
      SkipSpace();
      selectors.push_back(Selector());
      SkipSpace();
    } while (ok() && Take(","));
    if (ok() && !Take("]")) Fail("',', ']'");
    return selectors;
  }

  JsonSelector Selector() {
    const char c = Peek();
    if (c == '\'' || c == '"') return JsonName{Quoted()};
    if (Take("*")) return JsonWildcard{};
    if (Take("?")) {
      SkipSpace();
      return std::make_shared<const JsonFilter>(Or());
    }
    if (c == '-' || c == ':' || (c >= '0' && c <= '9')) return IndexOrSlice();
    Fail("'<string>', '<number>', 'start:end:step', '*', '?'");
    return JsonWildcard{};
  }

  std::optional<int64_t> Integer() {
    const char* first = text_.data() + at_;
    const char* last = text_.data() + text_.size();
    int64_t value = 0;
    const auto [end, problem] = std::from_chars(first, last, value);
    if (end == first) return std::nullopt;
    if (problem != std::errc()) Fail("'<number>'");
    at_ += static_cast<size_t>(end - first);
    return value;
  }

  JsonSelector IndexOrSlice() {
    const std::optional<int64_t> start = Integer();
    SkipSpace();
    if (!Take(":")) {
      if (!start) Fail("'<number>'");
      return JsonIndex{start.value_or(0)};
    }
    JsonSlice slice{.start = start};
    SkipSpace();
    slice.end = Integer();
    SkipSpace();
    if (Take(":")) {
      SkipSpace();
      slice.step = Integer().value_or(1);
    }
    return slice;
  }

  // In single or double quotes. A backslash takes the next character as it is, but for the
  // escapes of JSON, which mean what they mean there.
  std::string Quoted() {
    const char quote = Peek();
    const size_t begin = at_++;
    std::string json = "\"";
    while (!AtEnd() && Peek() != quote) {
      if (Peek() == '\\') {
        if (std::string_view("\"\\/bfnrtu").find(Peek(1)) != std::string_view::npos) json += '\\';
        ++at_;
      } else if (Peek() == '"') {
        json += '\\';
      }
      if (!AtEnd()) json += text_[at_++];
    }
    if (AtEnd()) {
      Fail("the end of a string");
      return {};
    }
    ++at_;
    const Result<JsonValue> text = ParseJson(json + '"');
    if (!text.ok() || text->string() == nullptr) {
      // Bytes that JSON cannot say are part of no document: the name is taken as it stands.
      return std::string(text_.substr(begin + 1, at_ - begin - 2));
    }
    return *text->string();
  }

  // --- Filters
  // ------------------------------------------------------------------------------------

  JsonFilter Combined(JsonFilter::Kind kind, std::string_view token, JsonFilter (Parser::*part)()) {
    JsonFilter filter = (this->*part)();
    SkipSpace();
    if (!ok() || !text_.substr(std::min(at_, text_.size())).starts_with(token)) return filter;
    JsonFilter all{.kind = kind};
    all.parts.push_back(std::move(filter));
    while (ok() && Take(token)) {
      all.parts.push_back((this->*part)());
      SkipSpace();
    }
    return all;
  }
  JsonFilter Or() { return Combined(JsonFilter::Kind::kOr, "||", &Parser::And); }
  JsonFilter And() { return Combined(JsonFilter::Kind::kAnd, "&&", &Parser::Term); }

  JsonFilter Term() {
    if (++depth_ > kMaxJsonFilterDepth) Fail("a filter that is not nested so deeply");
    SkipSpace();
    JsonFilter filter;
    if (!ok()) return filter;
    if (Take("!")) {
      filter.kind = JsonFilter::Kind::kNot;
      filter.parts.push_back(Term());
    } else if (Take("(")) {
      filter = Or();
      SkipSpace();
      if (!Take(")")) Fail("'&&', '||', ')'");
    } else {
      filter = Comparison();
    }
    --depth_;
    return filter;
  }

  JsonFilter Comparison() {
    using Kind = JsonFilter::Kind;
    constexpr std::pair<std::string_view, Kind> kOperators[] = {
        {"==", Kind::kEqual},        {"!=", Kind::kNotEqual}, {"<=", Kind::kLessEqual},
        {">=", Kind::kGreaterEqual}, {"<", Kind::kLess},      {">", Kind::kGreater},
        {"=~", Kind::kMatches}};
    JsonFilter filter;
    filter.operands.push_back(Operand());
    SkipSpace();
    for (const auto& [token, kind] : kOperators) {
      if (!ok() || !Take(token)) continue;
      filter.kind = kind;
      SkipSpace();
      filter.operands.push_back(Operand());
      const JsonValue& pattern = filter.operands[1].literal;
      if (kind == Kind::kMatches && pattern.string() != nullptr) {
        filter.regex = std::make_shared<const JsonRegex>(*pattern.string());
      }
      return filter;
    }
    if (filter.operands[0].kind == JsonOperand::Kind::kLiteral) {
      Fail("'==', '!=', '<', '<=', '>', '>=', '=~'");
    }
    return filter;
  }

  JsonOperand Operand() {
    JsonOperand operand;
    if (Peek() == '@' || Peek() == '$') {
      operand.kind = Peek() == '@' ? JsonOperand::Kind::kChild : JsonOperand::Kind::kRoot;
      ++at_;
      if (++depth_ > kMaxJsonFilterDepth) Fail("a filter that is not nested so deeply");
      if (ok()) operand.segments = Segments();
      --depth_;
    } else if (Peek() == '\'' || Peek() == '"') {
      operand.literal = JsonValue(Quoted());
    } else {
      const size_t begin = at_;
      while (!AtEnd() && (!EndsName(Peek()) || Peek() == '.')) ++at_;
      Result<JsonValue> literal = ParseJson(text_.substr(begin, at_ - begin));
      if (literal.ok()) {
        operand.literal = *std::move(literal);
      } else {
        at_ = begin;
        Fail("'@', '$', '<string>', '<number>', 'true', 'false', 'null'");
      }
    }
    return operand;
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t depth_ = 0;
  std::string error_;
};

}  // namespace

bool JsonPath::IsStatic() const {
  return std::ranges::all_of(segments, [](const JsonSegment& segment) {
    return !segment.descendants && segment.selectors.size() == 1 &&
           (std::holds_alternative<JsonName>(segment.selectors[0]) ||
            std::holds_alternative<JsonIndex>(segment.selectors[0]));
  });
}

Result<JsonPath> ParseJsonPath(std::string_view text) {
  if (text.size() > kMaxJsonPathBytes) {
    return Error{ErrorCode::kInvalid, "ERR the path is too long"};
  }
  JsonPath path;
  path.legacy = IsLegacy(text);
  path.text = path.legacy ? FromRoot(text) : std::string(text);
  CAIRN_ASSIGN_OR_RETURN(path.segments, Parser(path.text).Parse());
  return path;
}

}  // namespace cairn::data
