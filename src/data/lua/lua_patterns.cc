#include "data/lua/lua_patterns.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <luajit-2.1/lua.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "data/lua/lua_runtime.h"
#include "data/value/limits.h"

namespace cairn::data {
namespace {

constexpr char kEscape = '%';
constexpr std::string_view kSpecials = "^$*+?.([%-";

std::string_view StringArgument(lua_State* lua, int index) {
  size_t size = 0;
  const char* data = luaL_checklstring(lua, index, &size);
  return {data, size};
}

bool IsInClass(unsigned char c, char name) {
  const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(name)));
  bool in = false;
  switch (lower) {
    case 'a':
      in = std::isalpha(c) != 0;
      break;
    case 'c':
      in = std::iscntrl(c) != 0;
      break;
    case 'd':
      in = std::isdigit(c) != 0;
      break;
    case 'g':
      in = std::isgraph(c) != 0;
      break;
    case 'l':
      in = std::islower(c) != 0;
      break;
    case 'p':
      in = std::ispunct(c) != 0;
      break;
    case 's':
      in = std::isspace(c) != 0;
      break;
    case 'u':
      in = std::isupper(c) != 0;
      break;
    case 'w':
      in = std::isalnum(c) != 0;
      break;
    case 'x':
      in = std::isxdigit(c) != 0;
      break;
    case 'z':
      in = c == 0;
      break;
    default:
      return name == static_cast<char>(c);  // escaped, it means itself
  }
  return lower == name ? in : !in;
}

// Whether a pattern fits a subject at one place, found by trying. Positions are offsets; a
// match is told by where it ends.
class Matcher {
 public:
  using End = std::optional<size_t>;

  Matcher(lua_State* lua, std::string_view subject, std::string_view pattern)
      : lua_(lua), subject_(subject), pattern_(pattern) {}

  // The pattern from `from` on, at `at`.
  End Match(size_t at, size_t from) {
    captures_count_ = 0;
    depth_ = 0;
    return Rest(at, from);
  }

  // Pushes what was captured, or the whole match if nothing was asked to be; returns how many.
  int PushCaptures(size_t begin, size_t end) {
    const size_t count = captures_count_ == 0 ? 1 : captures_count_;
    luaL_checkstack(lua_, static_cast<int>(count), "too many captures");
    for (size_t i = 0; i < count; ++i) PushCapture(i, begin, end);
    return static_cast<int>(count);
  }
  int PushCapturesOnly() { return captures_count_ == 0 ? 0 : PushCaptures(0, 0); }

  void PushCapture(size_t index, size_t begin, size_t end) {
    if (index >= captures_count_) {
      if (index != 0) luaL_error(lua_, "invalid capture index");
      return Push(begin, end);
    }
    const Capture& capture = captures_[index];
    if (capture.kind == Kind::kOpen) luaL_error(lua_, "unfinished capture");
    if (capture.kind == Kind::kPosition) {
      lua_pushinteger(lua_, static_cast<lua_Integer>(capture.begin) + 1);
    } else {
      Push(capture.begin, capture.end);
    }
  }

 private:
  enum class Kind : uint8_t { kOpen, kClosed, kPosition };
  struct Capture {
    size_t begin = 0;
    size_t end = 0;
    Kind kind = Kind::kOpen;
  };

  // Counts the work: a pattern can try more ways than there is time for.
  void Step(size_t work = 1) {
    work_ += work;
    if (work_ < kWorkBetweenCharges) return;
    ChargeScript(lua_, work_);
    work_ = 0;
  }

  void Push(size_t begin, size_t end) {
    lua_pushlstring(lua_, subject_.data() + begin, end - begin);
  }

  unsigned char SubjectAt(size_t at) const { return static_cast<unsigned char>(subject_[at]); }
  bool PatternIs(size_t at, char c) const { return at < pattern_.size() && pattern_[at] == c; }

  End Rest(size_t at, size_t from) {
    if (++depth_ > kMaxPatternDepth) luaL_error(lua_, "pattern too complex");
    const End end = Items(at, from);
    --depth_;
    return end;
  }

  // One item after the other; what may fit in several ways goes on by itself.
  End Items(size_t at, size_t from) {
    for (;;) {
      Step();
      if (from == pattern_.size()) return at;
      switch (pattern_[from]) {
        case '(':
          return PatternIs(from + 1, ')') ? Open(at, from + 2, Kind::kPosition)
                                          : Open(at, from + 1, Kind::kOpen);
        case ')':
          return Close(at, from + 1);
        case '$':
          if (from + 1 == pattern_.size()) return at == subject_.size() ? End(at) : std::nullopt;
          break;
        case kEscape:
          if (const std::optional<Escaped> special = SpecialEscape(at, from)) {
            if (!special->fits) return std::nullopt;
            at = special->at;
            from = special->from;
            continue;
          }
          break;
        default:
          break;
      }
      const size_t item_end = ItemEnd(from);
      const char suffix = item_end < pattern_.size() ? pattern_[item_end] : '\0';
      switch (suffix) {
        case '?':
          if (Fits(at, from, item_end)) {
            if (const End end = Rest(at + 1, item_end + 1)) return end;
          }
          from = item_end + 1;
          continue;
        case '*':
          return Longest(at, from, item_end, 0);
        case '+':
          return Longest(at, from, item_end, 1);
        case '-':
          return Shortest(at, from, item_end);
        default:
          if (!Fits(at, from, item_end)) return std::nullopt;
          ++at;
          from = item_end;
      }
    }
  }

  struct Escaped {
    bool fits = false;
    size_t at = 0;
    size_t from = 0;
  };
  // %b, %f and %1 … %9; nullopt for an escape that stands for one character.
  std::optional<Escaped> SpecialEscape(size_t at, size_t from) {
    if (from + 1 >= pattern_.size()) return std::nullopt;
    const char name = pattern_[from + 1];
    if (name == 'b') {
      const End end = Balanced(at, from + 2);
      return Escaped{end.has_value(), end.value_or(0), from + 4};
    }
    if (name == 'f') {
      const size_t set = from + 2;
      if (!PatternIs(set, '[')) luaL_error(lua_, "missing '[' after '%%f' in pattern");
      const size_t set_end = ItemEnd(set);
      const unsigned char before = at == 0 ? 0 : SubjectAt(at - 1);
      const unsigned char here = at < subject_.size() ? SubjectAt(at) : 0;
      return Escaped{!IsInSet(before, set, set_end) && IsInSet(here, set, set_end), at, set_end};
    }
    if (std::isdigit(static_cast<unsigned char>(name)) != 0) {
      const End end = Again(at, name);
      return Escaped{end.has_value(), end.value_or(0), from + 2};
    }
    return std::nullopt;
  }

  // Where the item that stands for one character ends, before a suffix.
  size_t ItemEnd(size_t from) {
    const char first = pattern_[from++];
    if (first == kEscape) {
      if (from == pattern_.size()) luaL_error(lua_, "malformed pattern (ends with '%%')");
      return from + 1;
    }
    if (first != '[') return from;
    if (PatternIs(from, '^')) ++from;
    // The first character is a member even if it is a bracket.
    for (bool is_first = true; is_first || !PatternIs(from, ']'); is_first = false) {
      if (from == pattern_.size()) luaL_error(lua_, "malformed pattern (missing ']')");
      if (pattern_[from++] == kEscape && from < pattern_.size()) ++from;
    }
    return from + 1;
  }

  bool Fits(size_t at, size_t from, size_t item_end) {
    if (at >= subject_.size()) return false;
    const unsigned char c = SubjectAt(at);
    switch (pattern_[from]) {
      case '.':
        return true;
      case kEscape:
        return IsInClass(c, pattern_[from + 1]);
      case '[':
        Step(item_end - from);
        return IsInSet(c, from, item_end);
      default:
        return static_cast<unsigned char>(pattern_[from]) == c;
    }
  }

  // `set` is where the bracket opens; `set_end` is behind the one that closes.
  bool IsInSet(unsigned char c, size_t set, size_t set_end) const {
    const size_t last = set_end - 1;
    size_t from = set + 1;
    const bool inverted = pattern_[from] == '^';
    if (inverted) ++from;
    while (from < last) {
      if (pattern_[from] == kEscape) {
        if (IsInClass(c, pattern_[from + 1])) return !inverted;
        from += 2;
      } else if (from + 2 < last && pattern_[from + 1] == '-') {
        if (static_cast<unsigned char>(pattern_[from]) <= c &&
            c <= static_cast<unsigned char>(pattern_[from + 2])) {
          return !inverted;
        }
        from += 3;
      } else {
        if (static_cast<unsigned char>(pattern_[from]) == c) return !inverted;
        ++from;
      }
    }
    return inverted;
  }

  End Longest(size_t at, size_t from, size_t item_end, size_t least) {
    size_t count = 0;
    while (Fits(at + count, from, item_end)) {
      ++count;
      Step();
    }
    for (; count >= least; --count) {
      if (const End end = Rest(at + count, item_end + 1)) return end;
      if (count == 0) break;
    }
    return std::nullopt;
  }

  End Shortest(size_t at, size_t from, size_t item_end) {
    for (;; ++at) {
      if (const End end = Rest(at, item_end + 1)) return end;
      if (!Fits(at, from, item_end)) return std::nullopt;
    }
  }

  End Open(size_t at, size_t from, Kind kind) {
    if (captures_count_ >= kMaxPatternCaptures) luaL_error(lua_, "too many captures");
    captures_[captures_count_++] = {at, at, kind};
    const End end = Rest(at, from);
    if (!end) --captures_count_;
    return end;
  }

  End Close(size_t at, size_t from) {
    size_t index = captures_count_;
    while (index > 0 && captures_[index - 1].kind != Kind::kOpen) --index;
    if (index == 0) luaL_error(lua_, "invalid pattern capture");
    Capture& capture = captures_[index - 1];
    capture.end = at;
    capture.kind = Kind::kClosed;
    const End end = Rest(at, from);
    if (!end) capture.kind = Kind::kOpen;
    return end;
  }

  // %bxy: from an x to the y that balances it; `from` is where x stands.
  End Balanced(size_t at, size_t from) {
    if (from + 1 >= pattern_.size()) luaL_error(lua_, "unbalanced pattern");
    if (at >= subject_.size() || subject_[at] != pattern_[from]) return std::nullopt;
    size_t open = 1;
    for (size_t i = at + 1; i < subject_.size(); ++i) {
      Step();
      if (subject_[i] == pattern_[from + 1]) {
        if (--open == 0) return i + 1;
      } else if (subject_[i] == pattern_[from]) {
        ++open;
      }
    }
    return std::nullopt;
  }

  // %1: what the capture has caught, once more.
  End Again(size_t at, char digit) {
    const auto index = static_cast<size_t>(digit - '1');
    if (digit == '0' || index >= captures_count_ || captures_[index].kind == Kind::kOpen) {
      luaL_error(lua_, "invalid capture index");
    }
    // A position has caught nothing that a subject could have again.
    if (captures_[index].kind == Kind::kPosition) return std::nullopt;
    const std::string_view caught =
        subject_.substr(captures_[index].begin, captures_[index].end - captures_[index].begin);
    Step(caught.size());
    if (!subject_.substr(at).starts_with(caught)) return std::nullopt;
    return at + caught.size();
  }

  static constexpr size_t kWorkBetweenCharges = 256;

  lua_State* lua_;
  const std::string_view subject_;
  const std::string_view pattern_;
  std::array<Capture, kMaxPatternCaptures> captures_;
  size_t captures_count_ = 0;
  int depth_ = 0;
  size_t work_ = 0;
};

// Where a search starts: argument `index`, which counts from 1, or from the end if negative.
size_t StartOf(lua_State* lua, int index, size_t size) {
  const lua_Integer given = luaL_optinteger(lua, index, 1);
  if (given > 0) return std::min(static_cast<size_t>(given - 1), size);
  if (given == 0) return 0;
  const auto back = static_cast<size_t>(-given);
  return back > size ? 0 : size - back;
}

int PushNil(lua_State* lua) {
  lua_pushnil(lua);
  return 1;
}

int PushPlace(lua_State* lua, size_t begin, size_t end) {
  lua_pushinteger(lua, static_cast<lua_Integer>(begin) + 1);
  lua_pushinteger(lua, static_cast<lua_Integer>(end));
  return 2;
}

int FindPlain(lua_State* lua, std::string_view subject, std::string_view text, size_t start) {
  const std::string_view rest = subject.substr(start);
  ChargeScript(lua, (rest.size() + text.size()) / kBytesPerWork);
  // Linear in both, whatever they hold.
  const void* found = memmem(rest.data(), rest.size(), text.data(), text.size());
  if (text.empty()) found = rest.data();
  if (found == nullptr) return PushNil(lua);
  const auto at = static_cast<size_t>(static_cast<const char*>(found) - subject.data());
  return PushPlace(lua, at, at + text.size());
}

// Calls `matched(begin, end)` for the first match from `start` on; false if there is none.
template <typename Matched>
bool Search(Matcher& matcher, std::string_view subject, std::string_view pattern, size_t start,
            Matched matched) {
  const bool anchored = pattern.starts_with('^');
  for (size_t at = start; at <= subject.size(); ++at) {
    if (const Matcher::End end = matcher.Match(at, anchored ? 1 : 0)) {
      matched(at, *end);
      return true;
    }
    if (anchored) break;
  }
  return false;
}

int Find(lua_State* lua) {
  const std::string_view subject = StringArgument(lua, 1);
  const std::string_view pattern = StringArgument(lua, 2);
  const size_t start = StartOf(lua, 3, subject.size());
  if (lua_toboolean(lua, 4) != 0 || pattern.find_first_of(kSpecials) == std::string_view::npos) {
    return FindPlain(lua, subject, pattern, start);
  }
  Matcher matcher(lua, subject, pattern);
  int results = 0;
  const bool found = Search(matcher, subject, pattern, start, [&](size_t begin, size_t end) {
    results = PushPlace(lua, begin, end) + matcher.PushCapturesOnly();
  });
  return found ? results : PushNil(lua);
}

int MatchOnce(lua_State* lua) {
  const std::string_view subject = StringArgument(lua, 1);
  const std::string_view pattern = StringArgument(lua, 2);
  const size_t start = StartOf(lua, 3, subject.size());
  Matcher matcher(lua, subject, pattern);
  int results = 0;
  const bool found = Search(matcher, subject, pattern, start, [&](size_t begin, size_t end) {
    results = matcher.PushCaptures(begin, end);
  });
  return found ? results : PushNil(lua);
}

// The iterator of gmatch. Upvalues: subject, pattern, where to go on.
int NextMatch(lua_State* lua) {
  size_t size = 0;
  const char* data = lua_tolstring(lua, lua_upvalueindex(1), &size);
  const std::string_view subject(data, size);
  data = lua_tolstring(lua, lua_upvalueindex(2), &size);
  const std::string_view pattern(data, size);
  Matcher matcher(lua, subject, pattern);
  // An anchor would make no sense here: it means itself.
  for (auto at = static_cast<size_t>(lua_tointeger(lua, lua_upvalueindex(3))); at <= subject.size();
       ++at) {
    const Matcher::End end = matcher.Match(at, 0);
    if (!end) continue;
    lua_pushinteger(lua, static_cast<lua_Integer>(*end == at ? at + 1 : *end));
    lua_replace(lua, lua_upvalueindex(3));
    return matcher.PushCaptures(at, *end);
  }
  return 0;
}

int Gmatch(lua_State* lua) {
  luaL_checkstring(lua, 1);
  luaL_checkstring(lua, 2);
  lua_settop(lua, 2);
  lua_pushinteger(lua, 0);
  lua_pushcclosure(lua, NextMatch, 3);
  return 1;
}

// Appends the text that gsub's third argument is, with %0 … %9 replaced.
void AppendTemplate(lua_State* lua, Matcher& matcher, size_t begin, size_t end,
                    std::string_view match, std::string& out) {
  const std::string_view text = StringArgument(lua, 3);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != kEscape) {
      out += text[i];
      continue;
    }
    if (++i == text.size()) {
      out += '\0';  // what stands behind the text in memory, as the interpreter's own has it
    } else if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) {
      out += text[i];
    } else if (text[i] == '0') {
      out += match;
    } else {
      matcher.PushCapture(static_cast<size_t>(text[i] - '1'), begin, end);
      out += StringArgument(lua, -1);
      lua_pop(lua, 1);
    }
  }
}

// Appends what gsub puts in the place of a match.
void AppendReplacement(lua_State* lua, Matcher& matcher, size_t begin, size_t end,
                       std::string_view match, std::string& out) {
  switch (lua_type(lua, 3)) {
    case LUA_TFUNCTION:
      lua_pushvalue(lua, 3);
      lua_call(lua, matcher.PushCaptures(begin, end), 1);
      break;
    case LUA_TTABLE:
      matcher.PushCapture(0, begin, end);
      lua_gettable(lua, 3);
      break;
    default:
      return AppendTemplate(lua, matcher, begin, end, match, out);
  }
  if (lua_toboolean(lua, -1) == 0) {
    out += match;
  } else if (lua_isstring(lua, -1) == 0) {
    luaL_error(lua, "invalid replacement value (a %s)", luaL_typename(lua, -1));
  } else {
    out += StringArgument(lua, -1);
  }
  lua_pop(lua, 1);
}

int Gsub(lua_State* lua) {
  const std::string_view subject = StringArgument(lua, 1);
  const std::string_view pattern = StringArgument(lua, 2);
  const int type = lua_type(lua, 3);
  if (type != LUA_TSTRING && type != LUA_TNUMBER && type != LUA_TTABLE && type != LUA_TFUNCTION) {
    return luaL_argerror(lua, 3, "string/function/table expected");
  }
  const auto limit = lua_isnoneornil(lua, 4) ? static_cast<lua_Integer>(subject.size()) + 1
                                             : luaL_checkinteger(lua, 4);
  CheckScriptStack(lua);
  const bool anchored = pattern.starts_with('^');
  Matcher matcher(lua, subject, pattern);
  std::string out;
  size_t at = 0;
  lua_Integer count = 0;
  while (count < limit) {
    const size_t before = out.size();
    const Matcher::End end = matcher.Match(at, anchored ? 1 : 0);
    if (end) {
      ++count;
      AppendReplacement(lua, matcher, at, *end, subject.substr(at, *end - at), out);
    }
    if (end && *end > at) {
      at = *end;
    } else if (at < subject.size()) {
      out += subject[at++];
    } else {
      break;
    }
    ChargeScript(lua, 1 + (out.size() - before) / kBytesPerWork);
    if (out.size() > kMaxScriptMemory) luaL_error(lua, "not enough memory");
    if (anchored) break;
  }
  if (at < subject.size()) out += subject.substr(at);
  lua_pushlstring(lua, out.data(), out.size());
  lua_pushinteger(lua, count);
  return 2;
}

}  // namespace

void SetPatternFunctions(lua_State* lua) {
  constexpr LuaFunction kFunctions[] = {
      {"find", Find}, {"match", MatchOnce}, {"gmatch", Gmatch}, {"gfind", Gmatch}, {"gsub", Gsub}};
  SetLuaFunctions(lua, kFunctions);
}

}  // namespace cairn::data
