#include <string>
#include <string_view>
#include <vector>

#include "jobs/ledger/verify.h"
#include "jobs/model/refusal.h"
#include "jobs/operations/job_json.h"
#include "jobs/resp/command_support.h"

namespace cairn::jobs {
namespace {

using doors::Args;

// --- What is about all queues --------------------------------------------------------------------

struct NoRequest {};
Result<NoRequest> ParseNothing(Args /*args*/) { return NoRequest(); }
void EverythingScopes(const NoRequest& /*request*/, Held& held) { held = Held::Everything(); }

// Each thing as JSON.
template <typename Thing, void (*append)(const Thing&, std::string&)>
void ReplyList(net::RespWriter& reply, const std::vector<Thing>& things) {
  reply.ArrayHeader(things.size());
  std::string json;
  for (const Thing& thing : things) {
    json.clear();
    append(thing, json);
    reply.Bulk(json);
  }
}

constexpr Operation<NoRequest, std::vector<QueueInfo>> kListQueues{
    EverythingScopes, [](Context& here, const NoRequest&) -> Result<std::vector<QueueInfo>> {
      CAIRN_ASSIGN_OR_RETURN(auto queues, ListQueues(here.transaction));
      KeepAllowed(here.queues, queues);
      return queues;
    }};

constexpr Operation<NoRequest, std::vector<Worker>> kListWorkers{
    EverythingScopes, [](Context& here, const NoRequest&) -> Result<std::vector<Worker>> {
      CAIRN_ASSIGN_OR_RETURN(auto workers, ListWorkers(here.transaction));
      KeepAllowed(here.queues, workers);
      return workers;
    }};

constexpr Operation<NoRequest, VerifyReport> kVerify{
    EverythingScopes, [](Context& here, const NoRequest&) { return Verify(here.transaction); }};

void ReplyVerify(net::RespWriter& reply, const VerifyReport& report) {
  reply.Bulk(report.ToJson());
}

// --- One queue -----------------------------------------------------------------------------------

Result<QueueRequest> ParseQueue(Args args) { return QueueRequest{.queue = std::string(args[1])}; }

void ReplyQueue(net::RespWriter& reply, const QueueInfo& queue) {
  std::string json;
  AppendQueue(queue, json);
  reply.Bulk(json);
}

void ReplyCount(net::RespWriter& reply, const int64_t& count) { reply.Integer(count); }

// All pieces in this one transaction: a client that was told so sees none of it left.
template <Result<Sweep> (*operation)(Context&, std::string_view)>
Result<int64_t> SweepAll(Context& here, const QueueRequest& request) {
  int64_t removed = 0;
  for (bool more = true; more;) {
    if (here.busy->ending()) return Error{ErrorCode::kUnavailable, "the server stops"};
    CAIRN_ASSIGN_OR_RETURN(const Sweep sweep, operation(here, request.queue));
    removed += sweep.removed;
    more = sweep.more;
  }
  return removed;
}

constexpr Operation<QueueRequest, int64_t> kClearQueue{ScopesOfQueue, SweepAll<ClearQueue>};
constexpr Operation<QueueRequest, int64_t> kDeleteQueue{ScopesOfQueue, SweepAll<DeleteQueue>};

Result<ConcurrencyRequest> ParseConcurrency(Args args) {
  const auto max = doors::ParseInteger(args[2]);
  if (!max) return Syntax("the limit is a whole number, 0 for none");
  return ConcurrencyRequest{.queue = std::string(args[1]), .max = *max};
}

Result<ThrottleRequest> ParseThrottle(Args args) {
  const auto rate = doors::ParseInteger(args[2]);
  const auto window_ms = doors::ParseInteger(args[3]);
  if (!rate || !window_ms) return Syntax("rate and window are whole numbers");
  return ThrottleRequest{.queue = std::string(args[1]), .rate = *rate, .window_ms = *window_ms};
}

Result<ConfigRequest> ParseConfig(Args args) {
  return ConfigRequest{.queue = std::string(args[1]), .patch = std::string(args[2])};
}

void ReplyConfig(net::RespWriter& reply, const QueueConfig& config) {
  reply.Bulk(QueueConfigJson(config));
}

}  // namespace

void AddQueueCommands(doors::Instance& instance) {
  constexpr uint32_t kChanges = doors::kWrite | doors::kFast;
  const auto add_row = [&](doors::Command row, std::string_view complexity,
                           std::string_view summary, std::string_view syntax, auto... functions) {
    row.complexity = complexity;
    row.summary = summary;
    row.syntax = syntax;
    AddRow(instance, std::move(row), functions...);
  };
  const auto add = [&](std::string_view name, int arity, uint32_t flags,
                       std::string_view complexity, std::string_view summary,
                       std::string_view syntax, auto... functions) {
    add_row({.name = name, .arity = arity, .flags = flags}, complexity, summary, syntax,
            functions...);
  };
  const auto add_long = [&](std::string_view name, int arity, uint32_t flags,
                            std::string_view complexity, std::string_view summary,
                            std::string_view syntax, auto... functions) {
    add_row({.name = name, .arity = arity, .flags = flags, .long_running = true}, complexity,
            summary, syntax, functions...);
  };
  add("queue.list", 1, doors::kReadOnly, "O(N) for N queues", "Lists queues and counts.", "",
      ParseNothing, kListQueues, ReplyList<QueueInfo, AppendQueue>);
  add("queue.get", 2, doors::kReadOnly | doors::kFast, "O(1)", "Tells about a queue.", "queue",
      ParseQueue, operations::kGetQueue, ReplyQueue);
  add("queue.pause", 2, kChanges, "O(1)", "Gives out no more jobs of a queue.", "queue", ParseQueue,
      operations::kPauseQueue);
  add("queue.resume", 2, kChanges, "O(1)", "Gives out jobs of a queue again.", "queue", ParseQueue,
      operations::kResumeQueue);
  add("queue.drain", 2, kChanges, "O(1)",
      "Pauses a queue, and tells how many of its jobs are active still.", "queue", ParseQueue,
      operations::kDrainQueue, ReplyCount);
  add_long("queue.clear", 2, doors::kWrite, "O(N) for N jobs",
           "Removes all jobs of a queue that have not begun.", "queue", ParseQueue, kClearQueue,
           ReplyCount);
  add_long("queue.delete", 2, doors::kWrite, "O(N) for N jobs",
           "Removes a queue with all its jobs.", "queue", ParseQueue, kDeleteQueue, ReplyCount);
  add("queue.concurrency", 3, kChanges, "O(1)",
      "Limits how many jobs of a queue are active at once.", "queue max:integer", ParseConcurrency,
      operations::kSetConcurrency);
  add("queue.throttle", 4, kChanges, "O(1)",
      "Limits how many jobs of a queue begin in a span of time.",
      "queue rate:integer milliseconds:integer", ParseThrottle, operations::kSetThrottle);
  add("queue.unthrottle", 2, kChanges, "O(1)", "Removes that limit.", "queue", ParseQueue,
      operations::kRemoveThrottle);
  add("queue.config", 3, doors::kWrite, "O(N) for N keys with limits",
      "Changes settings of a queue by a JSON object.", "queue json", ParseConfig,
      operations::kConfigureQueue, ReplyConfig);
  add("queue.workers", 1, doors::kReadOnly, "O(N) for N workers", "Lists workers.", "",
      ParseNothing, kListWorkers, ReplyList<Worker, AppendWorker>);
  add_long("job.verify", 1, doors::kReadOnly, "O(N) for N jobs",
           "Checks that jobs, indexes, counts and locks agree.", "", ParseNothing, kVerify,
           ReplyVerify);
}

}  // namespace cairn::jobs
