#include "functions/model/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "functions/model/json_writer.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"

namespace cairn::functions {
namespace {

constexpr int64_t kMaxTime = 9'000'000'000'000'000;
constexpr int64_t kMaxVersion = 999'999'999'999'999'999;

constexpr std::array<std::string_view, 6> kTriggers = {"http", "schedule", "cadence",
                                                       "api",  "queue",    "event"};
constexpr std::array<std::string_view, 5> kStatuses = {"queued", "running", "success", "error",
                                                       "timeout"};

template <typename Enum, size_t kCount>
std::optional<Enum> ParseOne(const std::array<std::string_view, kCount>& names,
                             std::string_view name) {
  const auto* found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

std::string ReadName(ObjectReader& object, std::string_view member, NameKind kind) {
  std::string name = object.Text(member, {1, kMaxMessageBytes});
  const Result<void> checked = CheckName(kind, name);
  if (!checked.ok()) object.Fail(member, "is wrong: " + std::string(RefusalText(checked.error())));
  return name;
}

Trigger ReadTrigger(ObjectReader object) {
  Trigger trigger;
  const std::string type = object.Choice("type", {"http", "schedule", "cadence", "api"});
  trigger.type = ParseTrigger(type).value_or(TriggerType::kApi);
  trigger.source = object.RawObject("source").value_or("{}");
  if (trigger.source.size() > kMaxTriggerSourceBytes) {
    object.Fail("source", fmt::format("has more than {} bytes", kMaxTriggerSourceBytes));
  }
  object.RefuseOthers();
  return trigger;
}

Principal ReadPrincipal(ObjectReader object) {
  Principal principal{.sub = object.OptionalText("sub", {0, kMaxSubjectBytes}).value_or(""),
                      .roles = object.Texts("roles", kMaxRoles, {1, kMaxRoleBytes})};
  object.RefuseOthers();
  return principal;
}

InvocationRequest ReadRequest(ObjectReader& object) {
  InvocationRequest request;
  request.activation_id = ReadName(object, "activation_id", NameKind::kActivation);
  request.request_id = ReadName(object, "request_id", NameKind::kRequest);
  request.tenant = ReadName(object, "tenant", NameKind::kTenant);
  request.ns = ReadName(object, "namespace", NameKind::kNamespace);
  request.ref = ReadRef(object.Object("ref"), NamesFunction::kYes);
  request.trigger = ReadTrigger(object.Object("trigger"));
  if (auto principal = object.OptionalObject("principal")) {
    request.principal = ReadPrincipal(*std::move(principal));
  }
  request.deadline_ms = object.Integer("deadline_ms", 1, kMaxTime);
  request.event = object.Raw("event");
  if (request.event.empty()) object.Fail("event", "is missing");
  if (request.event.size() > kMaxMessageBytes) object.Fail("event", "is too large");
  object.RefuseOthers();
  return request;
}

InvocationResult ReadResult(ObjectReader& object) {
  InvocationResult result;
  result.activation_id = ReadName(object, "activation_id", NameKind::kActivation);
  result.request_id = ReadName(object, "request_id", NameKind::kRequest);
  result.status = ParseStatus(object.Choice("status", {"success", "error", "timeout"}))
                      .value_or(Status::kError);
  result.duration_ms = object.Integer("duration_ms", 0, kMaxTime);
  if (auto returned = object.OptionalObject("result")) {
    result.result = ReadFunctionResult(*std::move(returned));
  }
  if (auto error = object.OptionalObject("error")) {
    result.error = ReadFunctionError(*std::move(error));
  }
  const bool succeeded = result.status == Status::kSuccess;
  if (succeeded && !result.result) object.Fail("result", "is missing from a success");
  if (!succeeded && !result.error) object.Fail("error", "is missing from what did not succeed");
  object.RefuseOthers();
  return result;
}

Result<void> CheckSize(std::string_view text) {
  if (text.size() <= kMaxMessageBytes) return {};
  return Refuse(Code::kTooLarge, fmt::format("a message may have {} bytes", kMaxMessageBytes));
}

}  // namespace

std::string_view TriggerName(TriggerType type) { return kTriggers[static_cast<size_t>(type)]; }
std::optional<TriggerType> ParseTrigger(std::string_view name) {
  return ParseOne<TriggerType>(kTriggers, name);
}

std::string_view StatusName(Status status) { return kStatuses[static_cast<size_t>(status)]; }
std::optional<Status> ParseStatus(std::string_view name) {
  return ParseOne<Status>(kStatuses, name);
}

void WriteRef(const Ref& ref, std::string_view name, JsonWriter& json) {
  json.BeginObject(name);
  if (!ref.function.empty()) json.Text("function", ref.function);
  if (!ref.alias.empty()) json.Text("alias", ref.alias);
  if (ref.version) json.Integer("version", *ref.version);
  json.EndObject();
}

Ref ReadRef(ObjectReader object, NamesFunction names_function) {
  Ref ref;
  if (names_function == NamesFunction::kYes) {
    ref.function = ReadName(object, "function", NameKind::kFunction);
  }
  if (object.OptionalText("alias", {0, kMaxMessageBytes})) {
    ref.alias = ReadName(object, "alias", NameKind::kAlias);
  }
  if (const auto version = object.OptionalInteger("version", 1, kMaxVersion)) {
    ref.version = static_cast<uint64_t>(*version);
  }
  if (ref.alias.empty() && !ref.version) object.Fail("alias", "or version must be there");
  object.RefuseOthers();
  return ref;
}

void WriteFunctionResult(const FunctionResult& result, std::string_view name, JsonWriter& json) {
  json.BeginObject(name);
  json.Integer("statusCode", result.status_code);
  json.TextMap("headers", result.headers);
  if (!result.cookies.empty()) json.Texts("cookies", result.cookies);
  json.Text("body", result.body);
  json.Switch("isBase64Encoded", result.is_base64);
  json.EndObject();
}

void WriteFunctionError(const FunctionError& error, std::string_view name, JsonWriter& json) {
  json.BeginObject(name);
  json.Text("type", error.type);
  json.Text("message", error.message);
  json.Text("stack", error.stack);
  json.EndObject();
}

FunctionResult ReadFunctionResult(ObjectReader object) {
  FunctionResult result;
  result.status_code = static_cast<int>(
      object.OptionalInteger("statusCode", kMinStatusCode, kMaxStatusCode).value_or(200));
  result.headers = object.TextMap("headers", kMaxResultHeaders, kMaxResultBytes);
  result.cookies = object.Texts("cookies", kMaxResultHeaders, {0, kMaxResultHeaderBytes});
  result.body = object.OptionalText("body", {0, kMaxResultBytes}).value_or("");
  result.is_base64 = object.OptionalSwitch("isBase64Encoded").value_or(false);
  object.RefuseOthers();
  return result;
}

FunctionError ReadFunctionError(ObjectReader object) {
  FunctionError error{
      .type = object.Text("type", {0, kMaxErrorTypeBytes}),
      .message = object.OptionalText("message", {0, kMaxErrorMessageBytes}).value_or(""),
      .stack = object.OptionalText("stack", {0, kMaxStackBytes}).value_or("")};
  object.RefuseOthers();
  return error;
}

Result<Envelope> ParseEnvelope(std::string_view text) {
  CAIRN_RETURN_IF_ERROR(CheckSize(text));
  return ReadObject(text, Code::kValidation, [](ObjectReader& object) {
    Envelope envelope;
    object.Choice("schema", {kEnvelopeSchema});
    envelope.id = object.Text("id", {1, kMaxMessageIdBytes});
    envelope.ts_ms = object.Integer("ts_ms", 1, kMaxTime);
    envelope.tenant = ReadName(object, "tenant", NameKind::kTenant);
    envelope.type = object.Text("type", {1, kMaxMessageTypeBytes});
    const auto body = object.RawObject("body");
    if (!body) object.Fail("body", "is missing");
    envelope.body = body.value_or("{}");
    object.RefuseOthers();
    return envelope;
  });
}

Result<InvocationRequest> ParseInvocationRequest(std::string_view text) {
  CAIRN_RETURN_IF_ERROR(CheckSize(text));
  return ReadObject(text, Code::kValidation, ReadRequest);
}

Result<InvocationResult> ParseInvocationResult(std::string_view text) {
  CAIRN_RETURN_IF_ERROR(CheckSize(text));
  return ReadObject(text, Code::kValidation, ReadResult);
}

std::string EnvelopeText(const Envelope& envelope) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("schema", kEnvelopeSchema);
  json.Text("id", envelope.id);
  json.Integer("ts_ms", envelope.ts_ms);
  json.Text("tenant", envelope.tenant);
  json.Text("type", envelope.type);
  json.Raw("body", envelope.body);
  json.EndObject();
  return text;
}

std::string InvocationRequestText(const InvocationRequest& request) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("activation_id", request.activation_id);
  json.Text("request_id", request.request_id);
  json.Text("tenant", request.tenant);
  json.Text("namespace", request.ns);
  WriteRef(request.ref, "ref", json);
  json.BeginObject("trigger");
  json.Text("type", TriggerName(request.trigger.type));
  json.Raw("source", request.trigger.source);
  json.EndObject();
  json.BeginObject("principal");
  json.Text("sub", request.principal.sub);
  json.Texts("roles", request.principal.roles);
  json.EndObject();
  json.Integer("deadline_ms", request.deadline_ms);
  json.Raw("event", request.event);
  json.EndObject();
  return text;
}

std::string InvocationResultText(const InvocationResult& result) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("activation_id", result.activation_id);
  json.Text("request_id", result.request_id);
  json.Text("status", StatusName(result.status));
  json.Integer("duration_ms", result.duration_ms);
  if (result.result) {
    WriteFunctionResult(*result.result, "result", json);
  } else {
    json.Null("result");
  }
  if (result.error) {
    WriteFunctionError(*result.error, "error", json);
  } else {
    json.Null("error");
  }
  json.EndObject();
  return text;
}

namespace {

// Leaves what comes first of `list`, as many as may be and as fit into `room`, which gets smaller.
// Returns whether that is all.
template <typename Item, typename Size>
bool KeepFitting(std::vector<Item>& list, Size size_of, size_t& room) {
  size_t kept = 0;
  while (kept < std::min(list.size(), kMaxResultHeaders) && size_of(list[kept]) <= room) {
    room -= size_of(list[kept++]);
  }
  const bool all = kept == list.size();
  list.resize(kept);
  return all;
}

}  // namespace

bool Truncate(FunctionResult& result) {
  size_t room = kMaxResultBytes;
  bool cut = !KeepFitting(
      result.headers, [](const auto& header) { return header.first.size() + header.second.size(); },
      room);
  cut |= !KeepFitting(
      result.cookies, [](const std::string& cookie) { return cookie.size(); }, room);
  if (result.body.size() <= room) return cut;
  if (result.is_base64) {
    result.body.resize(room / 4 * 4);
  } else {
    result.body = CleanText(result.body, room);
  }
  return true;
}

void Truncate(FunctionError& error) {
  error.type = CleanText(error.type, kMaxErrorTypeBytes);
  error.message = CleanText(error.message, kMaxErrorMessageBytes);
  error.stack = CleanText(error.stack, kMaxStackBytes);
}

}  // namespace cairn::functions
