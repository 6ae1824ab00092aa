#include "tests/support/server.h"

#include <boost/json/parse.hpp>
#include <csignal>
#include <stdexcept>
#include <utility>

#include "tests/support/temp_directory.h"
#include "tests/support/test_store.h"

namespace cairn::testing {
namespace {

constexpr std::chrono::milliseconds kLookAgain{2};

Result<net::Address> AddressIn(const boost::json::value& ready, std::string_view door) {
  const boost::json::value* field = ready.as_object().if_contains(door);
  if (field == nullptr || !field->is_string()) {
    return Error{ErrorCode::kInternal, "the ready file does not name " + std::string(door)};
  }
  return net::ParseAddress(field->get_string());
}

// What the ready file says, as soon as it is there.
Result<std::string> AwaitReadyFile(Process& process, const std::string& path,
                                   std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < deadline) {
    std::string ready = ReadWholeFile(path);
    if (!ready.empty()) return ready;
    if (process.Wait(kLookAgain)) {
      return Error{ErrorCode::kUnavailable, "the server ended: " + process.err()};
    }
  }
  return Error{ErrorCode::kUnavailable, "the server was not ready in time: " + process.err()};
}

}  // namespace

Result<Server> Server::Start(const ServerOptions& options, std::chrono::milliseconds limit) {
  const TempDirectory directory;
  const std::string ready_file = directory / "ready";
  ProcessOptions process_options;
  process_options.args = {CairnBinary(), "serve",  "--data",      options.data,   "--resp",
                          "127.0.0.1:0", "--http", "127.0.0.1:0", "--ready-file", ready_file};
  if (!OnRocks()) {
    const store::postgres::Options postgres = PostgresOptionsFor(options.data);
    const bool portable = postgres.mode == store::postgres::Mode::kPortable;
    process_options.args.insert(process_options.args.end(),
                                {"--store", postgres.url, "--postgres-schema", postgres.schema,
                                 "--postgres-mode", portable ? "portable" : "advisory"});
  }
  process_options.args.insert(process_options.args.end(), options.flags.begin(),
                              options.flags.end());
  process_options.environment = options.environment;
  CAIRN_ASSIGN_OR_RETURN(Process process, Process::Start(process_options));
  CAIRN_ASSIGN_OR_RETURN(const std::string text, AwaitReadyFile(process, ready_file, limit));
  const boost::json::value ready = boost::json::parse(text);
  CAIRN_ASSIGN_OR_RETURN(net::Address resp, AddressIn(ready, "resp"));
  CAIRN_ASSIGN_OR_RETURN(net::Address http, AddressIn(ready, "http"));
  return Server(std::move(process), std::move(resp), std::move(http));
}

Server Server::MustStart(const ServerOptions& options) {
  Result<Server> server = Start(options);
  if (!server.ok()) throw std::runtime_error(server.error().message);
  return *std::move(server);
}

std::string Server::Command(std::initializer_list<std::string_view> args) const {
  Result<net::RespClient> client = Connect();
  if (!client.ok()) return client.error().message;
  const Result<net::RespValue> reply = client->Command(args);
  return reply.ok() ? reply->ToString() : reply.error().message;
}

ExitStatus Server::Stop(std::chrono::milliseconds limit) {
  process_.Signal(SIGTERM);
  if (!process_.Wait(limit)) process_.Kill();
  return *process_.Wait(std::chrono::milliseconds(0));
}

}  // namespace cairn::testing
