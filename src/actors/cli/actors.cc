#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/cli/verbs.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "house/api_client.h"
#include "house/terminal.h"
#include "net/http/message.h"

namespace cairn::actors {
namespace {

namespace json = boost::json;
using house::ApiClient;
using house::Terminal;
using house::VerbAction;
using house::VerbCall;
using house::VerbOption;

constexpr int64_t kMaxShown = 16'384;
constexpr std::string_view kBase64 = "base64";

std::string Percent(std::string_view text) { return net::PercentEncode(text); }

std::string PathOf(const VerbCall& call, std::string_view rest = "") {
  return fmt::format("/v1/actors/{}{}", Percent(call.arguments[0]), rest);
}

// A key or a value as it was typed, in base64.
std::string Typed(const VerbCall& call, std::string_view text) {
  return call.Switch(kBase64) ? std::string(text) : Base64Encode(text);
}

// One from the server as it is shown.
std::string Shown(const VerbCall& call, const json::value& base64) {
  const std::string_view text = base64.as_string();
  if (call.Switch(kBase64)) return std::string(text);
  return Printable(Base64Decode(text).value_or(Bytes()), 1'000);
}

std::string NumberText(const json::value& value) {
  return fmt::format("{}", value.to_number<int64_t>());
}

std::string TextOr(const json::value& value, std::string_view otherwise) {
  return value.is_string() ? std::string(value.as_string()) : std::string(otherwise);
}

// --- Printing ------------------------------------------------------------------------------------

std::vector<std::string> ActorCells(const json::value& actor) {
  return {TextOr(actor.at("actor_id"), ""), TextOr(actor.at("name"), ""),
          json::serialize(actor.at("key")), NumberText(actor.at("generation")),
          NumberText(actor.at("entries")),  NumberText(actor.at("bytes"))};
}

void PrintActors(const VerbCall& call, const json::value& page) {
  std::vector<std::vector<std::string>> rows = {
      {"actor", "name", "key", "generation", "entries", "bytes"}};
  for (const json::value& actor : page.at("actors").as_array()) rows.push_back(ActorCells(actor));
  call.terminal.Print(house::FormatTable(rows));
  if (page.at("next").is_string()) {
    call.terminal.Print(fmt::format("There are more: --after '{}'", TextOr(page.at("next"), "")));
  }
}

void PrintActor(const VerbCall& call, const json::value& actor) {
  for (const auto& [name, value] : actor.as_object()) {
    call.terminal.Print(
        fmt::format("{:<14} {}", std::string_view(name),
                    value.is_string() ? TextOr(value, "") : json::serialize(value)));
  }
}

void PrintEntries(const VerbCall& call, const json::value& page) {
  std::vector<std::vector<std::string>> rows = {{"key", "revision", "value"}};
  for (const json::value& entry : page.at("entries").as_array()) {
    rows.push_back({Shown(call, entry.at("key")), NumberText(entry.at("revision")),
                    Shown(call, entry.at("value"))});
  }
  call.terminal.Print(house::FormatTable(rows));
  if (page.at("next").is_string()) {
    call.terminal.Print(fmt::format("There are more: --after '{}'", Shown(call, page.at("next"))));
  }
}

void PrintEntry(const VerbCall& call, const json::value& entry) {
  call.terminal.Print(Shown(call, entry.at("value")));
}

void PrintRevision(const VerbCall& call, const json::value& answer) {
  call.terminal.Print(fmt::format("revision {}", NumberText(answer.at("revision"))));
}

void PrintDestroyed(const VerbCall& call, const json::value& /*answer*/) {
  call.terminal.Print(fmt::format("destroyed {}", call.arguments[0]));
}

// --- Actions -------------------------------------------------------------------------------------

Result<json::value> List(ApiClient& client, const VerbCall& call) {
  std::string path = fmt::format("/v1/actors?namespace={}&limit={}", Percent(call.arguments[0]),
                                 std::min<int64_t>(call.Number("limit"), 1'000));
  if (!call.Text("name").empty()) path += "&name=" + Percent(call.Text("name"));
  if (!call.Text("after").empty()) path += "&after=" + Percent(call.Text("after"));
  return client.Get(path);
}

Result<json::value> Create(ApiClient& client, const VerbCall& call) {
  json::array key;
  for (size_t i = 2; i < call.arguments.size(); ++i) key.emplace_back(call.arguments[i]);
  return client.Post("/v1/actors", json::serialize(json::object{{"namespace", call.arguments[0]},
                                                                {"name", call.arguments[1]},
                                                                {"key", std::move(key)}}));
}

Result<json::value> Show(ApiClient& client, const VerbCall& call) {
  return client.Get(PathOf(call));
}

Result<json::value> Destroy(ApiClient& client, const VerbCall& call) {
  return client.Request("DELETE", PathOf(call), "");
}

Result<json::value> Entries(ApiClient& client, const VerbCall& call) {
  std::string path = PathOf(call, fmt::format("/entries?limit={}", call.Number("limit")));
  for (const std::string_view option : {"prefix", "after"}) {
    if (call.Text(option).empty()) continue;
    path += fmt::format("&{}={}", option, Percent(Typed(call, call.Text(option))));
  }
  return client.Get(path);
}

Result<json::value> Get(ApiClient& client, const VerbCall& call) {
  return client.Get(PathOf(call, "/entries/" + Percent(Typed(call, call.arguments[1]))));
}

Result<json::value> Put(ApiClient& client, const VerbCall& call) {
  const json::object entry{{"key", Typed(call, call.arguments[1])},
                           {"value", Typed(call, call.arguments[2])}};
  return client.Post(PathOf(call, "/put"),
                     json::serialize(json::object{{"entries", json::array{entry}}}));
}

Result<json::value> Delete(ApiClient& client, const VerbCall& call) {
  return client.Post(
      PathOf(call, "/delete"),
      json::serialize(json::object{{"keys", json::array{Typed(call, call.arguments[1])}}}));
}

struct ActionRow {
  VerbAction action;
  Result<json::value> (*run)(ApiClient&, const VerbCall&);
  void (*print)(const VerbCall&, const json::value&);
};
const std::vector<ActionRow>& Actions() {
  static const std::vector<ActionRow> actions = {
      {{"list", "NAMESPACE", 1, 1}, List, PrintActors},
      {{"create", "NAMESPACE NAME [KEY…]", 2, VerbAction::kAny}, Create, PrintActor},
      {{"show", "ACTOR", 1, 1}, Show, PrintActor},
      {{"destroy", "ACTOR", 1, 1}, Destroy, PrintDestroyed},
      {{"entries", "ACTOR", 1, 1}, Entries, PrintEntries},
      {{"get", "ACTOR KEY", 2, 2}, Get, PrintEntry},
      {{"put", "ACTOR KEY VALUE", 3, 3}, Put, PrintRevision},
      {{"delete", "ACTOR KEY", 2, 2}, Delete, PrintRevision},
  };
  return actions;
}

int Complain(const Terminal& terminal, const Error& error) {
  terminal.Complain("actors: " + error.message);
  return house::kExitFailure;
}

int RunActors(const VerbCall& call) {
  const auto row = std::ranges::find(Actions(), call.action,
                                     [](const ActionRow& one) { return one.action.name; });
  if (!call.server.ok()) return Complain(call.terminal, call.server.error());
  ApiClient client(*call.server);
  const Result<json::value> answer = row->run(client, call);
  if (!answer.ok()) return Complain(call.terminal, answer.error());
  if (call.json) {
    call.terminal.Print(*answer);
  } else {
    row->print(call, *answer);
  }
  return house::kExitOk;
}

}  // namespace

house::Verb ActorsVerb() {
  house::Verb verb{.name = "actors",
                   .description = "List, create and destroy actors, read and write what they keep",
                   .options = {{.name = "name",
                                .value_name = "NAME",
                                .description = "list: only actors of this name"},
                               {.name = "prefix",
                                .value_name = "KEY",
                                .description = "entries: only keys that begin so"},
                               {.name = "after",
                                .value_name = "CURSOR",
                                .description = "list, entries: go on behind it"},
                               {.name = "limit",
                                .value_name = "N",
                                .description = "list, entries: how many at most",
                                .kind = VerbOption::Kind::kNumber,
                                .initial = 100,
                                .least = 1,
                                .most = kMaxShown},
                               {.name = std::string(kBase64),
                                .value_name = {},
                                .description = "keys and values are typed and shown in base64",
                                .kind = VerbOption::Kind::kSwitch}},
                   .run = RunActors};
  for (const ActionRow& row : Actions()) verb.actions.push_back(row.action);
  return verb;
}

}  // namespace cairn::actors
