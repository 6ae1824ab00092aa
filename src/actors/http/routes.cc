#include "actors/http/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <cctype>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "actors/http/route_schemas.h"
#include "actors/model/actor_key.h"
#include "actors/model/limits.h"
#include "actors/model/refusal.h"
#include "actors/operations/actor_json.h"
#include "actors/operations/operation.h"
#include "base/base64.h"
#include "base/json_text.h"
#include "doors/http/request_values.h"
#include "doors/turn/work.h"

namespace cairn::actors {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;
using doors::RouteCall;
using net::HttpReply;
using net::HttpResponse;
using SharedParts = std::shared_ptr<const RouteParts>;
using Kind = BatchChange::Kind;

// --- Operations ----------------------------------------------------------------------------------

const doors::NamePatterns* ActorsOf(const RouteCall& call) {
  return call.principal == nullptr ? nullptr : doors::NamesOf(call.principal->grants(), kActorKind);
}

// One operation for one call.
template <typename Request, typename Answer>
class OperationWork final : public doors::Work {
 public:
  OperationWork(const Policy& policy, const doors::NamePatterns* actors, const Request& request,
                const Operation<Request, Answer>& operation, store::Access how)
      : policy_(policy), actors_(actors), request_(request), run_(operation.run) {
    operation.scopes(request, scopes);
    access = how;
    held.exclusive = scopes.exclusive();
  }

  Result<void> Run(store::Transaction& transaction) override {
    held.wanted.Clear();
    Context context{transaction, held, policy_, actors_};
    answer_.emplace(run_(context, request_));
    if (!answer_->ok()) return answer_->error();
    return {};
  }
  const Result<Answer>& answer() const { return *answer_; }

 private:
  const Policy& policy_;
  const doors::NamePatterns* const actors_;
  const Request& request_;
  Result<Answer> (*const run_)(Context&, const Request&);
  std::optional<Result<Answer>> answer_;
};

enum class Where { kLoop, kPool };
struct How {
  store::Access access = store::Access::kRead;
  Where where = Where::kLoop;
};
constexpr How kRead{};
constexpr How kReadLong{store::Access::kRead, Where::kPool};
constexpr How kWrite{store::Access::kWrite, Where::kLoop};

template <typename Answer>
using Replier = std::function<HttpResponse(const Answer&)>;

// Answers a call by an operation that it shares with the commands.
template <typename Request, typename Answer>
awaitable<Result<HttpReply>> Perform(SharedParts parts, const RouteCall& call,
                                     Result<Request> request, Operation<Request, Answer> operation,
                                     How how, Replier<Answer> reply) {
  if (!request.ok()) co_return request.error();
  OperationWork<Request, Answer> work(parts->policy, ActorsOf(call), *request, operation,
                                      how.access);
  Result<void> done;
  if (how.where == Where::kPool) {
    done = co_await parts->store.RunOnPool(work);
  } else {
    done = co_await parts->store.Run(work);
  }
  if (!done.ok()) co_return done.error();
  co_return HttpReply(reply(*work.answer()));
}

// --- Requests ------------------------------------------------------------------------------------

Result<ActorRef> ActorOf(const RouteCall& call) { return ParseActorRef(call.PathValue("actor")); }

Result<Bytes> Decoded(std::string_view name, std::string_view text) {
  std::optional<Bytes> bytes = Base64Decode(text);
  if (bytes) return std::move(*bytes);
  return Refuse(Reason::kBadRequest, fmt::format("{} is not base64", name));
}

// A member with bytes; `otherwise` if it is not there.
Result<std::optional<Bytes>> BytesOf(const json::value& body, std::string_view name) {
  const json::value* value = doors::MemberOf(body, name);
  if (value == nullptr) return std::optional<Bytes>();
  CAIRN_ASSIGN_OR_RETURN(Bytes bytes, Decoded(name, value->as_string()));
  return std::optional<Bytes>(std::move(bytes));
}

// A member that must be there.
Result<Bytes> RequiredBytes(const json::value& body, std::string_view name) {
  CAIRN_ASSIGN_OR_RETURN(std::optional<Bytes> bytes, BytesOf(body, name));
  if (bytes) return std::move(*bytes);
  return Refuse(Reason::kBadRequest, fmt::format("{} is missing", name));
}

Result<std::optional<Bytes>> QueryBytes(const RouteCall& call, std::string_view name) {
  const auto text = call.request.Query(name);
  if (!text) return std::optional<Bytes>();
  CAIRN_ASSIGN_OR_RETURN(Bytes bytes, Decoded(name, *text));
  return std::optional<Bytes>(std::move(bytes));
}

Result<bool> QuerySwitch(const RouteCall& call, std::string_view name) {
  const std::string_view text = call.request.Query(name).value_or("false");
  if (text == "true" || text == "false") return text == "true";
  return Refuse(Reason::kBadRequest, fmt::format("{} is true or false", name));
}

std::string QueryText(const RouteCall& call, std::string_view name) {
  return std::string(call.request.Query(name).value_or(""));
}

Result<CreateRequest> CreateOf(const RouteCall& call) {
  const std::vector<std::string> parts = doors::StringsOf(call.body, "key");
  CreateRequest request{.name = {doors::TextOf(call.body, "namespace"),
                                 doors::TextOf(call.body, "name"), ActorKeyText(parts)}};
  CAIRN_ASSIGN_OR_RETURN(request.input, BytesOf(call.body, "input"));
  return request;
}

Result<DirectoryEntry> NameOf(const RouteCall& call) {
  return DirectoryEntry{QueryText(call, "namespace"), QueryText(call, "name"),
                        QueryText(call, "key")};
}

Result<ListActorsRequest> ListActorsOf(const RouteCall& call) {
  ListActorsRequest request{.name_space = QueryText(call, "namespace"),
                            .name = QueryText(call, "name"),
                            .after = QueryText(call, "after")};
  CAIRN_ASSIGN_OR_RETURN(request.limit, doors::QueryNumber(call.request, "limit",
                                                           kDefaultActorsPage, 1, kMaxActorsPage));
  return request;
}

Result<KeysRequest> KeysOf(const RouteCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const ActorRef actor, ActorOf(call));
  KeysRequest request{.actor = actor, .keys = {}};
  for (const std::string& key : doors::StringsOf(call.body, "keys")) {
    CAIRN_ASSIGN_OR_RETURN(request.keys.emplace_back(), Decoded("keys", key));
  }
  return request;
}

Result<KeysRequest> OneKeyOf(const RouteCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const ActorRef actor, ActorOf(call));
  CAIRN_ASSIGN_OR_RETURN(Bytes key, Decoded("the key", call.PathValue("key")));
  return KeysRequest{.actor = actor, .keys = {std::move(key)}};
}

Result<ListRequest> ListOf(const RouteCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const ActorRef actor, ActorOf(call));
  ListRequest request{.actor = actor};
  CAIRN_ASSIGN_OR_RETURN(std::optional<Bytes> prefix, QueryBytes(call, "prefix"));
  request.prefix = std::move(prefix).value_or(Bytes());
  CAIRN_ASSIGN_OR_RETURN(request.begin, QueryBytes(call, "begin"));
  CAIRN_ASSIGN_OR_RETURN(request.end, QueryBytes(call, "end"));
  CAIRN_ASSIGN_OR_RETURN(request.after, QueryBytes(call, "after"));
  CAIRN_ASSIGN_OR_RETURN(request.end_exclusive, QuerySwitch(call, "exclusive"));
  CAIRN_ASSIGN_OR_RETURN(request.reverse, QuerySwitch(call, "reverse"));
  CAIRN_ASSIGN_OR_RETURN(
      request.limit,
      doors::QueryNumber(call.request, "limit", kDefaultListEntries, 0, kMaxListEntries));
  CAIRN_ASSIGN_OR_RETURN(request.bytes, doors::QueryNumber(call.request, "bytes", kDefaultListBytes,
                                                           1, kMaxListBytes));
  return request;
}

Result<PutRequest> PutOf(const RouteCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const ActorRef actor, ActorOf(call));
  PutRequest request{.actor = actor, .entries = {}};
  for (const json::value& entry : call.body.at("entries").as_array()) {
    PutRequest::Pair& pair = request.entries.emplace_back();
    CAIRN_ASSIGN_OR_RETURN(pair.key, RequiredBytes(entry, "key"));
    CAIRN_ASSIGN_OR_RETURN(pair.value, RequiredBytes(entry, "value"));
  }
  return request;
}

Result<RangeRequest> RangeOfCall(const RouteCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const ActorRef actor, ActorOf(call));
  RangeRequest request{.actor = actor, .begin = {}, .end = {}};
  CAIRN_ASSIGN_OR_RETURN(request.begin, RequiredBytes(call.body, "begin"));
  CAIRN_ASSIGN_OR_RETURN(request.end, RequiredBytes(call.body, "end"));
  return request;
}

Result<BatchChange> ChangeOf(const json::value& body) {
  const std::string op = doors::TextOf(body, "op");
  BatchChange change;
  if (op == "put") {
    CAIRN_ASSIGN_OR_RETURN(change.key, RequiredBytes(body, "key"));
    CAIRN_ASSIGN_OR_RETURN(change.value, RequiredBytes(body, "value"));
  } else if (op == "delete") {
    change.kind = Kind::kDelete;
    CAIRN_ASSIGN_OR_RETURN(change.key, RequiredBytes(body, "key"));
  } else if (op == "delete_range") {
    change.kind = Kind::kDeleteRange;
    CAIRN_ASSIGN_OR_RETURN(change.key, RequiredBytes(body, "begin"));
    CAIRN_ASSIGN_OR_RETURN(change.end, RequiredBytes(body, "end"));
  } else {
    change.kind = Kind::kDrop;
  }
  return change;
}

Result<BatchRequest> BatchOf(const RouteCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const ActorRef actor, ActorOf(call));
  BatchRequest request{.actor = actor,
                       .idempotency_id = doors::TextOf(call.body, "idempotency_id")};
  if (const json::value* conditions = doors::MemberOf(call.body, "conditions")) {
    for (const json::value& one : conditions->as_array()) {
      Precondition& condition = request.conditions.emplace_back();
      CAIRN_ASSIGN_OR_RETURN(condition.key, RequiredBytes(one, "key"));
      condition.revision = static_cast<uint64_t>(doors::NumberOf(one, "revision").value_or(0));
    }
  }
  for (const json::value& change : call.body.at("changes").as_array()) {
    CAIRN_ASSIGN_OR_RETURN(request.changes.emplace_back(), ChangeOf(change));
  }
  return request;
}

// --- Answers -------------------------------------------------------------------------------------

void AppendEntry(const Entry& entry, std::string& out) {
  fmt::format_to(std::back_inserter(out),
                 R"({{"key":"{}","value":"{}","revision":{},"updated_at_ms":{}}})",
                 Base64Encode(entry.key), Base64Encode(entry.value), entry.meta.revision,
                 entry.meta.updated_ms);
}

HttpResponse Ok(std::string text) { return HttpResponse::Json(200, std::move(text)); }

HttpResponse ActorReply(const ActorInfo& actor) { return Ok(ActorJson(actor)); }
HttpResponse CreatedReply(const ActorInfo& actor) {
  return HttpResponse::Json(201, ActorJson(actor));
}
HttpResponse MadeReply(const MadeActor& made) {
  return HttpResponse::Json(made.created ? 201 : 200, MadeActorJson(made));
}
HttpResponse ActorsReply(const ActorsPage& page) { return Ok(ActorsJson(page)); }
HttpResponse InputReply(const std::optional<Bytes>& input) {
  if (!input) return Ok(R"({"input":null})");
  return Ok(fmt::format(R"({{"input":"{}"}})", Base64Encode(*input)));
}
HttpResponse GenerationReply(const uint64_t& generation) {
  return Ok(fmt::format(R"({{"generation":{}}})", generation));
}
HttpResponse BatchReply(const BatchAnswer& answer) {
  return Ok(fmt::format(R"({{"revision":{},"repeated":{}}})", answer.revision, answer.repeated));
}

using Found = std::vector<std::optional<Entry>>;

HttpResponse FoundReply(const Found& found) {
  std::string text = R"({"entries":[)";
  for (const std::optional<Entry>& entry : found) {
    if (text.back() != '[') text.push_back(',');
    if (entry) {
      AppendEntry(*entry, text);
    } else {
      text += "null";
    }
  }
  return Ok(text + "]}");
}

HttpResponse PageReply(const EntryPage& page) {
  std::string text = R"({"entries":[)";
  for (const Entry& entry : page.entries) {
    if (text.back() != '[') text.push_back(',');
    AppendEntry(entry, text);
  }
  text += R"(],"next":)";
  if (page.more && !page.entries.empty()) {
    text += fmt::format(R"("{}")", Base64Encode(page.entries.back().key));
  } else {
    text += "null";
  }
  return Ok(text + "}");
}

// {"error":{"group","code","message","fields","request_id"}}
std::string ErrorBody(const doors::ToldError& error) {
  const FieldsAndText split =
      error.is_refusal ? SplitFields(error.message) : FieldsAndText{{}, error.message};
  std::string code(error.code == "not_json" ? "invalid" : error.code);
  std::ranges::transform(code, code.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string fields;
  for (const auto& [name, value] : split.fields) {
    if (!fields.empty()) fields.push_back(',');
    fields += JsonString(name) + ":" + JsonString(value);
  }
  return fmt::format(
      R"({{"error":{{"group":"{}","code":{},"message":{},"fields":{{{}}},"request_id":{}}}}})",
      error.is_refusal ? "actor" : "server", JsonString(code), JsonString(split.text), fields,
      JsonString(error.request_id));
}

// --- Handlers ------------------------------------------------------------------------------------

awaitable<Result<HttpReply>> GetLimits(SharedParts parts, const RouteCall& /*call*/) {
  co_return HttpReply(Ok(LimitsJson(parts->policy)));
}

// A missing entry is an error here: the path names it.
awaitable<Result<HttpReply>> GetEntry(SharedParts parts, const RouteCall& call) {
  const Result<KeysRequest> request = OneKeyOf(call);
  if (!request.ok()) co_return request.error();
  OperationWork<KeysRequest, Found> work(parts->policy, ActorsOf(call), *request, operations::kGet,
                                         store::Access::kRead);
  const Result<void> done = co_await parts->store.Run(work);
  if (!done.ok()) co_return done.error();
  const std::optional<Entry>& entry = work.answer().value().front();
  if (!entry) {
    co_return Refuse(Reason::kNoSuchEntry, fmt::format("the actor has no entry '{}'",
                                                       Printable(request.value().keys.front())));
  }
  std::string text;
  AppendEntry(*entry, text);
  co_return HttpReply(Ok(std::move(text)));
}

awaitable<Result<HttpReply>> DeleteActor(SharedParts parts, const RouteCall& call) {
  const Result<ActorRef> actor = ActorOf(call);
  if (!actor.ok()) co_return actor.error();
  OperationWork<ActorRef, void> work(parts->policy, ActorsOf(call), *actor, operations::kDestroy,
                                     store::Access::kWrite);
  const Result<void> done = co_await parts->store.Run(work);
  if (!done.ok()) co_return done.error();
  co_return HttpReply(Ok(R"({"destroyed":true})"));
}

// A handler: the request from the call, an operation, the answer.
template <typename Request, typename Answer>
auto Handling(Result<Request> (*parse)(const RouteCall&), Operation<Request, Answer> operation,
              How how, HttpResponse (*reply)(const Answer&)) {
  return [parse, operation, how, reply](SharedParts parts, const RouteCall& call) {
    return Perform<Request, Answer>(std::move(parts), call, parse(call), operation, how, reply);
  };
}

constexpr std::string_view kUnknownActor = "There is no such actor.";
constexpr std::string_view kStale = "The generation is not the actor's.";
constexpr std::string_view kTooLarge = "A limit does not allow it; `fields` says which.";

doors::RouteResponse Told(int status, std::string_view description) {
  return {status, description, kErrorSchema};
}

// Adds rows that have the same parts and tag.
class Rows {
 public:
  Rows(SharedParts parts, doors::RouteTable& table) : parts_(std::move(parts)), table_(table) {}

  template <typename Handler>
  void Add(doors::Route route, Handler handler) {
    route.tag = "actors";
    route.touches = doors::Touches::Only(kActorKind);
    route.handler = [parts = parts_, handler](const RouteCall& call) {
      return handler(parts, call);
    };
    table_.Add(std::move(route));
  }

 private:
  const SharedParts parts_;
  doors::RouteTable& table_;
};

void AddIdentityRoutes(Rows& rows) {
  rows.Add({.method = "POST",
            .path = "/v1/actors",
            .permission = "actors.work",
            .summary = "Creates an actor.",
            .request_schema = kCreateSchema,
            .responses = {{201, "It is there.", kActorSchema},
                          Told(400, "The request is invalid."),
                          Told(409, "The key is taken; `existing_actor_id` has it."),
                          Told(413, kTooLarge)},
            .body_limit = kMaxCreateBodyBytes},
           Handling(CreateOf, operations::kCreate, kWrite, CreatedReply));
  rows.Add({.method = "PUT",
            .path = "/v1/actors",
            .permission = "actors.work",
            .summary = "The actor with a key, which is created if there is none.",
            .request_schema = kCreateSchema,
            .responses = {{200, "It was there.", kMadeActorSchema},
                          {201, "It was created.", kMadeActorSchema},
                          Told(400, "The request is invalid."),
                          Told(413, kTooLarge)},
            .body_limit = kMaxCreateBodyBytes},
           Handling(CreateOf, operations::kGetOrCreate, kWrite, MadeReply));
  rows.Add({.method = "GET",
            .path = "/v1/actors",
            .permission = "actors.list",
            .summary = "The actors of a namespace, in the order of their names and keys.",
            .query = {{.name = "namespace", .description = "Their namespace.", .required = true},
                      {"name", "Only those of this name."},
                      {"after", "The cursor: `next` of the page before."},
                      {"limit", "How many at most, up to 1000.", "integer"}},
            .responses = {{200, "One page.", kActorsSchema}, Told(400, "The request is invalid.")}},
           Handling(ListActorsOf, operations::kListActors, kReadLong, ActorsReply));
  rows.Add({.method = "GET",
            .path = "/v1/actors/find",
            .permission = "actors.get",
            .summary = "The actor with a key.",
            .query = {{.name = "namespace", .description = "Its namespace.", .required = true},
                      {.name = "name", .description = "Its name.", .required = true},
                      {.name = "key",
                       .description = "Its key as one text: parts with / between them.",
                       .required = true}},
            .responses = {{200, "The actor.", kActorSchema},
                          Told(400, "The request is invalid."),
                          Told(404, kUnknownActor)}},
           Handling(NameOf, operations::kFind, kRead, ActorReply));
  rows.Add({.method = "GET",
            .path = "/v1/actors/limits",
            .permission = "actors.get",
            .summary = "The limits of actors.",
            .responses = {{200, "Each by its name.", kLimitsSchema}}},
           GetLimits);
  rows.Add({.method = "GET",
            .path = "/v1/actors/{actor}",
            .permission = "actors.get",
            .summary = "One actor: an id, or id@generation.",
            .responses = {{200, "The actor.", kActorSchema},
                          Told(400, "That is no id."),
                          Told(404, kUnknownActor),
                          Told(409, kStale)}},
           Handling(ActorOf, operations::kLook, kRead, ActorReply));
  rows.Add({.method = "GET",
            .path = "/v1/actors/{actor}/input",
            .permission = "actors.get",
            .summary = "What the actor was given when it was created.",
            .responses = {{200, "Null: nothing.", kInputSchema},
                          Told(400, "That is no id."),
                          Told(404, kUnknownActor),
                          Told(409, kStale)}},
           Handling(ActorOf, operations::kInput, kRead, InputReply));
  rows.Add({.method = "POST",
            .path = "/v1/actors/{actor}/start",
            .permission = "actors.work",
            .summary = "Begins the actor's next generation, which fences off those before.",
            .responses = {{200, "The generation.", kGenerationSchema},
                          Told(400, "That is no id."),
                          Told(404, kUnknownActor),
                          Told(409, kStale)}},
           Handling(ActorOf, operations::kStart, kWrite, GenerationReply));
  rows.Add({.method = "DELETE",
            .path = "/v1/actors/{actor}",
            .permission = "actors.destroy",
            .summary = "Destroys an actor with all its data; its key is free again.",
            .responses = {{200, "It is gone.", kDoneSchema},
                          Told(400, "That is no id."),
                          Told(404, kUnknownActor),
                          Told(409, kStale)}},
           DeleteActor);
}

void AddReadRoutes(Rows& rows) {
  rows.Add(
      {.method = "GET",
       .path = "/v1/actors/{actor}/entries",
       .permission = "actors.get",
       .summary = "Entries in the order of their keys. Keys are in base64.",
       .query = {{"prefix", "Only keys that begin so."},
                 {"begin", "Only keys from this one on."},
                 {"end", "Only keys up to this one."},
                 {"exclusive", "Without the key `end`.", "boolean"},
                 {"reverse", "From the last to the first.", "boolean"},
                 {"after", "Where to go on: `next` of the page before."},
                 {"limit", "How many at most, up to 16384.", "integer"},
                 {"bytes", "How many bytes of keys and values at most, up to 16 MiB.", "integer"}},
       .responses = {{200, "One page.", kPageSchema},
                     Told(400, "The request is invalid."),
                     Told(404, kUnknownActor),
                     Told(409, kStale),
                     Told(413, kTooLarge)}},
      Handling(ListOf, operations::kList, kRead, PageReply));
  rows.Add({.method = "GET",
            .path = "/v1/actors/{actor}/entries/{key}",
            .permission = "actors.get",
            .summary = "One entry, whose key is in base64.",
            .responses = {{200, "The entry.", kEntrySchema},
                          Told(400, "The request is invalid."),
                          Told(404, "There is no such actor, or it has no such entry."),
                          Told(409, kStale),
                          Told(413, kTooLarge)}},
           GetEntry);
  rows.Add({.method = "POST",
            .path = "/v1/actors/{actor}/get",
            .permission = "actors.get",
            .summary = "Several entries, as of one moment.",
            .request_schema = kKeysSchema,
            .responses = {{200, "The entries.", kFoundSchema},
                          Told(400, "The request is invalid."),
                          Told(404, kUnknownActor),
                          Told(409, kStale),
                          Told(413, kTooLarge)},
            .body_limit = kMaxPutBodyBytes},
           Handling(KeysOf, operations::kGet, kRead, FoundReply));
}

void AddWriteRoutes(Rows& rows) {
  const auto add = [&](std::string_view path, std::string_view summary, std::string_view schema,
                       size_t body_limit, auto handler) {
    rows.Add({.method = "POST",
              .path = path,
              .permission = "actors.work",
              .summary = summary,
              .request_schema = schema,
              .responses = {{200, "It is done.", kBatchAnswerSchema},
                            Told(400, "The request is invalid."),
                            Told(404, kUnknownActor),
                            Told(409,
                                 "The generation is not the actor's, or a precondition does "
                                 "not hold; nothing was done."),
                            Told(413, kTooLarge)},
              .body_limit = body_limit},
             handler);
  };
  add("/v1/actors/{actor}/put", "Writes entries, all or none.", kPutSchema, kMaxPutBodyBytes,
      Handling(PutOf, operations::kPut, kWrite, BatchReply));
  add("/v1/actors/{actor}/delete", "Deletes entries.", kKeysSchema, kMaxPutBodyBytes,
      Handling(KeysOf, operations::kDelete, kWrite, BatchReply));
  add("/v1/actors/{actor}/delete_range", "Deletes entries from `begin` up to `end`, which stays.",
      kRangeSchema, net::kDefaultBodyLimit,
      Handling(RangeOfCall, operations::kDeleteRange, kWrite, BatchReply));
  add("/v1/actors/{actor}/drop", "Deletes all entries.", "", net::kDefaultBodyLimit,
      Handling(ActorOf, operations::kDrop, kWrite, BatchReply));
  add("/v1/actors/{actor}/batch", "Changes entries, all or none, if conditions hold.", kBatchSchema,
      kMaxBatchBodyBytes, Handling(BatchOf, operations::kBatch, kWrite, BatchReply));
}

}  // namespace

void AddActorRoutes(const RouteParts& given, doors::RouteTable& table) {
  table.SetErrorForm({.prefix = "/v1/actors",
                      .body = ErrorBody,
                      .schema = kErrorSchema,
                      .read_refusal = ReadRefusal});
  Rows rows(std::make_shared<const RouteParts>(given), table);
  AddIdentityRoutes(rows);
  AddReadRoutes(rows);
  AddWriteRoutes(rows);
}

}  // namespace cairn::actors
