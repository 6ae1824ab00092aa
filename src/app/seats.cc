#include "app/seats.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>

#include "app/api_client.h"
#include "app/on_sale.h"
#include "app/server_url.h"
#include "net/http/message.h"

namespace cairn::app {
namespace {

namespace json = boost::json;

std::string Percent(std::string_view text) { return net::PercentEncode(text); }

std::string Number(const json::value& value) {
  return fmt::format("{}", value.to_number<int64_t>());
}

std::vector<std::string> CountCells(const json::value& stats) {
  return {Number(stats.at("available")), Number(stats.at("reserved")), Number(stats.at("sold")),
          Number(stats.at("blocked")), Number(stats.at("total"))};
}

std::vector<std::string> WithCounts(std::vector<std::string> cells, const json::value& stats) {
  const std::vector<std::string> counts = CountCells(stats);
  cells.insert(cells.end(), counts.begin(), counts.end());
  return cells;
}

std::string TextOr(const json::value& value, std::string_view otherwise) {
  return value.is_string() ? std::string(value.as_string()) : std::string(otherwise);
}

void PrintState(const json::value& event, const Terminal& terminal) {
  std::string title = terminal.Paint(Colour::kBold, TextOr(event.at("id"), ""));
  const std::string name = TextOr(event.at("name"), "");
  if (!name.empty()) title += "  " + name;
  terminal.Print(title + "  " + TextOr(event.at("status"), ""));
  std::vector<std::vector<std::string>> rows = {
      {"section", "price", "available", "reserved", "sold", "blocked", "total"}};
  for (const auto& [id, section] : event.at("sections").as_object()) {
    rows.push_back(WithCounts({std::string(id), Number(section.at("price"))}, section.at("stats")));
  }
  rows.push_back(WithCounts({"all", ""}, event.at("stats")));
  terminal.Print(FormatTable(rows));
  for (const auto& [moment, value] : event.at("sellout").as_object()) {
    terminal.Print(fmt::format("{}: {}", std::string_view(moment), TextOr(value, "")));
  }
}

void PrintEvents(const json::value& page, const Terminal& terminal) {
  std::vector<std::vector<std::string>> rows = {
      {"event", "available", "reserved", "sold", "blocked", "total", "name"}};
  for (const json::value& event : page.at("events").as_array()) {
    std::vector<std::string> cells = WithCounts({TextOr(event.at("id"), "")}, event.at("stats"));
    cells.push_back(TextOr(event.at("name"), ""));
    rows.push_back(std::move(cells));
  }
  terminal.Print(FormatTable(rows));
  if (page.at("next").is_string()) terminal.Print(std::string_view("There are more."));
}

// A seat as a person sees it, in its colour.
std::string DrawSeat(char letter, const Terminal& terminal) {
  switch (letter) {
    case 'r':
      return terminal.Paint(Colour::kYellow, "r");
    case 's':
      return terminal.Paint(Colour::kRed, "s");
    case 'x':
      return terminal.Paint(Colour::kDim, "x");
    default:
      return terminal.Paint(Colour::kGreen, ".");
  }
}

void PrintMap(const json::value& map, const Terminal& terminal) {
  const std::vector<std::string> counts = CountCells(map.at("stats"));
  terminal.Print(fmt::format("{} section {}: {} rows of {} seats", TextOr(map.at("event_id"), ""),
                             TextOr(map.at("section"), ""), Number(map.at("rows")),
                             Number(map.at("cols"))));
  int64_t row = 0;
  for (const json::value& seats : map.at("seats").as_array()) {
    std::string line = fmt::format("{:>5}  ", ++row);
    for (const char letter : std::string_view(seats.as_string()))
      line += DrawSeat(letter, terminal);
    terminal.Print(line);
  }
  terminal.Print(fmt::format("{} {} available  {} {} reserved  {} {} sold  {} {} blocked",
                             DrawSeat('.', terminal), counts[0], DrawSeat('r', terminal), counts[1],
                             DrawSeat('s', terminal), counts[2], DrawSeat('x', terminal),
                             counts[3]));
}

void PrintVerification(const json::value& report, const Terminal& terminal) {
  if (report.at("sound").as_bool()) {
    terminal.Print(fmt::format("{} {}: {} seats in {} sections and {} bookings agree",
                               terminal.Paint(Colour::kGreen, "ok"),
                               TextOr(report.at("event_id"), ""),
                               Number(report.at("seats").at("total")),
                               Number(report.at("sections")), Number(report.at("bookings"))));
    return;
  }
  for (const json::value& problem : report.at("problems").as_array()) {
    terminal.Print(
        fmt::format("{} {}", terminal.Paint(Colour::kRed, "wrong"), TextOr(problem, "")));
  }
  if (const std::string more = Number(report.at("more_problems")); more != "0") {
    terminal.Print(fmt::format("and {} more", more));
  }
}

// The definition in a file, or in standard input for "-".
Result<std::string> ReadDefinition(const std::string& file) {
  std::ostringstream text;
  if (file == "-") {
    text << std::cin.rdbuf();
  } else {
    std::ifstream input(file);
    if (!input) return Error{ErrorCode::kNotFound, fmt::format("cannot read {}", file)};
    text << input.rdbuf();
  }
  return text.str();
}

struct Asked {
  json::value answer;
  int exit = kExitOk;
};
using Action = Result<Asked> (*)(ApiClient&, const SeatsOptions&);
using Printer = void (*)(const json::value&, const Terminal&);

Result<Asked> Create(ApiClient& client, const SeatsOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(std::string definition, ReadDefinition(options.arguments[0]));
  CAIRN_ASSIGN_OR_RETURN(json::value event, client.Post("/v1/events", std::move(definition)));
  return Asked{std::move(event)};
}

Result<Asked> List(ApiClient& client, const SeatsOptions& /*options*/) {
  CAIRN_ASSIGN_OR_RETURN(json::value page, client.Get("/v1/events?limit=1000"));
  return Asked{std::move(page)};
}

Result<Asked> State(ApiClient& client, const SeatsOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(json::value event,
                         client.Get("/v1/events/" + Percent(options.arguments[0])));
  return Asked{std::move(event)};
}

Result<Asked> Map(ApiClient& client, const SeatsOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(json::value map, client.Get(fmt::format("/v1/events/{}/sections/{}/seats",
                                                                 Percent(options.arguments[0]),
                                                                 Percent(options.arguments[1]))));
  return Asked{std::move(map)};
}

Result<Asked> Verify(ApiClient& client, const SeatsOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(
      json::value report,
      client.Get(fmt::format("/v1/events/{}/verify", Percent(options.arguments[0]))));
  const int exit = report.at("sound").as_bool() ? kExitOk : kExitFailure;
  return Asked{std::move(report), exit};
}

struct ActionRow {
  std::string_view arguments;  // as the help names them
  size_t count;
  Action run;
  Printer print;
};
const std::map<std::string, ActionRow>& Actions() {
  static const std::map<std::string, ActionRow> actions = {
      {"create", {"FILE", 1, Create, PrintState}},
      {"events", {"", 0, List, PrintEvents}},
      {"state", {"EVENT", 1, State, PrintState}},
      {"map", {"EVENT SECTION", 2, Map, PrintMap}},
      {"verify", {"EVENT", 1, Verify, PrintVerification}},
      {"simulate", {"EVENT", 1, nullptr, nullptr}},
  };
  return actions;
}

Result<Url> ServerOf(const Config& config, const SeatsOptions& options) {
  return options.url.empty() ? UrlOf(config) : ParseUrl(options.url);
}

int Complain(const Terminal& terminal, const Error& error) {
  terminal.Complain("seats: " + error.message);
  return kExitFailure;
}

}  // namespace

const std::vector<std::string>& SeatsActions() {
  static const std::vector<std::string> names = {"create", "events", "state",
                                                 "map",    "verify", "simulate"};
  return names;
}

int Seats(const Config& config, const SeatsOptions& options, const Terminal& terminal) {
  const auto action = Actions().find(options.action);
  if (action == Actions().end()) {
    terminal.Complain(fmt::format("seats: unknown action '{}'{}", options.action,
                                  DidYouMean(options.action, SeatsActions())));
    return kExitUsage;
  }
  if (options.arguments.size() != action->second.count) {
    terminal.Complain(
        fmt::format("usage: cairn seats {} {}", options.action, action->second.arguments));
    return kExitUsage;
  }
  const Result<Url> url = ServerOf(config, options);
  if (!url.ok()) return Complain(terminal, url.error());
  if (options.action == "simulate") return SimulateOnSale(config, *url, options, terminal);
  ApiClient client(config, *url, options.ca_file);
  const Result<Asked> asked = action->second.run(client, options);
  if (!asked.ok()) return Complain(terminal, asked.error());
  if (options.json) {
    terminal.Print(asked->answer);
  } else {
    action->second.print(asked->answer, terminal);
  }
  return asked->exit;
}

}  // namespace cairn::app
