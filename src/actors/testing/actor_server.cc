#include "actors/testing/actor_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "actors/http/routes.h"
#include "actors/operations/verify.h"
#include "actors/resp/commands.h"
#include "base/log.h"
#include "house/verify.h"

namespace cairn::actors::testing {

namespace json = boost::json;

ActorServer::ActorServer()
    : server_({.add_commands =
                   [this](doors::Instance& instance) { AddActorCommands(instance, policy_); }}),
      store_(server_.instance().traffic().turns, loops_, server_.instance().pools().store),
      http_({}, loops_, Factory(), server_.clock(), random_, Log::Silent()) {
  loops_.Start();
  const auto port = http_.Listen({"127.0.0.1", 0});
  EXPECT_TRUE(port.ok());
  client_ = std::make_unique<net::HttpClient>(net::Address{"127.0.0.1", *port});
}

ActorServer::~ActorServer() {
  client_.reset();
  http_.Drain(std::chrono::seconds(30));
  loops_.Stop();
  server_.instance().pools().store.Stop();
}

net::HttpHandlerFactory ActorServer::Factory() {
  AddActorRoutes({.store = store_, .policy = policy_}, table_);
  return [this](net::Loop& loop) { return table_.MakeHandler(loop); };
}

net::HttpResponse ActorServer::Ask(std::string_view method, const std::string& target,
                                   const std::string& body) {
  const auto response = client_->Request(method, target, body, {});
  EXPECT_TRUE(response.ok()) << response.error().message;
  if (!response.ok()) return {};
  CheckSchema(method, target, *response);
  return *response;
}

void ActorServer::CheckSchema(std::string_view method, const std::string& target,
                              const net::HttpResponse& response) {
  const Result<net::HttpTarget> asked = net::ParseTarget(target);
  ASSERT_TRUE(asked.ok());
  size_t best = table_.size();
  size_t best_names = 100;
  for (size_t i = 0; i < table_.size(); ++i) {
    const Result<net::HttpTarget> row = net::ParseTarget(table_.row(i).path);
    if (table_.row(i).method != method || row->segments.size() != asked->segments.size()) continue;
    size_t names = 0;
    bool fits = true;
    for (size_t s = 0; s < row->segments.size(); ++s) {
      const bool name = row->segments[s].starts_with('{');
      names += name ? 1 : 0;
      fits = fits && (name || row->segments[s] == asked->segments[s]);
    }
    if (!fits || names >= best_names) continue;
    best = i;
    best_names = names;
  }
  ASSERT_NE(best, table_.size()) << method << " " << target;
  const doors::JsonSchema* schema = table_.ResponseSchema(best, response.status);
  ASSERT_NE(schema, nullptr) << target << " has no status " << response.status << ": "
                             << response.body;
  boost::system::error_code failure;
  const json::value body = json::parse(response.body, failure);
  ASSERT_FALSE(failure) << target << ": " << response.body;
  EXPECT_EQ(schema->FindFault(body).value_or(""), "") << target << ": " << response.body;
}

json::value ActorServer::Ok(std::string_view method, const std::string& target,
                            const std::string& body) {
  const net::HttpResponse response = Ask(method, target, body);
  EXPECT_LT(response.status, 300) << target << ": " << response.body;
  return json::parse(response.body);
}

std::string ActorServer::Refusal(std::string_view method, const std::string& target,
                                 const std::string& body) {
  const net::HttpResponse response = Ask(method, target, body);
  const json::value parsed = json::parse(response.body);
  if (!parsed.is_object() || !parsed.as_object().contains("error")) {
    return fmt::format("{} {}", response.status, response.body);
  }
  const json::value& error = parsed.at("error");
  return fmt::format("{} {} {}", response.status, error.at("code").as_string().c_str(),
                     json::serialize(error.at("fields")));
}

std::string ActorServer::Text(std::initializer_list<std::string_view> args) {
  const std::vector<std::string> owned(args.begin(), args.end());
  doors::testing::TestClient client = server_.Connect();
  const Result<net::RespValue> reply = client.raw().Command(owned);
  EXPECT_TRUE(reply.ok());
  return reply.ok() ? reply.value().text : std::string();
}

std::string ActorServer::Create(std::string_view key) {
  const json::value actor = json::parse(Text({"ACTOR.CREATE", "default", "thing", key}));
  return std::string(actor.at("actor_id").as_string());
}

void ActorServer::ExpectSound() {
  const auto snapshot = server_.store().Read();
  ASSERT_TRUE(snapshot.ok());
  house::Verification verification;
  ASSERT_TRUE(VerifyActors(**snapshot, verification).ok());
  EXPECT_EQ(verification.problems(), std::vector<std::string>());
}

}  // namespace cairn::actors::testing
