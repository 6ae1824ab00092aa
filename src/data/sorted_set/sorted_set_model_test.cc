#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/testing/script.h"

// Random commands on one sorted set against a map from member to score and a sorted vector, with
// restarts in between.
namespace cairn::data {
namespace {

using testing::DataServer;

using Item = std::pair<double, std::string>;  // score, member

std::string Number(size_t value) { return fmt::format("(integer) {}", value); }

class SortedSetModelTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  std::string Member() { return fmt::format("m{}", random_.Below(members_)); }
  double Score() { return static_cast<double>(random_.Below(200)) - 100; }

  std::vector<Item> Sorted() const {
    std::vector<Item> items;
    for (const auto& [member, score] : model_) items.emplace_back(score, member);
    std::ranges::sort(items);
    return items;
  }

  static std::string Listed(const std::vector<Item>& items) {
    std::string text;
    for (const auto& [score, member] : items) {
      text += fmt::format("{}\"{}\", \"{}\"", text.empty() ? "" : ", ", member, score);
    }
    return "[" + text + "]";
  }

  void Expect(const std::vector<std::string>& command, const std::string& reply) {
    ASSERT_EQ(server_.Run(command), reply) << command[0] << " " << command.back();
  }

  void AddMany() {
    std::vector<std::string> command = {"ZADD", "z"};
    size_t added = 0;
    for (uint64_t i = 0; i <= random_.Below(40); ++i) {
      const double score = Score();
      const std::string member = Member();
      added += model_.insert_or_assign(member, score).second ? 1 : 0;
      command.push_back(fmt::format("{}", score));
      command.push_back(member);
    }
    Expect(command, Number(added));
  }

  void Increment() {
    const std::string member = Member();
    const double by = Score();
    const double score = model_[member] += by;
    Expect({"ZINCRBY", "z", fmt::format("{}", by), member}, fmt::format("\"{}\"", score));
  }

  void RemoveOne() {
    const std::string member = Member();
    Expect({"ZREM", "z", member}, Number(model_.erase(member)));
  }

  void Forget(const std::vector<Item>& items) {
    for (const Item& item : items) model_.erase(item.second);
  }

  // The items from `first` on, at most `count`.
  static std::vector<Item> Part(const std::vector<Item>& items, size_t first, size_t count) {
    first = std::min(first, items.size());
    const size_t last = std::min(items.size(), first + count);
    return {items.begin() + static_cast<std::ptrdiff_t>(first),
            items.begin() + static_cast<std::ptrdiff_t>(last)};
  }

  void Pop() {
    const size_t count = random_.Below(shrinking_ ? 60 : 6);
    std::vector<Item> items = Sorted();
    const bool max = random_.Below(2) == 0;
    if (max) std::ranges::reverse(items);
    const std::vector<Item> popped = Part(items, 0, count);
    Expect({max ? "ZPOPMAX" : "ZPOPMIN", "z", fmt::format("{}", count)}, Listed(popped));
    Forget(popped);
  }

  void RemoveByRank() {
    const std::vector<Item> items = Sorted();
    const size_t first = random_.Below(items.size() + 2);
    const size_t count = 1 + random_.Below(shrinking_ ? 80 : 4);
    const std::vector<Item> removed = Part(items, first, count);
    Expect({"ZREMRANGEBYRANK", "z", fmt::format("{}", first), fmt::format("{}", first + count - 1)},
           Number(removed.size()));
    Forget(removed);
  }

  void RemoveByScore() {
    const double min = Score();
    const double max = min + 1;
    std::vector<Item> removed = Sorted();
    std::erase_if(removed, [&](const Item& item) { return item.first < min || item.first > max; });
    Expect({"ZREMRANGEBYSCORE", "z", fmt::format("{}", min), fmt::format("{}", max)},
           Number(removed.size()));
    Forget(removed);
  }

  void Look() {
    const std::vector<Item> items = Sorted();
    const std::string member = Member();
    const auto found = model_.find(member);
    if (found == model_.end()) {
      Expect({"ZRANK", "z", member}, "(nil)");
    } else {
      const auto at = std::ranges::lower_bound(items, Item(found->second, member));
      Expect({"ZRANK", "z", member}, Number(static_cast<size_t>(at - items.begin())));
      Expect({"ZREVRANK", "z", member}, Number(static_cast<size_t>(items.end() - at) - 1));
    }
    const size_t first = random_.Below(items.size() + 2);
    Expect({"ZRANGE", "z", fmt::format("{}", first), fmt::format("{}", first + 4), "WITHSCORES"},
           Listed(Part(items, first, 5)));
  }

  void LookByScore() {
    const double min = Score();
    const double max = Score();
    std::vector<Item> items = Sorted();
    std::erase_if(items, [&](const Item& item) { return item.first <= min || item.first > max; });
    const std::string from = fmt::format("({}", min);
    const std::string to = fmt::format("{}", max);
    Expect({"ZCOUNT", "z", from, to}, Number(items.size()));
    const size_t offset = random_.Below(items.size() + 2);
    const std::vector<std::string> limit = {"WITHSCORES", "LIMIT", fmt::format("{}", offset), "3"};
    std::vector<std::string> command = {"ZRANGEBYSCORE", "z", from, to};
    command.insert(command.end(), limit.begin(), limit.end());
    Expect(command, Listed(Part(items, offset, 3)));
    std::ranges::reverse(items);
    command = {"ZREVRANGEBYSCORE", "z", to, from};
    command.insert(command.end(), limit.begin(), limit.end());
    Expect(command, Listed(Part(items, offset, 3)));
  }

  void Step() {
    switch (random_.Below(shrinking_ ? 10 : 14)) {
      case 0:
        return Increment();
      case 1:
      case 2:
        return RemoveOne();
      case 3:
        return Pop();
      case 4:
        return RemoveByRank();
      case 5:
        return RemoveByScore();
      case 6:
      case 7:
        return Look();
      case 8:
        return LookByScore();
      case 9:
        if (random_.Below(30) == 0) server_.Restart();
        return;
      default:
        return AddMany();
    }
  }

  void CheckAll() {
    Expect({"ZCARD", "z"}, Number(model_.size()));
    Expect({"ZRANGE", "z", "0", "-1", "WITHSCORES"}, Listed(Sorted()));
    Expect({"EXISTS", "z"}, Number(model_.empty() ? 0 : 1));
    server_.CheckConsistency();
  }

  SeededRandom random_{GetParam()};
  DataServer server_;
  std::map<std::string, double> model_;
  uint64_t members_ = 3000;
  bool shrinking_ = false;
};

TEST_P(SortedSetModelTest, AgreesWithTheModelWhileItGrowsAndShrinks) {
  for (int phase = 0; phase < 4 && !HasFailure(); ++phase) {
    shrinking_ = phase % 2 == 1;
    for (int i = 0; i < 250 && !HasFailure(); ++i) Step();
    CheckAll();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SortedSetModelTest, ::testing::Values(1, 2));

}  // namespace
}  // namespace cairn::data
