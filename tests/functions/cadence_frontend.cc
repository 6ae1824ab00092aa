#include "tests/functions/cadence_frontend.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "net/http/client.h"
#include "tests/support/await.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;

// How long it holds a poll: a real one does so for a minute.
constexpr std::string_view kLongPollMs = "5000";

}  // namespace

CadenceFrontend::CadenceFrontend(std::string transport) : transport_(std::move(transport)) {
  Start();
}

std::string CadenceFrontend::address() const { return fmt::format("127.0.0.1:{}", port_); }

std::vector<std::string> CadenceFrontend::flags() const {
  return {"--functions-cadence-address", address(), "--functions-cadence-transport", transport_};
}

void CadenceFrontend::Kill() { process_->Kill(); }

void CadenceFrontend::Start() {
  Result<Process> started =
      Process::Start({.args = {"/usr/bin/env", "node", "tests/functions/cadence/frontend.mjs",
                               "build-npm-cadence", directory_ / "state", transport_,
                               std::to_string(port_), std::string(kLongPollMs)}});
  if (!started.ok()) throw std::runtime_error(started.error().message);
  process_ = *std::move(started);
  testing::Await("the frontend of Cadence", [&] {
    if (!process_->running()) throw std::runtime_error(process_->err());
    return process_->out().find('\n') != std::string::npos;
  });
  std::istringstream said(process_->out());
  said >> port_ >> control_port_;
}

json::value CadenceFrontend::Ask(std::string_view path, const json::value& body) {
  net::HttpClient client(net::Address{"127.0.0.1", control_port_});
  const Result<net::HttpResponse> response =
      client.Request("POST", path, body.is_null() ? "" : json::serialize(body), {});
  if (!response.ok() || response->status != 200) {
    throw std::runtime_error(fmt::format("{}: {}", path, process_->err()));
  }
  return json::parse(response->body);
}

void CadenceFrontend::Schedule(json::object activity) {
  json::array all;
  all.push_back(std::move(activity));
  Ask("/schedule", all);
}

int64_t CadenceFrontend::Count(std::string_view state) {
  const json::value answer = Ask("/state");
  const json::value* const count = answer.at("counts").as_object().if_contains(state);
  return count == nullptr ? 0 : count->as_int64();
}

json::object CadenceFrontend::Activity(std::string_view id) {
  return Ask("/activity", json::object{{"id", id}}).as_object();
}

json::object CadenceFrontend::Await(std::string_view id, std::string_view state) {
  json::object activity;
  testing::Await(fmt::format("the activity {} to be {}", id, state), [&] {
    activity = Activity(id);
    return activity.at("state").as_string() == state;
  });
  return activity;
}

}  // namespace cairn::testing
