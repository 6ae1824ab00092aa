#include "functions/codeq/results.h"

#include <fmt/format.h>

#include <utility>

#include "base/clock.h"
#include "data/value/string_value.h"
#include "doors/resp/command.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/keys.h"
#include "jobs/model/json_members.h"

namespace cairn::functions::codeq {
namespace {

// A record's text; nullopt if there is none, or something else under its key.
Result<std::optional<std::string>> ReadText(store::Transaction& transaction, std::string_view key) {
  CAIRN_ASSIGN_OR_RETURN(data::Entry entry, data::Entry::Load(transaction, kDatabase, key));
  CAIRN_ASSIGN_OR_RETURN(data::StringValue value, data::StringValue::Open(std::move(entry)));
  if (!value.exists() || value.wrong_type()) return std::optional<std::string>();
  CAIRN_ASSIGN_OR_RETURN(const BytesView text, value.ReadAll());
  return std::optional<std::string>(text);
}

// A member of a record, if it is text.
std::string TextIn(std::string_view record, std::string_view name) {
  for (const jobs::RawMember& member :
       jobs::MembersOf(record).value_or(std::vector<jobs::RawMember>())) {
    if (member.name == name) return jobs::StringOf(member.json).value_or("");
  }
  return {};
}

Error NothingKnown(std::string_view text) { return Refuse(Code::kNotFound, text); }

}  // namespace

Result<Outgoing> PrepareResult(const ResultMessage& message) {
  return Prepare({.topic = std::string(kResultsTopic),
                  .text = EnvelopeText({.id = message.message_id,
                                        .ts_ms = message.ts_ms,
                                        .tenant = message.tenant,
                                        .type = std::string(kResultType),
                                        .body = message.result}),
                  .trace_parent = message.trace_parent});
}

void AddCorrelationScopes(const CheckedMessage& message, Locks& locks) {
  locks.AddKey(RequestResultKey(message.tenant, message.request_id));
  locks.AddKey(ActivationKey(message.tenant, message.activation_id));
}

Result<Correlation> Correlate(store::Transaction& transaction, const CheckedMessage& message) {
  const std::string key = RequestResultKey(message.tenant, message.request_id);
  CAIRN_ASSIGN_OR_RETURN(const auto record, ReadText(transaction, key));
  if (record && TextIn(*record, "activation_id") == message.activation_id) {
    return Correlation::kRepeated;
  }
  CAIRN_ASSIGN_OR_RETURN(
      const auto activation,
      ReadText(transaction, ActivationKey(message.tenant, message.activation_id)));
  if (!activation) {
    return NothingKnown(fmt::format("body.activation_id is unknown: {} has no activation {}",
                                    message.tenant, message.activation_id));
  }
  const std::string request_id = TextIn(*activation, "request_id");
  if (!request_id.empty() && request_id != message.request_id) {
    return NothingKnown(fmt::format("body.request_id is another than that of activation {}",
                                    message.activation_id));
  }
  CAIRN_ASSIGN_OR_RETURN(data::Entry entry, data::Entry::Load(transaction, kDatabase, key));
  data::PutString(entry, message.body, transaction.now().millis() + kRequestResultTtlMs);
  transaction.Wake(ResultTopic(message.tenant, message.request_id));
  return Correlation::kFirst;
}

store::Topic ResultTopic(std::string_view tenant, std::string_view request_id) {
  return store::Topic::Of(store::Space::kData,
                          "codeq.result " + RequestResultKey(tenant, request_id));
}

Result<std::optional<std::string>> FindResult(store::Transaction& transaction,
                                              const AwaitedResult& what) {
  CAIRN_ASSIGN_OR_RETURN(auto record,
                         ReadText(transaction, RequestResultKey(what.tenant, what.request_id)));
  if (record && !what.activation_id.empty() &&
      TextIn(*record, "activation_id") != what.activation_id) {
    record.reset();
  }
  return record;
}

boost::asio::awaitable<Result<std::optional<std::string>>> AwaitResult(
    doors::RouteStore& store, AwaitedResult what, std::chrono::steady_clock::time_point deadline) {
  // Before the first look, so that no commit falls between.
  doors::RouteStore::Signal signal(store, ResultTopic(what.tenant, what.request_id));
  const store::Scopes none;
  while (true) {
    std::optional<std::string> found;
    const doors::RouteStore::Task look = [&](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(found, FindResult(transaction, what));
      return {};
    };
    const Result<void> done = co_await store.Read(none, look);
    if (!done.ok()) co_return done.error();
    if (found) co_return found;
    const bool woken = co_await signal.Wait(deadline);
    if (!woken) co_return std::optional<std::string>();
  }
}

}  // namespace cairn::functions::codeq
