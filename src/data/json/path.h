#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "data/json/regex.h"
#include "data/json/value.h"

// JSONPath, taken apart. What is understood:
//
//   $                        the root; paths start with it
//   .name  ['name']  ["name"]   a member
//   [2]  [-1]                an element, from the end if negative
//   [1:4]  [::2]  [-2:]      a slice
//   .*  [*]                  every child
//   [0,2,'a']                a union of any of these
//   ..name  ..*  ..[…]       of the value itself and of everything in it
//   [?(…)]                   the children for which a filter holds
//
// A filter compares (== != < <= > >=) paths, which start at @ (the child) or $ (the root), and
// literals; =~ asks whether a string matches a regular expression; a path alone asks whether it
// finds something. && || ! and brackets combine.
//
// A path that does not start with $ is of the legacy kind of RedisJSON 1: "." is the root, and
// .a.b, a.b, [0] are $.a.b, $.a.b, $.[0]. It stands for the first match only, and replies are not
// wrapped into arrays.
namespace cairn::data {

struct JsonFilter;

struct JsonName {
  std::string name;
};
struct JsonIndex {
  int64_t index = 0;
};
struct JsonSlice {
  std::optional<int64_t> start;
  std::optional<int64_t> end;
  int64_t step = 1;
};
struct JsonWildcard {};

using JsonSelector =
    std::variant<JsonName, JsonIndex, JsonSlice, JsonWildcard, std::shared_ptr<const JsonFilter>>;

struct JsonSegment {
  bool descendants = false;  // ..: applied to the value and all that is in it
  std::vector<JsonSelector> selectors;
};

// One side of a comparison.
struct JsonOperand {
  enum class Kind { kLiteral, kChild, kRoot };
  Kind kind = Kind::kLiteral;
  JsonValue literal;
  std::vector<JsonSegment> segments;  // of a path from @ or $
};

struct JsonFilter {
  enum class Kind {
    kOr,
    kAnd,
    kNot,
    kExists,
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kMatches
  };
  Kind kind = Kind::kExists;
  std::vector<JsonFilter> parts;           // of kOr, kAnd and kNot
  std::vector<JsonOperand> operands;       // one of kExists, two of a comparison
  std::shared_ptr<const JsonRegex> regex;  // of kMatches, if its right side is a literal
};

struct JsonPath {
  bool legacy = false;
  std::string text;  // from $ on, also if legacy: what errors show
  std::vector<JsonSegment> segments;

  bool IsRoot() const { return segments.empty(); }
  // Leads to at most one place, which can be said without a look at the document.
  bool IsStatic() const;
};

// Fails with kInvalid; the message is the reply ("Error occurred on position …").
Result<JsonPath> ParseJsonPath(std::string_view text);

}  // namespace cairn::data
