// Topics, messages, dead letters and results under /v1/codeq.

#include "functions/http/codeq_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "doors/http/request_values.h"
#include "doors/turn/deadline.h"
#include "functions/codeq/access.h"
#include "functions/codeq/dead_letters.h"
#include "functions/codeq/results.h"
#include "functions/codeq/topics.h"
#include "functions/http/codeq_support.h"
#include "functions/model/json_object.h"
#include "functions/model/json_writer.h"
#include "functions/model/names.h"
#include "jobs/model/json_members.h"
#include "jobs/model/limits.h"
#include "jobs/operations/queues.h"

namespace cairn::functions {

using boost::asio::awaitable;
using codeq::Locks;
using doors::RouteCall;
using net::HttpReply;
using net::HttpResponse;
using SteadyTime = std::chrono::steady_clock::time_point;

void AddCodeqRoute(const SharedCodeq& parts, doors::RouteTable& table, doors::Route route,
                   CodeqHandler function) {
  route.tag = "codeq";
  route.touches = doors::Touches::Only(jobs::kQueueKind);
  route.handler = [parts, function](const RouteCall& call) {
    if (call.principal == nullptr) return function(parts, call);
    auto own = std::make_shared<CodeqParts>(*parts);
    own->principal = call.principal;
    return function(std::move(own), call);
  };
  CountRequests(parts->figures, parts->clock, route);
  table.Add(std::move(route));
}

namespace {

constexpr std::string_view kAny = R"({"type":"object","additionalProperties":true})";

// --- Answers -------------------------------------------------------------------------------------

HttpReply Refusal(const RouteCall& call, const Error& error) {
  HttpResponse response =
      HttpResponse::Json(CodeRowOf(error).http_status, ErrorBody(error, call.request.request_id));
  if (response.status == 429) response.headers.Add("Retry-After", "1");
  return response;
}

HttpReply Answer(const RouteCall& call, const Result<void>& done, int status, std::string text) {
  if (!done.ok()) return Refusal(call, done.error());
  return HttpResponse::Json(status, std::move(text));
}

// --- Requests ------------------------------------------------------------------------------------

// The body of a request that is an object of options, which may be left out.
template <typename Read>
auto ReadOptions(const RouteCall& call, Read read) {
  const std::string_view given = call.request.body;
  const std::string_view body = given.empty() ? "{}" : given;
  return ReadObject(body, Code::kValidation, [&](ObjectReader& object) {
    auto made = read(object);
    object.RefuseOthers();
    return made;
  });
}

Result<int64_t> NumberFrom(const RouteCall& call, std::string_view name, int64_t otherwise,
                           int64_t least, int64_t most) {
  Result<int64_t> number = doors::QueryNumber(call.request, name, otherwise, least, most);
  if (!number.ok()) return Refuse(Code::kValidation, number.error().message);
  return number;
}

std::string QueryText(const RouteCall& call, std::string_view name) {
  return std::string(call.request.Query(name).value_or(""));
}

jobs::LeaseRef LeaseOf(const RouteCall& call, ObjectReader& object) {
  const std::string token = object.Text("lease_token", {1, 64});
  jobs::LeaseRef lease{.id = call.PathValue("id"), .token = jobs::ParseToken(token)};
  // What is not a token was never anybody's.
  if (!lease.token) lease.token = 0;
  return lease;
}

// --- Publishing ----------------------------------------------------------------------------------

// A message of a topic of users may come without its envelope, and gets one.
std::string Enveloped(const CodeqParts& parts, const RouteCall& call, std::string_view topic,
                      std::string_view text) {
  if (!codeq::DeadTopicOf(topic).empty() || codeq::LooksLikeEnvelope(text) || !IsJson(text)) {
    return std::string(text);
  }
  const Timestamp now = parts.clock.Now();
  const std::string_view tenant =
      call.request.headers.Get("X-Codeq-Tenant").value_or(codeq::kNoTenant);
  return codeq::Wrap({.id = NewMessageId(now, parts.random),
                      .ts_ms = now.millis(),
                      .tenant = std::string(tenant),
                      .type = "Message"},
                     text);
}

Result<codeq::PublishRequest> PublishOptions(const RouteCall& call) {
  codeq::PublishRequest request{.topic = call.PathValue("topic")};
  CAIRN_ASSIGN_OR_RETURN(request.delay_ms, NumberFrom(call, "delay_ms", 0, 0, jobs::kMaxDelayMs));
  const std::string priority = QueryText(call, "priority");
  if (!priority.empty()) {
    const auto parsed = jobs::ParsePriority(priority);
    if (!parsed) return Refuse(Code::kValidation, "priority is one of critical, high, normal");
    request.priority = *parsed;
  }
  request.idempotency_key = call.request.headers.Get("Idempotency-Key").value_or("");
  if (call.request.trace_parent) request.trace_parent = call.request.trace_parent->ToString();
  return request;
}

// The messages of {"messages":[…]}; nullopt for a body that is one message.
std::optional<std::vector<std::string_view>> MessagesIn(std::string_view body) {
  const auto members = jobs::MembersOf(body);
  if (!members || members->size() != 1 || members->front().name != "messages") return std::nullopt;
  return jobs::ItemsOf(members->front().json);
}

// One of the messages of a request, and what became of it.
struct Publishing {
  Result<codeq::Outgoing> outgoing;
  Result<codeq::Published> published = codeq::Published{};

  // Why it was not published; null: it was.
  const Error* refused() const {
    if (!outgoing.ok()) return &outgoing.error();
    if (!published.ok()) return &published.error();
    return published->refused ? &*published->refused : nullptr;
  }
};

void WritePublished(const Publishing& publishing, const std::string& topic, JsonWriter& json) {
  const Error* const refused = publishing.refused();
  if (refused == nullptr) {
    json.Text("id", publishing.published->id);
    json.Text("message_id", publishing.published->message_id);
    json.Text("topic", topic);
    json.Switch("existing", publishing.published->existing);
    return;
  }
  json.BeginObject("error");
  json.Text("code", CodeRowOf(*refused).name);
  json.Text("message", RefusalText(*refused));
  json.EndObject();
  if (publishing.published.ok() && !publishing.published->dead_letter.empty()) {
    json.Text("dead_letter", publishing.published->dead_letter);
  }
}

// All in one transaction: what the store cannot do keeps none of them, what is wrong with one keeps
// that one out.
awaitable<Result<void>> PublishAll(SharedCodeq parts, std::vector<Publishing>& all) {
  Locks locks;
  bool any = false;
  for (const Publishing& publishing : all) {
    if (!publishing.outgoing.ok()) continue;
    any = true;
    codeq::AddPublishScopes(*publishing.outgoing, locks);
  }
  if (!any) co_return Result<void>();
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    for (Publishing& publishing : all) {
      if (!publishing.outgoing.ok()) continue;
      publishing.published = codeq::Publish(context, *publishing.outgoing);
      if (!publishing.published.ok()) return publishing.published.error();
    }
    return {};
  };
  co_return co_await codeq::Change(*parts, std::move(locks), body);
}

HttpReply OneReply(const RouteCall& call, const Publishing& publishing) {
  const Error* const refused = publishing.refused();
  std::string text;
  JsonWriter json(text);
  if (refused == nullptr) {
    json.BeginObject();
    WritePublished(publishing, call.PathValue("topic"), json);
    json.EndObject();
    return HttpResponse::Json(202, std::move(text));
  }
  text = ErrorBody(*refused, call.request.request_id);
  if (publishing.published.ok() && !publishing.published->dead_letter.empty()) {
    text.pop_back();
    text += fmt::format(R"(,"dead_letter":"{}"}})", publishing.published->dead_letter);
  }
  return HttpResponse::Json(CodeRowOf(*refused).http_status, std::move(text));
}

HttpReply SeveralReply(const RouteCall& call, const std::vector<Publishing>& all) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.BeginArray("messages");
  for (const Publishing& publishing : all) {
    json.BeginObject();
    WritePublished(publishing, call.PathValue("topic"), json);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return HttpResponse::Json(200, std::move(text));
}

awaitable<Result<HttpReply>> PostMessages(SharedCodeq parts, const RouteCall& call) {
  const Result<codeq::PublishRequest> options = PublishOptions(call);
  if (!options.ok()) co_return Refusal(call, options.error());
  const auto several = MessagesIn(call.request.body);
  if (several && (several->empty() || several->size() > codeq::kMaxPublishBatch)) {
    co_return Refusal(call, Refuse(Code::kValidation, fmt::format("messages must be 1 to {}",
                                                                  codeq::kMaxPublishBatch)));
  }
  std::vector<std::string_view> texts = several.value_or(std::vector<std::string_view>());
  if (!several) texts.emplace_back(call.request.body);
  std::vector<Publishing> all;
  all.reserve(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    codeq::PublishRequest request = *options;
    request.text = Enveloped(*parts, call, request.topic, texts[i]);
    if (several && !request.idempotency_key.empty()) {
      request.idempotency_key += fmt::format(":{}", i);
    }
    all.push_back({.outgoing = codeq::Prepare(std::move(request))});
  }
  const Result<void> done = co_await PublishAll(parts, all);
  if (!done.ok()) co_return Refusal(call, InWordsOf(Code::kPublishFailed, done.error()));
  co_return several ? SeveralReply(call, all) : OneReply(call, all.front());
}

// --- Consuming -----------------------------------------------------------------------------------

struct Claiming {
  codeq::ClaimRequest request;
  int64_t wait_ms = 0;
};

Result<Claiming> ClaimingOf(const CodeqParts& parts, const RouteCall& call) {
  CAIRN_RETURN_IF_ERROR(codeq::CheckTopicName(call.PathValue("topic")));
  return ReadOptions(call, [&](ObjectReader& object) {
    Claiming claiming;
    claiming.request.topics = {call.PathValue("topic")};
    claiming.request.count =
        static_cast<size_t>(object.OptionalInteger("count", 1, codeq::kMaxClaim).value_or(1));
    claiming.request.lease_ms =
        object.OptionalInteger("lease_ms", jobs::kMinLeaseMs, jobs::kMaxLeaseMs)
            .value_or(codeq::kDefaultClaimLeaseMs);
    claiming.wait_ms = object.OptionalInteger("wait_ms", 0, codeq::kMaxClaimWaitMs).value_or(0);
    claiming.request.worker_id =
        object.OptionalText("worker_id", {0, jobs::kMaxWorkerIdBytes})
            .value_or(parts.principal == nullptr ? "" : parts.principal->name());
    return claiming;
  });
}

// A claim under way: shared by what makes the response and by what puts the messages back if there
// is nobody to have them.
struct ClaimRun {
  Claiming claiming;
  std::string request_id;
  std::vector<codeq::Message> messages;
};

std::string MessagesJson(const std::vector<codeq::Message>& messages) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.BeginArray("messages");
  for (const codeq::Message& message : messages) {
    json.BeginObject();
    json.Text("id", message.job.id);
    json.Text("lease_token", jobs::FormatToken(message.job.lease_token));
    json.Integer("lease_expires_at_ms", MillisOf(message.job.lease_expires_ns));
    json.Integer("attempt", message.job.attempt);
    json.Text("topic", message.job.queue);
    json.Raw("message", message.text);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return text;
}

awaitable<HttpResponse> RunClaim(SharedCodeq parts, std::shared_ptr<ClaimRun> run) {
  const SteadyTime deadline = doors::DeadlineIn(std::chrono::milliseconds(run->claiming.wait_ms));
  const jobs::Fetcher fetcher{parts->store, parts->principal};
  const codeq::ClaimRequest& request = run->claiming.request;
  Result<std::vector<codeq::Message>> messages = co_await codeq::TakeMessages(fetcher, request);
  if (messages.ok() && messages->empty() && run->claiming.wait_ms != 0) {
    messages = co_await codeq::AwaitMessages(fetcher, request, deadline);
  }
  if (!messages.ok()) {
    const Error error = InWordsOf(Code::kSubscribeFailed, messages.error());
    co_return HttpResponse::Json(CodeRowOf(error).http_status, ErrorBody(error, run->request_id));
  }
  run->messages = *std::move(messages);
  co_return HttpResponse::Json(200, MessagesJson(run->messages));
}

awaitable<void> GiveBackRun(SharedCodeq parts, std::shared_ptr<ClaimRun> run) {
  co_await codeq::GiveBack(*parts, run->messages);
}

awaitable<Result<HttpReply>> PostClaim(SharedCodeq parts, const RouteCall& call) {
  Result<Claiming> claiming = ClaimingOf(*parts, call);
  if (!claiming.ok()) co_return Refusal(call, claiming.error());
  auto run = std::make_shared<ClaimRun>();
  run->claiming = *std::move(claiming);
  run->request_id = call.request.request_id;
  net::HttpLateResponse late;
  late.run = [parts, run] { return RunClaim(parts, run); };
  late.unsent = [parts, run] { return GiveBackRun(parts, run); };
  co_return HttpReply(std::move(late));
}

awaitable<Result<HttpReply>> PostAck(SharedCodeq parts, const RouteCall& call) {
  const auto lease = ReadOptions(call, [&](ObjectReader& object) { return LeaseOf(call, object); });
  if (!lease.ok()) co_return Refusal(call, lease.error());
  Locks locks;
  codeq::AddMessageScopes(*lease, locks);
  const jobs::ChangeBody body = [&](jobs::Context& context) { return codeq::Ack(context, *lease); };
  const Result<void> done = co_await codeq::Change(*parts, std::move(locks), body);
  co_return Answer(call, done, 200, R"({"status":"ok"})");
}

awaitable<Result<HttpReply>> PostNack(SharedCodeq parts, const RouteCall& call) {
  const auto request = ReadOptions(call, [&](ObjectReader& object) {
    return codeq::NackRequest{
        .lease = LeaseOf(call, object),
        .delay_ms = object.OptionalInteger("delay_ms", 0, jobs::kMaxDelayMs),
        .reason = object.OptionalText("reason", {0, jobs::kMaxErrorBytes}).value_or("")};
  });
  if (!request.ok()) co_return Refusal(call, request.error());
  Locks locks;
  codeq::AddMessageScopes(request->lease, locks);
  codeq::NackResult result;
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(result, codeq::Nack(context, *request));
    return {};
  };
  const Result<void> done = co_await codeq::Change(*parts, std::move(locks), body);
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("status", result.dead ? "dead" : "requeued");
  json.Integer("delay_ms", result.delay_ms);
  if (!result.dead_letter.empty()) json.Text("dead_letter", result.dead_letter);
  json.EndObject();
  co_return Answer(call, done, 200, std::move(text));
}

struct Extending {
  jobs::LeaseRef lease;
  std::optional<int64_t> lease_ms;
};

awaitable<Result<HttpReply>> PostExtend(SharedCodeq parts, const RouteCall& call) {
  const auto request = ReadOptions(call, [&](ObjectReader& object) {
    return Extending{LeaseOf(call, object),
                     object.OptionalInteger("lease_ms", jobs::kMinLeaseMs, jobs::kMaxLeaseMs)};
  });
  if (!request.ok()) co_return Refusal(call, request.error());
  Locks locks;
  codeq::AddMessageScopes(request->lease, locks);
  uint64_t until_ns = 0;
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(until_ns, codeq::Extend(context, request->lease, request->lease_ms));
    return {};
  };
  const Result<void> done = co_await codeq::Change(*parts, std::move(locks), body);
  co_return Answer(call, done, 200,
                   fmt::format(R"({{"lease_expires_at_ms":{}}})", MillisOf(until_ns)));
}

// --- What is there -------------------------------------------------------------------------------

// Reads, and answers when what was read is durable.
awaitable<Result<void>> Look(SharedCodeq parts, jobs::LookBody body) {
  const jobs::Held all = jobs::Held::Everything();
  const Result<void> done = co_await jobs::Look(*parts, all, body);
  co_return codeq::InOurWords(done);
}

void WriteStats(const jobs::QueueInfo& queue, JsonWriter& json) {
  const auto count = [&](jobs::State state) { return queue.counts[static_cast<size_t>(state)]; };
  json.BeginObject();
  json.Text("topic", queue.name);
  json.Integer("ready", count(jobs::State::kPending));
  json.Integer("delayed", count(jobs::State::kScheduled) + count(jobs::State::kRetrying));
  json.Integer("in_progress", count(jobs::State::kActive));
  json.Integer("dead", count(jobs::State::kDead));
  json.Integer("published", queue.enqueued);
  json.Integer("oldest_ready_at_ms", MillisOf(queue.oldest_pending_ns));
  json.Switch("paused", queue.config.paused);
  json.EndObject();
}

awaitable<Result<HttpReply>> GetTopic(SharedCodeq parts, const RouteCall& call) {
  std::string text;
  const jobs::LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    text.clear();
    const std::string& topic = call.PathValue("topic");
    CAIRN_RETURN_IF_ERROR(jobs::CheckQueue(jobs::StoreAccess(*parts).queues(), topic));
    CAIRN_ASSIGN_OR_RETURN(const jobs::QueueInfo queue, jobs::GetQueue(transaction, topic));
    JsonWriter json(text);
    WriteStats(queue, json);
    return {};
  };
  const Result<void> done = co_await Look(parts, body);
  co_return Answer(call, done, 200, std::move(text));
}

awaitable<Result<HttpReply>> GetTopics(SharedCodeq parts, const RouteCall& call) {
  std::string text;
  const jobs::LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    text.clear();
    CAIRN_ASSIGN_OR_RETURN(std::vector<jobs::QueueInfo> queues, jobs::ListQueues(transaction));
    jobs::KeepAllowed(jobs::StoreAccess(*parts).queues(), queues);
    JsonWriter json(text);
    json.BeginObject();
    json.BeginArray("topics");
    for (const jobs::QueueInfo& queue : queues) WriteStats(queue, json);
    json.EndArray();
    json.EndObject();
    return {};
  };
  const Result<void> done = co_await Look(parts, body);
  co_return Answer(call, done, 200, std::move(text));
}

// --- Dead letters --------------------------------------------------------------------------------

// Named by the topic of the letters, or by the one that they were published to.
std::string DeadTopicIn(const RouteCall& call) {
  const std::string& topic = call.PathValue("topic");
  const std::string_view dead = codeq::DeadTopicOf(topic);
  return dead.empty() ? topic : std::string(dead);
}

awaitable<Result<HttpReply>> GetLetters(SharedCodeq parts, const RouteCall& call) {
  const Result<int64_t> limit =
      NumberFrom(call, "limit", kDefaultPage, 1, codeq::kMaxDeadLetterPage);
  if (!limit.ok()) co_return Refusal(call, limit.error());
  std::string text;
  const jobs::LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    text.clear();
    CAIRN_ASSIGN_OR_RETURN(
        const codeq::DeadLetterPage page,
        codeq::ListDeadLetters(transaction, jobs::StoreAccess(*parts).queues(), DeadTopicIn(call),
                               QueryText(call, "cursor"), static_cast<size_t>(*limit)));
    JsonWriter json(text);
    json.BeginObject();
    json.BeginArray("letters");
    for (const codeq::DeadLetter& letter : page.letters) json.Raw("", DeadLetterJson(letter));
    json.EndArray();
    if (!page.next.empty()) json.Text("next", page.next);
    json.EndObject();
    return {};
  };
  const Result<void> done = co_await Look(parts, body);
  co_return Answer(call, done, 200, std::move(text));
}

awaitable<Result<HttpReply>> GetLetter(SharedCodeq parts, const RouteCall& call) {
  std::string text;
  const jobs::LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const codeq::DeadLetter letter,
                           codeq::GetDeadLetter(transaction, jobs::StoreAccess(*parts).queues(),
                                                DeadTopicIn(call), call.PathValue("id")));
    text = DeadLetterJson(letter);
    return {};
  };
  const Result<void> done = co_await Look(parts, body);
  co_return Answer(call, done, 200, std::move(text));
}

// One transaction of a redrive.
awaitable<Result<void>> RedriveSome(SharedCodeq parts, const codeq::RedriveRequest& request,
                                    codeq::Redriven& some) {
  Locks locks;
  codeq::AddRedriveScopes(request, locks);
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(some, codeq::Redrive(context, request));
    return {};
  };
  co_return co_await codeq::Change(*parts, std::move(locks), body);
}

std::string RedrivenJson(const codeq::Redriven& total) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Integer("redriven", total.redriven);
  json.Integer("kept", total.kept);
  if (total.refused) {
    json.BeginObject("refused");
    json.Text("code", CodeRowOf(*total.refused).name);
    json.Text("message", RefusalText(*total.refused));
    json.EndObject();
  }
  json.EndObject();
  return text;
}

awaitable<Result<HttpReply>> PostRedrive(SharedCodeq parts, const RouteCall& call) {
  const auto id = ReadOptions(call, [](ObjectReader& object) {
    return object.OptionalText("id", {1, 128}).value_or("");
  });
  if (!id.ok()) co_return Refusal(call, id.error());
  codeq::RedriveRequest request{.dead_topic = DeadTopicIn(call), .id = *id};
  codeq::Redriven total;
  do {
    codeq::Redriven some;
    const Result<void> done = co_await RedriveSome(parts, request, some);
    if (!done.ok()) co_return Refusal(call, done.error());
    total.redriven += some.redriven;
    total.kept += some.kept;
    if (some.refused) total.refused = some.refused;
    request.cursor = some.next;
  } while (!request.cursor.empty());
  // Who names one letter wants to know why it is still there.
  if (!id->empty() && total.refused) co_return Refusal(call, *total.refused);
  co_return HttpReply(HttpResponse::Json(200, RedrivenJson(total)));
}

awaitable<Result<HttpReply>> Purge(SharedCodeq parts, const RouteCall& call, std::string id) {
  const std::string topic = DeadTopicIn(call);
  int64_t purged = 0;
  codeq::Purged some;
  do {
    Locks locks;
    codeq::AddPurgeScopes(topic, id, locks);
    const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(some, codeq::Purge(context, topic, id));
      return {};
    };
    const Result<void> done = co_await codeq::Change(*parts, std::move(locks), body);
    if (!done.ok()) co_return Refusal(call, done.error());
    purged += some.purged;
  } while (some.more);
  co_return HttpReply(HttpResponse::Json(200, fmt::format(R"({{"purged":{}}})", purged)));
}

awaitable<Result<HttpReply>> DeleteLetters(SharedCodeq parts, const RouteCall& call) {
  return Purge(std::move(parts), call, "");
}

awaitable<Result<HttpReply>> DeleteLetter(SharedCodeq parts, const RouteCall& call) {
  return Purge(std::move(parts), call, call.PathValue("id"));
}

// --- Results -------------------------------------------------------------------------------------

awaitable<HttpResponse> RunAwait(SharedCodeq parts, codeq::AwaitedResult what,
                                 std::string request_id, int64_t wait_ms) {
  const SteadyTime deadline = doors::DeadlineIn(std::chrono::milliseconds(wait_ms));
  const Result<std::optional<std::string>> found =
      co_await codeq::AwaitResult(parts->store, std::move(what), deadline);
  std::optional<Error> error;
  if (!found.ok()) {
    error = found.error();
  } else if (!*found) {
    error = wait_ms == 0
                ? Refuse(Code::kNotFound,
                         "no result of this request: not published yet, or older than ten minutes")
                : Refuse(Code::kCorrelationTimeout, "no result came in the time given");
  }
  if (error) {
    co_return HttpResponse::Json(CodeRowOf(*error).http_status, ErrorBody(*error, request_id));
  }
  co_return HttpResponse::Json(200, **found);
}

awaitable<Result<HttpReply>> GetResult(SharedCodeq parts, const RouteCall& call) {
  const Result<int64_t> wait_ms = NumberFrom(call, "wait_ms", 0, 0, codeq::kMaxClaimWaitMs);
  if (!wait_ms.ok()) co_return Refusal(call, wait_ms.error());
  const Result<void> allowed =
      codeq::InOurWords(jobs::CheckQueue(jobs::StoreAccess(*parts).queues(), kResultsTopic));
  if (!allowed.ok()) co_return Refusal(call, allowed.error());
  codeq::AwaitedResult what{.tenant = call.PathValue("tenant"),
                            .request_id = call.PathValue("request"),
                            .activation_id = QueryText(call, "activation_id")};
  Result<void> named = CheckName(NameKind::kTenant, what.tenant);
  if (named.ok()) named = CheckName(NameKind::kRequest, what.request_id);
  if (!named.ok()) co_return Refusal(call, named.error());
  net::HttpLateResponse late;
  late.run = [parts, what, id = call.request.request_id, ms = *wait_ms] {
    return RunAwait(parts, what, id, ms);
  };
  co_return HttpReply(std::move(late));
}

// --- Rows ----------------------------------------------------------------------------------------

constexpr std::string_view kPublishSchema =
    R"({"type":"object","additionalProperties":true,"description":"An envelope cs.envelope.v1, or )"
    R"({\"messages\":[...]} with up to 1000 of them. A topic other than cs.invoke and cs.results )"
    R"(also takes any JSON, which gets an envelope."})";
constexpr std::string_view kClaimSchema =
    R"({"type":"object","properties":{"count":{"type":"integer","minimum":1,"maximum":512},)"
    R"("lease_ms":{"type":"integer","minimum":100,"maximum":86400000},"wait_ms":{"type":"integer",)"
    R"("minimum":0,"maximum":60000,"description":"How long to wait for a message."},)"
    R"("worker_id":{"type":"string","maxLength":128}}})";
#define CAIRN_CODEQ_TOKEN R"("lease_token":{"type":"string","description":"As the claim gave it."})"
constexpr std::string_view kAckSchema = R"({"type":"object","required":["lease_token"],)"
                                        R"("properties":{)" CAIRN_CODEQ_TOKEN "}}";
constexpr std::string_view kNackSchema =
    R"({"type":"object","required":["lease_token"],"properties":{)" CAIRN_CODEQ_TOKEN
    R"(,"delay_ms":{"type":"integer","minimum":0},"reason":{"type":"string"}}})";
constexpr std::string_view kExtendSchema =
    R"({"type":"object","required":["lease_token"],"properties":{)" CAIRN_CODEQ_TOKEN
    R"(,"lease_ms":{"type":"integer","minimum":100,"maximum":86400000}}})";
constexpr std::string_view kRedriveSchema =
    R"({"type":"object","properties":{"id":{"type":"string","description":"One letter; all unless )"
    R"(given."}}})";

std::vector<doors::RouteResponse> Responses(int status, std::string_view what) {
  std::vector<doors::RouteResponse> responses{{status, what, kAny}};
  for (const auto& [refused, why] : std::initializer_list<std::pair<int, std::string_view>>{
           {400, "CS_VALIDATION_FAILED, and the member that is wrong."},
           {403, "CS_AUTHZ_DENIED: the key is for other topics."},
           {404, "CS_NOT_FOUND."},
           {409, "CS_CONFLICT: the lease has passed on."},
           {413, "CS_TOO_LARGE."},
           {503, "The store takes no requests now."},
           {504, "CS_CODEQ_CORRELATION_TIMEOUT."}}) {
    if (refused != status) responses.push_back({refused, why, kAny});
  }
  return responses;
}

void AddMessageRoutes(const SharedCodeq& parts, doors::RouteTable& table) {
  AddCodeqRoute(parts, table,
                {.method = "POST",
                 .path = "/v1/codeq/topics/{topic}/messages",
                 .permission = kCodeqPublish,
                 .summary = "Publishes one message, or several.",
                 .query = {{"delay_ms", "Not to be claimed before.", "integer"},
                           {"priority", "critical, high or normal."}},
                 .request_schema = kPublishSchema,
                 .checks_body_itself = true,
                 .responses = Responses(202, "Published; 200 for several, each with its answer."),
                 .body_limit = kMaxMessagesBodyBytes},
                PostMessages);
  AddCodeqRoute(parts, table,
                {.method = "POST",
                 .path = "/v1/codeq/topics/{topic}/claim",
                 .permission = kCodeqConsume,
                 .summary = "Leases messages to a consumer, and waits for some.",
                 .request_schema = kClaimSchema,
                 .optional_body = true,
                 .checks_body_itself = true,
                 .responses = Responses(200, "The messages; none if there are none.")},
                PostClaim);
  const auto finish = [&](std::string_view path, std::string_view summary, std::string_view schema,
                          CodeqHandler handler) {
    AddCodeqRoute(parts, table,
                  {.method = "POST",
                   .path = path,
                   .permission = kCodeqConsume,
                   .summary = summary,
                   .request_schema = schema,
                   .checks_body_itself = true,
                   .responses = Responses(200, "Done.")},
                  handler);
  };
  finish("/v1/codeq/messages/{id}/ack", "Ends a message.", kAckSchema, PostAck);
  finish("/v1/codeq/messages/{id}/nack", "Gives a message back, to be claimed again.", kNackSchema,
         PostNack);
  finish("/v1/codeq/messages/{id}/extend", "Keeps a message for longer.", kExtendSchema,
         PostExtend);
}

void AddLookRoutes(const SharedCodeq& parts, doors::RouteTable& table) {
  const auto look = [&](std::string_view path, std::string_view summary, CodeqHandler handler,
                        std::vector<doors::QueryParameter> query = {}) {
    AddCodeqRoute(parts, table,
                  {.method = "GET",
                   .path = path,
                   .permission = kCodeqRead,
                   .summary = summary,
                   .query = std::move(query),
                   .responses = Responses(200, "What there is.")},
                  handler);
  };
  look("/v1/codeq/topics", "All topics.", GetTopics);
  look("/v1/codeq/topics/{topic}", "How many messages a topic has.", GetTopic);
  look("/v1/codeq/dlq/{topic}", "Dead letters, oldest first.", GetLetters,
       {{"cursor", "`next` of the page before."}, {"limit", "1 to 500.", "integer"}});
  look("/v1/codeq/dlq/{topic}/{id}", "One dead letter.", GetLetter);
  AddCodeqRoute(parts, table,
                {.method = "GET",
                 .path = "/v1/codeq/results/{tenant}/{request}",
                 .permission = kCodeqRead,
                 .summary = "The result of a request, kept for ten minutes.",
                 .query = {{"activation_id", "Only this activation's."},
                           {"wait_ms", "How long to wait for it: up to 60000.", "integer"}},
                 .responses = Responses(200, "An InvocationResult, cs.results.v1.")},
                GetResult);
}

void AddLetterRoutes(const SharedCodeq& parts, doors::RouteTable& table) {
  AddCodeqRoute(parts, table,
                {.method = "POST",
                 .path = "/v1/codeq/dlq/{topic}/redrive",
                 .permission = kCodeqManage,
                 .summary = "Publishes dead letters again.",
                 .request_schema = kRedriveSchema,
                 .optional_body = true,
                 .checks_body_itself = true,
                 .responses = Responses(200, "How many; those that still do not validate stay.")},
                PostRedrive);
  AddCodeqRoute(parts, table,
                {.method = "DELETE",
                 .path = "/v1/codeq/dlq/{topic}",
                 .permission = kCodeqManage,
                 .summary = "Removes all dead letters of a topic.",
                 .responses = Responses(200, "How many.")},
                DeleteLetters);
  AddCodeqRoute(parts, table,
                {.method = "DELETE",
                 .path = "/v1/codeq/dlq/{topic}/{id}",
                 .permission = kCodeqManage,
                 .summary = "Removes a dead letter.",
                 .responses = Responses(200, "How many.")},
                DeleteLetter);
}

}  // namespace

void DeclareCodeq(house::Declarations& declarations) {
  constexpr std::string_view kMessagesTell = "is done all day: the topics tell it";
  //                         name           operators workers readers unaudited
  declarations.AddPermission({kCodeqPublish, true, true, false, kMessagesTell});
  declarations.AddPermission({kCodeqConsume, true, true, false, kMessagesTell});
  declarations.AddPermission({kCodeqRead, true, true, true, house::kOnlyReads});
  declarations.AddPermission({kCodeqManage, true, false, false});
  const auto queues = doors::Touches::Only(jobs::kQueueKind);
  declarations.AllowCommands(
      house::CommandUse::kWork, queues,
      {"codeq.publish", "codeq.claim", "codeq.ack", "codeq.nack", "codeq.extend"});
  declarations.AllowCommands(house::CommandUse::kManage, queues,
                             {"codeq.dlq|list", "codeq.dlq|redrive", "codeq.dlq|purge"});
}

void AddCodeqRoutes(const CodeqParts& given, doors::RouteTable& table) {
  const auto parts = std::make_shared<const CodeqParts>(given);
  AddMessageRoutes(parts, table);
  AddLookRoutes(parts, table);
  AddLetterRoutes(parts, table);
  AddCodeqTaskRoutes(parts, table);
}

}  // namespace cairn::functions
