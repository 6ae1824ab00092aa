#include "tests/support/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "net/http/client.h"
#include "net/resp/client.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;

// `line` with its random digits and the number of its client.
std::string Filled(std::string line, int client, Random& random) {
  for (size_t at = 0; (at = line.find("{r}", at)) != std::string::npos;) {
    line.replace(at, 3, std::to_string(random.Below(10)));
  }
  for (size_t at = 0; (at = line.find("{c}", at)) != std::string::npos;) {
    line.replace(at, 3, std::to_string(client));
  }
  return line;
}

std::vector<std::string> Arguments(std::string_view line) {
  std::vector<std::string> arguments;
  std::optional<std::string> last;
  if (const size_t bar = line.find(" | "); bar != std::string_view::npos) {
    last = line.substr(bar + 3);
    line = line.substr(0, bar);
  }
  while (!line.empty()) {
    const size_t space = std::min(line.find(' '), line.size());
    arguments.emplace_back(line.substr(0, space));
    line.remove_prefix(std::min(space + 1, line.size()));
  }
  if (last) arguments.push_back(*std::move(last));
  return arguments;
}

bool Refused(const net::RespValue& reply, const std::vector<std::string>& refusals) {
  return std::ranges::any_of(
      refusals, [&](const std::string& refusal) { return reply.text.starts_with(refusal); });
}

// The first reply to `lines`, or inside one of them, that is wrong.
std::string SendAll(net::RespClient& connection, const std::vector<std::string>& lines,
                    const std::vector<std::string>& refusals) {
  for (const std::string& line : lines) {
    if (const auto sent = connection.Send(Arguments(line)); !sent.ok()) return sent.error().message;
  }
  for (const std::string& line : lines) {
    const auto reply = connection.Receive();
    if (!reply.ok()) return fmt::format("{}: {}", line, reply.error().message);
    const auto wrong = [&](const net::RespValue& value) {
      return value.is_error() && !Refused(value, refusals);
    };
    if (wrong(*reply) || std::ranges::any_of(reply->items, wrong)) {
      return fmt::format("{}: {}", line, reply->ToString());
    }
  }
  return "";
}

// What a worker knows of the job it has.
struct Leased {
  std::string id;
  std::string token;
};

std::string RespWork(net::RespClient& connection, const std::string& queue, int client) {
  const auto fetched =
      connection.Command({"JOB.FETCH", "COUNT", "4", "LEASE", "5000", "BLOCK", "20", "WORKER",
                          fmt::format("resp{}", client), "QUEUES", queue});
  if (!fetched.ok()) return fetched.error().message;
  if (fetched->is_error()) return fetched->text;
  for (size_t i = 0; i < fetched->items.size(); ++i) {
    const net::RespValue& job = fetched->items[i];
    Leased leased;
    for (size_t field = 0; field + 1 < job.items.size(); field += 2) {
      if (job.items[field].text == "job_id") leased.id = job.items[field + 1].text;
      if (job.items[field].text == "lease_token") leased.token = job.items[field + 1].text;
    }
    // A job may have been cancelled, moved or deleted by somebody else meanwhile.
    const std::vector<std::string> others = {"LEASE_LOST", "NOT_FOUND", "ACK_ERROR", "FAIL_ERROR",
                                             "HEARTBEAT_ERROR"};
    const std::string end = i % 2 == 0 ? "JOB.ACK {} TOKEN {} RESULT 1" : "JOB.FAIL {} TOKEN {}";
    std::string fault = SendAll(connection,
                                {fmt::format("JOB.HEARTBEAT {} TOKEN {}", leased.id, leased.token),
                                 fmt::format(fmt::runtime(end), leased.id, leased.token)},
                                others);
    if (!fault.empty()) return fault;
  }
  return "";
}

std::string HttpWork(net::HttpClient& connection, const std::string& queue, int client) {
  const auto post = [&](const std::string& path, const json::value& body) {
    return connection.Post("/api/v1/" + path, json::serialize(body),
                           {{"Content-Type", "application/json"}});
  };
  const auto fetched = post("fetch", {{"queues", {queue}},
                                      {"worker_id", fmt::format("http{}", client)},
                                      {"lease_duration", 5},
                                      {"wait", 1}});
  if (!fetched.ok()) return fetched.error().message;
  if (fetched->status == 204) return "";
  if (fetched->status != 200) return fetched->body;
  const json::value job = json::parse(fetched->body);
  const std::string id(job.at("job_id").as_string());
  const json::value& token = job.at("lease_token");
  const auto renewed = post("heartbeat", {{"jobs", {{id, {{"lease_token", token}}}}}});
  const auto done = post("ack/" + id, {{"lease_token", token}, {"result", "done"}});
  if (!renewed.ok()) return renewed.error().message;
  if (!done.ok()) return done.error().message;
  return std::max(renewed->status, done->status) < 500 ? "" : renewed->body + done->body;
}

// A step on a connection that is made before the first of them.
ClientKind::Step OnConnection(const Target& target,
                              std::function<std::string(net::RespClient&)> step) {
  return [&target, step = std::move(step),
          connection = std::shared_ptr<net::RespClient>()]() mutable -> std::string {
    if (connection == nullptr) {
      auto made = net::RespClient::Connect(target.resp, std::chrono::seconds(60));
      if (!made.ok()) return made.error().message;
      connection = std::make_shared<net::RespClient>(*std::move(made));
    }
    return step(*connection);
  };
}

std::shared_ptr<net::HttpClient> NewHttpClient(const Target& target) {
  return std::make_shared<net::HttpClient>(
      target.http, net::HttpClientOptions{.timeout = std::chrono::seconds(60)});
}

}  // namespace

ClientKind Pipelines(std::string name, int clients, const std::vector<std::string>& lines,
                     const std::vector<std::string>& refusals) {
  return {std::move(name), clients, [=](const Target& target, int client) {
            const auto random = std::make_shared<SeededRandom>(static_cast<uint64_t>(client));
            return OnConnection(target, [=](net::RespClient& connection) {
              std::vector<std::string> filled;
              for (const std::string& line : lines) {
                filled.push_back(Filled(line, client, *random));
              }
              return SendAll(connection, filled, refusals);
            });
          }};
}

ClientKind Requests(std::string name, int clients, const std::vector<std::string>& lines) {
  return {std::move(name), clients, [=](const Target& target, int client) -> ClientKind::Step {
            const auto random = std::make_shared<SeededRandom>(static_cast<uint64_t>(client));
            const auto connection = NewHttpClient(target);
            return [=]() -> std::string {
              for (const std::string& line : lines) {
                const std::string filled = Filled(line, client, *random);
                const size_t path = filled.find(' ') + 1;
                const size_t body = std::min(filled.find(' ', path), filled.size());
                const auto answer = connection->Request(
                    filled.substr(0, path - 1), filled.substr(path, body - path),
                    filled.substr(std::min(body + 1, filled.size())),
                    {{"Content-Type", "application/json"}});
                if (!answer.ok()) return fmt::format("{}: {}", filled, answer.error().message);
                if (answer->status >= 500) {
                  return fmt::format("{}: {} {}", filled, answer->status, answer->body);
                }
              }
              return "";
            };
          }};
}

ClientKind Listeners(std::string name, int clients, Door door, const std::string& bytes,
                     std::chrono::milliseconds patience) {
  return {std::move(name), clients, [=](const Target& target, int) -> ClientKind::Step {
            return [=, &target]() -> std::string {
              auto connection = net::RespClient::Connect(
                  door == Door::kResp ? target.resp : target.http, patience);
              if (!connection.ok()) return connection.error().message;
              if (connection->SendRaw(bytes).ok()) (void)connection->ReceiveUntilClosed();
              return "";
            };
          }};
}

ClientKind HttpWorkers(std::string name, int clients, const std::string& queue) {
  return {std::move(name), clients, [=](const Target& target, int client) -> ClientKind::Step {
            const auto connection = NewHttpClient(target);
            return [=] { return HttpWork(*connection, queue, client); };
          }};
}

ClientKind RespWorkers(std::string name, int clients, const std::string& queue) {
  return {std::move(name), clients, [=](const Target& target, int client) {
            return OnConnection(target, [=](net::RespClient& connection) {
              return RespWork(connection, queue, client);
            });
          }};
}

Load::Load(const Target& target, const std::vector<ClientKind>& kinds) {
  for (const ClientKind& kind : kinds) {
    for (int number = 0; number < kind.clients; ++number) {
      auto& client = *clients_.emplace_back(std::make_unique<Client>());
      client.name = fmt::format("{} {}", kind.name, number);
      client.thread = std::jthread([&target, &client, step = kind.make(target, number)] {
        while (!target.stop) {
          std::string fault = step();
          if (fault.empty()) {
            ++client.steps;
          } else if (!target.stop) {
            client.fault = std::move(fault);
            return;
          }
        }
      });
    }
  }
}

std::vector<std::string> Load::Join() {
  std::vector<std::string> faults;
  for (const auto& client : clients_) {
    client->thread.join();
    if (!client->fault.empty()) {
      faults.push_back(client->name + ": " + client->fault);
    } else if (client->steps == 0) {
      faults.push_back(client->name + ": took no step");
    }
  }
  return faults;
}

}  // namespace cairn::testing
