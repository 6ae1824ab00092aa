#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time_text.h"
#include "jobs/model/refusal.h"
#include "jobs/operations/enqueue_json.h"
#include "jobs/resp/command_support.h"

namespace cairn::jobs {
namespace {

using doors::ArgParser;
using doors::Args;

// A word with text behind it.
bool TakeText(ArgParser& parser, std::string_view word, std::string& into) {
  if (!parser.Keyword(word)) return false;
  into = parser.Next();
  if (into.empty()) parser.Fail(fmt::format("{} needs a value", word));
  return true;
}

template <typename Number>
bool TakeNumber(ArgParser& parser, std::string_view word, Number& into) {
  if (!parser.Keyword(word)) return false;
  into = parser.Integer(fmt::format("{} needs a whole number", word));
  return true;
}

template <typename T>
bool TakeChoice(ArgParser& parser, std::string_view word,
                std::optional<T> (*parse)(std::string_view), auto& into, std::string_view choices) {
  if (!parser.Keyword(word)) return false;
  const std::optional<T> value = parse(parser.Next());
  if (!value) parser.Fail(fmt::format("{} is followed by {}", word, choices));
  if (value) into = *value;
  return true;
}

bool TakeTime(ArgParser& parser, EnqueueRequest& request) {
  if (!parser.Keyword("AT")) return false;
  const auto ns = ParseTime(parser.Next());
  if (!ns) parser.Fail("AT needs a time such as 2026-01-31T12:00:00Z");
  request.scheduled_ns = ns.value_or(0);
  return true;
}

bool TakeDependencies(ArgParser& parser, EnqueueRequest& request) {
  if (!parser.Keyword("DEPENDS")) return false;
  const int64_t count = parser.Integer("DEPENDS needs the number of jobs that follow");
  if (count < 1 || count > static_cast<int64_t>(kMaxDependencies)) {
    parser.Fail(fmt::format("DEPENDS names 1 to {} jobs", kMaxDependencies));
  }
  for (int64_t i = 0; i < count && parser.ok(); ++i) request.depends_on.emplace_back(parser.Next());
  return true;
}

bool TakeOption(ArgParser& parser, EnqueueRequest& request) {
  return TakeChoice<Priority>(parser, "PRIORITY", ParsePriority, request.priority,
                              "critical, high or normal") ||
         TakeNumber(parser, "DELAY", request.delay_ms) || TakeTime(parser, request) ||
         TakeText(parser, "UNIQUE", request.unique_key) ||
         TakeNumber(parser, "PERIOD", request.unique_period_ms) ||
         TakeChoice<UniqueMode>(parser, "MODE", ParseUniqueMode, request.unique_mode,
                                "reject, replace or debounce") ||
         TakeNumber(parser, "RETRIES", request.max_retries) ||
         TakeChoice<Backoff>(parser, "BACKOFF", ParseBackoff, request.retry_backoff,
                             "none, fixed, linear or exponential") ||
         TakeNumber(parser, "BASE", request.retry_base_delay_ms) ||
         TakeNumber(parser, "MAXDELAY", request.retry_max_delay_ms) ||
         TakeNumber(parser, "JITTER", request.retry_jitter_percent) ||
         TakeNumber(parser, "TIMEOUT", request.timeout_ms) ||
         TakeNumber(parser, "EXPIRE", request.expire_after_ms) ||
         TakeText(parser, "TAGS", request.tags) ||
         TakeText(parser, "CHECKPOINT", request.checkpoint) ||
         TakeText(parser, "AGENT", request.agent) ||
         TakeText(parser, "PARENT", request.parent_id) || TakeDependencies(parser, request) ||
         TakeChoice<DependencyPolicy>(parser, "ONDEPFAIL", ParseDependencyPolicy,
                                      request.on_dependency_failure, "fail, ignore or hold") ||
         TakeText(parser, "CHAIN", request.chain) || TakeText(parser, "BATCH", request.batch_id) ||
         TakeText(parser, "IDEMPOTENCY", request.idempotency_key) ||
         TakeText(parser, "CONCURRENCY", request.concurrency_key) ||
         TakeText(parser, "RATE", request.rate_key) || TakeText(parser, "GROUP", request.group);
}

constexpr std::string_view kOptions =
    "[PRIORITY (critical | high | normal)] [DELAY milliseconds:integer | AT time] "
    "[UNIQUE key] [PERIOD milliseconds:integer] [MODE (reject | replace | debounce)] "
    "[RETRIES count:integer] [BACKOFF (none | fixed | linear | exponential)] "
    "[BASE milliseconds:integer] [MAXDELAY milliseconds:integer] [JITTER percent:integer] "
    "[TIMEOUT milliseconds:integer] [EXPIRE milliseconds:integer] [TAGS json] "
    "[CHECKPOINT json] [AGENT json] [PARENT job] [DEPENDS (count:integer job ...)] "
    "[ONDEPFAIL (fail | ignore | hold)] [CHAIN json] [BATCH batch] [IDEMPOTENCY key] "
    "[CONCURRENCY key] [RATE key] [GROUP group]";

std::string_view StatusOf(const EnqueueResult& result) {
  if (result.debounced) return "debounced";
  return result.existing ? "duplicate" : StateName(result.state);
}

// The options behind a queue.
Result<EnqueueRequest> ParseOptions(ArgParser& parser, std::string_view queue) {
  EnqueueRequest request{.queue = std::string(queue)};
  while (parser.HasNext() && TakeOption(parser, request)) {
  }
  if (!parser.ok()) return Syntax(parser.error());
  return request;
}

// --- JOB.ENQUEUE ---------------------------------------------------------------------------------

Result<EnqueueRequest> ParseEnqueueCommand(Args args) {
  ArgParser parser(args, 3);
  CAIRN_ASSIGN_OR_RETURN(EnqueueRequest request, ParseOptions(parser, args[1]));
  if (parser.HasNext()) {
    return Syntax(fmt::format("'{}' is not an option", Printable(parser.Next(), 32)));
  }
  request.payload = args[2];
  return request;
}

void ReplyEnqueue(net::RespWriter& reply, const EnqueueResult& result) {
  reply.ArrayHeader(2);
  reply.Bulk(result.id);
  reply.Bulk(StatusOf(result));
}

// --- JOB.ENQUEUEM --------------------------------------------------------------------------------

// queue [options] PAYLOADS payload …  or  [CALLBACK queue payload] JOBS json …
//
// Payloads are kept beside the one job that is the model of all: a request that waits for the store
// is no larger than its arguments.
struct EnqueueManyRequest {
  EnqueueBatchRequest batch;
  EnqueueRequest model;
  std::vector<std::string> payloads;
};

Result<EnqueueManyRequest> ParseJobs(ArgParser& parser, EnqueueManyRequest many) {
  const Args jobs = parser.Rest();
  CAIRN_RETURN_IF_ERROR(CheckBatchSize(jobs.size()));
  for (const std::string_view json : jobs) {
    CAIRN_ASSIGN_OR_RETURN(many.batch.jobs.emplace_back(), ParseEnqueue(json));
  }
  return many;
}

Result<EnqueueManyRequest> ParseEnqueueMany(Args args) {
  ArgParser parser(args);
  EnqueueManyRequest many;
  if (parser.Keyword("CALLBACK")) {
    BatchOptions& batch = many.batch.batch.emplace();
    batch.callback_queue = parser.Next();
    batch.callback_payload = parser.Next();
  }
  if (parser.Keyword("JOBS")) return ParseJobs(parser, std::move(many));
  const std::string_view queue = parser.Next();
  CAIRN_ASSIGN_OR_RETURN(many.model, ParseOptions(parser, queue));
  if (!parser.Keyword("PAYLOADS")) parser.Fail("PAYLOADS or JOBS is missing");
  if (!parser.ok()) return Syntax(parser.error());
  const Args payloads = parser.Rest();
  CAIRN_RETURN_IF_ERROR(CheckBatchSize(payloads.size()));
  many.payloads.assign(payloads.begin(), payloads.end());
  return many;
}

void EnqueueManyScopes(const EnqueueManyRequest& many, Held& held) {
  if (many.payloads.empty()) return AddEnqueueScopes(many.batch, held);
  AddEnqueueScopes({.jobs = {many.model}, .batch = many.batch.batch}, held);
}

Result<EnqueueBatchResult> EnqueueMany(Context& here, const EnqueueManyRequest& many) {
  if (many.payloads.empty()) return EnqueueBatch(here, many.batch);
  EnqueueBatchRequest request{.batch = many.batch.batch};
  request.jobs.reserve(many.payloads.size());
  for (const std::string& payload : many.payloads) {
    request.jobs.push_back(many.model);
    request.jobs.back().payload = payload;
  }
  if (!many.model.idempotency_key.empty()) SetIdempotencyKey(request, many.model.idempotency_key);
  return EnqueueBatch(here, request);
}

void ReplyEnqueueMany(net::RespWriter& reply, const EnqueueBatchResult& result) {
  if (!result.batch_id.empty()) {
    reply.ArrayHeader(2);
    reply.Bulk(result.batch_id);
  }
  reply.ArrayHeader(result.jobs.size());
  for (const EnqueueResult& job : result.jobs) reply.Bulk(job.id);
}

constexpr Operation<EnqueueManyRequest, EnqueueBatchResult> kEnqueueMany{EnqueueManyScopes,
                                                                         EnqueueMany};

// --- Batches -------------------------------------------------------------------------------------

Result<BatchOptions> ParseCallback(Args args) {
  if (args.size() > 3) return Syntax();
  BatchOptions options;
  if (args.size() > 1) options.callback_queue = args[1];
  if (args.size() > 2) options.callback_payload = args[2];
  return options;
}

void ReplyBatchId(net::RespWriter& reply, const Batch& batch) { reply.Bulk(batch.id); }
void ReplyBatch(net::RespWriter& reply, const Batch& batch) { reply.Bulk(BatchJson(batch)); }

}  // namespace

void AddEnqueueCommands(doors::Instance& instance) {
  static const std::string enqueue = fmt::format("queue payload {}", kOptions);
  AddRow(instance,
         {.name = "job.enqueue",
          .arity = -3,
          .flags = doors::kWrite | doors::kDenyOom | doors::kFast,
          .unaudited = kWorkOfJobs,
          .complexity = "O(1)",
          .summary = "Puts a job into a queue.",
          .syntax = enqueue},
         ParseEnqueueCommand, operations::kEnqueue, ReplyEnqueue);
  AddRow(instance,
         {.name = "job.enqueuem",
          .arity = -3,
          .flags = doors::kWrite | doors::kDenyOom,
          .unaudited = kWorkOfJobs,
          .complexity = "O(N) for N jobs",
          .summary = "Puts several jobs into queues, all or none.",
          .syntax = "[CALLBACK (queue payload)] [JOBS json ... | queue [options ...] PAYLOADS "
                    "payload ...]"},
         ParseEnqueueMany, kEnqueueMany, ReplyEnqueueMany);
  AddRow(instance,
         {.name = "job.batchopen",
          .arity = -1,
          .flags = doors::kWrite | doors::kFast,
          .unaudited = kWorkOfJobs,
          .complexity = "O(1)",
          .summary = "Opens a batch that jobs can join until it is sealed.",
          .syntax = "[callback-queue [callback-payload]]"},
         ParseCallback, operations::kOpenBatch, ReplyBatchId);
  AddRow(instance,
         {.name = "job.batchseal",
          .arity = 2,
          .flags = doors::kWrite | doors::kFast,
          .unaudited = kWorkOfJobs,
          .complexity = "O(1)",
          .summary = "Seals a batch: when its last job has ended, it is done.",
          .syntax = "batch"},
         ParseJob, operations::kSealBatch, ReplyBatch);
  AddRow(instance,
         {.name = "job.batch",
          .arity = 2,
          .flags = doors::kReadOnly | doors::kFast,
          .complexity = "O(1)",
          .summary = "Tells how far a batch is.",
          .syntax = "batch"},
         ParseJob, operations::kGetBatch, ReplyBatch);
}

}  // namespace cairn::jobs
