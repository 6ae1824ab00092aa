#include "tests/functions/functions_server.h"

#include <dirent.h>
#include <fmt/format.h>
#include <signal.h>

#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "tests/support/await.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;

constexpr std::string_view kBase = "/v1/tenants/t_test01/namespaces/shop";

json::object UsualManifest() {
  return json::parse(R"({"schema":"cs.function.script.v1","runtime":"cs-js",
    "entry":"function.js","handler":"default",
    "limits":{"timeoutMs":10000,"memoryMb":64,"maxConcurrency":100},
    "capabilities":{"kv":{"prefixes":["a:"],"ops":["get","set","del"]},
      "codeq":{"publishTopics":["orders"]},"http":{"allowHosts":["127.0.0.1"],"timeoutMs":2000}}})")
      .as_object();
}

}  // namespace

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8U | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (size_t j = 0; j < 4; ++j) {
      text += j <= count ? kLetters[group >> (18 - 6 * j) & 63U] : '=';
    }
  }
  return text;
}

FunctionsServer::FunctionsServer(std::vector<std::string> flags)
    : flags_(std::move(flags)),
      server_(Server::MustStart({.data = directory_ / "data", .flags = flags_})) {}

void FunctionsServer::Kill() {
  ::kill(server_.process().pid(), SIGKILL);
  (void)server_.Stop();
  server_ = Server::MustStart({.data = directory_ / "data", .flags = flags_});
}

JsonAnswer FunctionsServer::Call(std::string_view method, std::string_view target, std::string body,
                                 const net::HttpHeaders& headers) {
  net::HttpClient client = server_.Http();
  const Result<net::HttpResponse> response =
      client.Request(method, target, std::move(body), headers);
  if (!response.ok()) return {.text = response.error().message};
  boost::system::error_code error;
  json::value parsed = json::parse(response->body, error);
  return {.status = response->status,
          .body = error ? json::value() : std::move(parsed),
          .headers = response->headers,
          .text = response->body};
}

void FunctionsServer::Publish(std::string_view name, std::string_view source,
                              std::string_view manifest, std::string_view config) {
  json::object whole = UsualManifest();
  const json::value changed = json::parse(manifest);
  for (const auto& [member, value] : changed.as_object()) whole[member] = value;
  (void)Call("POST", fmt::format("{}/functions", kBase), fmt::format(R"({{"name":"{}"}})", name));
  const json::object files{{"function.js", Base64(source)},
                           {"manifest.json", Base64(json::serialize(whole))}};
  const json::object request{{"files", files}, {"config", json::parse(config)}, {"alias", "live"}};
  const JsonAnswer answer =
      Call("POST", fmt::format("{}/functions/{}/versions", kBase, name), json::serialize(request));
  if (answer.status != 201) throw std::runtime_error("not published: " + answer.text);
}

JsonAnswer FunctionsServer::Invoke(std::string_view name, std::string_view event,
                                   const net::HttpHeaders& headers) {
  return Call("POST", fmt::format("{}/functions/{}:invoke", kBase, name),
              fmt::format(R"({{"ref":{{"alias":"live"}},"event":{}}})", event), headers);
}

std::string FunctionsServer::InvokeLater(std::string_view name, std::string_view event,
                                         const net::HttpHeaders& headers) {
  const JsonAnswer answer = Call(
      "POST", fmt::format("{}/functions/{}:invoke", kBase, name),
      fmt::format(R"({{"ref":{{"alias":"live"}},"mode":"async","event":{}}})", event), headers);
  if (answer.status != 202) return "";
  return std::string(answer.body.at("activation_id").as_string());
}

json::value FunctionsServer::Activation(std::string_view id) {
  return Call("GET", fmt::format("/v1/tenants/t_test01/activations/{}", id)).body;
}

json::value FunctionsServer::Ended(std::string_view id) {
  json::value activation;
  Await(fmt::format("the end of the activation {}", id), [&] {
    activation = Activation(id);
    if (!activation.is_object() || !activation.as_object().contains("status")) return false;
    const json::string& status = activation.at("status").as_string();
    return status != "queued" && status != "running";
  });
  return activation;
}

std::string FunctionsServer::LogOf(std::string_view id) {
  const JsonAnswer answer =
      Call("GET", fmt::format("/v1/tenants/t_test01/activations/{}/logs", id));
  std::string text;
  for (const json::value& chunk : answer.body.at("chunks").as_array()) {
    text += chunk.at("text").as_string();
  }
  return text;
}

std::vector<pid_t> Descendants(pid_t pid) {
  std::multimap<pid_t, pid_t> children;
  DIR* const processes = opendir("/proc");
  while (const dirent* const entry = readdir(processes)) {
    const pid_t one = std::atoi(entry->d_name);
    if (one <= 0) continue;
    std::ifstream file(fmt::format("/proc/{}/stat", one));
    std::string text;
    std::getline(file, text);
    const size_t end = text.rfind(')');
    if (end == std::string::npos) continue;  // it has ended
    children.emplace(std::atoi(text.c_str() + end + 4), one);
  }
  closedir(processes);
  std::vector<pid_t> found = {pid};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto at = begin; at != end; ++at) found.push_back(at->second);
  }
  found.erase(found.begin());
  return found;
}

}  // namespace cairn::testing
