#include "jobs/webhook/webhook.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cctype>

#include "jobs/ledger/event.h"
#include "jobs/model/keys.h"
#include "jobs/model/refusal.h"
#include "jobs/webhook/webhook_targets.h"

namespace cairn::jobs {
namespace {

namespace json = boost::json;

constexpr std::string_view kWebhook = "wh|";
constexpr std::string_view kState = "whs|";
constexpr std::string_view kDead = "whd|";
constexpr std::string_view kRedelivery = "whr|";

Bytes NamedKey(std::string_view family, std::string_view id) { return Bytes(family).append(id); }

Bytes NumberedKey(std::string_view family, std::string_view id, uint64_t number) {
  Bytes key = NamedPrefix(family, id);
  AppendBig64(key, number);
  return key;
}

uint64_t NumberOf(BytesView key) { return BytesReader(key.substr(key.size() - 8)).Big64(); }

Error Corrupt(std::string_view what, std::string_view id) {
  return {ErrorCode::kCorruption, fmt::format("{} of webhook {}", what, Printable(id))};
}

std::string_view TextOf(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return {};
  return value->get_string();
}

int64_t IntegerOf(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_number()) return 0;
  boost::system::error_code failure;
  return value->to_number<int64_t>(failure);
}

std::optional<json::object> ParseObject(BytesView text) {
  boost::system::error_code failure;
  json::value value = json::parse({text.data(), text.size()}, failure);
  if (failure || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

Bytes EncodeWebhook(const Webhook& webhook) {
  json::object object{{"url", webhook.url},
                      {"events", json::array(webhook.events.begin(), webhook.events.end())},
                      {"enabled", webhook.enabled},
                      {"retry_limit", webhook.retry_limit},
                      {"created_ns", webhook.created_ns}};
  if (!webhook.secret.empty()) object["secret"] = webhook.secret;
  return json::serialize(object);
}

Result<Webhook> DecodeWebhook(std::string_view id, BytesView value) {
  const std::optional<json::object> object = ParseObject(value);
  if (!object) return Corrupt("the record", id);
  Webhook webhook{.id = std::string(id), .url = std::string(TextOf(*object, "url"))};
  webhook.events.clear();
  if (const json::value* events = object->if_contains("events")) {
    for (const json::value& type : events->as_array())
      webhook.events.emplace_back(type.as_string());
  }
  webhook.secret = TextOf(*object, "secret");
  webhook.enabled = object->at("enabled").as_bool();
  webhook.retry_limit = IntegerOf(*object, "retry_limit");
  webhook.created_ns = static_cast<uint64_t>(IntegerOf(*object, "created_ns"));
  return webhook;
}

// The event goes last and as it is: it is JSON already.
Bytes EncodeDead(const DeadDelivery& dead) {
  std::string text = json::serialize(json::object{{"error", dead.error},
                                                  {"status_code", dead.status_code},
                                                  {"tries", dead.tries},
                                                  {"failed_ns", dead.failed_ns}});
  text.pop_back();
  return text + R"(,"event":)" + dead.event + "}";
}

Result<DeadDelivery> DecodeDead(std::string_view id, BytesView key, BytesView value) {
  const std::optional<json::object> object = ParseObject(value);
  constexpr std::string_view kEventMember = R"(,"event":)";
  const size_t event = value.find(kEventMember);
  if (!object || event == BytesView::npos) return Corrupt("a dead delivery", id);
  const size_t begin = event + kEventMember.size();
  return DeadDelivery{.number = NumberOf(key),
                      .event = std::string(value.substr(begin, value.size() - begin - 1)),
                      .error = std::string(TextOf(*object, "error")),
                      .status_code = IntegerOf(*object, "status_code"),
                      .tries = IntegerOf(*object, "tries"),
                      .failed_ns = static_cast<uint64_t>(IntegerOf(*object, "failed_ns"))};
}

Result<std::vector<DeadDelivery>> LoadDeliveries(store::Reader& reader, std::string_view family,
                                                 std::string_view id, uint64_t after,
                                                 size_t limit) {
  std::vector<DeadDelivery> deliveries;
  size_t bytes = 0;
  std::optional<Error> failure;
  store::Range range = store::Range::Prefix(store::Space::kJobs, NamedPrefix(family, id));
  range.begin = NumberedKey(family, id, after + 1);
  CAIRN_RETURN_IF_ERROR(reader.Scan(range, {.limit = limit}, [&](BytesView key, BytesView value) {
    Result<DeadDelivery> delivery = DecodeDead(id, key, value);
    if (!delivery.ok()) {
      failure = delivery.error();
      return false;
    }
    deliveries.push_back(*std::move(delivery));
    bytes += value.size();
    return bytes < kMaxAnswerBytes;
  }));
  if (failure) return *failure;
  return deliveries;
}

Result<Redelivered> Revive(store::Transaction& transaction, std::string_view id,
                           const std::vector<DeadDelivery>& dead) {
  if (dead.empty()) return Redelivered();
  CAIRN_ASSIGN_OR_RETURN(WebhookState state, LoadWebhookState(transaction, id));
  for (const DeadDelivery& one : dead) {
    transaction.Delete(InJobs(NumberedKey(kDead, id, one.number)));
    transaction.Put(InJobs(NumberedKey(kRedelivery, id, one.number)), EncodeDead(one));
  }
  const auto count = static_cast<int64_t>(dead.size());
  state.dead -= count;
  PutWebhookState(transaction, id, state);
  transaction.Wake(WebhooksTopic());
  return Redelivered{.count = count, .last = dead.back().number};
}

}  // namespace

bool Webhook::Wants(std::string_view type) const {
  return std::ranges::any_of(
      events, [&](const std::string& wanted) { return wanted == "*" || wanted == type; });
}

std::optional<std::string> FindWebhookFault(const Webhook& webhook) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  };
  if (webhook.id.empty() || webhook.id.size() > 64 || !std::ranges::all_of(webhook.id, plain)) {
    return "id must be up to 64 letters, digits, _ - or .";
  }
  const std::string_view url = webhook.url;
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    return "url must begin with http:// or https://";
  }
  const auto printable = [](unsigned char c) { return c > 0x20 && c < 0x7F; };
  if (url.size() > kMaxWebhookUrlBytes || !std::ranges::all_of(url, printable)) {
    return fmt::format("url must be at most {} printable characters", kMaxWebhookUrlBytes);
  }
  if (!outside::IsUrl(webhook.url))
    return "url is not one that can be asked: is its host or port wrong?";
  if (webhook.events.empty()) return "events must name at least one type, or *";
  for (const std::string& type : webhook.events) {
    if (type != "*" && !ParseEventType(type)) return fmt::format("there is no event '{}'", type);
  }
  return std::nullopt;
}

store::Scopes WebhookScopes(std::string_view id) {
  store::Scopes scopes;
  scopes.Add(store::Space::kJobs, NamedKey(kWebhook, id));
  return scopes;
}

store::Scopes AllWebhooksScopes(std::string_view id) {
  store::Scopes scopes = WebhookScopes(id);
  scopes.Add(store::Space::kJobs, kWebhook);
  return scopes;
}

store::Topic WebhooksTopic() { return store::Topic::Of(store::Space::kJobs, kWebhook); }

Result<std::optional<Webhook>> LoadWebhook(store::Reader& reader, std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(const auto value, reader.Get(InJobs(NamedKey(kWebhook, id))));
  if (!value) return std::optional<Webhook>();
  CAIRN_ASSIGN_OR_RETURN(Webhook webhook, DecodeWebhook(id, *value));
  return std::optional(std::move(webhook));
}

Result<std::vector<Webhook>> LoadWebhooks(store::Reader& reader) {
  std::vector<Webhook> webhooks;
  std::optional<Error> failure;
  CAIRN_RETURN_IF_ERROR(reader.Scan(store::Range::Prefix(store::Space::kJobs, Bytes(kWebhook)),
                                    {.limit = kMaxWebhooks}, [&](BytesView key, BytesView value) {
                                      Result<Webhook> webhook =
                                          DecodeWebhook(key.substr(kWebhook.size()), value);
                                      if (!webhook.ok()) {
                                        failure = webhook.error();
                                        return false;
                                      }
                                      webhooks.push_back(*std::move(webhook));
                                      return true;
                                    }));
  if (failure) return *failure;
  return webhooks;
}

Result<WebhookState> LoadWebhookState(store::Reader& reader, std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(const auto value, reader.Get(InJobs(NamedKey(kState, id))));
  if (!value) return WebhookState{};
  const std::optional<json::object> object = ParseObject(*value);
  if (!object) return Corrupt("the state", id);
  return WebhookState{
      .cursor = static_cast<uint64_t>(IntegerOf(*object, "cursor")),
      .delivered = IntegerOf(*object, "delivered"),
      .dead = IntegerOf(*object, "dead"),
      .last_status_code = IntegerOf(*object, "last_status_code"),
      .last_error = std::string(TextOf(*object, "last_error")),
      .last_delivery_ns = static_cast<uint64_t>(IntegerOf(*object, "last_delivery_ns")),
      .gaps = IntegerOf(*object, "gaps"),
      .missed_from = static_cast<uint64_t>(IntegerOf(*object, "missed_from")),
      .missed_to = static_cast<uint64_t>(IntegerOf(*object, "missed_to")),
      .last_gap_ns = static_cast<uint64_t>(IntegerOf(*object, "last_gap_ns"))};
}

void PutWebhookState(store::Transaction& transaction, std::string_view id,
                     const WebhookState& state) {
  json::object object{{"cursor", state.cursor},
                      {"delivered", state.delivered},
                      {"dead", state.dead},
                      {"last_status_code", state.last_status_code},
                      {"last_error", state.last_error},
                      {"last_delivery_ns", state.last_delivery_ns}};
  if (state.gaps != 0) {
    object["gaps"] = state.gaps;
    object["missed_from"] = state.missed_from;
    object["missed_to"] = state.missed_to;
    object["last_gap_ns"] = state.last_gap_ns;
  }
  transaction.Put(InJobs(NamedKey(kState, id)), json::serialize(object));
}

Result<void> PutWebhook(store::Transaction& transaction, const Webhook& webhook) {
  CAIRN_ASSIGN_OR_RETURN(const auto before, LoadWebhook(transaction, webhook.id));
  Webhook stored = webhook;
  if (before) {
    stored.created_ns = before->created_ns;
    if (stored.secret.empty()) stored.secret = before->secret;
    // As it was shown: whoever changes something else sends back what they have seen.
    if (stored.url == HideCredentials(before->url)) stored.url = before->url;
  } else {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<Webhook> all, LoadWebhooks(transaction));
    if (all.size() >= kMaxWebhooks) {
      return Refuse(Reason::kValidation,
                    fmt::format("there can be at most {} webhooks", kMaxWebhooks));
    }
    CAIRN_ASSIGN_OR_RETURN(const uint64_t newest, NewestEvent(transaction));
    PutWebhookState(transaction, webhook.id, {.cursor = newest});
  }
  transaction.Put(InJobs(NamedKey(kWebhook, webhook.id)), EncodeWebhook(stored));
  transaction.Wake(WebhooksTopic());
  return {};
}

Result<bool> DeleteWebhook(store::Transaction& transaction, std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(const auto before, LoadWebhook(transaction, id));
  if (!before) return false;
  transaction.Delete(InJobs(NamedKey(kWebhook, id)));
  transaction.Delete(InJobs(NamedKey(kState, id)));
  for (const std::string_view family : {kDead, kRedelivery}) {
    transaction.DeleteRange(store::Range::Prefix(store::Space::kJobs, NamedPrefix(family, id)));
  }
  transaction.Wake(WebhooksTopic());
  return true;
}

Result<std::vector<DeadDelivery>> LoadDead(store::Reader& reader, std::string_view id,
                                           uint64_t after, size_t limit) {
  return LoadDeliveries(reader, kDead, id, after, limit);
}

Result<std::vector<DeadDelivery>> LoadRedeliveries(store::Reader& reader, std::string_view id,
                                                   size_t limit) {
  return LoadDeliveries(reader, kRedelivery, id, 0, limit);
}

Result<Redelivered> RedeliverOne(store::Transaction& transaction, std::string_view id,
                                 uint64_t number) {
  CAIRN_ASSIGN_OR_RETURN(std::vector<DeadDelivery> dead,
                         LoadDead(transaction, id, number == 0 ? 0 : number - 1, 1));
  std::erase_if(dead, [&](const DeadDelivery& one) { return one.number != number; });
  return Revive(transaction, id, dead);
}

Result<Redelivered> RedeliverPage(store::Transaction& transaction, std::string_view id,
                                  uint64_t after) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<DeadDelivery> dead,
                         LoadDead(transaction, id, after, kMaxPage));
  return Revive(transaction, id, dead);
}

Result<void> Bury(store::Transaction& transaction, std::string_view id, const DeadDelivery& dead,
                  WebhookState& state) {
  DropRedelivery(transaction, id, dead.number);
  transaction.Put(InJobs(NumberedKey(kDead, id, dead.number)), EncodeDead(dead));
  if (++state.dead <= kMaxDeadDeliveries) return {};
  CAIRN_ASSIGN_OR_RETURN(const std::vector<DeadDelivery> oldest, LoadDead(transaction, id, 0, 1));
  for (const DeadDelivery& one : oldest) {
    transaction.Delete(InJobs(NumberedKey(kDead, id, one.number)));
    --state.dead;
  }
  return {};
}

void DropRedelivery(store::Transaction& transaction, std::string_view id, uint64_t number) {
  transaction.Delete(InJobs(NumberedKey(kRedelivery, id, number)));
}

std::string SignWebhook(std::string_view secret, std::string_view body) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(body.data()), body.size(), digest.data(), &size);
  return "sha256=" + HexEncode({reinterpret_cast<const char*>(digest.data()), size});
}

}  // namespace cairn::jobs
