#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "functions/cli/call.h"
#include "functions/cli/fn_actions.h"
#include "functions/model/errors.h"
#include "functions/model/names.h"
#include "house/nearest.h"

// cairn fn alias WORD FUNCTION [ALIAS …]
namespace cairn::functions::cli {
namespace {

namespace json = boost::json;
using house::ApiClient;
using house::VerbCall;

struct AliasCall {
  const VerbCall& call;
  FunctionName function;
  std::string alias;                // empty for list
  std::vector<std::string> others;  // what was typed behind it
};

struct Request {
  std::string method;
  std::string rest;  // of the path, behind the function's
  json::object body = {};
};

Result<uint64_t> VersionOf(std::string_view text) {
  const std::optional<uint64_t> version = ParseVersion(text);
  if (!version) return UsageError(fmt::format("'{}' is not a version's number", Printable(text)));
  return *version;
}

std::string PathOf(const AliasCall& call, std::string_view rest = "") {
  return fmt::format("/aliases/{}{}", call.alias, rest);
}

void AddWarm(const VerbCall& call, json::object& body) {
  if (call.Number("min-warm") >= 0) body["min_warm"] = call.Number("min-warm");
}

Result<Request> List(const AliasCall& /*call*/) { return Request{"GET", "/aliases"}; }
Result<Request> Get(const AliasCall& call) { return Request{"GET", PathOf(call)}; }
Result<Request> Delete(const AliasCall& call) { return Request{"DELETE", PathOf(call)}; }
Result<Request> Rollback(const AliasCall& call) {
  return Request{"POST", PathOf(call, "/rollback")};
}

Result<Request> Set(const AliasCall& call) {
  Request request{"PUT", PathOf(call)};
  if (call.others.empty()) {
    request.body["version"] = call.call.Number("version");
  } else {
    CAIRN_ASSIGN_OR_RETURN(request.body["version"], VersionOf(call.others[0]));
  }
  AddWarm(call.call, request.body);
  return request;
}

struct Weight {
  uint64_t version = 0;
  int64_t percent = 0;
};
Result<Weight> ParseWeight(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return UsageError(fmt::format("'{}': expected VERSION=PERCENT", Printable(text)));
  }
  Weight weight;
  CAIRN_ASSIGN_OR_RETURN(weight.version, VersionOf(text.substr(0, equals)));
  std::string_view percent = text.substr(equals + 1);
  if (percent.ends_with('%')) percent.remove_suffix(1);
  const auto [end, error] = std::from_chars(percent.begin(), percent.end(), weight.percent);
  if (error != std::errc() || end != percent.end() || weight.percent < 1 || weight.percent > 99) {
    return UsageError(fmt::format("'{}': a percentage is from 1 to 99", Printable(text)));
  }
  return weight;
}

Result<Request> Weights(const AliasCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const Weight first, ParseWeight(call.others[0]));
  CAIRN_ASSIGN_OR_RETURN(const Weight second, ParseWeight(call.others[1]));
  if (first.percent + second.percent != 100) {
    return UsageError(
        fmt::format("the percentages make {}; they must make 100", first.percent + second.percent));
  }
  Request request{"PUT", PathOf(call)};
  request.body["version"] = first.version;
  request.body["weights"] =
      json::array{json::object{{"version", second.version}, {"weight", second.percent}}};
  AddWarm(call.call, request.body);
  return request;
}

Result<double> RateOf(const std::string& text) {
  double rate = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  if (error != std::errc() || end != text.data() + text.size() || !(rate >= 0 && rate <= 1)) {
    return UsageError(fmt::format("--max-errors '{}': expected a share from 0 to 1, such as 0.05",
                                  Printable(text)));
  }
  return rate;
}

Result<Request> Shift(const AliasCall& call) {
  Request request{"POST", PathOf(call, "/shift")};
  CAIRN_ASSIGN_OR_RETURN(request.body["to"], VersionOf(call.others[0]));
  if (call.call.Number("every") < 1) {
    return UsageError("say how long a step lasts: --every SECONDS");
  }
  request.body["step_percent"] = call.call.Number("step");
  request.body["interval_seconds"] = call.call.Number("every");
  const std::string& rate = call.call.Text("max-errors");
  CAIRN_ASSIGN_OR_RETURN(request.body["max_error_rate"], RateOf(rate.empty() ? "0.05" : rate));
  return request;
}

struct AliasRow {
  std::string_view word;
  std::string_view arguments;  // behind FUNCTION
  size_t count;                // of these
  Result<Request> (*make)(const AliasCall& call);
};
constexpr AliasRow kRows[] = {
    {"list", "", 0, List},
    {"get", " ALIAS", 1, Get},
    {"set", " ALIAS VERSION", 2, Set},
    {"weights", " ALIAS VERSION=PERCENT VERSION=PERCENT", 3, Weights},
    {"shift", " ALIAS VERSION", 2, Shift},
    {"rollback", " ALIAS", 1, Rollback},
    {"delete", " ALIAS", 1, Delete},
};

Result<const AliasRow*> RowOf(const VerbCall& call) {
  const std::string& word = call.arguments[0];
  const auto* const row = std::ranges::find(kRows, word, &AliasRow::word);
  if (row == std::end(kRows)) {
    std::vector<std::string> words;
    for (const AliasRow& one : kRows) words.emplace_back(one.word);
    return UsageError(fmt::format("alias: unknown action '{}'{}; there are: {}", Printable(word),
                                  house::DidYouMean(word, words), fmt::join(words, ", ")));
  }
  const bool version = call.Number("version") > 0;  // in the place of the last argument
  if (version && row->make != Set) return UsageError("--version is for: cairn fn alias set");
  if (call.arguments.size() != row->count + (version ? 1 : 2)) {
    return UsageError(
        fmt::format("usage: cairn fn alias {} FUNCTION{}", row->word, row->arguments));
  }
  return row;
}

void PrintAliases(const json::value& answer, const house::Terminal& terminal) {
  std::vector<std::vector<std::string>> rows = {{"alias", "version", "weights", "updated"}};
  for (const json::value& alias : answer.at("aliases").as_array()) {
    rows.push_back({TextOf(alias, "alias"), TextOf(alias, "version"), TextOf(alias, "weights"),
                    TimeOf(alias, "updated_at_ms")});
  }
  terminal.Print(house::FormatTable(rows));
}

}  // namespace

Result<int> Alias(const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const AliasRow* const row, RowOf(call));
  AliasCall alias{.call = call};
  CAIRN_ASSIGN_OR_RETURN(alias.function, ParseFunction(call, call.arguments[1]));
  if (row->count > 0) {
    alias.alias = call.arguments[2];
    const Result<void> named = CheckName(NameKind::kAlias, alias.alias);
    if (!named.ok()) return UsageError(std::string(RefusalText(named.error())));
    alias.others.assign(call.arguments.begin() + 3, call.arguments.end());
  }
  CAIRN_ASSIGN_OR_RETURN(const Request request, row->make(alias));
  CAIRN_ASSIGN_OR_RETURN(ApiClient client, ClientOf(call));
  CAIRN_ASSIGN_OR_RETURN(const json::value answer,
                         client.Request(request.method, FunctionPath(alias.function, request.rest),
                                        request.body.empty() ? "" : json::serialize(request.body)));
  if (call.json) {
    call.terminal.Print(answer);
  } else if (row->count == 0) {
    PrintAliases(answer, call.terminal);
  } else {
    PrintMembers(answer, call.terminal);
  }
  return house::kExitOk;
}

}  // namespace cairn::functions::cli
