// The settings that bound what a connection may leave unread and may send, under Redis's names.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doors/resp/arg_parser.h"
#include "doors/resp/connection_commands.h"
#include "doors/resp/instance.h"
#include "net/resp/server.h"

namespace cairn::doors {
namespace {

using net::OutputClass;
using net::OutputLimits;

constexpr int64_t kMebibyte = 1024 * 1024;
constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

// The names under which CONFIG GET shows them, in the order of OutputClass.
constexpr std::array<std::string_view, net::kOutputClasses> kClassNames = {"normal", "slave",
                                                                           "pubsub"};

std::optional<OutputClass> ClassNamed(std::string_view name) {
  if (EqualsIgnoreCase(name, "replica")) return OutputClass::kReplica;
  for (size_t i = 0; i < kClassNames.size(); ++i) {
    if (EqualsIgnoreCase(name, kClassNames[i])) return static_cast<OutputClass>(i);
  }
  return std::nullopt;
}

// "class hard soft seconds", of any classes.
Result<void> SetOutputLimits(net::RespServer& server, std::string_view value) {
  const std::vector<std::string_view> words = SplitWords(value);
  if (words.empty() || words.size() % 4 != 0) {
    return Error{ErrorCode::kInvalid, "Wrong number of arguments in buffer limit configuration."};
  }
  std::vector<std::pair<OutputClass, OutputLimits>> given;
  for (size_t i = 0; i < words.size(); i += 4) {
    const std::optional<OutputClass> named = ClassNamed(words[i]);
    if (!named) {
      return Error{ErrorCode::kInvalid,
                   "Invalid client class specified in buffer limit configuration."};
    }
    const Result<int64_t> hard = ParseSettingBytes(words[i + 1], 0, kAny);
    const Result<int64_t> soft = ParseSettingBytes(words[i + 2], 0, kAny);
    const std::optional<int64_t> seconds = ParseInteger(words[i + 3]);
    constexpr int64_t kLongest = 1'000'000'000;
    if (!hard.ok() || !soft.ok() || !seconds || *seconds < 0 || *seconds > kLongest) {
      return Error{ErrorCode::kInvalid,
                   "Error in hard, soft or soft_seconds setting in buffer limit configuration."};
    }
    given.push_back(
        {*named,
         {static_cast<size_t>(*hard), static_cast<size_t>(*soft), std::chrono::seconds(*seconds)}});
  }
  for (const auto& [output_class, limits] : given) server.set_output_limits(output_class, limits);
  return {};
}

std::string FormatOutputLimits(const net::RespServer& server) {
  std::string text;
  for (size_t i = 0; i < kClassNames.size(); ++i) {
    const OutputLimits limits = server.output_limits(static_cast<OutputClass>(i));
    text += fmt::format("{}{} {} {} {}", i == 0 ? "" : " ", kClassNames[i], limits.hard_bytes,
                        limits.soft_bytes, limits.soft_for.count());
  }
  return text;
}

}  // namespace

void AddBufferSettings(Instance& instance) {
  Settings& settings = instance.settings();
  // Asked for by clients only, so the server is there by then.
  settings.Add(
      {.name = "client-output-buffer-limit",
       .get = [&instance] { return FormatOutputLimits(*instance.server()); },
       .set = [&instance](
                  std::string_view value) { return SetOutputLimits(*instance.server(), value); }});
  settings.Add(
      {.name = "client-query-buffer-limit",
       .get = [&instance] { return fmt::to_string(instance.server()->query_buffer_limit()); },
       .set = [&instance](std::string_view value) -> Result<void> {
         CAIRN_ASSIGN_OR_RETURN(const int64_t bytes, ParseSettingBytes(value, kMebibyte, kAny));
         instance.server()->set_query_buffer_limit(static_cast<size_t>(bytes));
         return {};
       },
       .kept = false});
  settings.Add({.name = "proto-max-bulk-len",
                .get = [&instance] { return fmt::to_string(instance.server()->bulk_limit()); },
                .set = [&instance](std::string_view value) -> Result<void> {
                  CAIRN_ASSIGN_OR_RETURN(
                      const int64_t bytes,
                      ParseSettingBytes(value, kMebibyte, net::RespLimits().bulk_bytes));
                  instance.server()->set_bulk_limit(bytes);
                  return {};
                },
                .kept = false});
}

}  // namespace cairn::doors
