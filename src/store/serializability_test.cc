// Concurrent scoped transactions form one serial order.
//
// Every key holds the list of the transactions that appended to it. From what each transaction read
// and from the final lists all dependencies follow: who wrote after whom, who read whose write, who
// read before whose write. The execution was serializable if and only if they form no cycle.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

#include "base/random.h"
#include "store/testing/fixture.h"

namespace cairn::store {
namespace {

using TxnId = uint32_t;
using List = std::vector<TxnId>;

struct Observed {
  std::map<int, List> read;  // by key: the list as the transaction found it
  std::set<int> appended;
};

List Decode(const std::optional<Bytes>& bytes) {
  List list;
  if (!bytes) return list;
  BytesReader reader(*bytes);
  for (size_t i = 0; i < bytes->size() / 4; ++i) list.push_back(reader.Big32());
  return list;
}

class SerializabilityTest : public testing::StoreTest {
 protected:
  static constexpr int kKeys = 12;
  static constexpr int kThreads = 4;
  static constexpr int kEach = 400;

  static Bytes KeyName(int key) { return "list" + std::to_string(key); }

  static std::set<int> PickKeys(Random& random) {
    std::set<int> keys;
    const uint64_t count = 1 + random.Below(4);
    while (keys.size() < count) keys.insert(static_cast<int>(random.Below(kKeys)));
    return keys;
  }

  // What one transaction does; may run more than once.
  static Result<void> Body(Transaction& txn, TxnId id, const std::set<int>& keys, bool writes,
                           uint64_t write_mask, Observed& observed) {
    observed = {};
    for (const int key : keys) {
      CAIRN_ASSIGN_OR_RETURN(const auto value, txn.Get({Space::kData, KeyName(key)}));
      observed.read[key] = Decode(value);
      if (writes && (write_mask >> key & 1) != 0) {
        Bytes longer = value.value_or("");
        AppendBig32(longer, id);
        txn.Put({Space::kData, KeyName(key)}, longer);
        observed.appended.insert(key);
      }
    }
    return {};
  }

  void Worker(int thread) {
    SeededRandom random(static_cast<uint64_t>(thread) + 77);
    auto group = store_->NewGroup();
    for (int i = 0; i < kEach; ++i) {
      const auto id = static_cast<TxnId>(thread * kEach + i + 1);
      const std::set<int> keys = PickKeys(random);
      const uint64_t mask = random.Next();
      const bool writes = random.Below(3) != 0;
      Scopes scopes;
      for (const int key : keys) scopes.Add(Space::kData, KeyName(key));
      Observed observed;
      const auto body = [&](Transaction& txn) {
        return Body(txn, id, keys, writes, mask, observed);
      };
      // All the ways in: alone and in groups, writing and reading, and without declared keys.
      const bool in_group = random.Below(2) == 0;
      if (in_group) {
        auto ran = group->Run(scopes, writes ? Access::kWrite : Access::kRead, body);
        if (!ran.ok()) {
          ASSERT_EQ(ran.error().code, ErrorCode::kWouldBlock);
          ASSERT_TRUE(group->Finish().ok());
          ASSERT_TRUE((writes ? store_->Run(scopes, body) : store_->RunRead(scopes, body)).ok());
        }
        if (random.Below(3) == 0) {
          ASSERT_TRUE(group->Finish().ok());
        }
      } else {
        ASSERT_TRUE(group->Finish().ok());
        if (random.Below(16) == 0) scopes = Scopes::Exclusive();
        ASSERT_TRUE((writes ? store_->Run(scopes, body) : store_->RunRead(scopes, body)).ok());
      }
      const std::lock_guard lock(mutex_);
      observed_[id] = std::move(observed);
    }
    ASSERT_TRUE(group->Finish().ok());
  }

  void AddEdges(std::map<TxnId, std::set<TxnId>>& graph) {
    for (int key = 0; key < kKeys; ++key) {
      const List final = Decode(Get(KeyName(key)));
      for (size_t i = 1; i < final.size(); ++i) graph[final[i - 1]].insert(final[i]);
      for (const auto& [id, txn] : observed_) {
        const auto read = txn.read.find(key);
        if (read == txn.read.end()) continue;
        const List& list = read->second;
        ASSERT_LE(list.size(), final.size());
        ASSERT_TRUE(std::equal(list.begin(), list.end(), final.begin()))
            << "transaction " << id << " read what was never there";
        if (!list.empty()) graph[list.back()].insert(id);
        if (list.size() < final.size() && final[list.size()] != id) {
          graph[id].insert(final[list.size()]);
        }
      }
      for (const auto& [id, txn] : observed_) {
        if (txn.appended.contains(key)) {
          ASSERT_EQ(std::count(final.begin(), final.end(), id), 1) << "lost or doubled append";
        }
      }
    }
  }

  static bool HasCycle(const std::map<TxnId, std::set<TxnId>>& graph) {
    std::map<TxnId, int> incoming;
    for (const auto& [from, targets] : graph) {
      incoming.try_emplace(from, 0);
      for (const TxnId to : targets) ++incoming[to];
    }
    List ready;
    for (const auto& [id, count] : incoming) {
      if (count == 0) ready.push_back(id);
    }
    size_t done = 0;
    while (!ready.empty()) {
      const TxnId id = ready.back();
      ready.pop_back();
      ++done;
      const auto targets = graph.find(id);
      if (targets == graph.end()) continue;
      for (const TxnId to : targets->second) {
        if (--incoming[to] == 0) ready.push_back(to);
      }
    }
    return done != incoming.size();
  }

  // A shortest cycle, with what each of its transactions read and wrote.
  std::string CycleIn(const std::map<TxnId, std::set<TxnId>>& graph) const {
    List shortest;
    for (const auto& [start, unused] : graph) {
      std::map<TxnId, TxnId> came_from;
      List reached{start};
      for (size_t next = 0; next < reached.size() && !came_from.contains(start); ++next) {
        const auto targets = graph.find(reached[next]);
        if (targets == graph.end()) continue;
        for (const TxnId to : targets->second) {
          if (came_from.try_emplace(to, reached[next]).second) reached.push_back(to);
        }
      }
      if (!came_from.contains(start)) continue;
      List cycle{start};
      for (TxnId at = came_from[start]; at != start; at = came_from[at]) cycle.push_back(at);
      std::ranges::reverse(cycle);
      if (shortest.empty() || cycle.size() < shortest.size()) shortest = cycle;
    }
    std::string text;
    for (const TxnId id : shortest) {
      const Observed& txn = observed_.at(id);
      text += "transaction " + std::to_string(id);
      for (const auto& [key, list] : txn.read) {
        text += " read " + std::to_string(key) + " at " + std::to_string(list.size()) + " after " +
                (list.empty() ? "none" : std::to_string(list.back()));
        if (txn.appended.contains(key)) text += " and appended;";
      }
      text += "\n";
    }
    return text;
  }

  std::mutex mutex_;
  std::map<TxnId, Observed> observed_;
};

TEST_F(SerializabilityTest, DependenciesOfConcurrentTransactionsFormNoCycle) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([this, t] { Worker(t); });
  for (auto& thread : threads) thread.join();
  ASSERT_EQ(observed_.size(), static_cast<size_t>(kThreads * kEach));
  std::map<TxnId, std::set<TxnId>> graph;
  AddEdges(graph);
  EXPECT_FALSE(HasCycle(graph)) << CycleIn(graph);
  size_t edges = 0;
  for (const auto& [id, targets] : graph) edges += targets.size();
  std::printf("serializability: %zu transactions, %zu dependencies, no cycle\n", observed_.size(),
              edges);
}

TEST_F(SerializabilityTest, CheckerFindsAWriteSkew) {
  std::map<TxnId, std::set<TxnId>> skew{{1, {2}}, {2, {1}}};
  EXPECT_TRUE(HasCycle(skew));
  EXPECT_FALSE(HasCycle({{1, {2, 3}}, {2, {3}}}));
}

}  // namespace
}  // namespace cairn::store
