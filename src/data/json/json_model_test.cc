#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/json/text.h"
#include "data/json/value.h"
#include "data/testing/script.h"
#include "data/value/keys.h"

// Random edits of one document against the same edits of a value in memory, with restarts in
// between. Values are large enough for containers to be split, and small enough for some not to be.
namespace cairn::data {
namespace {

using testing::DataServer;

class JsonModelTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  std::string Name() { return std::string(1, static_cast<char>('a' + random_.Below(6))); }

  JsonValue Scalar() {
    switch (random_.Below(6)) {
      case 0:
        return JsonValue();
      case 1:
        return JsonValue(random_.Below(2) == 1);
      case 2:
        return JsonValue(std::string(random_.Below(40) == 0 ? 1500 : random_.Below(200), 's'));
      case 3:
        return JsonValue(static_cast<double>(random_.Below(1000)) / 8);
      default:
        return JsonValue(static_cast<int64_t>(random_.Below(100'000)) - 50'000);
    }
  }

  JsonValue Value(int depth = 0) {
    const uint64_t kind = random_.Below(6);
    if (depth == 4 || kind < 3) return Scalar();
    const uint64_t count = random_.Below(7);
    if (kind == 3) {
      JsonValue::Array array;
      for (uint64_t i = 0; i < count; ++i) array.push_back(Value(depth + 1));
      return JsonValue(std::move(array));
    }
    JsonValue object(JsonValue::Object{});
    for (uint64_t i = 0; i < count; ++i) object.Set(Name(), Value(depth + 1));
    return object;
  }

  struct Place {
    std::string path = "$";
    JsonValue* value = nullptr;
    JsonValue* parent = nullptr;  // null at the root
    std::string name;             // in an object
    size_t index = 0;             // in an array
    size_t depth = 0;
  };

  // Some value of the document.
  Place Pick() {
    Place place;
    place.value = &model_;
    while (random_.Below(5) != 0) {
      if (auto* array = place.value->array(); array != nullptr && !array->empty()) {
        place.index = random_.Below(array->size());
        const bool from_end = random_.Below(4) == 0;
        const auto shown = static_cast<int64_t>(place.index) -
                           (from_end ? static_cast<int64_t>(array->size()) : 0);
        place.path += "[" + std::to_string(shown) + "]";
        place.parent = place.value;
        place.value = &(*array)[place.index];
      } else if (auto* object = place.value->object(); object != nullptr && !object->empty()) {
        JsonMember& member = (*object)[random_.Below(object->size())];
        place.name = member.name;
        place.path += random_.Below(2) == 0 ? "." + member.name : "['" + member.name + "']";
        place.parent = place.value;
        place.value = &member.value;
      } else {
        break;
      }
      ++place.depth;
    }
    return place;
  }

  static std::string Number(size_t value) { return "[(integer) " + std::to_string(value) + "]"; }

  void Expect(const std::vector<std::string>& command, const std::string& reply) {
    ASSERT_EQ(server_.Run(command), reply) << command[0] << " " << command[2];
  }

  void Step() {
    Place place = Pick();
    switch (random_.Below(10)) {
      case 0:
      case 1:
        return SetSomething(place);
      case 2:
        return Remove(place);
      case 3:
      case 4:
        return Add(place);
      case 5:
      case 6:
        return ChangeArray(place);
      case 7:
        return Merge(place);
      case 8:
        return Clear(place);
      default:
        if (random_.Below(20) == 0) server_.Restart();
        if (random_.Below(5) == 0) server_.FireTimers();
    }
  }

  void SetSomething(const Place& place) {
    // The root seldom: the document is to grow.
    if (place.depth == 0 && random_.Below(20) != 0) return AddMember(place);
    JsonValue value = Value(static_cast<int>(std::min<size_t>(place.depth, 4)));
    Expect({"JSON.SET", "k", place.path, PrintJson(value)}, "OK");
    *place.value = std::move(value);
  }

  void AddMember(const Place& place) {
    if (place.value->object() == nullptr) return;
    const std::string name = Name() + std::to_string(random_.Below(30));
    JsonValue value = Value(2);
    Expect({"JSON.SET", "k", place.path + "." + name, PrintJson(value)}, "OK");
    place.value->Set(name, std::move(value));
  }

  void Remove(const Place& place) {
    if (place.parent == nullptr) return;
    Expect({"JSON.DEL", "k", place.path}, "(integer) 1");
    if (place.parent->object() != nullptr) {
      place.parent->Erase(place.name);
    } else {
      auto& array = *place.parent->array();
      array.erase(array.begin() + static_cast<ptrdiff_t>(place.index));
    }
  }

  void Add(const Place& place) {
    if (place.value->integer() == nullptr) return AddMember(place);
    const int64_t sum = *place.value->integer() + 7;
    Expect({"JSON.NUMINCRBY", "k", place.path, "7"}, "\"[" + std::to_string(sum) + "]\"");
    *place.value = JsonValue(sum);
  }

  void ChangeArray(const Place& place) {
    JsonValue::Array* array = place.value->array();
    if (array == nullptr) return;
    const size_t size = array->size();
    const size_t at = random_.Below(size + 1);
    const auto where = array->begin() + static_cast<ptrdiff_t>(at);
    if (random_.Below(3) != 0) {
      std::vector<std::string> command{"JSON.ARRINSERT", "k", place.path, std::to_string(at)};
      JsonValue::Array values;
      for (uint64_t i = 0; i <= random_.Below(12); ++i) values.push_back(Value(2));
      for (const JsonValue& value : values) command.push_back(PrintJson(value));
      Expect(command, Number(size + values.size()));
      array->insert(where, values.begin(), values.end());
    } else if (random_.Below(4) != 0 && at < size) {
      Expect({"JSON.ARRTRIM", "k", place.path, std::to_string(at), "-2"},
             Number(at < size - 1 ? size - 1 - at : 0));
      if (at < size - 1) {
        array->pop_back();
        array->erase(array->begin(), array->begin() + static_cast<ptrdiff_t>(at));
      } else {
        array->clear();
      }
    } else if (at < size) {
      server_.Run({"JSON.ARRPOP", "k", place.path, std::to_string(at)});
      array->erase(where);
    }
  }

  void Merge(const Place& place) {
    if (place.value->object() == nullptr) return;
    JsonValue patch(JsonValue::Object{});
    for (int i = 0; i < 3; ++i) patch.Set(Name(), random_.Below(2) == 0 ? JsonValue() : Scalar());
    Expect({"JSON.MERGE", "k", place.path, PrintJson(patch)}, "OK");
    for (const JsonMember& member : *patch.object()) {
      if (member.value.type() == JsonType::kNull) {
        place.value->Erase(member.name);
      } else {
        place.value->Set(member.name, member.value);
      }
    }
  }

  void Clear(const Place& place) {
    if (place.depth < 2 || random_.Below(4) != 0) return;
    if (place.value->array() != nullptr && !place.value->array()->empty()) {
      Expect({"JSON.CLEAR", "k", place.path}, "(integer) 1");
      place.value->array()->clear();
    } else if (place.value->object() != nullptr && !place.value->object()->empty()) {
      Expect({"JSON.CLEAR", "k", place.path}, "(integer) 1");
      place.value->object()->clear();
    }
  }

  void CheckAll() {
    EXPECT_EQ(server_.Connect().RunValue({"JSON.GET", "k"}).text, PrintJson(model_));
    const auto snapshot = server_.store().Read();
    ASSERT_TRUE(snapshot.ok());
    const auto scanned = (*snapshot)->Scan(ElementRange(0), {}, [&](BytesView, BytesView) {
      split_ = true;
      return false;
    });
    EXPECT_TRUE(scanned.ok());
    server_.CheckConsistency();
  }

  SeededRandom random_{GetParam()};
  DataServer server_;
  JsonValue model_{JsonValue::Object{}};
  bool split_ = false;  // it was stored in rows at some time
};

TEST_P(JsonModelTest, AgreesWithAValueInMemory) {
  Expect({"JSON.SET", "k", "$", "{}"}, "OK");
  for (int i = 0; i < 1000 && !HasFailure(); ++i) {
    Step();
    if (i % 50 == 49) CheckAll();
  }
  EXPECT_TRUE(split_);
  EXPECT_EQ(server_.Run({"JSON.DEL", "k"}), "(integer) 1");
}

INSTANTIATE_TEST_SUITE_P(Seeds, JsonModelTest, ::testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace cairn::data
