#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "doors/resp/acl.h"
#include "doors/resp/acl_checks.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/client_work.h"
#include "doors/resp/command_audit.h"
#include "doors/resp/connection_commands.h"
#include "doors/resp/dispatcher.h"
#include "doors/resp/instance.h"
#include "doors/resp/session.h"

namespace cairn::doors {
namespace {

Acl& AclOf(ConnectionContext& context) { return context.dispatcher.instance().acl(); }

// --- Changing users -----------------------------------------------------------------------------

// A user as its rules, nullopt: there is none.
std::optional<std::string> Text(const Acl& acl, std::string_view name) {
  const std::shared_ptr<AclUser> user = acl.Find(name);
  if (user == nullptr) return std::nullopt;
  return user->rules()->Describe();
}

// The users have been changed in memory; this stores them as they are when it runs. Changes by
// other connections may be stored with it: each of them is followed by a run of its own, so the
// last one stores the last state.
//
// Where other servers change users too, what one of them has stored may have replaced the change in
// memory before this runs. Then nothing is stored, and the client is told.
class SaveUsers final : public ClientWork {
 public:
  SaveUsers(Instance& instance, const Command& command, const std::vector<std::string>& names,
            std::optional<int64_t> count)
      : instance_(instance), command_(command), count_(count) {
    for (const std::string& name : names) changed_.emplace_back(name, Text(instance.acl(), name));
    access = store::Access::kWrite;
    AddAclScope(scopes);
  }

  Result<void> Run(store::Transaction& transaction) override {
    Acl& acl = instance_.acl();
    for (const auto& [name, text] : changed_) {
      if (instance_.store().shared()) {
        CAIRN_RETURN_IF_ERROR(acl.CheckUnchanged(transaction, name));
        if (Text(acl, name) != text) {
          return Error{ErrorCode::kConflict,
                       fmt::format("user '{}' was changed by another at the same time", name)};
        }
      }
      acl.Save(transaction, name);
    }
    return {};
  }

  void Finish(Dispatcher& dispatcher, Session& session) override {
    dispatcher.counters().Ran(command_.index, 0, false);
    net::RespWriter reply(session.connection().out(), session.protocol);
    if (count_) {
      reply.Integer(*count_);
    } else {
      reply.Ok();
    }
    // Here at once: nothing that comes behind it on this connection is executed any more.
    EnforceAcl(dispatcher, session.id());
    instance_.dispatchers().PostToAll(
        [caller = session.id()](Dispatcher& each) { EnforceAcl(each, caller); });
  }

 private:
  Instance& instance_;
  const Command& command_;
  std::vector<std::pair<std::string, std::optional<std::string>>> changed_;  // by name
  const std::optional<int64_t> count_;
};

std::unique_ptr<ClientWork> SetUser(ConnectionContext& context) {
  const std::string_view name = context.args[2];
  if (name.find(' ') != std::string_view::npos || name.find('\0') != std::string_view::npos) {
    context.Fail("ERR Usernames can't contain spaces or null characters");
    return nullptr;
  }
  const Result<void> set = AclOf(context).SetUser(name, context.args.subspan(3));
  if (!set.ok()) {
    context.Fail(set.error().message);
    return nullptr;
  }
  return std::make_unique<SaveUsers>(context.dispatcher.instance(), context.command,
                                     std::vector<std::string>{std::string(name)}, std::nullopt);
}

std::unique_ptr<ClientWork> DelUser(ConnectionContext& context) {
  const Args names = context.args.subspan(2);
  if (std::ranges::find(names, kDefaultUser) != names.end()) {
    context.Fail("ERR The 'default' user cannot be removed");
    return nullptr;
  }
  std::vector<std::string> deleted;
  for (const std::string_view name : names) {
    if (AclOf(context).DeleteUser(name)) deleted.emplace_back(name);
  }
  const auto count = static_cast<int64_t>(deleted.size());
  return std::make_unique<SaveUsers>(context.dispatcher.instance(), context.command, deleted,
                                     count);
}

// --- Showing users ------------------------------------------------------------------------------

void WhoAmI(ConnectionContext& context) { context.reply.Bulk(context.session.user().name()); }

void ListUsers(ConnectionContext& context) {
  const auto users = AclOf(context).users();
  context.reply.ArrayHeader(users.size());
  for (const auto& user : users) context.reply.Bulk(user->name());
}

void List(ConnectionContext& context) {
  const auto users = AclOf(context).users();
  context.reply.ArrayHeader(users.size());
  for (const auto& user : users) {
    context.reply.Bulk(fmt::format("user {} {}", user->name(), user->rules()->Describe()));
  }
}

void WriteSelector(net::RespWriter& reply, const AclSelector& selector) {
  reply.Bulk("commands");
  reply.Bulk(selector.Commands());
  reply.Bulk("keys");
  reply.Bulk(selector.Keys());
  reply.Bulk("channels");
  reply.Bulk(selector.Channels());
}

void GetUser(ConnectionContext& context) {
  const auto user = AclOf(context).Find(context.args[2]);
  if (user == nullptr) return context.reply.Null();
  const auto rules = user->rules();
  context.reply.MapHeader(6);
  context.reply.Bulk("flags");
  context.reply.SetHeader(rules->nopass() ? 2 : 1);
  context.reply.Bulk(rules->on() ? "on" : "off");
  if (rules->nopass()) context.reply.Bulk("nopass");
  context.reply.Bulk("passwords");
  context.reply.ArrayHeader(rules->passwords().size());
  for (const std::string& hash : rules->passwords()) context.reply.Bulk(hash);
  WriteSelector(context.reply, rules->root());
  context.reply.Bulk("selectors");
  context.reply.ArrayHeader(rules->selectors().size());
  for (const AclSelector& selector : rules->selectors()) {
    context.reply.MapHeader(3);
    WriteSelector(context.reply, selector);
  }
}

// --- The rest -----------------------------------------------------------------------------------

std::string TooManyArguments(const ConnectionContext& context) {
  return fmt::format("ERR unknown subcommand or wrong number of arguments for '{}'. Try ACL HELP.",
                     Quotable(context.args[1]));
}

void Cat(ConnectionContext& context) {
  if (context.args.size() > 3) return context.Fail(TooManyArguments(context));
  const auto categories = AclCategories();
  if (context.args.size() == 2) {
    context.reply.ArrayHeader(categories.size());
    for (const std::string_view category : categories) context.reply.Bulk(category);
    return;
  }
  const std::string_view wanted = context.args[2];
  if (std::ranges::none_of(categories,
                           [&](std::string_view name) { return EqualsIgnoreCase(name, wanted); })) {
    return context.Fail(fmt::format("ERR Unknown category '{}'", Quotable(wanted)));
  }
  const CommandTable& table = context.dispatcher.instance().commands();
  std::vector<std::string_view> names;
  for (size_t i = 0; i < table.row_count(); ++i) {
    const Command& row = table.row(i);
    if (row.subcommands.empty() && IsInCategory(row, wanted)) names.push_back(row.name);
  }
  context.reply.ArrayHeader(names.size());
  for (const std::string_view name : names) context.reply.Bulk(name);
}

void GenPass(ConnectionContext& context) {
  constexpr int64_t kMostBits = 4096;
  int64_t bits = 256;
  if (context.args.size() > 3) return context.Fail(TooManyArguments(context));
  ArgParser parser(context.args, 2);
  if (parser.HasNext()) bits = parser.Integer();
  if (parser.ok() && (bits < 1 || bits > kMostBits)) {
    parser.Fail(
        "ERR ACL GENPASS argument must be the number of bits for the output password, a positive "
        "number up to 4096");
  }
  if (!parser.Finish()) return context.Fail(parser.error());
  const auto digits = static_cast<size_t>((bits + 3) / 4);
  const std::string hex =
      HexEncode(context.dispatcher.instance().random().NextBytes((digits + 1) / 2));
  context.reply.Bulk(std::string_view(hex).substr(0, digits));
}

void ShowLog(ConnectionContext& context) {
  AclLog& log = AclOf(context).log();
  size_t count = 10;
  if (context.args.size() > 3) return context.Fail(TooManyArguments(context));
  if (context.args.size() == 3) {
    if (EqualsIgnoreCase(context.args[2], "reset")) {
      log.Clear();
      return context.reply.Ok();
    }
    ArgParser parser(context.args, 2);
    const int64_t given = parser.Integer();
    if (!parser.ok()) return context.Fail(parser.error());
    count = static_cast<size_t>(std::max<int64_t>(given, 0));
  }
  const Timestamp now = context.dispatcher.instance().clock().Now();
  const auto entries = log.Newest(count);
  context.reply.ArrayHeader(entries.size());
  for (const AclLog::Entry& entry : entries) {
    context.reply.MapHeader(7);
    context.reply.Bulk("count");
    context.reply.Integer(static_cast<int64_t>(entry.count));
    const std::pair<std::string_view, std::string_view> texts[] = {{"reason", entry.event.reason},
                                                                   {"context", entry.event.context},
                                                                   {"object", entry.event.object},
                                                                   {"username", entry.event.user}};
    for (const auto& [name, text] : texts) {
      context.reply.Bulk(name);
      context.reply.Bulk(text);
    }
    context.reply.Bulk("age-seconds");
    const int64_t age_ms = now.millis() - entry.time.millis();
    context.reply.Double(static_cast<double>(age_ms) / 1000);
    context.reply.Bulk("client-info");
    context.reply.Bulk(entry.client);
  }
}

std::string DryRunText(const AclRefusal& refusal, const Command& command, Args call) {
  switch (refusal.reason) {
    case AclReason::kCommand:
      return fmt::format("This user has no permissions to run the '{}' command", command.name);
    case AclReason::kKey:
      return fmt::format("This user has no permissions to access the '{}' key",
                         call[refusal.argument]);
    case AclReason::kChannel:
      return fmt::format("This user has no permissions to access the '{}' channel",
                         call[refusal.argument]);
  }
  return {};
}

void DryRun(ConnectionContext& context) {
  const auto user = AclOf(context).Find(context.args[2]);
  if (user == nullptr) {
    return context.Fail(fmt::format("ERR User '{}' not found", Quotable(context.args[2])));
  }
  const Args call = context.args.subspan(3);
  const auto found = context.dispatcher.instance().commands().Find(call);
  if (found.command == nullptr || found.unknown_subcommand) {
    return context.Fail(fmt::format("ERR Command '{}' not found", Quotable(call[0])));
  }
  if (!found.command->AcceptsArity(call.size())) {
    return context.Fail(WrongArity(found.command->name));
  }
  if (const auto refusal = user->rules()->Check(*found.command, call)) {
    return context.reply.Bulk(DryRunText(*refusal, *found.command, call));
  }
  context.reply.Ok();
}

void NoAclFile(ConnectionContext& context) {
  context.Fail(
      "ERR This Redis instance is not configured to use an ACL file. You may want to specify users "
      "via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis "
      "configuration file set) in order to store users in the Redis configuration.");
}

// --- Rows ---------------------------------------------------------------------------------------

// The user's name and its rules, but for passwords and their hashes.
std::string AuditSetUser(Args args) {
  std::vector<std::string> shown;
  for (const std::string_view arg : args) {
    const bool secret = !shown.empty() && arg.find_first_of("><#!") == 0;
    shown.push_back(secret ? fmt::format("{}(redacted)", arg[0]) : std::string(arg));
  }
  const std::vector<std::string_view> views(shown.begin(), shown.end());
  return AuditAllArguments(views);
}

constexpr uint32_t kUser = kNoScript | kLoading | kStale;
constexpr uint32_t kOperator = kUser | kAdmin;

struct Row {
  std::string_view name;
  int arity;
  uint32_t flags;
  std::string_view since;
  std::string_view summary;
  std::string_view syntax;
  ConnectionHandler connection;
  PrepareHandler prepare = {};
  AuditText audit_text = nullptr;
  std::string_view unaudited = {};
};

constexpr std::string_view kStaysInAuditLog = "refusals stay in the audit log";

void AddSettings(Instance& instance) {
  AclLog& log = instance.acl().log();
  instance.settings().Add(
      {.name = "acllog-max-len",
       .get = [&log] { return fmt::to_string(log.max_length()); },
       .set = [&log](std::string_view value) -> Result<void> {
         const std::optional<int64_t> length = ParseInteger(value);
         if (!length || *length < 0) {
           return Error{ErrorCode::kInvalid, "argument couldn't be parsed into an integer"};
         }
         log.set_max_length(static_cast<size_t>(*length));
         return {};
       }});
  instance.settings().Add(Setting::Fixed("aclfile", ""));
  instance.settings().Add(Setting::Fixed("acl-pubsub-default", "resetchannels"));
}

}  // namespace

void AddAclCommands(Instance& instance) {
  AddSettings(instance);
  const Row kRows[] = {
      {"acl|whoami", 2, kUser, "6.0.0", "Tells who the connection is.", "", WhoAmI},
      {"acl|users",
       2,
       kOperator,
       "6.0.0",
       "Lists the names of the users.",
       "",
       ListUsers,
       {},
       nullptr,
       kOnlyReads},
      {"acl|list",
       2,
       kOperator,
       "6.0.0",
       "Lists the users with their rules.",
       "",
       List,
       {},
       nullptr,
       kOnlyReads},
      {"acl|getuser",
       3,
       kOperator,
       "6.0.0",
       "Shows the rules of a user.",
       "username",
       GetUser,
       {},
       nullptr,
       kOnlyReads},
      // A transaction's commands run in a body that may run again; users are changed once.
      {"acl|setuser",
       -3,
       kOperator | kNoMulti,
       "6.0.0",
       "Makes a user or changes its rules.",
       "username [rule ...]",
       {},
       SetUser,
       AuditSetUser},
      {"acl|deluser",
       -3,
       kOperator | kNoMulti,
       "6.0.0",
       "Removes users and closes their connections.",
       "username ...",
       {},
       DelUser,
       AuditAllArguments},
      {"acl|cat", -2, kUser, "6.0.0", "Lists the categories, or the commands of one.", "[category]",
       Cat},
      {"acl|genpass", -2, kUser, "6.0.0", "Makes up a password.", "[bits:integer]", GenPass},
      {"acl|log",
       -2,
       kOperator,
       "6.0.0",
       "Shows what was refused lately.",
       "[count:integer | RESET]",
       ShowLog,
       {},
       nullptr,
       kStaysInAuditLog},
      {"acl|dryrun",
       -4,
       kOperator,
       "7.0.0",
       "Tells whether a user could call a command.",
       "username command [arg ...]",
       DryRun,
       {},
       nullptr,
       kOnlyReads},
      {"acl|save", 2, kOperator, "6.0.0", "Refused: users are stored with each change.", "",
       NoAclFile},
      {"acl|load", 2, kOperator, "6.0.0", "Refused: there is no file of users.", "", NoAclFile},
  };
  CommandTable& table = instance.commands();
  table.Add({.name = "acl",
             .arity = -2,
             .group = "server",
             .since = "6.0.0",
             .summary = "Commands about users and what they may do."});
  for (const Row& row : kRows) {
    table.Add({.name = row.name,
               .arity = row.arity,
               .flags = row.flags,
               .secret = row.name == "acl|setuser",
               .unaudited = row.unaudited,
               .audit_text = row.audit_text,
               .group = "server",
               .since = row.since,
               .complexity = "O(N) for N users, commands or rules",
               .summary = row.summary,
               .syntax = row.syntax,
               .connection = row.connection,
               .prepare = row.prepare});
  }
  table.Add(HelpRow("acl|help", 0, "server", "6.0.0"));
}

}  // namespace cairn::doors
