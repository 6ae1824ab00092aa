#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "data/json/path.h"
#include "data/json/value.h"

// Finds what a path means in a document, reading no more of the document than the path asks for.
namespace cairn::data {

// Where containers are that are not in memory. What it hands out may refer to further ones.
class JsonContainers {
 public:
  virtual ~JsonContainers() = default;

  virtual Result<uint64_t> Count(const JsonSplit& container) = 0;
  // nullopt if there is none.
  virtual Result<std::optional<JsonValue>> Member(const JsonSplit& object,
                                                  std::string_view name) = 0;
  virtual Result<std::optional<JsonValue>> Element(const JsonSplit& array, uint64_t index) = 0;
  // All children in order. The name is that of a member, empty for an element.
  virtual Result<JsonValue::Object> Children(const JsonSplit& container) = 0;
};

// A member's name, or an element's index.
using JsonStep = std::variant<std::string, uint64_t>;
// The way from the root.
using JsonLocation = std::vector<JsonStep>;

// A value in a document, in memory or not. Cheap to copy. Valid until the document is changed.
class JsonCursor {
 public:
  JsonCursor(std::shared_ptr<const JsonValue> value, JsonContainers* containers)
      : value_(std::move(value)), containers_(containers) {}

  JsonType type() const { return value_->type(); }
  // The number of children; 0 for a scalar.
  Result<uint64_t> Count() const;
  Result<std::optional<JsonCursor>> Child(const JsonStep& step) const;
  Result<std::vector<std::pair<JsonStep, JsonCursor>>> Children() const;

  // The value, whole in memory.
  Result<JsonValue> Load() const;
  // The value itself if it is no container: what is cheap to look at.
  const JsonValue& scalar() const { return *value_; }

 private:
  JsonCursor Within(const JsonValue& child) const {
    return {std::shared_ptr<const JsonValue>(value_, &child), containers_};
  }
  JsonCursor Beside(JsonValue child) const {
    return {std::make_shared<const JsonValue>(std::move(child)), containers_};
  }

  std::shared_ptr<const JsonValue> value_;
  JsonContainers* containers_;  // null if all is in memory
};

// Loads values until they are too many: a path may match the same large value again and again.
class JsonLoader {
 public:
  // Fails with kTooLarge if all values so far have more than kMaxJsonTextBytes.
  Result<JsonValue> Load(const JsonCursor& cursor);

 private:
  size_t loaded_ = 0;
};

struct JsonMatch {
  JsonLocation location;
  JsonCursor cursor;
};

// All matches, in the order in which the path comes to them: of the members of a value the ones
// named by the path come before what is found inside of others. The same place may match twice.
// Fails with kTooMany beyond kMaxJsonPathVisits or kMaxJsonMatchSteps.
Result<std::vector<JsonMatch>> SelectJson(const JsonPath& path, const JsonCursor& root);

// The parent of what a static path leads to, if that parent is there.
Result<std::optional<JsonMatch>> SelectJsonParent(const JsonPath& path, const JsonCursor& root);

}  // namespace cairn::data
