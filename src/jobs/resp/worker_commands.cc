#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "jobs/model/refusal.h"
#include "jobs/resp/command_support.h"

namespace cairn::jobs {

using doors::ArgParser;
using doors::Args;
using doors::CommandContext;

namespace {

void FailOnOption(ArgParser& parser) {
  parser.Fail(fmt::format("'{}' is not an option", Printable(parser.Next(), 32)));
}

// TOKEN token | WORKER worker | ATTEMPT attempt; whether it was one of these.
bool TakeLease(ArgParser& parser, LeaseRef& lease) {
  if (parser.Keyword("TOKEN")) {
    lease.token = ParseToken(parser.Next());
    if (!lease.token) parser.Fail("a lease token is 16 hexadecimal digits");
    return true;
  }
  if (parser.Keyword("WORKER")) {
    lease.worker_id = parser.Next();
    return true;
  }
  if (parser.Keyword("ATTEMPT")) {
    lease.attempt = parser.Integer("ATTEMPT needs a whole number");
    return true;
  }
  return false;
}

}  // namespace

// --- JOB.FETCH -----------------------------------------------------------------------------------

Result<FetchCommand> ParseFetch(Args args) {
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
      FailOnOption(parser);
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

void FetchScopes(const FetchCommand& fetch, Held& held) { AddFetchScopes(fetch.request, held); }

Result<void> RunFetch(CommandContext& command, Context& here, const FetchCommand& fetch) {
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

Result<AckRequest> ParseAck(Args args) {
  ArgParser parser(args);
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
      FailOnOption(parser);
    }
  }
  if (!parser.Finish()) return Syntax(parser.error());
  return request;
}

// [RESULTS] job token [result] …
Result<AckBatchRequest> ParseAckMany(Args args) {
  const bool with_results = doors::EqualsIgnoreCase(args[1], "RESULTS");
  const size_t step = with_results ? 3 : 2;
  const Args words = args.subspan(with_results ? 2 : 1);
  if (words.empty() || words.size() % step != 0) {
    return Syntax("each job needs its token, and with RESULTS its result");
  }
  CAIRN_RETURN_IF_ERROR(CheckAckBatchSize(words.size() / step));
  AckBatchRequest requests;
  requests.reserve(words.size() / step);
  for (size_t i = 0; i < words.size(); i += step) {
    AckRequest& request = requests.emplace_back();
    request.lease.id = words[i];
    // Not a token, so nobody's lease.
    request.lease.token = ParseToken(words[i + 1]).value_or(0);
    if (with_results) request.result = words[i + 2];
  }
  return requests;
}

void ReplyAckMany(net::RespWriter& reply, const std::vector<Result<void>>& results) {
  reply.ArrayHeader(results.size());
  for (const Result<void>& result : results) {
    if (result.ok()) {
      reply.Ok();
    } else {
      reply.Error(result.error().message);
    }
  }
}

// --- JOB.FAIL, JOB.HEARTBEAT, JOB.SNOOZE ---------------------------------------------------------

Result<FailRequest> ParseFail(Args args) {
  ArgParser parser(args);
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
      FailOnOption(parser);
    }
  }
  if (!parser.Finish()) return Syntax(parser.error());
  return request;
}

void ReplyFail(net::RespWriter& reply, const FailResult& result) {
  reply.ArrayHeader(3);
  reply.Bulk(StateName(result.state));
  reply.Integer(result.attempts_remaining);
  reply.Integer(static_cast<int64_t>(result.next_attempt_ns / 1'000'000));
}

Result<HeartbeatRequest> ParseHeartbeat(Args args) {
  ArgParser parser(args);
  HeartbeatRequest request{.lease = {.id = std::string(parser.Next())}};
  while (parser.HasNext()) {
    if (TakeLease(parser, request.lease)) continue;
    if (parser.Keyword("PROGRESS")) {
      request.progress = parser.Next();
    } else if (parser.Keyword("CHECKPOINT")) {
      request.checkpoint = parser.Next();
    } else {
      FailOnOption(parser);
    }
  }
  if (!parser.Finish()) return Syntax(parser.error());
  return request;
}

void ReplyHeartbeat(net::RespWriter& reply, const HeartbeatResult& result) {
  reply.ArrayHeader(2);
  reply.Bulk(result.cancelled ? "cancel" : "ok");
  reply.Integer(static_cast<int64_t>(result.lease_expires_ns / 1'000'000));
}

Result<SnoozeRequest> ParseSnooze(Args args) {
  ArgParser parser(args);
  SnoozeRequest request{.lease = {.id = std::string(parser.Next())}};
  request.delay_ms = parser.Integer("the delay is a number of milliseconds");
  while (parser.HasNext() && TakeLease(parser, request.lease)) {
  }
  if (!parser.Finish()) return Syntax(parser.error());
  return request;
}

void ReplyTime(net::RespWriter& reply, const uint64_t& ns) {
  reply.Integer(static_cast<int64_t>(ns / 1'000'000));
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
  AddRow<FetchCommand>(instance,
                       {.name = "job.fetch",
                        .arity = -3,
                        .flags = doors::kWrite | doors::kBlocking,
                        .unaudited = kWorkOfJobs,
                        .complexity = "O(N) for N jobs",
                        .summary = "Leases jobs to a worker, and waits for some if there are none.",
                        .syntax = "[COUNT count:integer] [LEASE milliseconds:integer] "
                                  "[BLOCK milliseconds:integer] [WORKER worker] [HOSTNAME name] "
                                  "QUEUES queue ..."},
                       {.parse = ParseFetch, .scopes = FetchScopes, .run = RunFetch});
  AddRow(instance,
         {.name = "job.ack",
          .arity = -2,
          .flags = doors::kWrite | doors::kFast,
          .unaudited = kWorkOfJobs,
          .complexity = "O(1)",
          .summary = "Completes a job.",
          .syntax = ack},
         ParseAck, operations::kAck);
  AddRow(instance,
         {.name = "job.ackm",
          .arity = -3,
          .flags = doors::kWrite,
          .unaudited = kWorkOfJobs,
          .complexity = "O(N) for N jobs",
          .summary = "Completes several jobs, each with a reply of its own.",
          .syntax = "[RESULTS] job token ..."},
         ParseAckMany, operations::kAckBatch, ReplyAckMany);
  AddRow(instance,
         {.name = "job.fail",
          .arity = -2,
          .flags = doors::kWrite | doors::kFast,
          .unaudited = kWorkOfJobs,
          .complexity = "O(1)",
          .summary = "Ends an attempt that failed: the job is retried, or dead.",
          .syntax = fail},
         ParseFail, operations::kFail, ReplyFail);
  AddRow(instance,
         {.name = "job.heartbeat",
          .arity = -2,
          .flags = doors::kWrite | doors::kFast,
          .unaudited = kWorkOfJobs,
          .complexity = "O(1)",
          .summary = "Renews a lease by its own length, and tells how far the job is.",
          .syntax = heartbeat},
         ParseHeartbeat, operations::kHeartbeat, ReplyHeartbeat);
  AddRow(instance,
         {.name = "job.snooze",
          .arity = -3,
          .flags = doors::kWrite | doors::kFast,
          .unaudited = kWorkOfJobs,
          .complexity = "O(1)",
          .summary = "Puts a job back for a while without using up an attempt.",
          .syntax = snooze},
         ParseSnooze, operations::kSnooze, ReplyTime);
}

}  // namespace cairn::jobs
