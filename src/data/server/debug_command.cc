#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "data/keyspace/value_digest.h"
#include "data/server/commands.h"
#include "data/value/entry.h"
#include "data/value/limits.h"
#include "data/value/string_value.h"
#include "data/value/value_info.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/command_audit.h"
#include "doors/resp/glob.h"
#include "doors/resp/instance.h"

// DEBUG: what tests of clients and of programs use of it. Redis's views of its own memory are not
// here.
namespace cairn::data {
namespace {

using doors::CommandContext;
using doors::Instance;

// Runs on the pool, so that it holds up its own connection only.
Result<void> Sleep(CommandContext& context) {
  constexpr double kLongestSeconds = 60;
  double seconds = 0;
  const std::string_view text = context.args[2];
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  // What is no number, or none above zero, is no time.
  if (seconds > 0) {
    if (!context.held.may_take_long) {
      return Error{ErrorCode::kWouldBlock, "an event loop does not sleep"};
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(seconds, kLongestSeconds)));
  }
  context.reply.Ok();
  return {};
}

Result<void> Object(CommandContext& context, const EncodingLimits& limits) {
  CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Load(context, context.args[2]));
  if (!entry.exists()) return context.Fail(doors::kNoSuchKey);
  CAIRN_ASSIGN_OR_RETURN(const std::string_view encoding, EncodingName(entry, limits));
  context.reply.Simple(fmt::format(
      "Value at:0x0 refcount:1 encoding:{} serializedlength:{} lru:0 lru_seconds_idle:0", encoding,
      entry.stored_bytes()));
  return {};
}

// A reply of each type of the protocol, with the values that clients' tests expect.
using WriteSample = void (*)(net::RespWriter&);
constexpr std::pair<std::string_view, WriteSample> kSamples[] = {
    {"string", [](net::RespWriter& reply) { reply.Bulk("Hello World"); }},
    {"integer", [](net::RespWriter& reply) { reply.Integer(12345); }},
    {"double", [](net::RespWriter& reply) { reply.Double(3.141); }},
    {"bignum",
     [](net::RespWriter& reply) { reply.BigNumber("1234567999999999999999999999999999999"); }},
    {"null", [](net::RespWriter& reply) { reply.Null(); }},
    {"array",
     [](net::RespWriter& reply) {
       reply.ArrayHeader(3);
       for (int i = 0; i < 3; ++i) reply.Integer(i);
     }},
    {"set",
     [](net::RespWriter& reply) {
       reply.SetHeader(3);
       for (int i = 0; i < 3; ++i) reply.Integer(i);
     }},
    {"map",
     [](net::RespWriter& reply) {
       reply.MapHeader(3);
       for (int i = 0; i < 3; ++i) {
         reply.Integer(i);
         reply.Boolean(i == 1);
       }
     }},
    {"attrib",
     [](net::RespWriter& reply) {
       if (reply.resp3()) {
         reply.AttributeHeader(1);
         reply.Bulk("key-popularity");
         reply.ArrayHeader(2);
         reply.Bulk("key:123");
         reply.Integer(90);
       }
       reply.Bulk("Some real reply following the attribute");
     }},
    {"push",
     [](net::RespWriter& reply) {
       if (!reply.resp3()) return reply.Error("ERR RESP2 is not supported by this command");
       reply.PushHeader(2);
       reply.Bulk("server-cpu-usage");
       reply.Integer(42);
       reply.Bulk("Some real reply following the push reply");
     }},
    {"verbatim",
     [](net::RespWriter& reply) { reply.Verbatim("txt", "This is a verbatim\nstring"); }},
    {"true", [](net::RespWriter& reply) { reply.Boolean(true); }},
    {"false", [](net::RespWriter& reply) { reply.Boolean(false); }},
};

Result<void> Protocol(CommandContext& context) {
  std::string names;
  for (const auto& [name, write] : kSamples) {
    if (doors::EqualsIgnoreCase(context.args[2], name)) {
      write(context.reply);
      return {};
    }
    names += names.empty() ? "" : "|";
    names += name;
  }
  return context.Fail(
      fmt::format("ERR Wrong protocol type name. Please use one of the following: {}", names));
}

// A pattern and a text that would keep a matcher which tries every way busy for years.
Result<void> StringMatchLength(CommandContext& context) {
  doors::ArgParser parser(context.args, 2);
  const int64_t length = parser.Integer();
  const std::string_view pattern = parser.Next();
  constexpr int64_t kLongest = 1 << 20;
  if (!parser.Finish()) return context.Fail(parser.error());
  const std::string text(static_cast<size_t>(std::clamp<int64_t>(length, 0, kLongest)), 'x');
  context.reply.Integer(doors::GlobMatch(pattern, text) ? 1 : 0);
  return {};
}

// Makes keys "PREFIX:0" and so on that are not there yet, with values "value:0" and so on, cut or
// filled up to `size` bytes where it is given.
Result<void> Populate(CommandContext& context) {
  doors::ArgParser parser(context.args, 2);
  const int64_t count = parser.Integer();
  const std::string_view prefix = parser.HasNext() ? parser.Next() : "key";
  const int64_t size = parser.HasNext() ? parser.Integer() : 0;
  if (count < 0 || size < 0 || size > static_cast<int64_t>(kMaxStringBytes)) {
    parser.Fail("ERR value is out of range");
  }
  if (!parser.Finish()) return context.Fail(parser.error());
  CAIRN_RETURN_IF_ERROR(context.Require(store::Scopes::Exclusive()));
  for (int64_t i = 0; i < count; ++i) {
    const std::string key = fmt::format("{}:{}", prefix, i);
    CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, key));
    if (entry.exists()) continue;
    std::string value = fmt::format("value:{}", i);
    if (size > 0) value.resize(static_cast<size_t>(size), '\0');
    PutString(entry, value);
  }
  context.reply.Ok();
  return {};
}

Result<void> DigestAll(CommandContext& context) {
  CAIRN_RETURN_IF_ERROR(context.Require(store::Scopes::Exclusive()));
  CAIRN_ASSIGN_OR_RETURN(const Digest digest, DigestOfEverything(context));
  context.reply.Simple(HexEncode(digest.bytes()));
  return {};
}

Result<void> DigestValues(CommandContext& context) {
  CAIRN_RETURN_IF_ERROR(context.Require(store::Scopes::Exclusive()));
  const doors::Args keys = context.args.subspan(2);
  context.reply.ArrayHeader(keys.size());
  for (const std::string_view key : keys) {
    CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Load(context, key));
    Digest digest;
    if (entry.exists()) {
      CAIRN_ASSIGN_OR_RETURN(digest, DigestOfValue(context, entry));
    }
    context.reply.Simple(HexEncode(digest.bytes()));
  }
  return {};
}

Result<void> Debug(CommandContext& context, Instance& instance, const EncodingLimits& limits) {
  const auto is = [&](std::string_view name, size_t least, size_t most) {
    return doors::EqualsIgnoreCase(context.args[1], name) && context.args.size() >= least &&
           context.args.size() <= most;
  };
  if (is("sleep", 3, 3)) return Sleep(context);
  if (is("object", 3, 3)) return Object(context, limits);
  if (is("protocol", 3, 3)) return Protocol(context);
  if (is("stringmatch-len", 4, 4)) return StringMatchLength(context);
  if (is("error", 3, 3)) return context.Fail(context.args[2]);
  if (is("populate", 3, 5)) return Populate(context);
  if (is("digest", 2, 2)) return DigestAll(context);
  if (is("digest-value", 2, SIZE_MAX)) return DigestValues(context);
  if (is("log", 3, 3)) {
    instance.log().Info("DEBUG LOG", {{"text", context.args[2]}});
    context.reply.Ok();
    return {};
  }
  if (is("set-disable-deny-scripts", 3, 3)) {
    instance.hooks().scripts_call_denied = context.args[2] != "0";
    context.reply.Ok();
    return {};
  }
  // Nothing has to be done for the effect that can be seen: everything is stored already, a key
  // whose time has passed is gone already, there is one way to keep a list, and what Redis leaves
  // to its cron is done at once.
  const bool has_no_effect = is("reload", 2, 5) || is("loadaof", 2, 2) || is("jmap", 2, 2) ||
                             is("set-active-expire", 3, 3) || is("pause-cron", 3, 3) ||
                             is("quicklist-packed-threshold", 3, 3);
  if (has_no_effect) {
    context.reply.Ok();
    return {};
  }
  return context.Fail(
      fmt::format("ERR DEBUG {} is not supported", doors::Quotable(context.args[1])));
}

}  // namespace

void AddDebugCommand(Instance& instance, const SharedEncodingLimits& limits) {
  instance.commands().Add(
      {.name = "debug",
       .arity = -2,
       .flags = doors::kAdmin | doors::kNoScript | doors::kLoading | doors::kStale,
       .scopes = doors::ScopeRule::kNothing,
       .long_running = true,
       .stores = true,
       .audit_text = doors::AuditAllArguments,
       .group = "server",
       .since = "1.0.0",
       .summary = "What tests of clients need: DIGEST, DIGEST-VALUE, ERROR, LOG, OBJECT, POPULATE, "
                  "PROTOCOL, SLEEP, STRINGMATCH-LEN.",
       .syntax = "subcommand [arg ...]",
       .run = [&instance, limits](CommandContext& context) {
         return Debug(context, instance, *limits);
       }});
}

}  // namespace cairn::data
