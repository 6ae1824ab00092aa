// Webhooks: who is told of events, and what could not be delivered.

#include <fmt/format.h>

#include <boost/json/value.hpp>

#include "base/json_text.h"
#include "base/time_text.h"
#include "jobs/http/route_schemas.h"
#include "jobs/http/route_support.h"
#include "jobs/model/limits.h"
#include "jobs/model/refusal.h"
#include "jobs/webhook/webhook.h"
#include "jobs/webhook/webhook_targets.h"

namespace cairn::jobs {
namespace {

using doors::RouteCall;
using net::HttpReply;

void AppendWebhook(const Webhook& webhook, const WebhookState& state, std::string& out) {
  out += R"({"id":)";
  AppendJsonString(webhook.id, out);
  out += R"(,"url":)";
  AppendJsonString(HideCredentials(webhook.url), out);
  out += R"(,"events":[)";
  for (const std::string& type : webhook.events) {
    if (&type != &webhook.events.front()) out.push_back(',');
    AppendJsonString(type, out);
  }
  out += fmt::format(
      R"(],"enabled":{},"signed":{},"retry_limit":{},"created_at":"{}","cursor":{},"delivered":{},"dead":{},"gaps":{})",
      webhook.enabled, !webhook.secret.empty(), webhook.retry_limit, FormatTime(webhook.created_ns),
      state.cursor, state.delivered, state.dead, state.gaps);
  if (state.gaps != 0) {
    out += fmt::format(R"(,"last_gap":{{"missed_from":{},"missed_to":{},"at":"{}"}})",
                       state.missed_from, state.missed_to, FormatTime(state.last_gap_ns));
  }
  if (state.last_delivery_ns != 0) {
    out += fmt::format(R"(,"last_status_code":{},"last_delivery_at":"{}")", state.last_status_code,
                       FormatTime(state.last_delivery_ns));
  }
  if (!state.last_error.empty()) {
    out += R"(,"last_error":)";
    AppendJsonString(state.last_error, out);
  }
  out.push_back('}');
}

Error NoWebhook(std::string_view id) {
  return Refuse(Reason::kNotFound, fmt::format("there is no webhook {}", Printable(id)));
}

awaitable<Result<HttpReply>> GetWebhooks(SharedParts parts, const RouteCall& /*call*/) {
  std::string text;
  const LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<Webhook> webhooks, LoadWebhooks(transaction));
    text = "[";
    for (const Webhook& webhook : webhooks) {
      CAIRN_ASSIGN_OR_RETURN(const WebhookState state, LoadWebhookState(transaction, webhook.id));
      if (text.size() > 1) text.push_back(',');
      AppendWebhook(webhook, state, text);
    }
    text.push_back(']');
    return {};
  };
  const Held all = Held::Everything();
  const Result<void> done = co_await Look(*parts, all, body);
  if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
  co_return HttpReply(Json(200, std::move(text)));
}

awaitable<Result<HttpReply>> GetWebhook(SharedParts parts, const RouteCall& call) {
  const std::string& id = call.PathValue("name");
  std::string text;
  const LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Webhook> webhook, LoadWebhook(transaction, id));
    if (!webhook) return NoWebhook(id);
    CAIRN_ASSIGN_OR_RETURN(const WebhookState state, LoadWebhookState(transaction, id));
    text.clear();
    AppendWebhook(*webhook, state, text);
    return {};
  };
  const Held all = Held::Everything();
  const Result<void> done = co_await Look(*parts, all, body);
  if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
  co_return HttpReply(Json(200, std::move(text)));
}

Webhook WebhookOf(const RouteParts& parts, const boost::json::value& body) {
  Webhook webhook{.id = TextOf(body, "id"),
                  .url = TextOf(body, "url"),
                  .secret = TextOf(body, "secret"),
                  .retry_limit = NumberOf(body, "retry_limit").value_or(kDefaultWebhookTries),
                  .created_ns = static_cast<uint64_t>(parts.clock.Now().us) * 1000};
  if (webhook.id.empty()) webhook.id = "wh_" + HexEncode(parts.random.NextBytes(13));
  if (body.as_object().contains("events")) webhook.events = StringsOf(body, "events");
  if (const auto* enabled = body.as_object().if_contains("enabled")) {
    webhook.enabled = enabled->as_bool();
  }
  return webhook;
}

awaitable<Result<HttpReply>> PostWebhook(SharedParts parts, const RouteCall& call) {
  const Webhook webhook = WebhookOf(*parts, call.body);
  if (const auto fault = FindWebhookFault(webhook)) {
    co_return HttpReply(ErrorReply(Refuse(Reason::kValidation, *fault)));
  }
  if (const auto refused = parts->webhook_targets.WhyUrlRefused(webhook.url)) {
    co_return HttpReply(
        ErrorReply(Refuse(Reason::kValidation, "url: " + WebhookRefusal(*refused))));
  }
  bool created = false;
  std::string text;
  const doors::RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const auto before, LoadWebhook(transaction, webhook.id));
    created = !before;
    CAIRN_RETURN_IF_ERROR(PutWebhook(transaction, webhook));
    CAIRN_ASSIGN_OR_RETURN(const auto after, LoadWebhook(transaction, webhook.id));
    CAIRN_ASSIGN_OR_RETURN(const WebhookState state, LoadWebhookState(transaction, webhook.id));
    text.clear();
    AppendWebhook(*after, state, text);
    return {};
  };
  const store::Scopes scopes = AllWebhooksScopes(webhook.id);
  const Result<void> done = co_await parts->store.Write(scopes, task);
  if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
  co_return HttpReply(Json(created ? 201 : 200, std::move(text)));
}

awaitable<Result<HttpReply>> DeleteOneWebhook(SharedParts parts, const RouteCall& call) {
  const std::string& id = call.PathValue("name");
  const doors::RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const bool existed, DeleteWebhook(transaction, id));
    return existed ? Result<void>() : Result<void>(NoWebhook(id));
  };
  const store::Scopes scopes = WebhookScopes(id);
  const Result<void> done = co_await parts->store.Write(scopes, task);
  if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
  co_return HttpReply(StatusReply(200, "deleted"));
}

awaitable<Result<HttpReply>> GetDead(SharedParts parts, const RouteCall& call) {
  const std::string& id = call.PathValue("name");
  const Result<int64_t> after = QueryNumber(call.request, "after_seq", 0, 0, INT64_MAX - 1);
  if (!after.ok()) co_return HttpReply(ErrorReply(after.error()));
  const Result<int64_t> limit = QueryNumber(call.request, "limit", 100, 1, kMaxPage);
  if (!limit.ok()) co_return HttpReply(ErrorReply(limit.error()));
  std::string text;
  const LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Webhook> webhook, LoadWebhook(transaction, id));
    if (!webhook) return NoWebhook(id);
    CAIRN_ASSIGN_OR_RETURN(
        const std::vector<DeadDelivery> dead,
        LoadDead(transaction, id, static_cast<uint64_t>(*after), static_cast<size_t>(*limit)));
    text = R"({"dead":[)";
    for (const DeadDelivery& one : dead) {
      if (&one != &dead.front()) text.push_back(',');
      text += fmt::format(
          R"({{"seq":{},"event":{},"status_code":{},"tries":{},"failed_at":"{}","error":)",
          one.number, one.event, one.status_code, one.tries, FormatTime(one.failed_ns));
      AppendJsonString(one.error, text);
      text.push_back('}');
    }
    text += fmt::format(R"(],"next_seq":{}}})",
                        dead.empty() ? static_cast<uint64_t>(*after) : dead.back().number);
    return {};
  };
  const Held all = Held::Everything();
  const Result<void> done = co_await Look(*parts, all, body);
  if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
  co_return HttpReply(Json(200, std::move(text)));
}

awaitable<Result<HttpReply>> PostRedeliver(SharedParts parts, const RouteCall& call) {
  const std::string& id = call.PathValue("name");
  const std::optional<int64_t> seq = NumberOf(call.body, "seq");
  uint64_t reached = 0;
  Redelivered step;
  const doors::RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Webhook> webhook, LoadWebhook(transaction, id));
    if (!webhook) return NoWebhook(id);
    if (seq) {
      CAIRN_ASSIGN_OR_RETURN(step, RedeliverOne(transaction, id, static_cast<uint64_t>(*seq)));
      if (step.count > 0) return {};
      return Refuse(Reason::kNotFound, fmt::format("event {} is not among the dead", *seq));
    }
    CAIRN_ASSIGN_OR_RETURN(step, RedeliverPage(transaction, id, reached));
    return {};
  };
  const store::Scopes scopes = WebhookScopes(id);
  // All of them may be too much for one transaction. Those that die again meanwhile are left.
  int64_t count = 0;
  do {
    const Result<void> done = co_await parts->store.WriteOnPool(scopes, task);
    if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
    count += step.count;
    reached = step.last;
  } while (!seq && step.count > 0);
  co_return HttpReply(Json(200, fmt::format(R"({{"status":"redelivering","count":{}}})", count)));
}

}  // namespace

void AddWebhookRoutes(const SharedParts& parts, doors::RouteTable& table) {
  const auto add = [&](doors::Route route, RouteFunction function) {
    route.permission = route.method == "GET" ? "webhooks.read" : "webhooks.manage";
    AddRoute(parts, table, std::move(route), function);
  };
  add({.method = "GET",
       .path = "/api/v1/webhooks",
       .summary = "Who is told of events, and how far they are.",
       .responses = {{200, "They are these.", kWebhooksSchema}}},
      GetWebhooks);
  add({.method = "POST",
       .path = "/api/v1/webhooks",
       .summary = "Has an address told of events from now on, or changes what it is told.",
       .request_schema = kPutWebhookSchema,
       .responses = {{201, "It is told.", kWebhookSchema},
                     {200, "It is changed.", kWebhookSchema},
                     Refused(400, "The request is invalid.")}},
      PostWebhook);
  add({.method = "GET",
       .path = "/api/v1/webhooks/{name}",
       .summary = "One webhook.",
       .responses = {{200, "It is this.", kWebhookSchema}, Refused(404, "There is none.")}},
      GetWebhook);
  add({.method = "DELETE",
       .path = "/api/v1/webhooks/{name}",
       .summary = "Tells an address nothing more.",
       .responses = {{200, "Done.", kStatusSchema}, Refused(404, "There is none.")}},
      DeleteOneWebhook);
  add({.method = "GET",
       .path = "/api/v1/webhooks/{name}/dead",
       .summary = "Events that could not be delivered.",
       .query = {{"after_seq", "The number before the first; 0 unless given.", "integer"},
                 {"limit", "How many at most, up to 1000; 100 unless given.", "integer"}},
       .responses = {{200, "They are these.", kDeadDeliveriesSchema},
                     Refused(400, "The request is invalid."),
                     Refused(404, "There is none.")}},
      GetDead);
  add({.method = "POST",
       .path = "/api/v1/webhooks/{name}/redeliver",
       .summary = "Tries dead events again: the one named, or all.",
       .request_schema = kRedeliverSchema,
       .optional_body = true,
       .responses = {{200, "They are under way.", kRedeliveredSchema},
                     Refused(400, "The request is invalid."),
                     Refused(404, "There is none.")}},
      PostRedeliver);
}

}  // namespace cairn::jobs
