#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/server/commands.h"
#include "data/server/info.h"
#include "data/value/numbers.h"
#include "doors/resp/answer.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/command_audit.h"
#include "doors/resp/connection_commands.h"
#include "doors/resp/instance.h"
#include "doors/resp/latency_events.h"
#include "doors/resp/settings.h"
#include "doors/resp/statistics.h"

// LATENCY: what took longer than CONFIG SET latency-monitor-threshold, and how long commands take.
namespace cairn::data {
namespace {

using doors::AnswerContext;
using doors::Command;
using doors::Instance;
using doors::LatencyEvents;

// --- Events -------------------------------------------------------------------------------------

void LatencyLatest(AnswerContext& context, Instance& instance) {
  const auto events = instance.observed().latency_events.Summaries();
  context.reply.ArrayHeader(events.size());
  for (const LatencyEvents::Summary& event : events) {
    context.reply.ArrayHeader(4);
    context.reply.Bulk(event.event);
    context.reply.Integer(event.latest.second);
    context.reply.Integer(event.latest.ms);
    context.reply.Integer(event.max_ms);
  }
}

void LatencyHistory(AnswerContext& context, Instance& instance) {
  const auto samples = instance.observed().latency_events.History(context.args[2]);
  context.reply.ArrayHeader(samples.size());
  for (const LatencyEvents::Sample& sample : samples) {
    context.reply.ArrayHeader(2);
    context.reply.Integer(sample.second);
    context.reply.Integer(sample.ms);
  }
}

void LatencyReset(AnswerContext& context, Instance& instance) {
  const size_t forgotten = instance.observed().latency_events.Reset(context.args.subspan(2));
  context.reply.Integer(static_cast<int64_t>(forgotten));
}

// A line per sample, oldest first, as long as it took.
void LatencyGraph(AnswerContext& context, Instance& instance) {
  constexpr int64_t kWidth = 60;
  const auto samples = instance.observed().latency_events.History(context.args[2]);
  if (samples.empty()) {
    return context.Fail(
        fmt::format("ERR No samples available for event '{}'", doors::Quotable(context.args[2])));
  }
  const int64_t longest =
      std::max<int64_t>(std::ranges::max(samples, {}, &LatencyEvents::Sample::ms).ms, 1);
  const int64_t now = instance.clock().Now().us / 1'000'000;
  std::string text = fmt::format("{} - at most {} ms\n", context.args[2], longest);
  for (const LatencyEvents::Sample& sample : samples) {
    const auto width = static_cast<size_t>(std::max<int64_t>(sample.ms * kWidth / longest, 1));
    text += fmt::format("{:>8}s ago {:>8} ms {}\n", now - sample.second, sample.ms,
                        std::string(width, '#'));
  }
  context.reply.Verbatim("txt", text);
}

void LatencyDoctor(AnswerContext& context, Instance& instance) {
  const auto events = instance.observed().latency_events.Summaries();
  std::string text;
  if (instance.observed().latency_events.threshold_ms() == 0) {
    text =
        "Latency events are not monitored. CONFIG SET latency-monitor-threshold <milliseconds> "
        "begins to.\n";
  } else if (events.empty()) {
    text = "Nothing took as long as latency-monitor-threshold.\n";
  }
  for (const LatencyEvents::Summary& event : events) {
    text += fmt::format("{}: {} ms at the latest, {} ms at most.\n", event.event, event.latest.ms,
                        event.max_ms);
  }
  text += "SLOWLOG GET lists slow commands, LATENCY HISTOGRAM how long commands take.\n";
  context.reply.Verbatim("txt", text);
}

// --- How long commands take ---------------------------------------------------------------------

// Whether LATENCY HISTOGRAM was asked for the command, by its name or its container's.
bool IsNamed(const Command& command, doors::Args names) {
  return names.empty() || std::ranges::any_of(names, [&](std::string_view name) {
           return doors::EqualsIgnoreCase(name, command.name) ||
                  (command.container != nullptr &&
                   doors::EqualsIgnoreCase(name, command.container->name));
         });
}

void WriteHistogram(net::RespWriter& reply, const doors::CallTotals& totals) {
  const auto filled =
      std::ranges::count_if(totals.latency, [](uint64_t count) { return count > 0; });
  reply.MapHeader(2);
  reply.Bulk("calls");
  reply.Integer(static_cast<int64_t>(totals.calls));
  reply.Bulk("histogram_usec");
  reply.MapHeader(static_cast<size_t>(filled));
  int64_t seen = 0;
  for (size_t i = 0; i < totals.latency.size(); ++i) {
    if (totals.latency[i] == 0) continue;
    seen += static_cast<int64_t>(totals.latency[i]);
    reply.Integer(int64_t{1} << i);
    reply.Integer(seen);
  }
}

void LatencyHistogram(AnswerContext& context, Instance& instance) {
  const doors::CommandTable& table = instance.commands();
  std::vector<std::pair<std::string_view, doors::CallTotals>> called;
  const bool shown = SettingOr(instance, "latency-tracking", "yes") == "yes";
  for (size_t i = 0; shown && i < table.row_count(); ++i) {
    if (!IsNamed(table.row(i), context.args.subspan(2))) continue;
    const doors::CallTotals totals = instance.dispatchers().Totals(table.row(i));
    if (totals.calls > 0) called.emplace_back(table.row(i).name, totals);
  }
  context.reply.MapHeader(called.size());
  for (const auto& [name, totals] : called) {
    context.reply.Bulk(name);
    WriteHistogram(context.reply, totals);
  }
}

// --- Settings -----------------------------------------------------------------------------------

// "50.0 99.90" becomes "50 99.9".
Result<std::string> ParsePercentiles(std::string_view text) {
  std::string percentiles;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::optional<long double> percent = ParseLongDouble(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!percent || *percent < 0 || *percent > 100) {
      return Error{ErrorCode::kInvalid, "percentiles must be numbers from 0 to 100"};
    }
    percentiles +=
        fmt::format("{}{}", percentiles.empty() ? "" : " ", static_cast<double>(*percent));
  }
  return percentiles;
}

// Whether INFO latencystats and LATENCY HISTOGRAM show how long commands take, and what of it. The
// times are counted whether or not they are shown.
void AddSettings(doors::Settings& settings) {
  const auto on = std::make_shared<std::atomic<bool>>(true);
  settings.Add({.name = "latency-tracking",
                .get = [on] { return std::string(*on ? "yes" : "no"); },
                .set = [on](std::string_view text) -> Result<void> {
                  CAIRN_ASSIGN_OR_RETURN(*on, doors::ParseSettingSwitch(text));
                  return {};
                }});
  struct Percentiles {
    std::mutex mutex;
    std::string text = "50 99 99.9";
  };
  const auto percentiles = std::make_shared<Percentiles>();
  settings.Add({.name = "latency-tracking-info-percentiles",
                .get =
                    [percentiles] {
                      const std::lock_guard lock(percentiles->mutex);
                      return percentiles->text;
                    },
                .set = [percentiles](std::string_view text) -> Result<void> {
                  CAIRN_ASSIGN_OR_RETURN(std::string parsed, ParsePercentiles(text));
                  const std::lock_guard lock(percentiles->mutex);
                  percentiles->text = std::move(parsed);
                  return {};
                }});
}

}  // namespace

void AddLatencyCommands(Instance& instance) {
  AddSettings(instance.settings());
  constexpr uint32_t kOperator = doors::kAdmin | doors::kNoScript | doors::kLoading | doors::kStale;
  const std::vector<std::string_view> varies = {
      "nondeterministic_output", "request_policy:all_nodes", "response_policy:special"};
  struct Row {
    std::string_view name;
    int arity;
    std::string_view since;
    std::string_view summary;
    std::string_view syntax;
    void (*answer)(AnswerContext&, Instance&);
    std::vector<std::string_view> tips;
  };
  const Row kRows[] = {
      {"latency|latest", 2, "2.8.13", "Shows the latest of each event.", "", LatencyLatest, varies},
      {"latency|history", 3, "2.8.13", "Shows the times of an event.", "event", LatencyHistory,
       varies},
      {"latency|reset",
       -2,
       "2.8.13",
       "Forgets events.",
       "[event ...]",
       LatencyReset,
       {"request_policy:all_nodes", "response_policy:all_succeeded"}},
      {"latency|graph", 3, "2.8.13", "Draws the times of an event.", "event", LatencyGraph, varies},
      {"latency|doctor", 2, "2.8.13", "Says what was slow, and where to look.", "", LatencyDoctor,
       varies},
      {"latency|histogram", -2, "7.0.0", "Shows how long calls of commands took.", "[command ...]",
       LatencyHistogram, varies},
  };
  doors::CommandTable& table = instance.commands();
  table.Add({.name = "latency",
             .arity = -2,
             .group = "server",
             .since = "2.8.13",
             .summary = "Commands about what took long."});
  for (const Row& row : kRows) {
    table.Add(
        Command{.name = row.name,
                .arity = row.arity,
                .flags = kOperator,
                .scopes = doors::ScopeRule::kNothing,
                .unaudited = doors::kChangesNothing,
                .group = "server",
                .since = row.since,
                .complexity = "O(N) for N samples or commands",
                .summary = row.summary,
                .syntax = row.syntax,
                .tips = row.tips,
                .run = doors::Answering([&instance, answer = row.answer](AnswerContext& context) {
                  answer(context, instance);
                })});
  }
  table.Add(doors::HelpRow("latency|help", 0, "server", "2.8.13"));
}

}  // namespace cairn::data
