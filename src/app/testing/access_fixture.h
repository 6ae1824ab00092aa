#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config.h"
#include "app/layers.h"
#include "app/server.h"
#include "house/declarations.h"
#include "net/http/client.h"
#include "net/resp/client.h"
#include "tests/support/temp_directory.h"

// A whole server in this process, asked at both doors with keys of all kinds.
namespace cairn::app {

// One route as /openapi.json has it.
struct Operation {
  std::string method;
  std::string path;
  std::string permission;  // empty: of everybody
  std::string resource;

  std::string name() const { return method + " " + path; }
};

class AccessTest : public ::testing::Test {
 protected:
  void SetUp() override { StartServer(); }

  void StartServer(const std::string& password = "", const std::string& http = "127.0.0.1:0") {
    server_.reset();
    ConfigSources sources;
    sources.flags = {{"data", directory_ / "data"},
                     {"resp", "127.0.0.1:0"},
                     {"http", http},
                     {"durability", "os"},
                     {"io_threads", "1"}};
    if (!password.empty()) sources.flags["password"] = password;
    for (const auto& [name, value] : more_flags_) sources.flags[name] = value;
    const LoadedConfig loaded = LoadConfig(sources);
    ASSERT_TRUE(loaded.problems.empty()) << loaded.problems.front();
    Result<std::unique_ptr<Server>> server =
        Server::Start(loaded.config, {}, clock_, random_, Log::Silent());
    failure_ = server.ok() ? "" : server.error().message;
    if (!server.ok()) return;
    server_ = *std::move(server);
    http_.emplace(net::Address{"127.0.0.1", server_->http().port});
  }

  // What all layers declare.
  const house::Permissions& permissions() const { return declarations_.permissions(); }

  net::HttpResponse Ask(std::string_view key, std::string_view method, const std::string& target,
                        const std::string& body = "") {
    net::HttpHeaders headers{{"Content-Type", "application/json"}};
    if (!key.empty()) headers.Add("Authorization", fmt::format("Bearer {}", key));
    const Result<net::HttpResponse> response = http_->Request(method, target, body, headers);
    return response.ok() ? *response : net::HttpResponse::Text(0, response.error().message);
  }
  boost::json::value AskOk(std::string_view key, std::string_view method, const std::string& target,
                           const std::string& body = "") {
    const net::HttpResponse response = Ask(key, method, target, body);
    EXPECT_LT(response.status, 300) << method << " " << target << ": " << response.body;
    return boost::json::parse(response.body);
  }
  // "403 FORBIDDEN"
  std::string Refusal(const net::HttpResponse& response) {
    boost::system::error_code none;
    const boost::json::value body = boost::json::parse(response.body, none);
    const boost::json::object* object = body.if_object();
    const boost::json::value* code = object == nullptr ? nullptr : object->if_contains("code");
    return fmt::format("{} {}", response.status,
                       code == nullptr ? response.body : std::string(code->as_string()));
  }

  // A key with these members besides its name; the first one is an admin's.
  std::string MakeKey(const std::string& name, const std::string& members) {
    const boost::json::value made =
        AskOk(admin_, "POST", "/api/v1/auth/keys",
              fmt::format(R"({{"name":"{}"{}{}}})", name, members.empty() ? "" : ",", members));
    const boost::json::value* key = made.as_object().if_contains("key");
    return key == nullptr ? "" : std::string(key->as_string());
  }
  std::string HashOf(const std::string& name) {
    const boost::json::value keys = AskOk(admin_, "GET", "/api/v1/auth/keys");
    for (const boost::json::value& key : keys.as_array()) {
      if (std::string_view(key.at("name").as_string()) == name)
        return std::string(key.at("key_hash").as_string());
    }
    return "";
  }
  net::HttpResponse DeleteKey(const std::string& name) {
    return Ask(admin_, "DELETE", "/api/v1/auth/keys",
               fmt::format(R"({{"key_hash":"{}"}})", HashOf(name)));
  }
  void MakeAdmin() { admin_ = MakeKey("root", R"("role":"admin")"); }

  std::string Enqueue(const std::string& queue, const std::string& more = "") {
    return std::string(
        AskOk(admin_, "POST", "/api/v1/enqueue", fmt::format(R"({{"queue":"{}"{}}})", queue, more))
            .at("job_id")
            .as_string());
  }

  net::RespClient Connect() {
    auto client = net::RespClient::Connect({"127.0.0.1", server_->resp().port});
    EXPECT_TRUE(client.ok());
    return *std::move(client);
  }
  // A reply as text, good enough to look for words in it.
  static std::string Run(net::RespClient& client, const std::vector<std::string>& args) {
    const auto reply = client.Command(args);
    return reply.ok() ? TextOf(*reply) : "gone: " + reply.error().message;
  }
  static std::string TextOf(const net::RespValue& value) {
    std::string text = value.text;
    for (const net::RespValue& item : value.items) text += " " + TextOf(item);
    return text;
  }

  std::vector<Operation> Operations() {
    std::vector<Operation> operations;
    const boost::json::value document = AskOk(admin_, "GET", "/openapi.json");
    for (const auto& [path, methods] : document.at("paths").as_object()) {
      for (const auto& [method, row] : methods.as_object()) {
        const auto text = [&, &row = row](std::string_view name) {
          const boost::json::value* value = row.as_object().if_contains(name);
          return value == nullptr ? std::string() : std::string(value->as_string());
        };
        std::string upper(method);
        std::ranges::transform(upper, upper.begin(),
                               [](unsigned char c) { return std::toupper(c); });
        operations.push_back({upper, std::string(path), text("x-permission"), text("x-resource")});
      }
    }
    return operations;
  }

  const house::Layers layers_ = MakeLayers();
  const house::Declarations declarations_{layers_};
  testing::TempDirectory directory_;
  SystemClock clock_;
  SystemRandom random_;
  std::unique_ptr<Server> server_;
  std::optional<net::HttpClient> http_;
  std::string admin_;    // the admin's key; empty: none was made
  std::string failure_;  // why there is no server
  std::map<std::string, std::string> more_flags_;
};

// A path that leads to a route, whatever stands for its parameters.
inline std::string TargetOf(const std::string& path) {
  std::string target;
  bool inside = false;
  for (const char c : path) {
    if (c == '{') target += 'x';
    inside = (inside || c == '{') && c != '}';
    if (!inside && c != '}') target += c;
  }
  return target;
}

}  // namespace cairn::app
