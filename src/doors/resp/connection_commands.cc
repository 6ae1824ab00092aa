#include "doors/resp/connection_commands.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "doors/resp/arg_parser.h"
#include "doors/resp/command_audit.h"
#include "doors/resp/dispatcher.h"
#include "doors/resp/instance.h"
#include "doors/resp/session.h"

namespace cairn::doors {
namespace {

constexpr std::string_view kWrongPassword =
    "WRONGPASS invalid username-password pair or user is disabled.";

void SetAuthenticated(ConnectionContext& context, bool authenticated) {
  context.session.authenticated = authenticated;
  context.connection.set_authenticated(authenticated);
}

bool Authenticate(ConnectionContext& context, std::string_view name, std::string_view password) {
  Instance& instance = context.dispatcher.instance();
  std::shared_ptr<AclUser> user = instance.acl().Authenticate(name, password);
  if (user == nullptr) {
    const Timestamp now = instance.clock().Now();
    instance.acl().log().Add({.reason = "auth",
                              .context = context.session.in_multi ? "multi" : "toplevel",
                              .object = std::string(context.args[0]),
                              .user = std::string(name)},
                             context.session.Describe(now), now);
    CountFailedLogin("RESP", "AUTH", context.connection.peer(), instance.observed().audit);
    instance.observed().failed_logins.Note(instance.clock().MonotonicNs(),
                                           context.connection.peer(), instance.log());
    context.dispatcher.DelayReplies(context.session,
                                    FailedLogins::DelayAfter(++context.session.failed_logins));
    return false;
  }
  context.session.failed_logins = 0;
  context.session.set_user(std::move(user));
  SetAuthenticated(context, true);
  return true;
}

void Ping(ConnectionContext& context) {
  if (context.args.size() > 2) return context.Fail(WrongArity(context.command.name));
  if (context.session.confined()) {
    // A RESP2 client cannot tell a reply from a message but by its form.
    context.reply.ArrayHeader(2);
    context.reply.Bulk("pong");
    return context.reply.Bulk(context.args.size() == 2 ? context.args[1] : "");
  }
  if (context.args.size() == 2) return context.reply.Bulk(context.args[1]);
  context.reply.Simple("PONG");
}

void Echo(ConnectionContext& context) { context.reply.Bulk(context.args[1]); }

void Auth(ConnectionContext& context) {
  const Args args = context.args;
  if (args.size() > 3) return context.Fail(kSyntaxError);
  if (args.size() == 2 && !context.dispatcher.instance().acl().auth_required() &&
      context.dispatcher.instance().acl().default_user()->rules()->nopass()) {
    return context.Fail(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?");
  }
  if (!Authenticate(context, args.size() == 3 ? args[1] : kDefaultUser, args.back())) {
    return context.Fail(kWrongPassword);
  }
  context.reply.Ok();
}

struct HelloOptions {
  std::optional<int64_t> protocol;
  std::optional<std::pair<std::string_view, std::string_view>> auth;
  std::optional<std::string_view> name;
};

// An Error's message is the reply.
Result<HelloOptions> ParseHello(Args args) {
  HelloOptions options;
  ArgParser parser(args);
  if (parser.HasNext()) {
    options.protocol = parser.Integer("ERR Protocol version is not an integer or out of range");
    if (parser.ok() && (*options.protocol < 2 || *options.protocol > 3)) {
      parser.Fail("NOPROTO unsupported protocol version");
    }
  }
  while (parser.HasNext()) {
    const size_t remaining = parser.remaining();
    if (remaining >= 3 && parser.Keyword("AUTH")) {
      const std::string_view user = parser.Next();
      options.auth = {user, parser.Next()};
    } else if (remaining >= 2 && parser.Keyword("SETNAME")) {
      options.name = parser.Next();
    } else {
      parser.Fail(fmt::format("ERR Syntax error in HELLO option '{}'", Quotable(parser.Next())));
    }
  }
  if (!parser.ok()) return Error{ErrorCode::kInvalid, parser.error()};
  return options;
}

void Hello(ConnectionContext& context) {
  const Result<HelloOptions> options = ParseHello(context.args);
  if (!options.ok()) return context.Fail(options.error().message);
  Session& session = context.session;
  Instance& instance = context.dispatcher.instance();
  if (options->auth && !Authenticate(context, options->auth->first, options->auth->second)) {
    return context.Fail(kWrongPassword);
  }
  if (!session.authenticated && instance.acl().auth_required()) {
    return context.Fail(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
        "AUTH <user> <pass> option can be used to authenticate the client and select the RESP "
        "protocol version at the same time");
  }
  if (options->name) {
    if (!IsValidClientName(*options->name)) return context.Fail(kBadClientName);
    session.set_text(Session::About::kName, *options->name);
  }
  if (options->protocol) session.protocol = static_cast<int>(*options->protocol);

  net::RespWriter reply(context.reply.out(), session.protocol);
  reply.MapHeader(7);
  reply.Bulk("server");
  reply.Bulk("redis");
  reply.Bulk("version");
  reply.Bulk(kRedisVersion);
  reply.Bulk("proto");
  reply.Integer(session.protocol);
  reply.Bulk("id");
  reply.Integer(static_cast<int64_t>(session.id()));
  reply.Bulk("mode");
  reply.Bulk("standalone");
  reply.Bulk("role");
  reply.Bulk("master");
  reply.Bulk("modules");
  reply.ArrayHeader(0);
}

void Select(ConnectionContext& context) {
  ArgParser parser(context.args);
  const uint8_t db = parser.Database();
  if (!parser.ok()) return context.Fail(parser.error());
  context.session.db = db;
  context.reply.Ok();
}

void Quit(ConnectionContext& context) {
  context.session.closing = true;
  context.reply.Ok();
  context.connection.CloseAfterReplies();
}

void Reset(ConnectionContext& context) {
  context.session.Reset();
  context.session.set_user(context.dispatcher.instance().acl().default_user());
  SetAuthenticated(context, !context.dispatcher.instance().acl().auth_required());
  net::RespWriter(context.reply.out(), context.session.protocol).Simple("RESET");
}

constexpr uint32_t kAnyTime = kLoading | kStale | kFast;
constexpr uint32_t kBeforeAuth = kAnyTime | kNoScript | kNoAuth | kAllowBusy;

}  // namespace

std::optional<int> ProtocolAfterHello(Args args, const Acl& acl) {
  const Result<HelloOptions> options = ParseHello(args);
  if (!options.ok() || !options->protocol) return std::nullopt;
  if (options->auth && acl.Authenticate(options->auth->first, options->auth->second) == nullptr) {
    return std::nullopt;
  }
  if (options->name && !IsValidClientName(*options->name)) return std::nullopt;
  return static_cast<int>(*options->protocol);
}

bool IsValidClientName(std::string_view name) {
  for (const char c : name) {
    if (c < '!' || c > '~') return false;
  }
  return true;
}

void AddConnectionCommands(Instance& instance) {
  const Command kRows[] = {
      {.name = "ping",
       .arity = -1,
       .flags = kFast,
       .categories = kCategoryConnection,
       .while_subscribed = true,
       .group = "connection",
       .since = "1.0.0",
       .complexity = "O(1)",
       .summary = "Answers PONG, or what it was given.",
       .syntax = "[message]",
       .tips = {"request_policy:all_shards", "response_policy:all_succeeded"},
       .connection = Ping},
      {.name = "echo",
       .arity = 2,
       .flags = kAnyTime,
       .categories = kCategoryConnection,
       .group = "connection",
       .since = "1.0.0",
       .complexity = "O(1)",
       .summary = "Answers what it was given.",
       .syntax = "message",
       .connection = Echo},
      {.name = "auth",
       .arity = -2,
       .flags = kBeforeAuth,
       .categories = kCategoryConnection,
       .secret = true,
       .group = "connection",
       .since = "1.0.0",
       .complexity = "O(N) for N users",
       .summary = "Tells the server who the client is.",
       .syntax = "[username] password",
       .connection = Auth},
      {.name = "hello",
       .arity = -1,
       .flags = kBeforeAuth,
       .categories = kCategoryConnection,
       .secret = true,
       .group = "connection",
       .since = "6.0.0",
       .complexity = "O(1)",
       .summary = "Agrees on the protocol version and shows what the server is.",
       .syntax = "[protover:integer [AUTH (username password)] [SETNAME clientname]]",
       .connection = Hello},
      {.name = "select",
       .arity = 2,
       .flags = kAnyTime,
       .categories = kCategoryConnection,
       .group = "connection",
       .since = "1.0.0",
       .complexity = "O(1)",
       .summary = "Changes the database that later commands use.",
       .syntax = "index:integer",
       .connection = Select},
      {.name = "quit",
       .arity = -1,
       .flags = kBeforeAuth,
       .categories = kCategoryConnection,
       .runs_in_multi = true,
       .while_subscribed = true,
       .group = "connection",
       .since = "1.0.0",
       .complexity = "O(1)",
       .summary = "Closes the connection after what it has still to say.",
       .connection = Quit},
      {.name = "reset",
       .arity = 1,
       .flags = kBeforeAuth,
       .categories = kCategoryConnection,
       .runs_in_multi = true,
       .while_subscribed = true,
       .group = "connection",
       .since = "6.2.0",
       .complexity = "O(1)",
       .summary = "Resets the connection.",
       .connection = Reset},
  };
  instance.commands().Add(kRows);
  AddClientCommands(instance);
  AddIntrospectionCommands(instance);
  AddTransactionCommands(instance);
  AddPubSubCommands(instance);
  AddBufferSettings(instance);
  AddAclCommands(instance);
  AddMonitorCommand(instance);
}

}  // namespace cairn::doors
