#include <fmt/format.h>

#include "jobs/model/refusal.h"
#include "jobs/resp/command_support.h"

namespace cairn::jobs {

using doors::ArgParser;
using doors::Args;
using doors::CommandContext;

// --- JOB.FETCH -----------------------------------------------------------------------------------

Result<FetchCommand> TakeFetch(Args args) {
  ArgParser parser(args);
  FetchCommand fetch;
  while (parser.HasNext()) {
    if (parser.Keyword("COUNT")) {
      const int64_t count = parser.Integer("COUNT needs a whole number");
      if (count < 1 || count > static_cast<int64_t>(kMaxFetch)) {
        parser.Fail(fmt::format("COUNT is 1 to {}", kMaxFetch));
      }
      fetch.request.count = static_cast<size_t>(count);
    } else if (parser.Keyword("LEASE")) {
      fetch.request.lease_ms = parser.Integer("LEASE needs milliseconds");
    } else if (parser.Keyword("BLOCK")) {
      fetch.block_ms = parser.Integer("BLOCK needs milliseconds");
      if (*fetch.block_ms < 0) parser.Fail("BLOCK needs milliseconds, 0 for no end");
    } else if (parser.Keyword("WORKER")) {
      fetch.request.worker_id = parser.Next();
    } else if (parser.Keyword("HOSTNAME")) {
      fetch.request.hostname = parser.Next();
    } else if (parser.Keyword("QUEUES")) {
      for (const std::string_view queue : parser.Rest()) fetch.request.queues.emplace_back(queue);
    } else {
      parser.Fail(fmt::format("'{}' is not an option", Printable(parser.Next(), 32)));
    }
  }
  if (!parser.Finish()) return Syntax(parser.error());
  return fetch;
}

void ReplyJob(net::RespWriter& reply, const Job& job) {
  const size_t optional =
      (job.checkpoint.empty() ? 0 : 1) + (job.tags.empty() ? 0 : 1) + (job.agent.empty() ? 0 : 1);
  reply.MapHeader(7 + optional);
  const auto member = [&](std::string_view name, std::string_view value) {
    reply.Bulk(name);
    reply.Bulk(value);
  };
  const auto number = [&](std::string_view name, int64_t value) {
    reply.Bulk(name);
    reply.Integer(value);
  };
  member("job_id", job.id);
  member("queue", job.queue);
  member("payload", job.payload);
  number("attempt", job.attempt);
  number("max_retries", job.retry.max_retries);
  member("lease_token", FormatToken(job.lease_token));
  number("lease_ms", job.lease_ms);
  if (!job.checkpoint.empty()) member("checkpoint", job.checkpoint);
  if (!job.tags.empty()) member("tags", job.tags);
  if (!job.agent.empty()) member("agent", job.agent);
}

namespace {

void FetchScopes(Args args, Held& held) {
  const Result<FetchCommand> fetch = TakeFetch(args);
  if (fetch.ok()) AddFetchScopes(fetch->request, held);
}

Result<void> RunFetch(CommandContext& command, Context& here) {
  CAIRN_ASSIGN_OR_RETURN(const FetchCommand fetch, TakeFetch(command.args));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Job> jobs, Fetch(here, fetch.request));
  command.reply.ArrayHeader(jobs.size());
  for (const Job& job : jobs) ReplyJob(command.reply, job);
  if (!jobs.empty() || !fetch.block_ms) return {};
  // What was written (the worker lives, a job of a full rate key stepped aside) stays written:
  // looking again writes it no second time.
  const std::optional<int64_t> timeout_ms = *fetch.block_ms == 0 ? std::nullopt : fetch.block_ms;
  return command.Block({.timeout_ms = timeout_ms, .topics = FetchTopics(fetch.request.queues)});
}

// --- JOB.ACK, JOB.ACKM ---------------------------------------------------------------------------

Result<void> RunAck(CommandContext& command, Context& here) {
  ArgParser parser(command.args);
  AckRequest request{.lease = {.id = std::string(parser.Next())}};
  while (parser.HasNext()) {
    if (TakeLease(parser, request.lease)) continue;
    if (parser.Keyword("RESULT")) {
      request.result = parser.Next();
    } else if (parser.Keyword("CHECKPOINT")) {
      request.checkpoint = parser.Next();
    } else if (parser.Keyword("EXIT")) {
      request.exit_chain = true;
      request.exit_reason = parser.Next();
    } else {
      parser.Fail(fmt::format("'{}' is not an option", Printable(parser.Next(), 32)));
    }
  }
  if (!parser.Finish()) return Syntax(parser.error());
  CAIRN_RETURN_IF_ERROR(Ack(here, request));
  command.reply.Ok();
  return {};
}

// Where the first job stands, and how many arguments each has.
struct AckLayout {
  size_t first = 1;
  size_t step = 2;
};
AckLayout LayoutOf(Args args) {
  return doors::EqualsIgnoreCase(args[1], "RESULTS") ? AckLayout{2, 3} : AckLayout{1, 2};
}

void AckManyScopes(Args args, Held& held) {
  const AckLayout layout = LayoutOf(args);
  for (size_t i = layout.first; i < args.size(); i += layout.step) held.AddJob(args[i]);
}

Result<void> RunAckMany(CommandContext& command, Context& here) {
  const Args args = command.args;
  const AckLayout layout = LayoutOf(args);
  if (args.size() == layout.first || (args.size() - layout.first) % layout.step != 0) {
    return Syntax("each job needs its token, and with RESULTS its result");
  }
  std::vector<AckRequest> requests;
  requests.reserve((args.size() - layout.first) / layout.step);
  for (size_t i = layout.first; i < args.size(); i += layout.step) {
    AckRequest& request = requests.emplace_back();
    request.lease.id = args[i];
    // A token that is none is that of no lease.
    request.lease.token = ParseToken(args[i + 1]).value_or(0);
    if (layout.step == 3) request.result = args[i + 2];
  }
  CAIRN_ASSIGN_OR_RETURN(const auto results, AckBatch(here, requests));
  command.reply.ArrayHeader(results.size());
  for (const Result<void>& result : results) {
    if (result.ok()) {
      command.reply.Ok();
    } else {
      command.reply.Error(result.error().message);
    }
  }
  return {};
}

// --- JOB.FAIL, JOB.HEARTBEAT, JOB.SNOOZE ---------------------------------------------------------

Result<void> RunFail(CommandContext& command, Context& here) {
  ArgParser parser(command.args);
  FailRequest request{.lease = {.id = std::string(parser.Next())}};
  while (parser.HasNext()) {
    if (TakeLease(parser, request.lease)) continue;
    if (parser.Keyword("ERROR")) {
      request.error = parser.Next();
    } else if (parser.Keyword("BACKTRACE")) {
      request.backtrace = parser.Next();
    } else if (parser.Keyword("NORETRY")) {
      request.retryable = false;
    } else if (parser.Keyword("DELAY")) {
      request.delay_ms = parser.Integer("DELAY needs milliseconds");
    } else {
      parser.Fail(fmt::format("'{}' is not an option", Printable(parser.Next(), 32)));
    }
  }
  if (!parser.Finish()) return Syntax(parser.error());
  CAIRN_ASSIGN_OR_RETURN(const FailResult result, Fail(here, request));
  command.reply.ArrayHeader(3);
  command.reply.Bulk(StateName(result.state));
  command.reply.Integer(result.attempts_remaining);
  command.reply.Integer(static_cast<int64_t>(result.next_attempt_ns / 1'000'000));
  return {};
}

void LeaseScopes(Args args, Held& held) {
  held.AddJob(args[1]);
  for (size_t i = 2; i + 1 < args.size(); ++i) {
    if (doors::EqualsIgnoreCase(args[i], "WORKER")) AddWorkerScopes(args[i + 1], held);
  }
}

Result<void> RunHeartbeat(CommandContext& command, Context& here) {
  ArgParser parser(command.args);
  HeartbeatRequest request{.lease = {.id = std::string(parser.Next())}};
  while (parser.HasNext()) {
    if (TakeLease(parser, request.lease)) continue;
    if (parser.Keyword("PROGRESS")) {
      request.progress = parser.Next();
    } else if (parser.Keyword("CHECKPOINT")) {
      request.checkpoint = parser.Next();
    } else {
      parser.Fail(fmt::format("'{}' is not an option", Printable(parser.Next(), 32)));
    }
  }
  if (!parser.Finish()) return Syntax(parser.error());
  CAIRN_ASSIGN_OR_RETURN(const HeartbeatResult result, Heartbeat(here, request));
  command.reply.ArrayHeader(2);
  command.reply.Bulk(result.cancelled ? "cancel" : "ok");
  command.reply.Integer(static_cast<int64_t>(result.lease_expires_ns / 1'000'000));
  return {};
}

Result<void> RunSnooze(CommandContext& command, Context& here) {
  ArgParser parser(command.args);
  LeaseRef lease{.id = std::string(parser.Next())};
  const int64_t delay_ms = parser.Integer("the delay is a number of milliseconds");
  while (parser.HasNext() && TakeLease(parser, lease)) {
  }
  if (!parser.Finish()) return Syntax(parser.error());
  CAIRN_ASSIGN_OR_RETURN(const uint64_t until_ns, Snooze(here, lease, delay_ms));
  command.reply.Integer(static_cast<int64_t>(until_ns / 1'000'000));
  return {};
}

}  // namespace

void AddWorkerCommands(doors::Instance& instance) {
  constexpr std::string_view kLease = "[TOKEN token] [WORKER worker] [ATTEMPT attempt:integer]";
  static const std::string ack =
      fmt::format("job {} [RESULT json] [CHECKPOINT json] [EXIT reason]", kLease);
  static const std::string fail = fmt::format(
      "job {} [ERROR text] [BACKTRACE text] [NORETRY] [DELAY milliseconds:integer]", kLease);
  static const std::string heartbeat =
      fmt::format("job {} [PROGRESS json] [CHECKPOINT json]", kLease);
  static const std::string snooze = fmt::format("job milliseconds:integer {}", kLease);
  AddRow(instance,
         {.name = "job.fetch",
          .arity = -3,
          .flags = doors::kWrite | doors::kBlocking,
          .unaudited = kWorkOfJobs,
          .complexity = "O(N) for N jobs",
          .summary = "Leases jobs to a worker, and waits for some if there are none.",
          .syntax = "[COUNT count:integer] [LEASE milliseconds:integer] "
                    "[BLOCK milliseconds:integer] [WORKER worker] [HOSTNAME name] "
                    "QUEUES queue ..."},
         FetchScopes, RunFetch);
  AddRow(instance,
         {.name = "job.ack",
          .arity = -2,
          .flags = doors::kWrite | doors::kFast,
          .unaudited = kWorkOfJobs,
          .complexity = "O(1)",
          .summary = "Completes a job.",
          .syntax = ack},
         LeaseScopes, RunAck);
  AddRow(instance,
         {.name = "job.ackm",
          .arity = -3,
          .flags = doors::kWrite,
          .unaudited = kWorkOfJobs,
          .complexity = "O(N) for N jobs",
          .summary = "Completes several jobs, each with a reply of its own.",
          .syntax = "[RESULTS] job token ..."},
         AckManyScopes, RunAckMany);
  AddRow(instance,
         {.name = "job.fail",
          .arity = -2,
          .flags = doors::kWrite | doors::kFast,
          .unaudited = kWorkOfJobs,
          .complexity = "O(1)",
          .summary = "Ends an attempt that failed: the job is retried, or dead.",
          .syntax = fail},
         LeaseScopes, RunFail);
  AddRow(instance,
         {.name = "job.heartbeat",
          .arity = -2,
          .flags = doors::kWrite | doors::kFast,
          .unaudited = kWorkOfJobs,
          .complexity = "O(1)",
          .summary = "Renews a lease by its own length, and tells how far the job is.",
          .syntax = heartbeat},
         LeaseScopes, RunHeartbeat);
  AddRow(instance,
         {.name = "job.snooze",
          .arity = -3,
          .flags = doors::kWrite | doors::kFast,
          .unaudited = kWorkOfJobs,
          .complexity = "O(1)",
          .summary = "Puts a job back for a while without using up an attempt.",
          .syntax = snooze},
         LeaseScopes, RunSnooze);
}

}  // namespace cairn::jobs
