#include "data/json/select.h"

#include <algorithm>
#include <compare>
#include <limits>

#include "data/json/encoding.h"
#include "data/value/limits.h"

namespace cairn::data {

Result<uint64_t> JsonCursor::Count() const {
  if (value_->split() != nullptr) return containers_->Count(*value_->split());
  if (value_->array() != nullptr) return uint64_t{value_->array()->size()};
  if (value_->object() != nullptr) return uint64_t{value_->object()->size()};
  return uint64_t{0};
}

Result<std::optional<JsonCursor>> JsonCursor::Child(const JsonStep& step) const {
  const auto* name = std::get_if<std::string>(&step);
  if (type() != (name != nullptr ? JsonType::kObject : JsonType::kArray)) {
    return std::optional<JsonCursor>();
  }
  if (const JsonSplit* split = value_->split(); split != nullptr) {
    auto found = name != nullptr ? containers_->Member(*split, *name)
                                 : containers_->Element(*split, std::get<uint64_t>(step));
    if (!found.ok()) return found.error();
    if (!*found) return std::optional<JsonCursor>();
    return std::optional(Beside(**std::move(found)));
  }
  const JsonValue* child = nullptr;
  if (name != nullptr) {
    child = value_->Find(*name);
  } else if (const uint64_t index = std::get<uint64_t>(step); index < value_->array()->size()) {
    child = &(*value_->array())[index];
  }
  if (child == nullptr) return std::optional<JsonCursor>();
  return std::optional(Within(*child));
}

Result<std::vector<std::pair<JsonStep, JsonCursor>>> JsonCursor::Children() const {
  std::vector<std::pair<JsonStep, JsonCursor>> children;
  if (const JsonSplit* split = value_->split(); split != nullptr) {
    CAIRN_ASSIGN_OR_RETURN(JsonValue::Object stored, containers_->Children(*split));
    children.reserve(stored.size());
    for (JsonMember& member : stored) {
      JsonStep step = uint64_t{children.size()};
      if (split->type == JsonType::kObject) step = std::move(member.name);
      children.emplace_back(std::move(step), Beside(std::move(member.value)));
    }
  } else if (value_->array() != nullptr) {
    for (const JsonValue& element : *value_->array()) {
      children.emplace_back(uint64_t{children.size()}, Within(element));
    }
  } else if (value_->object() != nullptr) {
    for (const JsonMember& member : *value_->object()) {
      children.emplace_back(member.name, Within(member.value));
    }
  }
  return children;
}

Result<JsonValue> JsonCursor::Load() const {
  const JsonSplit* split = value_->split();
  if (split == nullptr) return *value_;
  CAIRN_ASSIGN_OR_RETURN(JsonValue::Object stored, containers_->Children(*split));
  JsonValue::Array elements;
  for (JsonMember& member : stored) {
    if (member.value.split() != nullptr) {
      CAIRN_ASSIGN_OR_RETURN(member.value, Beside(std::move(member.value)).Load());
    }
    if (split->type == JsonType::kArray) elements.push_back(std::move(member.value));
  }
  if (split->type == JsonType::kArray) return JsonValue(std::move(elements));
  return JsonValue(std::move(stored));
}

Result<JsonValue> JsonLoader::Load(const JsonCursor& cursor) {
  CAIRN_ASSIGN_OR_RETURN(JsonValue value, cursor.Load());
  loaded_ += EncodedJsonSize(value, kMaxJsonTextBytes);
  if (loaded_ > kMaxJsonTextBytes) {
    return Error{ErrorCode::kTooLarge, "the path finds more than a reply may hold"};
  }
  return value;
}

namespace {

// The index of an element as a path names it; nullopt if it lies outside.
std::optional<uint64_t> FromPath(int64_t index, uint64_t count) {
  if (index >= 0) {
    if (static_cast<uint64_t>(index) >= count) return std::nullopt;
    return static_cast<uint64_t>(index);
  }
  const auto back = static_cast<uint64_t>(-(index + 1)) + 1;
  if (back > count) return std::nullopt;
  return count - back;
}

struct Bounds {
  int64_t start = 0;
  int64_t end = 0;  // not included
};

// A slice's ends within an array, as RFC 9535 has it.
Bounds Clamp(const JsonSlice& slice, int64_t count) {
  const auto normal = [count](int64_t index) {
    return index >= 0 ? index : index < -count ? int64_t{-1} : count + index;
  };
  if (slice.step > 0) {
    return {std::clamp(slice.start ? normal(*slice.start) : 0, int64_t{0}, count),
            std::clamp(slice.end ? normal(*slice.end) : count, int64_t{0}, count)};
  }
  return {std::clamp(slice.start ? normal(*slice.start) : count - 1, int64_t{-1}, count - 1),
          slice.end ? std::clamp(normal(*slice.end), int64_t{-1}, count - 1) : -1};
}

// How two scalars compare; nullopt if they do not.
std::optional<std::partial_ordering> Compare(const JsonValue& a, const JsonValue& b) {
  if (a.integer() != nullptr && b.integer() != nullptr) return *a.integer() <=> *b.integer();
  if (a.large_integer() != nullptr && b.large_integer() != nullptr) {
    return *a.large_integer() <=> *b.large_integer();
  }
  if (a.IsNumber() && b.IsNumber()) return a.AsDouble() <=> b.AsDouble();
  if (a.string() != nullptr && b.string() != nullptr) return *a.string() <=> *b.string();
  if (a.boolean() != nullptr && b.boolean() != nullptr) return *a.boolean() <=> *b.boolean();
  if (a.type() == JsonType::kNull && b.type() == JsonType::kNull) {
    return std::partial_ordering::equivalent;
  }
  return std::nullopt;
}

class Selection {
 public:
  explicit Selection(JsonCursor root) : root_(std::move(root)) {}

  Result<std::vector<JsonMatch>> Run(const std::vector<JsonSegment>& segments,
                                     const JsonCursor& from) {
    const size_t held_before = held_;
    std::vector<JsonMatch> matches{{{}, from}};
    for (const JsonSegment& segment : segments) {
      std::vector<JsonMatch> next;
      for (const JsonMatch& match : matches) CAIRN_RETURN_IF_ERROR(Apply(segment, match, next));
      for (const JsonMatch& match : matches) held_ -= match.location.size();
      matches = std::move(next);
    }
    held_ = held_before;
    return matches;
  }

 private:
  Result<void> CountVisit() {
    if (++visits_ <= kMaxJsonPathVisits && held_ <= kMaxJsonMatchSteps) return {};
    return Error{ErrorCode::kTooMany, "the path visits too many values"};
  }

  void Add(JsonMatch match, std::vector<JsonMatch>& found) {
    held_ += match.location.size();
    found.push_back(std::move(match));
  }

  static JsonMatch Below(const JsonMatch& parent, JsonStep step, JsonCursor cursor) {
    JsonMatch child{parent.location, std::move(cursor)};
    child.location.push_back(std::move(step));
    return child;
  }

  Result<void> Apply(const JsonSegment& segment, const JsonMatch& match,
                     std::vector<JsonMatch>& found) {
    for (const JsonSelector& selector : segment.selectors) {
      CAIRN_RETURN_IF_ERROR(ApplySelector(selector, match, found));
    }
    if (!segment.descendants) return {};
    CAIRN_ASSIGN_OR_RETURN(auto children, match.cursor.Children());
    for (auto& [step, cursor] : children) {
      CAIRN_RETURN_IF_ERROR(CountVisit());
      if (cursor.type() != JsonType::kArray && cursor.type() != JsonType::kObject) continue;
      CAIRN_RETURN_IF_ERROR(
          Apply(segment, Below(match, std::move(step), std::move(cursor)), found));
    }
    return {};
  }

  Result<void> ApplySelector(const JsonSelector& selector, const JsonMatch& match,
                             std::vector<JsonMatch>& found) {
    CAIRN_RETURN_IF_ERROR(CountVisit());
    if (const auto* name = std::get_if<JsonName>(&selector)) {
      return AddChild(name->name, match, found);
    }
    if (const auto* index = std::get_if<JsonIndex>(&selector)) {
      return AddElement(*index, match, found);
    }
    if (const auto* slice = std::get_if<JsonSlice>(&selector)) {
      return AddSlice(*slice, match, found);
    }
    const auto* filter = std::get_if<std::shared_ptr<const JsonFilter>>(&selector);
    CAIRN_ASSIGN_OR_RETURN(auto children, match.cursor.Children());
    for (auto& [step, cursor] : children) {
      CAIRN_RETURN_IF_ERROR(CountVisit());
      if (filter != nullptr) {
        CAIRN_ASSIGN_OR_RETURN(const bool holds, Holds(**filter, cursor));
        if (!holds) continue;
      }
      Add(Below(match, std::move(step), std::move(cursor)), found);
    }
    return {};
  }

  Result<void> AddChild(const JsonStep& step, const JsonMatch& match,
                        std::vector<JsonMatch>& found) {
    CAIRN_ASSIGN_OR_RETURN(std::optional<JsonCursor> child, match.cursor.Child(step));
    if (child) Add(Below(match, step, *std::move(child)), found);
    return {};
  }

  Result<void> AddElement(const JsonIndex& index, const JsonMatch& match,
                          std::vector<JsonMatch>& found) {
    if (match.cursor.type() != JsonType::kArray) return {};
    CAIRN_ASSIGN_OR_RETURN(const uint64_t count, match.cursor.Count());
    const std::optional<uint64_t> place = FromPath(index.index, count);
    if (!place) return {};
    return AddChild(*place, match, found);
  }

  Result<void> AddSlice(const JsonSlice& slice, const JsonMatch& match,
                        std::vector<JsonMatch>& found) {
    if (match.cursor.type() != JsonType::kArray || slice.step == 0) return {};
    CAIRN_ASSIGN_OR_RETURN(const uint64_t count, match.cursor.Count());
    const auto [start, end] = Clamp(slice, static_cast<int64_t>(count));
    // A step that is larger than any array must not overflow.
    const auto limit = static_cast<int64_t>(count) + 1;
    const int64_t step = std::clamp(slice.step, -limit, limit);
    for (int64_t i = start; step > 0 ? i < end : i > end; i += step) {
      CAIRN_RETURN_IF_ERROR(CountVisit());
      CAIRN_RETURN_IF_ERROR(AddChild(static_cast<uint64_t>(i), match, found));
    }
    return {};
  }

  // --- Filters
  // ------------------------------------------------------------------------------------

  Result<bool> Holds(const JsonFilter& filter, const JsonCursor& child) {
    using Kind = JsonFilter::Kind;
    switch (filter.kind) {
      case Kind::kNot: {
        CAIRN_ASSIGN_OR_RETURN(const bool holds, Holds(filter.parts[0], child));
        return !holds;
      }
      case Kind::kAnd:
      case Kind::kOr:
        for (const JsonFilter& part : filter.parts) {
          CAIRN_ASSIGN_OR_RETURN(const bool holds, Holds(part, child));
          if (holds == (filter.kind == Kind::kOr)) return holds;
        }
        return filter.kind == Kind::kAnd;
      case Kind::kExists: {
        CAIRN_ASSIGN_OR_RETURN(const auto found, Find(filter.operands[0], child));
        return found.has_value();
      }
      case Kind::kMatches:
        return Matches(filter, child);
      default:
        return Compares(filter, child);
    }
  }

  Result<bool> Matches(const JsonFilter& filter, const JsonCursor& child) {
    CAIRN_ASSIGN_OR_RETURN(const auto text, Find(filter.operands[0], child));
    CAIRN_ASSIGN_OR_RETURN(const auto pattern, Find(filter.operands[1], child));
    if (!text || !pattern) return false;
    if (text->type() != JsonType::kString || pattern->type() != JsonType::kString) return false;
    const std::string& subject = *text->scalar().string();
    if (filter.regex != nullptr) return filter.regex->Matches(subject);
    return JsonRegex(*pattern->scalar().string()).Matches(subject);
  }

  // What an operand stands for: of a path that finds several, the first.
  Result<std::optional<JsonCursor>> Find(const JsonOperand& operand, const JsonCursor& child) {
    if (operand.kind == JsonOperand::Kind::kLiteral) {
      return std::optional(JsonCursor(
          std::shared_ptr<const JsonValue>(std::shared_ptr<const void>(), &operand.literal),
          nullptr));
    }
    const bool from_child = operand.kind == JsonOperand::Kind::kChild;
    CAIRN_ASSIGN_OR_RETURN(const auto found, Run(operand.segments, from_child ? child : root_));
    if (found.empty()) return std::optional<JsonCursor>();
    return std::optional(found[0].cursor);
  }

  Result<bool> Compares(const JsonFilter& filter, const JsonCursor& child) {
    using Kind = JsonFilter::Kind;
    CAIRN_ASSIGN_OR_RETURN(const auto left, Find(filter.operands[0], child));
    CAIRN_ASSIGN_OR_RETURN(const auto right, Find(filter.operands[1], child));
    std::optional<std::partial_ordering> order;
    if (left && right) {
      CAIRN_ASSIGN_OR_RETURN(order, CompareValues(*left, *right));
    }
    switch (filter.kind) {
      case Kind::kEqual:
        return order && std::is_eq(*order);
      case Kind::kNotEqual:
        return !order || std::is_neq(*order);
      case Kind::kLess:
        return order && std::is_lt(*order);
      case Kind::kLessEqual:
        return order && std::is_lteq(*order);
      case Kind::kGreater:
        return order && std::is_gt(*order);
      default:
        return order && std::is_gteq(*order);
    }
  }

  static Result<std::optional<std::partial_ordering>> CompareValues(const JsonCursor& a,
                                                                    const JsonCursor& b) {
    if (a.type() != JsonType::kArray && a.type() != JsonType::kObject) {
      return Compare(a.scalar(), b.scalar());
    }
    std::optional<std::partial_ordering> order;
    if (a.type() != b.type()) return order;
    CAIRN_ASSIGN_OR_RETURN(const JsonValue left, a.Load());
    CAIRN_ASSIGN_OR_RETURN(const JsonValue right, b.Load());
    if (left == right) order = std::partial_ordering::equivalent;
    return order;
  }

  const JsonCursor root_;
  size_t visits_ = 0;
  size_t held_ = 0;  // steps in the locations of the matches in memory
};

}  // namespace

Result<std::vector<JsonMatch>> SelectJson(const JsonPath& path, const JsonCursor& root) {
  return Selection(root).Run(path.segments, root);
}

Result<std::optional<JsonMatch>> SelectJsonParent(const JsonPath& path, const JsonCursor& root) {
  std::vector<JsonSegment> parent = path.segments;
  parent.pop_back();
  CAIRN_ASSIGN_OR_RETURN(std::vector<JsonMatch> found, Selection(root).Run(parent, root));
  if (found.empty()) return std::optional<JsonMatch>();
  return std::optional(std::move(found[0]));
}

}  // namespace cairn::data
