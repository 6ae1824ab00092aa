#include "functions/invoker/step_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "functions/activation/accept.h"
#include "functions/activation/activations.h"
#include "functions/invoker/kv.h"
#include "functions/invoker/locked_change.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/json_writer.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"
#include "functions/steps/settle.h"
#include "functions/steps/suspension.h"
#include "jobs/ledger/ledger.h"
#include "jobs/operations/actions.h"
#include "jobs/operations/operations.h"

namespace cairn::functions {
namespace {

using boost::asio::awaitable;

constexpr std::string_view kInvokeErrorType = "InvokeError";

bool IsStoreFailure(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kOutcomeUnknown ||
         error.code == ErrorCode::kIo;
}

void WriteRecords(const std::vector<StepRecord>& records, std::string_view name, JsonWriter& json) {
  json.BeginArray(name);
  for (const StepRecord& record : records) WriteStepRecord(record, json);
  json.EndArray();
}

std::string RecordsText(const std::vector<StepRecord>& records) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  WriteRecords(records, "records", json);
  json.EndObject();
  return text;
}

}  // namespace

// What a step has come to.
struct StepHost::Done {
  uint32_t position = 0;
  std::string name;
  int64_t attempt = 1;
  int64_t duration_ms = 0;
  std::string value;
  std::optional<FunctionError> error;
  std::optional<int64_t> retry_ms;
};

// What a function begins to wait for.
struct StepHost::Start {
  uint32_t position = 0;
  StepKind kind = StepKind::kSleep;
  std::string name;
  std::optional<int64_t> delay_ms;
  std::optional<int64_t> until_ms;
  Ref ref;
  std::string event;
};

// Holds the right to use the store until it is destroyed.
class StepHost::Turn {
 public:
  explicit Turn(StepHost& host) : host_(host) { host_.busy_ = true; }
  ~Turn() {
    host_.busy_ = false;
    for (const auto& wake : std::exchange(host_.waiting_, {})) wake();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  StepHost& host_;
};

awaitable<bool> StepHost::AwaitTurn() {
  while (busy_) {
    doors::RouteStore::Signal signal(parts_.routes);
    waiting_.push_back(signal.waker());
    if (!co_await signal.Wait()) co_return false;
  }
  co_return true;
}

StepHost::Reply StepHost::Call(std::string_view operation, std::string arguments) {
  if (!co_await AwaitTurn()) co_return Error{ErrorCode::kUnavailable, "the run has ended"};
  const Turn turn(*this);
  Result<std::string> reply = Refuse(Code::kValidation, "there is no such operation of steps");
  if (operation == "steps.load") {
    reply = co_await Load();
  } else if (operation == "steps.done") {
    reply = co_await Finish(std::move(arguments));
  } else if (operation == "steps.start") {
    reply = co_await Begin(std::move(arguments));
  } else if (operation == "steps.wait") {
    reply = co_await Wait();
  }
  if (!reply.ok() && IsStoreFailure(reply.error())) store_failed_ = true;
  co_return reply;
}

std::optional<HistoryBegin> StepHost::begin() const {
  if (begun_history_) return std::nullopt;
  return HistoryBegin{.input = begun_.event,
                      .expire_ms = HistoryExpiry(parts_.clock.Now().millis())};
}

// --- What steps write ----------------------------------------------------------------------------

Result<void> StepHost::Add(int64_t position, Write write, size_t bytes) {
  if (writes_ >= kMaxStepWrites || write_bytes_ + bytes > kMaxStepWriteBytes) {
    return Refuse(Code::kTooLarge,
                  fmt::format("the steps that are open write more than {} times, or {} bytes: make "
                              "several steps of them",
                              kMaxStepWrites, kMaxStepWriteBytes));
  }
  OpenStep& step = open_[position];
  step.writes.push_back(std::move(write));
  step.bytes += bytes;
  ++writes_;
  write_bytes_ += bytes;
  return {};
}

void StepHost::Drop(int64_t position) {
  const auto found = open_.find(position);
  if (found == open_.end()) return;
  writes_ -= found->second.writes.size();
  write_bytes_ -= found->second.bytes;
  open_.erase(found);
}

const KvCall* StepHost::LastWrite(int64_t position, std::string_view key) const {
  const auto found = open_.find(position);
  if (found == open_.end()) return nullptr;
  for (auto write = found->second.writes.rbegin(); write != found->second.writes.rend(); ++write) {
    const auto* const kv = std::get_if<KvCall>(&*write);
    if (kv != nullptr && kv->key == key) return kv;
  }
  return nullptr;
}

StepHost::Reply StepHost::Kv(int64_t position, KvCall call) {
  using Operation = KvCall::Operation;
  const size_t bytes = call.key.size() + call.value.size();
  if (call.operation == Operation::kSet) {
    const Result<void> added = Add(position, std::move(call), bytes);
    if (!added.ok()) co_return added.error();
    co_return std::string("{}");
  }
  std::string value = "null";
  bool is_there = false;
  if (const KvCall* const write = LastWrite(position, call.key)) {
    is_there = write->operation == Operation::kSet;
    if (is_there) value = write->value;
  } else {
    const NamespaceName ns{begun_.activation.tenant, begun_.activation.ns};
    std::optional<std::string> stored;
    const auto body = [&](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(stored, ReadKv(transaction, ns, call.key));
      return {};
    };
    store::Scopes scopes;
    AddKvScopes(ns, call, scopes);
    const doors::RouteStore::Task task = body;
    const Result<void> done = co_await parts_.routes.Read(scopes, task);
    if (!done.ok()) co_return done.error();
    is_there = stored.has_value();
    if (stored) value = *std::move(stored);
  }
  if (call.operation == Operation::kGet) co_return fmt::format(R"({{"value":{}}})", value);
  const Result<void> added = Add(position, std::move(call), bytes);
  if (!added.ok()) co_return added.error();
  co_return fmt::format(R"({{"deleted":{}}})", is_there);
}

Result<std::string> StepHost::Publish(int64_t position, codeq::Outgoing outgoing,
                                      std::string_view id) {
  const size_t bytes = outgoing.request.text.size();
  CAIRN_RETURN_IF_ERROR(Add(position, std::move(outgoing), bytes));
  return fmt::format(R"({{"id":"{}"}})", id);
}

Result<std::string> StepHost::Enqueue(int64_t position, jobs::EnqueueRequest request) {
  const Timestamp now = parts_.clock.Now();
  request.id = jobs::MakeId({.ns = static_cast<uint64_t>(now.us) * 1000,
                             .lane = jobs::LaneOfQueue(request.queue),
                             .serial = parts_.random.Next()});
  std::string reply = fmt::format(R"({{"id":"{}","status":"pending"}})", request.id);
  const size_t bytes = request.payload.size();
  CAIRN_RETURN_IF_ERROR(Add(position, std::move(request), bytes));
  return reply;
}

// --- The history ---------------------------------------------------------------------------------

Result<void> StepHost::CheckLease(jobs::Context& context) const {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<jobs::Job> job,
                         jobs::LoadJob(context.transaction, begun_.lease.id));
  if (job && job->state == jobs::State::kActive && job->lease_token == begun_.lease.token) {
    return {};
  }
  return Refuse(Code::kConflict, "the activation is somebody else's now: its lease has lapsed");
}

Result<void> StepHost::CheckNew(uint32_t position, StepKind kind, std::string_view name) const {
  if (begun_.activation.durable && !loaded_ && !begun_history_) {
    return Refuse(Code::kConflict, "the history has to be loaded first");
  }
  const auto found = history_.steps.find(position);
  if (found == history_.steps.end()) return {};
  const StepRecord& record = found->second;
  if (kind == StepKind::kStep && record.state == StepState::kRetrying && record.name == name) {
    return {};
  }
  return Refuse(Code::kConflict, fmt::format("position {} has a record already", position));
}

void StepHost::Remember(const StepRecord& record) {
  history_.steps[record.position] = record;
  bytes_ += Encode(record).size();
}

awaitable<Result<void>> StepHost::Commit(const std::vector<StepRecord>& records, codeq::Locks locks,
                                         const jobs::ChangeBody& more) {
  Activation& activation = begun_.activation;
  codeq::AddMessageScopes(begun_.lease, locks);
  std::vector<StepRecord> all = unsaved_;
  all.insert(all.end(), records.begin(), records.end());
  const std::optional<HistoryBegin> begin = this->begin();
  const bool first = !activation.durable;
  // Before the commit, of which nobody may hear: whoever writes the activation next has to know
  // that there may be a history.
  if (first) activation.durable.emplace();
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    CAIRN_RETURN_IF_ERROR(CheckLease(context));
    if (more) CAIRN_RETURN_IF_ERROR(more(context));
    CAIRN_RETURN_IF_ERROR(
        PutSteps(context.transaction, activation.tenant, activation.activation_id, all, begin));
    if (!first) return {};
    return MoveActivation(context.transaction, Status::kRunning, activation);
  };
  const Result<void> done = co_await Change(parts_.routes, std::move(locks), body);
  if (!done.ok()) {
    // Nothing was written: the record of the activation still has to be told.
    if (first && !IsStoreFailure(done.error())) activation.durable.reset();
    co_return done;
  }
  begun_history_ = true;
  unsaved_.clear();
  for (const StepRecord& record : records) Remember(record);
  co_return done;
}

StepHost::Reply StepHost::Load() {
  const Activation& activation = begun_.activation;
  History history;
  Settled settled;
  codeq::Locks locks;
  codeq::AddMessageScopes(begun_.lease, locks);
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    store::Transaction& transaction = context.transaction;
    CAIRN_RETURN_IF_ERROR(CheckLease(context));
    CAIRN_ASSIGN_OR_RETURN(history,
                           LoadHistory(transaction, activation.tenant, activation.activation_id));
    CAIRN_ASSIGN_OR_RETURN(
        settled, LookForEnds(transaction, activation.tenant, activation.activation_id, history));
    return PutEnds(transaction, activation.tenant, activation.activation_id, settled, history);
  };
  const Result<void> done = co_await Change(parts_.routes, std::move(locks), body);
  if (!done.ok()) co_return done.error();
  loaded_ = true;
  begun_history_ = !history.steps.empty();
  history_ = std::move(history);
  bytes_ = history_.bytes();
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.BeginArray("records");
  for (const auto& [position, record] : history_.steps) WriteStepRecord(record, json);
  json.EndArray();
  json.BeginArray("due");
  for (const StepRecord& record : settled.retries) json.Integer("", record.position);
  json.EndArray();
  json.EndObject();
  co_return text;
}

StepHost::Reply StepHost::Finish(std::string arguments) {
  const auto read = [](ObjectReader& object) {
    Done done{.position = static_cast<uint32_t>(object.Integer("position", 0, kMaxSteps)),
              .name = object.Text("name", {1, kMaxStepNameBytes}),
              .attempt = object.Integer("attempt", 1, kMaxStepRetries + 1),
              .duration_ms = object.Integer("duration_ms", 0, kMaxStepDelayMs),
              .value = std::string(object.Raw("value")),
              .error = std::nullopt,
              .retry_ms = object.OptionalInteger("retry_ms", 0, kMaxStepDelayMs)};
    if (auto error = object.OptionalObject("error")) {
      done.error = FunctionError{
          .type = error->OptionalText("type", {0, kMaxRequestBytes}).value_or("Error"),
          .message = error->OptionalText("message", {0, kMaxRequestBytes}).value_or(""),
          .stack = error->OptionalText("stack", {0, kMaxRequestBytes}).value_or("")};
    }
    object.RefuseOthers();
    return done;
  };
  Result<Done> parsed = ReadObject(arguments, Code::kValidation, read);
  if (!parsed.ok()) co_return parsed.error();
  Done& done = *parsed;
  const Result<void> named = CheckStepName("the name of a step", done.name);
  if (!named.ok()) co_return named.error();
  const Result<void> fits = CheckNew(done.position, StepKind::kStep, done.name);
  if (!fits.ok()) co_return fits.error();

  const int64_t now_ms = parts_.clock.Now().millis();
  StepRecord record{.position = done.position,
                    .kind = StepKind::kStep,
                    .name = done.name,
                    .state = StepState::kDone,
                    .attempts = done.attempt,
                    .value = std::move(done.value),
                    .started_ms = std::max<int64_t>(0, now_ms - done.duration_ms),
                    .ended_ms = now_ms,
                    .duration_ms = done.duration_ms};
  if (done.error) {
    Drop(done.position);
    record.value.clear();
    record.error = std::move(done.error);
    Truncate(*record.error);
    record.state = done.retry_ms ? StepState::kRetrying : StepState::kFailed;
    if (done.retry_ms) record.wake_ms = now_ms + *done.retry_ms;
  }
  if (record.ended()) record.seq = history_.next_seq();
  const Result<void> room = CheckRoom(record, history_.steps.size() + 1, bytes_);
  if (!room.ok()) co_return room.error();

  const NamespaceName ns{begun_.activation.tenant, begun_.activation.ns};
  std::vector<Write> writes;
  if (const auto found = open_.find(done.position); found != open_.end()) {
    writes = found->second.writes;
  }
  codeq::Locks locks;
  for (const Write& write : writes) {
    if (const auto* const kv = std::get_if<KvCall>(&write)) AddKvScopes(ns, *kv, locks.keys);
    if (const auto* const message = std::get_if<codeq::Outgoing>(&write)) {
      codeq::AddPublishScopes(*message, locks);
    }
    if (const auto* const job = std::get_if<jobs::EnqueueRequest>(&write)) {
      jobs::AddEnqueueScopes(*job, locks.lanes);
    }
  }
  std::optional<Error> refused;
  const jobs::ChangeBody write_all = [&](jobs::Context& context) -> Result<void> {
    refused.reset();
    for (const Write& write : writes) {
      Result<void> written;
      if (const auto* const kv = std::get_if<KvCall>(&write)) {
        const Result<std::string> reply = RunKv(context.transaction, ns, *kv);
        if (!reply.ok()) written = reply.error();
      } else if (const auto* const message = std::get_if<codeq::Outgoing>(&write)) {
        const Result<codeq::Published> published = codeq::TryPublish(context, *message);
        if (!published.ok()) written = published.error();
        if (published.ok() && published->refused) written = *published->refused;
      } else {
        const auto& job = std::get<jobs::EnqueueRequest>(write);
        const Result<jobs::EnqueueResult> enqueued = jobs::Enqueue(context, job);
        if (!enqueued.ok()) written = codeq::InOurWords(enqueued.error());
      }
      if (written.ok()) continue;
      if (written.error().message.starts_with("CS_")) refused = written.error();
      return written;
    }
    return {};
  };
  const std::vector<StepRecord> records = {std::move(record)};
  const Result<void> committed = co_await Commit(records, std::move(locks), write_all);
  Drop(done.position);
  if (committed.ok()) co_return std::string("{}");
  if (!refused) co_return committed.error();
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("refused", RefusalText(*refused));
  json.EndObject();
  co_return text;
}

StepHost::Reply StepHost::Begin(std::string arguments) {
  const auto read = [](ObjectReader& object) {
    Start start;
    start.position = static_cast<uint32_t>(object.Integer("position", 0, kMaxSteps));
    start.kind = ParseStepKind(object.Choice("kind", {"sleep", "event", "invoke"}))
                     .value_or(StepKind::kSleep);
    start.name = object.OptionalText("name", {0, kMaxStepNameBytes}).value_or("");
    start.delay_ms = object.OptionalInteger("delay_ms", 0, kMaxStepDelayMs);
    start.until_ms = object.OptionalInteger("until_ms", 0, int64_t{1} << 53);
    if (start.kind == StepKind::kInvoke) {
      start.ref = ReadRef(object.Object("ref"), NamesFunction::kNo);
      start.event = object.Raw("event");
    }
    object.RefuseOthers();
    return start;
  };
  Result<Start> parsed = ReadObject(arguments, Code::kValidation, read);
  if (!parsed.ok()) co_return parsed.error();
  const Start& start = *parsed;
  if (start.kind != StepKind::kSleep) {
    const Result<void> named = CheckStepName("the name of an event or a function", start.name);
    if (!named.ok()) co_return named.error();
  }
  const Result<void> fits = CheckNew(start.position, start.kind, start.name);
  if (!fits.ok()) co_return fits.error();
  if (start.kind == StepKind::kInvoke) co_return co_await Invoke(start);

  const int64_t now_ms = parts_.clock.Now().millis();
  StepRecord record{
      .position = start.position, .kind = start.kind, .name = start.name, .started_ms = now_ms};
  if (start.delay_ms) record.wake_ms = now_ms + *start.delay_ms;
  if (start.until_ms) record.wake_ms = *start.until_ms;
  if (record.wake_ms.value_or(0) > now_ms + kMaxStepDelayMs) {
    co_return Refuse(Code::kValidation, fmt::format("step {}: a sleep lasts up to {} days",
                                                    start.position, kMaxStepDelayMs / kDayMs));
  }
  const Result<void> room = CheckRoom(record, history_.steps.size() + 1, bytes_);
  if (!room.ok()) co_return room.error();
  unsaved_.push_back(record);
  Remember(record);
  co_return std::string("{}");
}

// The invoked activation has an id that follows from its place, so that whoever begins it again
// finds it.
StepHost::Reply StepHost::Invoke(const Start& start) {
  const Activation& parent = begun_.activation;
  const int64_t now_ms = parts_.clock.Now().millis();
  const int64_t depth = InvokeDepth(parent) + 1;
  const std::string id = DerivedActivationId(
      fmt::format("invoked\n{}\n{}\n{}", parent.activation_id, start.position, parent.retries));
  StepRecord record{.position = start.position,
                    .kind = StepKind::kInvoke,
                    .name = start.name,
                    .child = id,
                    .started_ms = now_ms};
  InvocationRequest request{
      .activation_id = id,
      .request_id = "req_" + id,
      .tenant = parent.tenant,
      .ns = parent.ns,
      .ref = start.ref,
      .trigger = {TriggerType::kApi, InvokeSource(parent.activation_id, start.position, depth)},
      .principal = begun_.principal,
      .deadline_ms = now_ms + kAsyncDeadlineMs,
      .event = start.event.empty() ? "{}" : start.event};
  request.ref.function = start.name;
  std::optional<Error> refused;
  if (const Result<void> named = CheckName(NameKind::kFunction, start.name); !named.ok()) {
    refused = named.error();
  } else if (depth > kMaxInvokeDepth) {
    refused = Refuse(Code::kConflict,
                     fmt::format("functions invoke functions up to {} deep", kMaxInvokeDepth));
  } else if (request.event.size() > kMaxEventBytes) {
    refused = Refuse(Code::kTooLarge, fmt::format("an event has up to {} bytes", kMaxEventBytes));
  }
  std::optional<QueuedRequest> queued;
  codeq::Locks locks;
  if (!refused) {
    RequestOptions options{.message_id = "msg_" + id, .now_ms = now_ms};
    Result<QueuedRequest> prepared = PrepareRequest(request, std::move(options));
    if (prepared.ok()) {
      queued = *std::move(prepared);
      AddRequestScopes(*queued, locks);
    } else {
      refused = prepared.error();
    }
  }
  const jobs::ChangeBody accept = [&](jobs::Context& context) -> Result<void> {
    const Result<Resolved> resolved = CheckRequest(context.transaction, request);
    if (!resolved.ok()) {
      if (resolved.error().message.starts_with("CS_")) refused = resolved.error();
      return resolved.error();
    }
    jobs::Context own = codeq::OwnContext(context);
    const Result<AcceptedRequest> accepted = AcceptRequest(own, *queued);
    return accepted.ok() ? Result<void>() : accepted.error();
  };
  if (!refused) {
    const Result<void> room = CheckRoom(record, history_.steps.size() + 1, bytes_);
    if (!room.ok()) co_return room.error();
    const std::vector<StepRecord> records = {record};
    const Result<void> done = co_await Commit(records, std::move(locks), accept);
    if (done.ok()) co_return std::string("{}");
    if (!refused) co_return done.error();
  }
  record.state = StepState::kFailed;
  record.child.clear();
  record.seq = history_.next_seq();
  record.ended_ms = now_ms;
  record.error = FunctionError{.type = std::string(kInvokeErrorType),
                               .message = std::string(RefusalText(*refused)),
                               .stack = {}};
  const std::vector<StepRecord> records = {record};
  const jobs::ChangeBody nothing;
  codeq::Locks none;
  const Result<void> done = co_await Commit(records, std::move(none), nothing);
  if (!done.ok()) co_return done.error();
  co_return fmt::format(R"({{"record":{}}})", Encode(record));
}

StepHost::Reply StepHost::Wait() {
  const Activation& activation = begun_.activation;
  const int64_t now_ms = parts_.clock.Now().millis();
  bool to_look = false;
  bool waits = false;
  for (const auto& [position, record] : history_.steps) {
    if (record.ended()) continue;
    waits = true;
    to_look |= record.kind == StepKind::kEvent || record.kind == StepKind::kInvoke ||
               record.wake_ms.value_or(0) <= now_ms;
  }
  if (!waits) co_return Refuse(Code::kConflict, "there is nothing to wait for");
  if (!to_look) {
    may_leave_ = true;
    co_return std::string(R"({"leave":true})");
  }
  Settled settled;
  History history;
  const std::optional<HistoryBegin> begin = this->begin();
  const bool first = !activation.durable;
  if (first) begun_.activation.durable.emplace();
  codeq::Locks locks;
  codeq::AddMessageScopes(begun_.lease, locks);
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    store::Transaction& transaction = context.transaction;
    CAIRN_RETURN_IF_ERROR(CheckLease(context));
    history = history_;
    CAIRN_ASSIGN_OR_RETURN(
        settled, LookForEnds(transaction, activation.tenant, activation.activation_id, history));
    if (settled.ended.empty()) return {};
    CAIRN_RETURN_IF_ERROR(
        PutSteps(transaction, activation.tenant, activation.activation_id, unsaved_, begin));
    if (first) CAIRN_RETURN_IF_ERROR(MoveActivation(transaction, Status::kRunning, activation));
    return PutEnds(transaction, activation.tenant, activation.activation_id, settled, history);
  };
  const Result<void> done = co_await Change(parts_.routes, std::move(locks), body);
  if (!done.ok()) co_return done.error();
  if (!settled.any()) {
    if (first) begun_.activation.durable.reset();
    may_leave_ = true;
    co_return std::string(R"({"leave":true})");
  }
  if (!settled.ended.empty()) {
    begun_history_ = true;
    unsaved_.clear();
  } else if (first) {
    begun_.activation.durable.reset();
  }
  history_ = std::move(history);
  std::vector<StepRecord> records = settled.ended;
  records.insert(records.end(), settled.retries.begin(), settled.retries.end());
  co_return RecordsText(records);
}

}  // namespace cairn::functions
