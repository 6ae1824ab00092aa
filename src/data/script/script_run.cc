#include "data/script/script_run.h"

#include <fmt/format.h>

#include "data/value/limits.h"
#include "doors/resp/arg_parser.h"

namespace cairn::data {
namespace {

using doors::Refusal;

std::string_view RefusalText(Refusal refusal) {
  switch (refusal) {
    case Refusal::kUnknown:
      return "ERR Unknown Redis command called from script";
    case Refusal::kArity:
      return "ERR Wrong number of args calling Redis command from script";
    case Refusal::kNotAllowed:
      return "ERR This Redis command is not allowed from script";
    case Refusal::kReadOnly:
      return "ERR Write commands are not allowed from read-only scripts.";
    case Refusal::kForbidden:
      return "ERR The user executing the script can't run this command or subcommand";
    case Refusal::kForbiddenKey:
      return "ERR The user executing the script can't access at least one of the keys mentioned in "
             "the command arguments";
    case Refusal::kForbiddenChannel:
      return "ERR The user executing the script can't publish to the channel mentioned in the "
             "command";
    case Refusal::kNone:
      break;
  }
  return {};
}

}  // namespace

ScriptRun::ScriptRun(doors::Instance& instance, doors::CommandContext& context, Options options)
    : instance_(instance),
      context_(context),
      options_(options),
      calls_(instance, context, {.read_only = options.read_only}),
      begin_ns_(instance.clock().MonotonicNs()) {
  if (context.held.may_take_long) {
    busy_.emplace(instance.traffic().busy, options.kind, options.name, context.args, begin_ns_);
  }
}

bool ScriptRun::LeaveLoop() {
  error_ = Error{ErrorCode::kWouldBlock, "a script takes too long for an event loop"};
  return false;
}

bool ScriptRun::StillOnTime() {
  const uint64_t now_ns = instance_.clock().MonotonicNs();
  if (!busy_) {
    if (++steps_ <= kMaxScriptStepsOnLoop && now_ns - begin_ns_ <= kMaxScriptNsOnLoop) return true;
    return LeaveLoop();
  }
  busy_->Check(now_ns);
  if (busy_->must_end()) {
    error_ = Error{ErrorCode::kUnavailable, "the server stops"};
    return false;
  }
  if (busy_->past_limit(now_ns)) {
    error_ = Error{ErrorCode::kUnavailable,
                   fmt::format("the script was ended after {} ms and nothing of it was kept; let "
                               "it do less at a time, or raise script_time_limit",
                               instance_.traffic().busy.limit_ms())};
    return false;
  }
  return !busy_->killed();
}

bool ScriptRun::Call(std::span<const std::string_view> args, int protocol, std::string& reply) {
  // Who is killed ends between instructions, where it is known on which line.
  if (!StillOnTime() && error_) return false;
  const Result<Refusal> refusal = calls_.Run(args, protocol, reply);
  if (!refusal.ok()) {
    error_ = refusal.error();
    return false;
  }
  if (*refusal != Refusal::kNone) net::RespWriter(reply, protocol).Error(RefusalText(*refusal));
  if (busy_ && calls_.written()) busy_->SetWritten();
  return true;
}

bool ScriptRun::Step() { return StillOnTime(); }

// Each instruction of a script may go through all its memory.
bool ScriptRun::Grow(size_t bytes) {
  return busy_ || bytes <= kMaxScriptMemoryOnLoop || LeaveLoop();
}

std::optional<bool> ScriptRun::MayCall(std::span<const std::string_view> args) {
  const doors::CommandTable::Lookup found = instance_.commands().Find(args);
  if (found.command == nullptr || found.unknown_subcommand) return std::nullopt;
  if (!found.command->AcceptsArity(args.size())) return std::nullopt;
  const doors::AclUser* user = context_.caller.user.get();
  return user == nullptr || !user->rules()->Check(*found.command, args);
}

void ScriptRun::Log(int level, std::string_view text) {
  LogFromScript(instance_.log(), level, text);
}

Result<void> ScriptRun::Finish(ScriptEnd end, const LuaState& state) {
  if (end == ScriptEnd::kReplied) return {};
  context_.failed = true;
  if (end == ScriptEnd::kFailed) return {};
  if (error_) return *error_;
  context_.reply.Error(
      fmt::format("ERR Script killed by user with SCRIPT KILL... script: {}, on {}.", options_.name,
                  state.stopped_at()));
  return {};
}

void LogFromScript(const Log& log, int level, std::string_view text) {
  if (level <= 1) {
    log.Debug(text);
  } else if (level == 2) {
    log.Info(text);
  } else {
    log.Warn(text);
  }
}

Result<ScriptArguments> ParseScriptArguments(doors::Args args, std::string_view bad_number) {
  const std::optional<int64_t> count = doors::ParseInteger(args[2]);
  if (!count) return Error{ErrorCode::kInvalid, std::string(bad_number)};
  const doors::Args rest = args.subspan(3);
  if (*count > static_cast<int64_t>(rest.size())) {
    return Error{ErrorCode::kInvalid, "ERR Number of keys can't be greater than number of args"};
  }
  if (*count < 0) return Error{ErrorCode::kInvalid, "ERR Number of keys can't be negative"};
  const auto keys = static_cast<size_t>(*count);
  return ScriptArguments{rest.first(keys), rest.subspan(keys)};
}

}  // namespace cairn::data
