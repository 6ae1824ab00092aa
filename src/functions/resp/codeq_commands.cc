#include "functions/resp/codeq_commands.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doors/resp/acl.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "functions/codeq/dead_letters.h"
#include "functions/codeq/topics.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "jobs/model/limits.h"
#include "jobs/operations/fetch.h"

// A refusal is an error whose first word is its code (functions/model/errors.h).
namespace cairn::functions {
namespace {

using codeq::Locks;
using doors::ArgParser;
using doors::Args;
using doors::CommandContext;

// What the arguments let the command touch. Arguments that make no sense add nothing.
using Scoping = void (*)(Args, Locks&);
// Writes the reply. A refusal it returns is the reply.
using Handler = Result<void> (*)(CommandContext&, jobs::Context&);

constexpr std::string_view kMessagesTell = "is done all day: the topics tell it";

Error Syntax(std::string_view text) { return Refuse(Code::kValidation, text); }

bool IsOurs(const Error& error) { return error.message.starts_with("CS_"); }

void AddRow(doors::Instance& instance, doors::Command row, Scoping scoping, Handler handler) {
  row.group = "codeq";
  row.since = "0.1.0";
  row.add_scopes = [scoping](Args args, uint8_t /*db*/, store::Scopes& scopes) {
    Locks locks;
    scoping(args, locks);
    scopes.AddAll(locks.ToScopes());
  };
  row.run = [&instance, scoping, handler](CommandContext& context) -> Result<void> {
    Locks locks;
    scoping(context.args, locks);
    if (context.held.exclusive) locks.lanes = jobs::Held::Everything();
    const doors::NamePatterns* const queues =
        context.caller.user == nullptr ? nullptr : jobs::QueuesOf(context.caller.user->grants());
    jobs::Context here{context.transaction, locks.lanes, queues, &instance.traffic().busy};
    const Result<void> done = handler(context, here);
    if (done.ok()) return {};
    if (locks.lanes.wants_everything) return context.Require(store::Scopes::Exclusive());
    const Error error = codeq::InOurWords(done.error());
    if (!IsOurs(error)) return error;
    return context.Fail(error.message);
  };
  instance.commands().Add(std::move(row));
}

// --- CODEQ.PUBLISH -------------------------------------------------------------------------------

struct PublishArgs {
  codeq::PublishRequest request;
  std::string tenant{codeq::kNoTenant};
};

Result<PublishArgs> TakePublish(Args args) {
  ArgParser parser(args);
  PublishArgs publish;
  publish.request.topic = parser.Next();
  publish.request.text = parser.Next();
  while (parser.HasNext()) {
    if (parser.Keyword("DELAY")) {
      publish.request.delay_ms = parser.Integer("DELAY needs milliseconds");
    } else if (parser.Keyword("PRIORITY")) {
      const auto priority = jobs::ParsePriority(parser.Next());
      if (!priority) parser.Fail("PRIORITY is one of critical, high, normal");
      publish.request.priority = priority.value_or(jobs::Priority::kNormal);
    } else if (parser.Keyword("KEY")) {
      publish.request.idempotency_key = parser.Next();
    } else if (parser.Keyword("TENANT")) {
      publish.tenant = parser.Next();
    } else {
      parser.Fail(fmt::format("'{}' is not an option", Printable(parser.Next(), 32)));
    }
  }
  if (!parser.Finish()) return Syntax(parser.error());
  return publish;
}

void PublishScopes(Args args, Locks& locks) {
  const std::string_view topic = args[1];
  locks.lanes.AddQueue(topic);
  if (!codeq::DeadTopicOf(topic).empty()) locks.lanes.AddQueue(codeq::DeadTopicOf(topic));
  if (topic != kResultsTopic) return;
  // Whose result it is stands in the message.
  const Result<codeq::Outgoing> outgoing =
      codeq::Prepare({.topic = std::string(topic), .text = std::string(args[2])});
  if (outgoing.ok()) codeq::AddPublishScopes(*outgoing, locks);
}

Result<void> RunPublish(CommandContext& command, jobs::Context& here) {
  CAIRN_ASSIGN_OR_RETURN(PublishArgs publish, TakePublish(command.args));
  codeq::PublishRequest& request = publish.request;
  if (codeq::DeadTopicOf(request.topic).empty() && !codeq::LooksLikeEnvelope(request.text) &&
      IsJson(request.text)) {
    request.text = codeq::Wrap({.id = fmt::format("msg_{:016x}", here.transaction.NewStamp()),
                                .ts_ms = command.now().millis(),
                                .tenant = publish.tenant,
                                .type = "Message"},
                               request.text);
  }
  CAIRN_ASSIGN_OR_RETURN(const codeq::Outgoing outgoing, codeq::Prepare(std::move(request)));
  CAIRN_ASSIGN_OR_RETURN(const codeq::Published published, codeq::Publish(here, outgoing));
  if (published.refused) {
    // Not CommandContext::Fail: the dead letter was written, and stays.
    command.reply.Error(
        fmt::format("{} (dead letter {})", published.refused->message, published.dead_letter));
  } else if (published.id.empty()) {
    command.reply.Null();
  } else {
    command.reply.Bulk(published.id);
  }
  return {};
}

// --- CODEQ.CLAIM ---------------------------------------------------------------------------------

struct ClaimArgs {
  codeq::ClaimRequest request;
  std::optional<int64_t> block_ms;
};

Result<ClaimArgs> TakeClaim(Args args) {
  ArgParser parser(args);
  ClaimArgs claim;
  while (parser.HasNext()) {
    if (parser.Keyword("COUNT")) {
      const int64_t count = parser.Integer("COUNT needs a whole number");
      if (count < 1 || count > static_cast<int64_t>(codeq::kMaxClaim)) {
        parser.Fail(fmt::format("COUNT is 1 to {}", codeq::kMaxClaim));
      }
      claim.request.count = static_cast<size_t>(count);
    } else if (parser.Keyword("LEASE")) {
      claim.request.lease_ms = parser.Integer("LEASE needs milliseconds");
    } else if (parser.Keyword("BLOCK")) {
      claim.block_ms = parser.Integer("BLOCK needs milliseconds");
      if (*claim.block_ms < 0) parser.Fail("BLOCK needs milliseconds, 0 for no end");
    } else if (parser.Keyword("WORKER")) {
      claim.request.worker_id = parser.Next();
    } else if (parser.Keyword("TOPICS")) {
      for (const std::string_view topic : parser.Rest()) claim.request.topics.emplace_back(topic);
    } else {
      parser.Fail(fmt::format("'{}' is not an option", Printable(parser.Next(), 32)));
    }
  }
  if (!parser.Finish()) return Syntax(parser.error());
  return claim;
}

void ClaimScopes(Args args, Locks& locks) {
  const Result<ClaimArgs> claim = TakeClaim(args);
  if (claim.ok()) codeq::AddClaimScopes(claim->request, locks);
}

void ReplyMessage(net::RespWriter& reply, const codeq::Message& message) {
  reply.MapHeader(6);
  reply.Bulk("id");
  reply.Bulk(message.job.id);
  reply.Bulk("lease_token");
  reply.Bulk(jobs::FormatToken(message.job.lease_token));
  reply.Bulk("lease_expires_at_ms");
  reply.Integer(static_cast<int64_t>(message.job.lease_expires_ns / 1'000'000));
  reply.Bulk("attempt");
  reply.Integer(message.job.attempt);
  reply.Bulk("topic");
  reply.Bulk(message.job.queue);
  reply.Bulk("message");
  reply.Bulk(message.text);
}

Result<void> RunClaim(CommandContext& command, jobs::Context& here) {
  CAIRN_ASSIGN_OR_RETURN(const ClaimArgs claim, TakeClaim(command.args));
  CAIRN_ASSIGN_OR_RETURN(const auto messages, codeq::Claim(here, claim.request));
  command.reply.ArrayHeader(messages.size());
  for (const codeq::Message& message : messages) ReplyMessage(command.reply, message);
  if (!messages.empty() || !claim.block_ms) return {};
  // What was written (the worker lives, dead letters) stays written: looking again writes it no
  // second time.
  const std::optional<int64_t> timeout_ms = *claim.block_ms == 0 ? std::nullopt : claim.block_ms;
  return command.Block(
      {.timeout_ms = timeout_ms, .topics = jobs::FetchTopics(claim.request.topics)});
}

// --- CODEQ.ACK, CODEQ.NACK, CODEQ.EXTEND ---------------------------------------------------------

void MessageScopes(Args args, Locks& locks) { locks.lanes.AddJob(args[1]); }

jobs::LeaseRef TakeLease(ArgParser& parser) {
  jobs::LeaseRef lease{.id = std::string(parser.Next())};
  // What is not a token was never anybody's.
  lease.token = jobs::ParseToken(parser.Next()).value_or(0);
  return lease;
}

Result<void> RunAck(CommandContext& command, jobs::Context& here) {
  ArgParser parser(command.args);
  CAIRN_RETURN_IF_ERROR(codeq::Ack(here, TakeLease(parser)));
  command.reply.Ok();
  return {};
}

Result<void> RunNack(CommandContext& command, jobs::Context& here) {
  ArgParser parser(command.args);
  codeq::NackRequest request{.lease = TakeLease(parser)};
  while (parser.HasNext()) {
    if (parser.Keyword("DELAY")) {
      request.delay_ms = parser.Integer("DELAY needs milliseconds");
    } else if (parser.Keyword("REASON")) {
      request.reason = parser.Next();
    } else {
      parser.Fail(fmt::format("'{}' is not an option", Printable(parser.Next(), 32)));
    }
  }
  if (!parser.Finish()) return Syntax(parser.error());
  CAIRN_ASSIGN_OR_RETURN(const codeq::NackResult result, codeq::Nack(here, request));
  command.reply.ArrayHeader(2);
  command.reply.Bulk(result.dead ? "dead" : "requeued");
  if (result.dead) {
    command.reply.Bulk(result.dead_letter);
  } else {
    command.reply.Integer(result.delay_ms);
  }
  return {};
}

Result<void> RunExtend(CommandContext& command, jobs::Context& here) {
  ArgParser parser(command.args);
  const jobs::LeaseRef lease = TakeLease(parser);
  std::optional<int64_t> lease_ms;
  if (parser.Keyword("LEASE")) lease_ms = parser.Integer("LEASE needs milliseconds");
  if (!parser.Finish()) return Syntax(parser.error());
  CAIRN_ASSIGN_OR_RETURN(const uint64_t until_ns, codeq::Extend(here, lease, lease_ms));
  command.reply.Integer(static_cast<int64_t>(until_ns / 1'000'000));
  return {};
}

// --- CODEQ.DLQ -----------------------------------------------------------------------------------

// The topic of the letters may be named by the one that they were published to.
std::string DeadTopic(std::string_view topic) {
  const std::string_view dead = codeq::DeadTopicOf(topic);
  return std::string(dead.empty() ? topic : dead);
}

struct LetterArgs {
  std::string topic;
  std::string id;
  std::string cursor;
  size_t count = 100;
};

Result<LetterArgs> TakeLetters(Args args) {
  ArgParser parser(args, 2);
  LetterArgs letters{.topic = DeadTopic(parser.Next())};
  while (parser.HasNext()) {
    if (parser.Keyword("ID")) {
      letters.id = parser.Next();
    } else if (parser.Keyword("CURSOR")) {
      letters.cursor = parser.Next();
    } else if (parser.Keyword("COUNT")) {
      const int64_t count = parser.Integer("COUNT needs a whole number");
      if (count < 1 || count > static_cast<int64_t>(codeq::kMaxDeadLetterPage)) {
        parser.Fail(fmt::format("COUNT is 1 to {}", codeq::kMaxDeadLetterPage));
      }
      letters.count = static_cast<size_t>(count);
    } else {
      parser.Fail(fmt::format("'{}' is not an option", Printable(parser.Next(), 32)));
    }
  }
  if (!parser.Finish()) return Syntax(parser.error());
  return letters;
}

void ReplyNext(net::RespWriter& reply, const std::string& next) {
  if (next.empty()) {
    reply.Null();
  } else {
    reply.Bulk(next);
  }
}

void ListScopes(Args args, Locks& locks) { locks.lanes.AddQueue(DeadTopic(args[2])); }

Result<void> RunList(CommandContext& command, jobs::Context& here) {
  CAIRN_ASSIGN_OR_RETURN(const LetterArgs letters, TakeLetters(command.args));
  CAIRN_ASSIGN_OR_RETURN(const codeq::DeadLetterPage page,
                         codeq::ListDeadLetters(here.transaction, here.queues, letters.topic,
                                                letters.cursor, letters.count));
  command.reply.ArrayHeader(2);
  ReplyNext(command.reply, page.next);
  command.reply.ArrayHeader(page.letters.size());
  for (const codeq::DeadLetter& letter : page.letters) {
    command.reply.MapHeader(4);
    command.reply.Bulk("id");
    command.reply.Bulk(letter.id);
    command.reply.Bulk("reason");
    command.reply.Bulk(letter.reason);
    command.reply.Bulk("received_at_ms");
    command.reply.Integer(letter.received_at_ms);
    command.reply.Bulk("original");
    command.reply.Bulk(letter.original);
  }
  return {};
}

void RedriveScopes(Args args, Locks& locks) {
  codeq::AddRedriveScopes({.dead_topic = DeadTopic(args[2])}, locks);
}

Result<void> RunRedrive(CommandContext& command, jobs::Context& here) {
  CAIRN_ASSIGN_OR_RETURN(const LetterArgs letters, TakeLetters(command.args));
  CAIRN_ASSIGN_OR_RETURN(
      const codeq::Redriven redriven,
      codeq::Redrive(here,
                     {.dead_topic = letters.topic, .id = letters.id, .cursor = letters.cursor}));
  command.reply.ArrayHeader(4);
  command.reply.Integer(redriven.redriven);
  command.reply.Integer(redriven.kept);
  ReplyNext(command.reply, redriven.next);
  ReplyNext(command.reply, redriven.refused ? redriven.refused->message : std::string());
  return {};
}

void PurgeScopes(Args args, Locks& locks) {
  const Result<LetterArgs> letters = TakeLetters(args);
  if (letters.ok()) codeq::AddPurgeScopes(letters->topic, letters->id, locks);
}

Result<void> RunPurge(CommandContext& command, jobs::Context& here) {
  CAIRN_ASSIGN_OR_RETURN(const LetterArgs letters, TakeLetters(command.args));
  CAIRN_ASSIGN_OR_RETURN(const codeq::Purged purged, codeq::Purge(here, letters.topic, letters.id));
  command.reply.ArrayHeader(2);
  command.reply.Integer(purged.purged);
  command.reply.Integer(purged.more ? 1 : 0);
  return {};
}

// --- Rows ----------------------------------------------------------------------------------------

void AddMessageRows(doors::Instance& instance) {
  AddRow(instance,
         {.name = "codeq.publish",
          .arity = -3,
          .flags = doors::kWrite | doors::kFast,
          .unaudited = kMessagesTell,
          .complexity = "O(N) for N bytes",
          .summary = "Publishes a message to a topic.",
          .syntax = "topic message [DELAY milliseconds:integer] [PRIORITY priority] [KEY key] "
                    "[TENANT tenant]"},
         PublishScopes, RunPublish);
  AddRow(instance,
         {.name = "codeq.claim",
          .arity = -3,
          .flags = doors::kWrite | doors::kBlocking,
          .unaudited = kMessagesTell,
          .complexity = "O(N) for N messages",
          .summary = "Leases messages to a consumer, and waits for some if there are none.",
          .syntax = "[COUNT count:integer] [LEASE milliseconds:integer] "
                    "[BLOCK milliseconds:integer] [WORKER worker] TOPICS topic ..."},
         ClaimScopes, RunClaim);
  AddRow(instance,
         {.name = "codeq.ack",
          .arity = 3,
          .flags = doors::kWrite | doors::kFast,
          .unaudited = kMessagesTell,
          .complexity = "O(1)",
          .summary = "Ends a message.",
          .syntax = "message token"},
         MessageScopes, RunAck);
  AddRow(instance,
         {.name = "codeq.nack",
          .arity = -3,
          .flags = doors::kWrite | doors::kFast,
          .unaudited = kMessagesTell,
          .complexity = "O(1)",
          .summary = "Gives a message back, to be claimed again after a while.",
          .syntax = "message token [DELAY milliseconds:integer] [REASON text]"},
         MessageScopes, RunNack);
  AddRow(instance,
         {.name = "codeq.extend",
          .arity = -3,
          .flags = doors::kWrite | doors::kFast,
          .unaudited = kMessagesTell,
          .complexity = "O(1)",
          .summary = "Keeps a message for longer.",
          .syntax = "message token [LEASE milliseconds:integer]"},
         MessageScopes, RunExtend);
}

void AddLetterRows(doors::Instance& instance) {
  instance.commands().Add({.name = "codeq.dlq",
                           .arity = -2,
                           .group = "codeq",
                           .since = "0.1.0",
                           .complexity = "Depends on subcommand.",
                           .summary = "A container for commands on dead letters."});
  AddRow(instance,
         {.name = "codeq.dlq|list",
          .arity = -3,
          .flags = doors::kReadOnly,
          .complexity = "O(N) for N letters",
          .summary = "Shows dead letters, oldest first, behind the cursor of the next page.",
          .syntax = "topic [CURSOR cursor] [COUNT count:integer]"},
         ListScopes, RunList);
  AddRow(instance,
         {.name = "codeq.dlq|redrive",
          .arity = -3,
          .flags = doors::kWrite,
          .complexity = "O(N) for N letters, 100 at most",
          .summary = "Publishes dead letters again. Replies how many, how many stay, the cursor to "
                     "call again with, and why the last stays.",
          .syntax = "topic [ID letter] [CURSOR cursor]"},
         RedriveScopes, RunRedrive);
  AddRow(instance,
         {.name = "codeq.dlq|purge",
          .arity = -3,
          .flags = doors::kWrite,
          .complexity = "O(N) for N letters, 500 at most",
          .summary = "Removes dead letters. Replies how many, and 1 if there are more.",
          .syntax = "topic [ID letter]"},
         PurgeScopes, RunPurge);
}

}  // namespace

void AddCodeqCommands(doors::Instance& instance) {
  AddMessageRows(instance);
  AddLetterRows(instance);
}

}  // namespace cairn::functions
