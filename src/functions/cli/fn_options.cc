#include "functions/cli/fn_options.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "functions/cli/call.h"
#include "functions/model/errors.h"
#include "functions/model/limits.h"

namespace cairn::functions::cli {
namespace {

namespace json = boost::json;
using house::VerbCall;
using house::VerbOption;
using Kind = house::VerbOption::Kind;

VerbOption Number(std::string name, std::string value_name, std::string description, int64_t least,
                  int64_t most) {
  return {.name = std::move(name),
          .value_name = std::move(value_name),
          .description = std::move(description),
          .kind = Kind::kNumber,
          .initial = -1,  // not given
          .least = least,
          .most = most};
}

VerbOption Switch(std::string name, std::string description, char letter = 0) {
  return {.name = std::move(name),
          .value_name = {},
          .description = std::move(description),
          .kind = Kind::kSwitch,
          .letter = letter};
}

// Members of `config` that have an option of their own.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kNumbers = {
    {{"timeout-ms", "timeout_ms"},
     {"memory-mb", "memory_mb"},
     {"max-concurrency", "max_concurrency"}}};

Result<Bundling> BundlingOf(const std::string& text) {
  if (text.empty() || text == "auto") return Bundling::kAuto;
  if (text == "always") return Bundling::kAlways;
  if (text == "never") return Bundling::kNever;
  return UsageError(fmt::format("--bundle '{}': expected auto, always or never", Printable(text)));
}

}  // namespace

std::vector<VerbOption> FnOptions() {
  std::vector<VerbOption> options = NameOptions();
  const std::vector<VerbOption> own = {
      {"name", "FUNCTION",
       "draft, publish, dev: the function (default: what the folder is called)"},
      {"alias", "ALIAS",
       "publish: point this alias to the version. invoke, restart: run what it points to"},
      {"draft", "DRAFT", "publish: what `cairn fn draft` has uploaded, instead of a folder"},
      Switch("create", "publish: create the function if it is not there"),
      {"bundle", "auto|always|never",
       "draft, publish, test, dev: have esbuild bundle the code (default: auto, where it has types "
       "or packages)"},
      {"overrides", "JSON", "publish, test, dev: changes of the manifest, as JSON or in a file"},
      Number("timeout-ms", "MS", "publish, test, dev: how long it may run", kMinTimeoutMs,
             kMaxTimeoutMs),
      Number("memory-mb", "MIB", "publish, test, dev: how much memory it may use", kMinMemoryMb,
             kMaxMemoryMb),
      Number("max-concurrency", "N", "publish: how often it may run at once", kMinConcurrency,
             kMaxConcurrency),
      {"isolation", "activation|version", "publish, test, dev: what has globals of its own"},
      {.name = "env",
       .value_name = "NAME=VALUE",
       .description = "publish, test, dev: a variable of ctx.env; NAME=@FILE reads its value",
       .kind = Kind::kList},
      {"env-file", "FILE", "publish, test, dev: variables, one NAME=VALUE a line"},
      {.name = "secret",
       .value_name = "NAME",
       .description = "publish: a variable that is secret",
       .kind = Kind::kList},
      {"event", "JSON", "invoke, restart, test, dev: the event, as JSON or in a file; - reads it"},
      Number("from", "POSITION", "restart: the first step that is run again", 0,
             static_cast<int64_t>(kMaxSteps)),
      {"mode", "sync|async", "invoke: wait for the result, or queue it (default: sync)"},
      {"idempotency-key", "KEY", "invoke: the same key runs the function once"},
      Switch("logs", "invoke: print the log too"),
      Switch("follow", "logs: until the activation ends, as lines come", 'f'),
      {"cursor", "CURSOR", "list, versions, logs, steps: go on where a page ended"},
      {.name = "limit",
       .value_name = "N",
       .description = "list, versions, logs, steps: entries of a page",
       .kind = Kind::kNumber,
       .initial = kDefaultPage,
       .least = 1,
       .most = kMaxPage},
      Switch("deleted", "list, get: deleted ones too"),
      Number("min-warm", "N", "alias set, weights: processes that are kept ready", 0, kMaxWarm),
      {.name = "step",
       .value_name = "PERCENT",
       .description = "alias shift: how much more the new version gets in a step",
       .kind = Kind::kNumber,
       .initial = 10,
       .least = 1,
       .most = 99},
      Number("every", "SECONDS", "alias shift: how long a step lasts", kMinShiftIntervalSeconds,
             kMaxShiftIntervalSeconds),
      {"max-errors", "RATE", "alias shift: the share of errors that turns it back (default: 0.05)"},
      Switch("typescript", "init: write function.ts"),
      {.name = "port",
       .value_name = "PORT",
       .description = "dev: where to serve on 127.0.0.1; 0: any",
       .kind = Kind::kNumber,
       .initial = 8787,
       .least = 0,
       .most = 65'535},
      {"allow", "TARGETS",
       "test, dev: where fetch may go beside public addresses, as the setting functions.allow "
       "(default: public)"},
  };
  options.insert(options.end(), own.begin(), own.end());
  return options;
}

Result<Packed> PackOf(const VerbCall& call, const std::string& folder) {
  CAIRN_ASSIGN_OR_RETURN(const Bundling bundling, BundlingOf(call.Text("bundle")));
  const SystemClock clock;
  return PackFolder(folder,
                    {.bundling = bundling, .environment = call.environment, .clock = clock});
}

Result<json::object> ConfigOf(const VerbCall& call) {
  json::object config;
  if (const std::string& typed = call.Text("overrides"); !typed.empty()) {
    CAIRN_ASSIGN_OR_RETURN(const std::string text, ReadJson("--overrides", typed));
    boost::system::error_code failure;
    const json::value value = json::parse(text, failure);
    if (failure || !value.is_object()) return UsageError("--overrides is not a JSON object");
    config = value.get_object();
  }
  for (const auto& [option, member] : kNumbers) {
    if (call.Number(option) >= 0) config[member] = call.Number(option);
  }
  if (!call.Text("isolation").empty()) config["isolation"] = call.Text("isolation");
  CAIRN_ASSIGN_OR_RETURN(const EnvMap env, ReadEnv(call));
  if (!env.empty()) {
    json::object values;
    for (const auto& [name, value] : env) values[name] = value;
    config["env"] = std::move(values);
  }
  if (!call.List("secret").empty()) {
    config["secrets"] = json::array(call.List("secret").begin(), call.List("secret").end());
  }
  // The server says the same, but only once everything has been sent.
  const Result<ConfigOverrides> checked = ParseOverrides(json::serialize(config));
  if (!checked.ok()) {
    return UsageError(fmt::format("--overrides: {}", RefusalText(checked.error())));
  }
  return config;
}

}  // namespace cairn::functions::cli
