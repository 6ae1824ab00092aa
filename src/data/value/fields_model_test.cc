#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/testing/script.h"
#include "data/value/keys.h"
#include "data/value/packed_rows.h"

// Random commands on hashes and sets against maps of maps and sets, with restarts in between.
namespace cairn::data {
namespace {

using doors::testing::TestClient;
using testing::DataServer;

using Texts = std::vector<std::string>;
using ModelSet = std::set<std::string>;
using ModelHash = std::map<std::string, std::string>;

std::string Number(size_t value) { return "(integer) " + std::to_string(value); }

class FieldsModelTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  std::string HashKey() { return "h" + std::to_string(random_.Below(3)); }
  std::string SetKey() { return "s" + std::to_string(random_.Below(4)); }
  // Some are long, so that values are now in one piece, now in rows.
  std::string Member() {
    const uint64_t number = random_.Below(30);
    return "m" + std::to_string(number) + std::string(number % 5 == 0 ? 200 : 0, 'x');
  }

  void Step() {
    switch (random_.Below(16)) {
      case 0:
      case 1:
      case 2:
        return PutFields(HashKey());
      case 3:
      case 4:
        return RemoveField(HashKey(), Member());
      case 5:
      case 6:
      case 7:
        return AddMembers(SetKey());
      case 8:
      case 9:
        return RemoveMember(SetKey(), Member());
      case 10:
        return Pop(SetKey(), random_.Below(6));
      case 11:
        return Move(SetKey(), SetKey(), Member());
      case 12:
        return Combine(random_.Below(3), SetKey(), SetKey(), SetKey());
      case 13:
        return Delete(random_.Below(2) == 0 ? HashKey() : SetKey());
      case 14:
        return server_.FireTimers();
      default:
        if (random_.Below(60) == 0) server_.Restart();
    }
  }

  void PutFields(const std::string& key) {
    ModelHash& hash = hashes_[key];
    const size_t before = hash.size();
    Texts command = {"HSET", key};
    for (uint64_t i = 0; i <= random_.Below(4); ++i) {
      const std::string field = Member();
      const std::string value = std::to_string(random_.Next());
      hash[field] = value;
      command.insert(command.end(), {field, value});
    }
    Expect(command, Number(hash.size() - before));
  }

  void RemoveField(const std::string& key, const std::string& field) {
    Expect({"HDEL", key, field}, Number(hashes_[key].erase(field)));
  }

  void AddMembers(const std::string& key) {
    ModelSet& set = sets_[key];
    const size_t before = set.size();
    Texts command = {"SADD", key};
    for (uint64_t i = 0; i <= random_.Below(4); ++i) {
      command.push_back(Member());
      set.insert(command.back());
    }
    Expect(command, Number(set.size() - before));
  }

  void RemoveMember(const std::string& key, const std::string& member) {
    Expect({"SREM", key, member}, Number(sets_[key].erase(member)));
  }

  void Pop(const std::string& key, uint64_t count) {
    ModelSet& set = sets_[key];
    const Texts popped = Strings({"SPOP", key, std::to_string(count)});
    EXPECT_EQ(popped.size(), std::min<size_t>(count, set.size()));
    for (const std::string& member : popped) EXPECT_EQ(set.erase(member), 1U) << member;
  }

  void Move(const std::string& source, const std::string& target, const std::string& member) {
    const size_t moved = sets_[source].erase(member);
    if (moved > 0) sets_[target].insert(member);
    Expect({"SMOVE", source, target, member}, Number(moved));
  }

  void Combine(uint64_t operation, const std::string& target, const std::string& a,
               const std::string& b) {
    static const Texts kCommands = {"SINTERSTORE", "SUNIONSTORE", "SDIFFSTORE"};
    const ModelSet& x = sets_[a];
    const ModelSet& y = sets_[b];
    ModelSet result;
    const auto out = std::inserter(result, result.end());
    if (operation == 0) std::ranges::set_intersection(x, y, out);
    if (operation == 1) std::ranges::set_union(x, y, out);
    if (operation == 2) std::ranges::set_difference(x, y, out);
    Expect({kCommands[operation], target, a, b}, Number(result.size()));
    sets_[target] = result;
  }

  void Delete(const std::string& key) {
    const size_t existed = (hashes_[key].empty() ? 0U : 1U) + (sets_[key].empty() ? 0U : 1U);
    Expect({"DEL", key}, Number(existed));
    hashes_.erase(key);
    sets_.erase(key);
  }

  void Expect(const Texts& command, const std::string& reply) {
    ASSERT_EQ(server_.Run(command), reply) << command[0] << " " << command[1];
  }

  Texts Strings(const Texts& command) {
    TestClient client = server_.Connect();
    const Result<net::RespValue> reply = client.raw().Command(command);
    Texts strings;
    if (!reply.ok()) return {"no reply"};
    for (const net::RespValue& item : reply->items) strings.push_back(item.text);
    return strings;
  }

  void CheckAll() {
    size_t elements = 0;
    for (const auto& [key, hash] : hashes_) {
      elements += hash.size();
      const Texts strings = Strings({"HGETALL", key});
      ModelHash found;
      for (size_t i = 0; i + 1 < strings.size(); i += 2) found[strings[i]] = strings[i + 1];
      EXPECT_EQ(found, hash) << key;
      EXPECT_EQ(server_.Run({"HLEN", key}), Number(hash.size()));
      EXPECT_EQ(server_.Run({"EXISTS", key}), Number(hash.empty() ? 0 : 1));
    }
    for (const auto& [key, set] : sets_) {
      elements += set.size();
      const Texts strings = Strings({"SMEMBERS", key});
      EXPECT_EQ(ModelSet(strings.begin(), strings.end()), set) << key;
      EXPECT_EQ(server_.Run({"SCARD", key}), Number(set.size()));
      EXPECT_EQ(server_.Run({"EXISTS", key}), Number(set.empty() ? 0 : 1));
    }
    server_.FireTimers();
    EXPECT_EQ(StoredElements(), elements);  // nothing that was deleted stays behind
    server_.CheckConsistency();
  }

  // In rows and in records.
  size_t StoredElements() {
    const auto snapshot = server_.store().Read();
    EXPECT_TRUE(snapshot.ok());
    size_t elements = 0;
    const auto count = [&](BytesView, BytesView) {
      ++elements;
      return true;
    };
    EXPECT_TRUE((*snapshot)
                    ->Scan(ElementRange(0), {},
                           [&](BytesView key, BytesView) {
                             const bool order = key.size() == kElementPrefixBytes;
                             if (!order) ++elements;
                             return true;
                           })
                    .ok());
    const auto records = (*snapshot)->Scan(RecordRange(0), {}, [&](BytesView, BytesView value) {
      const std::optional<Record> record = DecodeRecord(value);
      EXPECT_TRUE(record.has_value());
      if (record->generation != 0) return true;
      const auto packed = PackedRows::Decode(record->payload.substr(sizeof(uint64_t)));
      EXPECT_TRUE(packed.has_value());
      packed->ForEach(count);
      return true;
    });
    EXPECT_TRUE(records.ok());
    return elements;
  }

  SeededRandom random_{GetParam()};
  DataServer server_;
  std::map<std::string, ModelHash> hashes_;
  std::map<std::string, ModelSet> sets_;
};

TEST_P(FieldsModelTest, AgreesWithTheModelThroughRestarts) {
  for (int i = 0; i < 1500 && !HasFailure(); ++i) {
    Step();
    if (i % 300 == 299) CheckAll();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FieldsModelTest, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace cairn::data
