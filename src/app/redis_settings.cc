#include "app/redis_settings.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string_view>

#include "app/tls.h"
#include "house/units.h"

namespace cairn::app {
namespace {

using RedisSetting = doors::Setting;

// The number in `value`, or the reason that Redis gives for refusing it.
Result<uint64_t> NumberWithin(std::string_view value, uint64_t least, uint64_t most) {
  const std::optional<uint64_t> number = house::ParseWhole(value);
  if (!number) return Error{ErrorCode::kInvalid, "argument couldn't be parsed into an integer"};
  if (*number < least || *number > most) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("argument must be between {} and {} inclusive", least, most)};
  }
  return *number;
}

}  // namespace

void AddRedisSettings(const Config& config, net::RespServer& server,
                      const std::function<uint16_t()>& port, doors::Settings& settings) {
  settings.Add(RedisSetting::Fixed("dir", std::filesystem::absolute(config.data).string(),
                                   "start the server with --data DIR"));
  static constexpr std::string_view kAddress = "start the server with --resp HOST:PORT";
  settings.Add(RedisSetting::Fixed("bind", config.resp.host, std::string(kAddress)));
  const auto listens = [port] { return fmt::format("{}", port()); };
  const auto nowhere = [] { return std::string("0"); };
  const bool tls = RespSpeaksTls(config);
  const std::function<std::string()> port_text = tls ? nowhere : std::function(listens);
  settings.Add({.name = "port",
                .get = port_text,
                .set = [port_text](std::string_view value) -> Result<void> {
                  if (value == port_text()) return {};
                  return Error{ErrorCode::kInvalid,
                               fmt::format("Unable to listen on this port: {}", kAddress)};
                },
                .kept = false});
  settings.Add({.name = "tls-port",
                .get = tls ? std::function<std::string()>(listens) : nowhere,
                .advice = std::string(kAddress)});
  settings.Add(
      {.name = "maxclients",
       .get = [&server] { return fmt::format("{}", server.max_clients()); },
       .set = [&server, most = config.max_clients](std::string_view value) -> Result<void> {
         // The files for that many have been made sure of at the start.
         CAIRN_ASSIGN_OR_RETURN(const uint64_t count, NumberWithin(value, 1, most));
         server.set_max_clients(count);
         return {};
       },
       .kept = false});
  settings.Add(
      {.name = "timeout",
       .get =
           [&server] {
             return fmt::format(
                 "{}",
                 std::chrono::duration_cast<std::chrono::seconds>(server.idle_timeout()).count());
           },
       .set = [&server](std::string_view value) -> Result<void> {
         CAIRN_ASSIGN_OR_RETURN(const uint64_t count, NumberWithin(value, 0, 86'400));
         server.set_idle_timeout(std::chrono::seconds(count));
         return {};
       },
       .kept = false});
}

}  // namespace cairn::app
