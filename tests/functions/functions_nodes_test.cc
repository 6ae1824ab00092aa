// Two processes that serve one PostgreSQL store, with functions: whoever accepts an activation, and
// whoever runs it, it has one result.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <boost/json/value.hpp>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/functions/functions_server.h"
#include "tests/support/await.h"
#include "tests/support/postgres_cluster.h"
#include "tests/support/test_store.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;

// Everybody asks both nodes for the same activations, by the same keys, until one node is killed.
TEST(FunctionsNodesTest, AnActivationThatBothNodesAcceptHasOneResult) {
  CAIRN_TEST_ROCKS_ONLY("a test that brings its own PostgreSQL");
  constexpr int kClients = 4;
  constexpr size_t kWanted = 150;
  PostgresCluster database({});
  const std::vector<std::string> flags = {"--store", database.url()};
  FunctionsServer stays(flags);
  FunctionsServer dies(flags);
  stays.Publish("work", R"(
    export default async (event, ctx) => {
      await cs.kv.set('a:' + event.n, ctx.activation_id);
      return {body: String(event.n)};
    })");

  std::mutex mutex;
  std::map<std::string, std::set<std::string>> accepted;  // ids by key
  std::atomic<size_t> of_both = 0;
  std::atomic<bool> stop = false;
  std::vector<std::jthread> clients;
  for (int client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      for (int i = 0; !stop; ++i) {
        const std::string key = fmt::format("{}.{}", client, i);
        const std::string event = fmt::format(R"({{"n":"{}"}})", key);
        for (FunctionsServer* node : {&stays, &dies}) {
          const std::string id = node->InvokeLater("work", event, {{"Idempotency-Key", key}});
          if (id.empty()) return;  // the node is gone
          const std::scoped_lock lock(mutex);
          accepted[key].insert(id);
        }
        ++of_both;
      }
    });
  }
  Await("activations to be accepted by both nodes", [&] { return of_both >= kWanted; });
  dies.server().process().Kill();
  stop = true;
  clients.clear();
  dies.Kill();

  std::map<std::string, int> results;
  for (const auto& [key, ids] : accepted) {
    ASSERT_EQ(ids.size(), 1U) << key << " is several activations";
    EXPECT_EQ(stays.Ended(*ids.begin()).at("status").as_string(), "success") << key;
    EXPECT_EQ(dies.Ended(*ids.begin()).at("status").as_string(), "success") << key;
  }
  for (;;) {
    const JsonAnswer claimed =
        stays.Call("POST", "/v1/codeq/topics/cs.results/claim", R"({"count":500})");
    const json::array& messages = claimed.body.at("messages").as_array();
    if (messages.empty()) break;
    for (const json::value& message : messages) {
      ++results[std::string(message.at("message").at("body").at("activation_id").as_string())];
    }
  }
  for (const auto& [key, ids] : accepted) EXPECT_EQ(results[*ids.begin()], 1) << key;
  EXPECT_EQ(results.size(), accepted.size());
  fmt::print("{} activations accepted by two nodes, one of them killed; {} results\n",
             accepted.size(), results.size());
}

}  // namespace
}  // namespace cairn::testing
