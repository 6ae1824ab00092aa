#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/testing/script.h"

// Random commands against a model that a child could check: a map from key to value and expiry,
// with restarts and the passing of time in between.
namespace cairn::data {
namespace {

using testing::DataServer;

struct ModelValue {
  std::string text;
  std::optional<int64_t> expire_ms;
};

class Model {
 public:
  explicit Model(const Clock& clock) : clock_(clock) {}

  ModelValue* Find(const std::string& key) {
    const auto found = values_.find(key);
    if (found == values_.end()) return nullptr;
    if (found->second.expire_ms && *found->second.expire_ms <= clock_.Now().millis()) {
      values_.erase(found);
      return nullptr;
    }
    return &found->second;
  }
  void Put(const std::string& key, ModelValue value) { values_[key] = std::move(value); }
  bool Erase(const std::string& key) { return Find(key) != nullptr && values_.erase(key) == 1; }
  std::vector<std::string> LiveKeys() {
    std::vector<std::string> all;
    for (const auto& [key, value] : values_) all.push_back(key);
    std::erase_if(all, [this](const std::string& key) { return Find(key) == nullptr; });
    return all;
  }

 private:
  const Clock& clock_;
  std::map<std::string, ModelValue> values_;
};

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }
std::string Number(int64_t value) { return "(integer) " + std::to_string(value); }

class ModelTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  std::string Key() { return "k" + std::to_string(random_.Below(12)); }
  std::string Text() {
    const char c = static_cast<char>('a' + random_.Below(26));
    return std::string(1 + random_.Below(40), c);
  }
  int64_t Now() { return server_.clock().Now().millis(); }

  void Step() {
    const std::string key = Key();
    const std::string other = Key();
    ModelValue* value = model_.Find(key);
    switch (random_.Below(14)) {
      case 0: {
        const std::string text = Text();
        Expect({"SET", key, text}, "OK");
        return model_.Put(key, {text, std::nullopt});
      }
      case 1: {
        const std::string text = Text();
        const auto ms = static_cast<int64_t>(1 + random_.Below(500));
        Expect({"SET", key, text, "PX", std::to_string(ms)}, "OK");
        return model_.Put(key, {text, Now() + ms});
      }
      case 2:
        return Expect({"GET", key}, value == nullptr ? "(nil)" : Quoted(value->text));
      case 3:
        return Expect({"DEL", key}, Number(model_.Erase(key) ? 1 : 0));
      case 4: {
        const std::string text = Text();
        if (value == nullptr) {
          model_.Put(key, {"", std::nullopt});
          value = model_.Find(key);
        }
        value->text += text;
        return Expect({"APPEND", key, text}, Number(static_cast<int64_t>(value->text.size())));
      }
      case 5: {
        const auto ms = static_cast<int64_t>(random_.Below(500)) - 20;
        Expect({"PEXPIRE", key, std::to_string(ms)}, Number(value == nullptr ? 0 : 1));
        if (value != nullptr) value->expire_ms = Now() + ms;
        return;
      }
      case 6: {
        const bool had = value != nullptr && value->expire_ms;
        Expect({"PERSIST", key}, Number(had ? 1 : 0));
        if (had) value->expire_ms.reset();
        return;
      }
      case 7: {
        const int64_t left = value == nullptr    ? -2
                             : !value->expire_ms ? -1
                                                 : *value->expire_ms - Now();
        return Expect({"PTTL", key}, Number(left));
      }
      case 8:
        if (value == nullptr) return Expect({"RENAME", key, other}, "(error) ERR no such key");
        Expect({"RENAME", key, other}, "OK");
        if (key != other) {
          const ModelValue moved = *value;
          model_.Erase(key);
          model_.Put(other, moved);
        }
        return;
      case 9: {
        const bool free = model_.Find(other) == nullptr;
        const std::string text = Text();
        Expect({"SET", other, text, "NX"}, free ? "OK" : "(nil)");
        if (free) model_.Put(other, {text, std::nullopt});
        return;
      }
      case 10:
        server_.clock().AdvanceMillis(static_cast<int64_t>(random_.Below(100)));
        return;
      case 11:
        return server_.FireTimers();
      case 12:
        if (random_.Below(40) != 0) return;
        Expect({"FLUSHALL"}, "OK");
        for (const std::string& live : model_.LiveKeys()) model_.Erase(live);
        return;
      default:
        if (random_.Below(60) == 0) server_.Restart();
        return;
    }
  }

  void Expect(const std::vector<std::string>& command, const std::string& reply) {
    ASSERT_EQ(server_.Run(command), reply) << command[0] << " " << command.back();
  }

  void CheckAll() {
    std::string expected;
    for (const std::string& key : model_.LiveKeys()) {
      expected += (expected.empty() ? "" : ", ") + Quoted(key);
      EXPECT_EQ(server_.Run({"GET", key}), Quoted(model_.Find(key)->text));
    }
    EXPECT_EQ(server_.Run({"KEYS", "*"}), "[" + expected + "]");
    server_.FireTimers();
    EXPECT_EQ(server_.Run({"DBSIZE"}), Number(static_cast<int64_t>(model_.LiveKeys().size())));
    server_.CheckConsistency();
  }

  SeededRandom random_{GetParam()};
  DataServer server_;
  Model model_{server_.clock()};
};

TEST_P(ModelTest, AgreesWithTheModelThroughTimeAndRestarts) {
  for (int i = 0; i < 3000 && !HasFailure(); ++i) {
    Step();
    if (i % 500 == 499) CheckAll();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ModelTest, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace cairn::data
