#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "house/api_client.h"
#include "house/terminal.h"
#include "net/http/message.h"
#include "seats/cli_on_sale.h"
#include "seats/cli_verbs.h"

namespace cairn::seats {
namespace {

namespace json = boost::json;
using house::ApiClient;
using house::Colour;
using house::Terminal;
using house::VerbAction;
using house::VerbCall;
using house::VerbOption;

std::string Percent(std::string_view text) { return net::PercentEncode(text); }

std::string CountOf(const json::value& value) {
  return fmt::format("{}", value.to_number<int64_t>());
}

std::vector<std::string> CountCells(const json::value& stats) {
  return {CountOf(stats.at("available")), CountOf(stats.at("reserved")), CountOf(stats.at("sold")),
          CountOf(stats.at("blocked")), CountOf(stats.at("total"))};
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
    rows.push_back(
        WithCounts({std::string(id), CountOf(section.at("price"))}, section.at("stats")));
  }
  rows.push_back(WithCounts({"all", ""}, event.at("stats")));
  terminal.Print(house::FormatTable(rows));
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
  terminal.Print(house::FormatTable(rows));
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
                             TextOr(map.at("section"), ""), CountOf(map.at("rows")),
                             CountOf(map.at("cols"))));
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
                               CountOf(report.at("seats").at("total")),
                               CountOf(report.at("sections")), CountOf(report.at("bookings"))));
    return;
  }
  for (const json::value& problem : report.at("problems").as_array()) {
    terminal.Print(
        fmt::format("{} {}", terminal.Paint(Colour::kRed, "wrong"), TextOr(problem, "")));
  }
  if (const std::string more = CountOf(report.at("more_problems")); more != "0") {
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
  int exit = house::kExitOk;
};
using Action = Result<Asked> (*)(ApiClient&, const VerbCall&);
using Printer = void (*)(const json::value&, const Terminal&);

Result<Asked> Create(ApiClient& client, const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(std::string definition, ReadDefinition(call.arguments[0]));
  CAIRN_ASSIGN_OR_RETURN(json::value event, client.Post("/v1/events", std::move(definition)));
  return Asked{std::move(event)};
}

Result<Asked> List(ApiClient& client, const VerbCall& /*call*/) {
  CAIRN_ASSIGN_OR_RETURN(json::value page, client.Get("/v1/events?limit=1000"));
  return Asked{std::move(page)};
}

Result<Asked> State(ApiClient& client, const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(json::value event, client.Get("/v1/events/" + Percent(call.arguments[0])));
  return Asked{std::move(event)};
}

Result<Asked> Map(ApiClient& client, const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(json::value map, client.Get(fmt::format("/v1/events/{}/sections/{}/seats",
                                                                 Percent(call.arguments[0]),
                                                                 Percent(call.arguments[1]))));
  return Asked{std::move(map)};
}

Result<Asked> Verify(ApiClient& client, const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(json::value report, client.Get(fmt::format("/v1/events/{}/verify",
                                                                    Percent(call.arguments[0]))));
  const int exit = report.at("sound").as_bool() ? house::kExitOk : house::kExitFailure;
  return Asked{std::move(report), exit};
}

struct ActionRow {
  VerbAction action;
  Action run;
  Printer print;
};
const std::vector<ActionRow>& Actions() {
  static const std::vector<ActionRow> actions = {
      {{"create", "FILE", 1, 1}, Create, PrintState},
      {{"events"}, List, PrintEvents},
      {{"state", "EVENT", 1, 1}, State, PrintState},
      {{"map", "EVENT SECTION", 2, 2}, Map, PrintMap},
      {{"verify", "EVENT", 1, 1}, Verify, PrintVerification},
      {{"simulate", "EVENT", 1, 1}, nullptr, nullptr},
  };
  return actions;
}

int Complain(const Terminal& terminal, const Error& error) {
  terminal.Complain("seats: " + error.message);
  return house::kExitFailure;
}

int Simulate(const VerbCall& call) {
  return SimulateOnSale(*call.server,
                        {.event = call.arguments[0],
                         .json = call.json,
                         .buyers = call.Number("buyers"),
                         .sections = call.Number("sections"),
                         .rows = call.Number("rows"),
                         .cols = call.Number("cols"),
                         .max_quantity = call.Number("max-quantity"),
                         .pay_percent = call.Number("pay-percent")},
                        call.terminal);
}

int RunSeats(const VerbCall& call) {
  const auto row = std::ranges::find(Actions(), call.action,
                                     [](const ActionRow& one) { return one.action.name; });
  if (!call.server.ok()) return Complain(call.terminal, call.server.error());
  if (row->run == nullptr) return Simulate(call);
  ApiClient client(*call.server);
  const Result<Asked> asked = row->run(client, call);
  if (!asked.ok()) return Complain(call.terminal, asked.error());
  if (call.json) {
    call.terminal.Print(asked->answer);
  } else {
    row->print(asked->answer, call.terminal);
  }
  return asked->exit;
}

VerbOption Number(std::string name, std::string_view description, int64_t initial, int64_t most) {
  return {.name = std::move(name),
          .value_name = "N",
          .description = fmt::format("simulate: {}", description),
          .kind = VerbOption::Kind::kNumber,
          .initial = initial,
          .least = 1,
          .most = most};
}

}  // namespace

house::Verb SeatsVerb() {
  house::Verb verb{
      .name = "seats",
      .description = "Create, look at, verify and simulate the sale of seats",
      .options = {Number("buyers", "buyers at once", 16, 1'000),
                  Number("sections", "sections of the house", 4, 10'000),
                  Number("rows", "rows of a section", 25, 10'000),
                  Number("cols", "seats of a row", 20, 10'000),
                  Number("max-quantity", "seats a buyer asks for at most", 4, 100),
                  Number("pay-percent", "how many of 100 pay; others cancel", 90, 100)},
      .run = RunSeats};
  for (const ActionRow& row : Actions()) verb.actions.push_back(row.action);
  return verb;
}

}  // namespace cairn::seats
