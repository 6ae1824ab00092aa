#include "doors/resp/acl_checks.h"

#include <string>
#include <utility>

#include "doors/resp/command_audit.h"
#include "doors/resp/dispatcher.h"
#include "doors/resp/instance.h"
#include "doors/resp/session.h"

namespace cairn::doors {
namespace {

// What a refusal would be as the status of an HTTP response.
constexpr int kForbiddenStatus = 403;

// Whether the session may go on with what it listens to.
bool MayStay(const Session& session) {
  if (session.user().deleted()) return false;
  if (!session.subscribed() || session.user().unrestricted()) return true;
  const auto rules = session.user().rules();
  return session.subscriptions->AllOf([&](const std::string& name, bool is_pattern) {
    return rules->AllowsChannel(name, is_pattern);
  });
}

}  // namespace

std::optional<AclRefusal> CheckAcl(Instance& instance, const Session& session,
                                   const Command& command, Args args, std::string_view context) {
  const std::optional<AclRefusal> refusal = session.user().rules()->Check(command, args);
  if (!refusal) return std::nullopt;
  LogAclRefusal(instance, *refusal, command, args, context, session.caller());
  return refusal;
}

void LogAclRefusal(Instance& instance, const AclRefusal& refusal, const Command& command, Args args,
                   std::string_view context, const Caller& caller) {
  constexpr std::string_view kReasons[] = {"command", "key", "channel"};
  const bool by_command = refusal.reason == AclReason::kCommand;
  const Timestamp now = instance.clock().Now();
  std::string client;
  instance.traffic().clients.ForEach([&](const Session& session) {
    if (session.id() == caller.connection_id) client = session.Describe(now);
  });
  instance.acl().log().Add(
      {.reason = kReasons[static_cast<size_t>(refusal.reason)],
       .context = context,
       .object = std::string(by_command ? command.name : args[refusal.argument]),
       .user = caller.user == nullptr ? "" : caller.user->name()},
      std::move(client), now);
  instance.observed().audit.Count(RefusedEntry(command, caller.user.get(), kForbiddenStatus));
}

void EnforceAcl(Dispatcher& dispatcher, uint64_t caller) {
  net::RespServer* server = dispatcher.instance().server();
  if (server == nullptr) return;
  server->ForEachConnection(dispatcher.loop(), [&](net::RespConnection& connection) {
    Session& session = SessionOf(connection);
    if (MayStay(session)) return;
    session.closing = true;
    if (session.id() == caller) {
      connection.CloseAfterReplies();
    } else {
      connection.CloseNow();
    }
  });
}

}  // namespace cairn::doors
