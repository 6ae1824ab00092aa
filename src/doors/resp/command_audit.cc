#include "doors/resp/command_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "doors/access/limits.h"

namespace cairn::doors {
namespace {

// What a reply would be as the status of an HTTP response.
constexpr int kFailedStatus = 400;
constexpr int kLoginStatus = 401;

// "ACL SETUSER"
std::string SpokenName(const Command& command) {
  std::string name(command.name);
  std::ranges::transform(name, name.begin(), [](unsigned char c) {
    return c == '|' ? ' ' : static_cast<char>(std::toupper(c));
  });
  return name;
}

// What follows the name of the command, or of the subcommand.
Args ArgumentsOf(const Command& command, Args args) {
  const bool is_subcommand = command.name.find('|') != std::string_view::npos;
  return args.subspan(std::min<size_t>(is_subcommand ? 2 : 1, args.size()));
}

std::string TextOf(const Command& command, Args args) {
  const Args arguments = ArgumentsOf(command, args);
  if (command.audit_text != nullptr) return command.audit_text(arguments);
  if (command.secret || arguments.empty()) return {};
  return std::string(arguments[0].substr(0, kMaxAuditedArgumentBytes));
}

AuditEntry EntryFor(const Command& command, const AclUser* user) {
  const bool anybody = user == nullptr || (user->is_default() && user->unrestricted());
  return {.principal = std::string(anybody ? kDefaultUser : user->name()),
          .role = anybody ? "admin" : user->role(),
          .method = "RESP",
          .path = SpokenName(command),
          .query = {},
          .kind = std::string(command.name)};
}

// Does what `work` does, and keeps the entry with it.
class AuditedWork final : public ClientWork {
 public:
  AuditedWork(std::unique_ptr<ClientWork> work, AuditEntry entry, AuditLog& log)
      : work_(std::move(work)), entry_(std::move(entry)), log_(log) {
    scopes = work_->scopes;
    access = store::Access::kWrite;
    held = work_->held;
  }

  Result<void> Run(store::Transaction& transaction) override {
    work_->held = std::move(held);
    work_->on_loop = on_loop;
    Result<void> ran = work_->Run(transaction);
    held = std::move(work_->held);
    if (ran.ok()) log_.Append(transaction, entry_);
    return ran;
  }
  void Finish(Dispatcher& dispatcher, Session& session) override {
    work_->still_held = still_held;
    work_->Finish(dispatcher, session);
  }
  bool found() const override { return work_->found(); }
  void GiveUp(Session& session) override { work_->GiveUp(session); }

 private:
  const std::unique_ptr<ClientWork> work_;
  const AuditEntry entry_;
  AuditLog& log_;
};

}  // namespace

bool IsOperators(const Command& command) {
  constexpr uint32_t kOperators = kCategoryAdmin | kCategoryDangerous;
  const bool names_keys = !command.keys.empty() || command.find_keys;
  return command.Has(kAdmin) || (command.categories & kOperators) != 0 ||
         (command.Has(kWrite) && !names_keys);
}

bool IsAudited(const Command& command) {
  const bool has_handler = command.run || command.connection || command.prepare;
  return has_handler && (command.audited || (IsOperators(command) && command.unaudited.empty()));
}

bool AuditsInTransaction(const Command& command) {
  return command.run && command.access() == store::Access::kWrite;
}

AuditEntry EntryOf(const Command& command, Args args, const AclUser* user, uint8_t db) {
  AuditEntry entry = EntryFor(command, user);
  if (const std::string text = TextOf(command, args); !text.empty()) {
    entry.path.append(" ").append(text);
  }
  if (db != 0) entry.query = fmt::format("db={}", db);
  return entry;
}

AuditEntry RefusedEntry(const Command& command, const AclUser* user, int status) {
  AuditEntry entry = EntryFor(command, user);
  entry.status = status;
  return entry;
}

void NoteCall(const AclUser& user, uint8_t db, const Command& command, Args args, bool failed,
              AuditLog& log) {
  if (failed) return log.Count(RefusedEntry(command, &user, kFailedStatus));
  if (!AuditsInTransaction(command)) log.Keep(EntryOf(command, args, &user, db));
}

void CountFailedLogin(std::string_view method, std::string_view path, std::string_view peer,
                      AuditLog& log) {
  const std::string_view host = peer.substr(0, peer.rfind(':'));
  log.Count({.principal = {},
             .role = {},
             .method = std::string(method),
             .path = std::string(path),
             .status = kLoginStatus,
             .query = {},
             .detail = fmt::format("from {}", host),
             .kind = fmt::format("login {}", host)});
}

RunHandler WithAudit(RunHandler run, AuditLog& log) {
  return [run = std::move(run), &log](CommandContext& context) -> Result<void> {
    CAIRN_RETURN_IF_ERROR(run(context));
    if (context.failed || context.blocking) return {};
    log.Append(context.transaction,
               EntryOf(context.command, context.args, context.caller.user.get(), context.db()));
    return {};
  };
}

std::unique_ptr<ClientWork> WithAudit(std::unique_ptr<ClientWork> work, AuditEntry entry,
                                      AuditLog& log) {
  return std::make_unique<AuditedWork>(std::move(work), std::move(entry), log);
}

std::string AuditAllArguments(Args args) {
  std::string text;
  for (const std::string_view arg : args) {
    if (text.size() >= kMaxAuditedArgumentBytes) break;
    text.append(text.empty() ? "" : " ").append(arg.substr(0, kMaxAuditedArgumentBytes));
  }
  return text;
}

std::string AuditNoArguments(Args /*args*/) { return {}; }

}  // namespace cairn::doors
