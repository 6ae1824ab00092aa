#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doors/resp/arg_parser.h"
#include "doors/resp/command_audit.h"
#include "doors/resp/connection_commands.h"
#include "doors/resp/dispatcher.h"
#include "doors/resp/instance.h"
#include "doors/resp/session.h"
#include "net/loop.h"

namespace cairn::doors {
namespace {

// What CLIENT LIST and CLIENT KILL call kinds of clients.
enum class ClientType { kNormal, kPubSub, kReplication };  // we have none of the last

std::optional<ClientType> TypeNamed(std::string_view name) {
  if (EqualsIgnoreCase(name, "normal")) return ClientType::kNormal;
  if (EqualsIgnoreCase(name, "pubsub")) return ClientType::kPubSub;
  for (const std::string_view other : {"master", "replica", "slave"}) {
    if (EqualsIgnoreCase(name, other)) return ClientType::kReplication;
  }
  return std::nullopt;
}

ClientType TypeOf(const Session& session) {
  return session.subscribed() ? ClientType::kPubSub : ClientType::kNormal;
}

std::string UnknownType(std::string_view type) {
  return fmt::format("ERR Unknown client type '{}'", Quotable(type));
}

void ClientId(ConnectionContext& context) {
  context.reply.Integer(static_cast<int64_t>(context.session.id()));
}

void ClientGetName(ConnectionContext& context) {
  const std::string name = context.session.text(Session::About::kName);
  if (name.empty()) return context.reply.Null();
  context.reply.Bulk(name);
}

void ClientSetName(ConnectionContext& context) {
  if (!IsValidClientName(context.args[2])) return context.Fail(kBadClientName);
  context.session.set_text(Session::About::kName, context.args[2]);
  context.reply.Ok();
}

void ClientSetInfo(ConnectionContext& context) {
  const std::string_view option = context.args[2];
  const std::string_view value = context.args[3];
  const bool is_name = EqualsIgnoreCase(option, "lib-name");
  if (!is_name && !EqualsIgnoreCase(option, "lib-ver")) {
    return context.Fail(fmt::format("ERR Unrecognized option '{}'", Quotable(option)));
  }
  if (!IsValidClientName(value)) {
    return context.Fail(
        fmt::format("ERR {} cannot contain spaces, newlines or special characters.", option));
  }
  if (is_name) {
    context.session.set_text(Session::About::kLibrary, value);
  } else {
    context.session.set_text(Session::About::kLibraryVersion, value);
  }
  context.reply.Ok();
}

void ClientInfo(ConnectionContext& context) {
  const Timestamp now = context.dispatcher.instance().clock().Now();
  context.reply.Verbatim("txt", context.session.Describe(now) + "\n");
}

// Lines in the order of the ids, and for one that is named twice as often, as Redis has it.
std::string DescribeEach(const std::vector<int64_t>& ids, Clients& clients, Timestamp now) {
  std::map<int64_t, std::string> lines;
  for (const int64_t id : ids) lines[id];
  clients.ForEach([&](const Session& session) {
    const auto named = lines.find(static_cast<int64_t>(session.id()));
    if (named != lines.end()) named->second = session.Describe(now) + "\n";
  });
  std::string all;
  for (const int64_t id : ids) all += lines[id];
  return all;
}

void ClientList(ConnectionContext& context) {
  ArgParser parser(context.args, 2);
  std::optional<ClientType> type;
  std::optional<std::vector<int64_t>> ids;
  if (parser.Keyword("TYPE")) {
    const std::string_view name = parser.Next();
    type = TypeNamed(name);
    if (parser.ok() && !type) parser.Fail(UnknownType(name));
  } else if (parser.remaining() > 1 && parser.Keyword("ID")) {
    ids.emplace();
    while (parser.HasNext()) ids->push_back(parser.Integer("ERR Invalid client ID"));
  }
  if (!parser.Finish()) return context.Fail(parser.error());
  Instance& instance = context.dispatcher.instance();
  const Timestamp now = instance.clock().Now();
  if (ids)
    return context.reply.Verbatim("txt", DescribeEach(*ids, instance.traffic().clients, now));
  std::string lines;
  instance.traffic().clients.ForEach([&](const Session& session) {
    if (!type || *type == TypeOf(session)) lines += session.Describe(now) + "\n";
  });
  context.reply.Verbatim("txt", lines);
}

struct KillFilter {
  std::optional<uint64_t> id;
  std::optional<std::string_view> address;
  std::optional<std::string_view> local_address;
  std::optional<ClientType> type;
  std::shared_ptr<const AclUser> user;
  bool skip_me = true;

  bool Matches(const Session& session, const Session& me) const {
    if (skip_me && &session == &me) return false;
    const net::RespConnection& connection = session.connection();
    return (user == nullptr || user == session.shared_user()) &&
           (!type || *type == TypeOf(session)) && (!id || *id == session.id()) &&
           (!address || *address == connection.peer()) &&
           (!local_address || *local_address == connection.local());
  }
};

KillFilter ParseKillFilter(ArgParser& parser, const Acl& acl) {
  KillFilter filter;
  while (parser.HasNext()) {
    const std::string_view option = parser.Next();
    const std::string_view value = parser.Next();
    if (!parser.ok()) break;
    if (EqualsIgnoreCase(option, "ID")) {
      const auto id = ParseInteger(value);
      if (!id || *id < 1) parser.Fail("ERR client-id should be greater than 0");
      filter.id = static_cast<uint64_t>(id.value_or(0));
    } else if (EqualsIgnoreCase(option, "TYPE")) {
      filter.type = TypeNamed(value);
      if (!filter.type) parser.Fail(UnknownType(value));
    } else if (EqualsIgnoreCase(option, "ADDR")) {
      filter.address = value;
    } else if (EqualsIgnoreCase(option, "LADDR")) {
      filter.local_address = value;
    } else if (EqualsIgnoreCase(option, "USER")) {
      filter.user = acl.Find(value);
      if (filter.user == nullptr) {
        parser.Fail(fmt::format("ERR No such user '{}'", Quotable(value)));
      }
    } else if (EqualsIgnoreCase(option, "SKIPME")) {
      if (!EqualsIgnoreCase(value, "yes") && !EqualsIgnoreCase(value, "no")) {
        parser.Fail(kSyntaxError);
      }
      filter.skip_me = EqualsIgnoreCase(value, "yes");
    } else {
      parser.Fail(kSyntaxError);
    }
  }
  return filter;
}

// Closes them, each on its own loop, and returns how many there are.
int64_t Kill(ConnectionContext& context, const KillFilter& filter) {
  Instance& instance = context.dispatcher.instance();
  int64_t count = 0;
  instance.traffic().clients.ForEach([&](Session& session) {
    if (!filter.Matches(session, context.session)) return;
    ++count;
    session.closing = true;
    net::Loop& loop = session.connection().loop();
    if (&session == &context.session) {
      session.connection().CloseAfterReplies();
    } else if (loop.InLoop()) {
      session.connection().CloseNow();
    } else {
      loop.Post([&instance, &loop, id = session.id()] {
        if (net::RespConnection* found = instance.server()->Find(loop, id)) found->CloseNow();
      });
    }
  });
  return count;
}

void ClientKill(ConnectionContext& context) {
  if (context.args.size() == 3) {
    const KillFilter filter{.address = context.args[2], .skip_me = false};
    if (Kill(context, filter) == 0) return context.Fail("ERR No such client");
    return context.reply.Ok();
  }
  ArgParser parser(context.args, 2);
  const KillFilter filter = ParseKillFilter(parser, context.dispatcher.instance().acl());
  if (!parser.Finish()) return context.Fail(parser.error());
  context.reply.Integer(Kill(context, filter));
}

void ClientReply(ConnectionContext& context) {
  ArgParser parser(context.args, 2);
  const std::optional<ReplyMode> mode = parser.OneOf<ReplyMode>(
      {{"ON", ReplyMode::kOn}, {"OFF", ReplyMode::kOff}, {"SKIP", ReplyMode::kSkipNext}});
  if (!mode) return context.Fail(kSyntaxError);
  // Replies that are off stay off.
  if (*mode == ReplyMode::kSkipNext && context.session.reply_mode == ReplyMode::kOff) return;
  context.session.reply_mode = *mode;
  context.reply.Ok();
}

// CLIENT NO-EVICT and NO-TOUCH. Cairn evicts nothing and keeps no access times, so both only show
// in CLIENT LIST.
ConnectionHandler Switch(Shared<bool> Session::*flag) {
  return [flag](ConnectionContext& context) {
    ArgParser parser(context.args, 2);
    const std::optional<bool> on = parser.OneOf<bool>({{"ON", true}, {"OFF", false}});
    if (!on) return context.Fail(kSyntaxError);
    context.session.*flag = *on;
    context.reply.Ok();
  };
}

void ClientPauseCommand(ConnectionContext& context) {
  ArgParser parser(context.args, 2);
  const int64_t timeout_ms = parser.Integer("ERR timeout is not an integer or out of range");
  if (parser.ok() && timeout_ms < 0) parser.Fail("ERR timeout is negative");
  ClientPause::Mode mode = ClientPause::Mode::kAll;
  if (parser.HasNext()) {
    const auto named = parser.OneOf<ClientPause::Mode>(
        {{"WRITE", ClientPause::Mode::kWrites}, {"ALL", ClientPause::Mode::kAll}});
    if (!named) parser.Fail("ERR CLIENT PAUSE mode must be WRITE or ALL");
    mode = named.value_or(mode);
  }
  if (!parser.Finish()) return context.Fail(parser.error());
  Instance& instance = context.dispatcher.instance();
  // A century is as good as for ever, and cannot overflow.
  constexpr int64_t kLongestMs = 100LL * 365 * 24 * 3600 * 1000;
  const int64_t until_ms = instance.clock().Now().millis() + std::min(timeout_ms, kLongestMs);
  instance.traffic().pause.Begin(Timestamp::FromMillis(until_ms), mode, instance.clock().Now());
  context.reply.Ok();
}

void ClientUnpause(ConnectionContext& context) {
  Instance& instance = context.dispatcher.instance();
  instance.traffic().pause.End();
  instance.dispatchers().PostToAll([](Dispatcher& each) { each.RunHeld(); });
  context.reply.Ok();
}

void ClientUnblock(ConnectionContext& context) {
  if (context.args.size() > 4) {
    return context.Fail(fmt::format(
        "ERR unknown subcommand or wrong number of arguments for '{}'. Try CLIENT HELP.",
        Quotable(context.args[1])));
  }
  ArgParser parser(context.args, 2);
  const int64_t id = parser.Integer();
  UnblockWith with = UnblockWith::kTimeout;
  if (parser.HasNext()) {
    const auto named = parser.OneOf<UnblockWith>(
        {{"TIMEOUT", UnblockWith::kTimeout}, {"ERROR", UnblockWith::kError}});
    if (!named) parser.Fail("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
    with = named.value_or(with);
  }
  if (!parser.Finish()) return context.Fail(parser.error());
  Instance& instance = context.dispatcher.instance();
  bool found = false;
  instance.traffic().clients.ForEach([&](Session& session) {
    found = found || (session.id() == static_cast<uint64_t>(id) && session.is_blocked);
  });
  if (found) instance.dispatchers().Unblock(static_cast<uint64_t>(id), with);
  context.reply.Integer(found ? 1 : 0);
}

constexpr uint32_t kUser = kNoScript | kLoading | kStale;
constexpr uint32_t kOperator = kUser | kAdmin;

}  // namespace

void AddClientCommands(Instance& instance) {
  struct Row {
    std::string_view name;
    int arity;
    uint32_t flags;
    std::string_view since;
    std::string_view summary;
    std::string_view syntax;
    ConnectionHandler handler;
    std::string_view unaudited = {};
  };
  const Row kRows[] = {
      {"client|id", 2, kUser, "5.0.0", "Tells the connection's number.", "", ClientId},
      {"client|getname", 2, kUser, "2.6.9", "Tells the connection's name.", "", ClientGetName},
      {"client|setname", 3, kUser, "2.6.9", "Names the connection.", "connection-name",
       ClientSetName},
      {"client|setinfo", 4, kUser, "7.2.0", "Notes which client library is used.",
       "(LIB-NAME libname | LIB-VER libver)", ClientSetInfo},
      {"client|info", 2, kUser, "6.2.0", "Describes this connection.", "", ClientInfo},
      {"client|list", -2, kOperator, "2.4.0", "Describes open connections, one per line.",
       "[TYPE (NORMAL | MASTER | REPLICA | PUBSUB) | ID client-id:integer ...]", ClientList,
       kOnlyReads},
      {"client|kill", -3, kOperator, "2.4.0", "Closes connections.",
       "(address | (ID client-id:integer | TYPE (NORMAL | MASTER | REPLICA | PUBSUB) | USER "
       "username | ADDR address | LADDR address | SKIPME yes-no) ...)",
       ClientKill},
      {"client|reply", 3, kUser, "3.2.0", "Turns replies on or off, or skips the next.",
       "(ON | OFF | SKIP)", ClientReply},
      {"client|no-evict", 3, kOperator, "7.0.0", "Marks the connection as not to be evicted.",
       "(ON | OFF)", Switch(&Session::no_evict), kChangesNothing},
      {"client|no-touch", 3, kUser, "7.2.0", "Marks the connection as not touching keys.",
       "(ON | OFF)", Switch(&Session::no_touch)},
      {"client|pause", -3, kOperator, "2.9.50", "Delays commands of clients for a time.",
       "timeout:integer [WRITE | ALL]", ClientPauseCommand},
      {"client|unblock", -3, kOperator, "5.0.0", "Ends the wait of a blocked client.",
       "client-id:integer [TIMEOUT | ERROR]", ClientUnblock},
      {"client|unpause", 2, kOperator, "6.2.0", "Ends a CLIENT PAUSE.", "", ClientUnpause},
  };
  CommandTable& table = instance.commands();
  table.Add({.name = "client",
             .arity = -2,
             .group = "connection",
             .since = "2.4.0",
             .summary = "Commands about client connections."});
  for (const Row& row : kRows) {
    const bool varies = row.name == "client|list" || row.name == "client|info";
    table.Add({.name = row.name,
               .arity = row.arity,
               .flags = row.flags,
               .categories = kCategoryConnection,
               .unaudited = row.unaudited,
               .audit_text = AuditAllArguments,
               .group = "connection",
               .since = row.since,
               .complexity = "O(N) for N open connections at most",
               .summary = row.summary,
               .syntax = row.syntax,
               .tips = varies ? std::vector<std::string_view>{"nondeterministic_output"}
                              : std::vector<std::string_view>{},
               .connection = row.handler});
  }
  AddTrackingCommands(instance);
  table.Add(HelpRow("client|help", kCategoryConnection, "connection", "5.0.0"));
}

}  // namespace cairn::doors
