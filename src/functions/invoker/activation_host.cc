#include "functions/invoker/activation_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json_text.h"
#include "functions/codeq/topics.h"
#include "functions/invoker/kv.h"
#include "functions/invoker/locked_change.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/names.h"
#include "jobs/model/refusal.h"
#include "jobs/operations/enqueue.h"
#include "jobs/operations/enqueue_json.h"
#include "jobs/operations/store_access.h"

namespace cairn::functions {
namespace {

using boost::asio::awaitable;

// What the envelope of a message that a function publishes is called.
constexpr std::string_view kPublishType = "RuntimePublish";

// The JSON that POST /api/v1/enqueue takes, of which the options are further members.
std::string EnqueueText(const NamedPayload& call) {
  std::string text = R"({"queue":)";
  AppendJsonString(call.name, text);
  text += R"(,"payload":)" + call.payload;
  const std::string_view options = call.options;
  const size_t begin = options.find_first_not_of(" \t\r\n", options.find('{') + 1);
  if (begin == std::string_view::npos || options[begin] == '}') return text + "}";
  return text + "," + std::string(options.substr(begin));
}

}  // namespace

ActivationHost::~ActivationHost() {
  if (heart_ != nullptr) heart_->End();
}

void ActivationHost::Log(std::string_view level, std::string_view text) {
  log_.Add(level, text);
  logged_();
}

awaitable<Result<std::string>> ActivationHost::Call(std::string_view operation,
                                                    std::string arguments) {
  Result<std::string> reply = co_await Answer(operation, std::move(arguments));
  // Whether or not the function says so itself, its log tells what it was refused.
  if (!reply.ok() && reply.error().code == ErrorCode::kForbidden) {
    Log("warn", fmt::format("refused: {}", RefusalText(reply.error())));
  }
  co_return reply;
}

awaitable<Result<std::string>> ActivationHost::Answer(std::string_view operation,
                                                      std::string arguments) {
  if (const std::optional<KvCall::Operation> kv = ParseKvOperation(operation)) {
    Result<KvCall> call = ParseKv(*kv, arguments);
    if (!call.ok()) co_return call.error();
    co_return co_await this->Kv(*std::move(call));
  }
  if (operation == "http.fetch") co_return co_await FetchUrl(std::move(arguments));
  if (operation == "codeq.publish") co_return co_await PublishMessage(std::move(arguments));
  if (operation == "jobs.enqueue") co_return co_await EnqueueJob(std::move(arguments));
  if (operation == "cadence.heartbeat") co_return co_await Heartbeat(std::move(arguments));
  co_return UnknownCall(operation);
}

awaitable<Result<std::string>> ActivationHost::Kv(KvCall call) {
  const Result<void> allowed = CheckKv(config_.capabilities, call);
  if (!allowed.ok()) co_return allowed.error();
  store::Scopes scopes;
  AddKvScopes(ns(), call, scopes);
  std::string reply;
  const auto body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(reply, RunKv(transaction, ns(), call));
    return {};
  };
  const doors::RouteStore::Task task = body;
  const bool writes = call.operation != KvCall::Operation::kGet;
  const Result<void> done = writes ? co_await parts_.routes.Write(scopes, task)
                                   : co_await parts_.routes.Read(scopes, task);
  if (!done.ok()) co_return done.error();
  co_return reply;
}

awaitable<Result<std::string>> ActivationHost::FetchUrl(std::string arguments) {
  Result<FetchCall> call = ParseFetch(arguments);
  if (!call.ok()) co_return call.error();
  co_return co_await Fetch(parts_.fetch, config_.capabilities, *std::move(call));
}

awaitable<Result<std::string>> ActivationHost::PublishMessage(std::string arguments) {
  const Result<NamedPayload> call = ParsePayload("topic", arguments);
  if (!call.ok()) co_return call.error();
  const Result<void> allowed = CheckTopic(config_.capabilities, "cs.codeq.publish", call->name);
  if (!allowed.ok()) co_return allowed.error();
  const Timestamp now = parts_.clock.Now();
  Envelope envelope{.id = NewMessageId(now, parts_.random),
                    .ts_ms = now.millis(),
                    .tenant = activation_.tenant,
                    .type = std::string(kPublishType)};
  const std::string id = envelope.id;
  const Result<codeq::Outgoing> outgoing = codeq::Prepare(
      {.topic = call->name, .text = codeq::Wrap(std::move(envelope), call->payload)});
  if (!outgoing.ok()) co_return outgoing.error();
  codeq::Locks locks;
  codeq::AddPublishScopes(*outgoing, locks);
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const codeq::Published published, codeq::Publish(context, *outgoing));
    if (published.refused) return *published.refused;
    return {};
  };
  const Result<void> done = co_await Change(parts_.routes, std::move(locks), body);
  if (!done.ok()) co_return done.error();
  co_return fmt::format(R"({{"id":"{}"}})", id);
}

awaitable<Result<std::string>> ActivationHost::EnqueueJob(std::string arguments) {
  const Result<NamedPayload> call = ParsePayload("queue", arguments);
  if (!call.ok()) co_return call.error();
  const Result<void> allowed = CheckTopic(config_.capabilities, "cs.jobs.enqueue", call->name);
  if (!allowed.ok()) co_return allowed.error();
  const Result<jobs::EnqueueRequest> request = jobs::ParseEnqueue(EnqueueText(*call));
  if (!request.ok()) co_return codeq::InOurWords(request.error());
  // What follows a job goes to other queues, which nobody has allowed.
  if (request->queue != call->name || !request->chain.empty() || !request->batch_id.empty()) {
    co_return Refuse(Code::kValidation,
                     "cs.jobs.enqueue: options cannot name a queue, a chain or a batch");
  }
  jobs::Held held;
  jobs::AddEnqueueScopes(*request, held);
  jobs::EnqueueResult result;
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(result, jobs::Enqueue(context, *request));
    return {};
  };
  const Result<void> done =
      co_await jobs::Change(jobs::StoreAccess{parts_.routes}, std::move(held), body);
  if (!done.ok()) co_return codeq::InOurWords(done.error());
  co_return fmt::format(R"({{"id":"{}","status":"{}"}})", result.id, jobs::StateName(result.state));
}

awaitable<Result<std::string>> ActivationHost::Heartbeat(std::string arguments) {
  if (heart_ == nullptr && parts_.heart) heart_ = parts_.heart(activation_);
  if (heart_ == nullptr) co_return UnknownCall("cadence.heartbeat");
  const Result<std::string> details =
      ReadObject(arguments, Code::kValidation, [](ObjectReader& object) {
        std::string text(object.Raw("details"));
        object.RefuseOthers();
        return text;
      });
  if (!details.ok()) co_return details.error();
  // The run may end, and this object with it, before the heart has answered.
  const std::shared_ptr<ActivityHeart> heart = heart_;
  co_return co_await heart->Beat(details->empty() ? "null" : *details);
}

}  // namespace cairn::functions
