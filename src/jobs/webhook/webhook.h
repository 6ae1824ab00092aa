#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "jobs/model/limits.h"
#include "store/scopes.h"
#include "store/transaction.h"

// Webhooks: addresses that are told of events, as they are stored in space `jobs`.
//
//   key                    value
//   ────────────────────   ───────────────────────────────────────────────────────────────
//   wh|  id                the webhook, JSON: what its owner decides
//   whs| id                how far it is, JSON: what delivery keeps (WebhookState)
//   whd| id 00 number:8    an event that could not be delivered, JSON (DeadDelivery)
//   whr| id 00 number:8    the same, to be tried again
//   whl|                   token:8 expires_ms:8, who delivers where processes share a store
//
// Delivery follows the event log in order from the stored cursor, so a webhook misses nothing while
// the server is down, and hears of an event again only if the server died between telling and
// noting that it had told.
namespace cairn::jobs {

struct Webhook {
  std::string id;
  std::string url;  // may hold credentials; shown as HideCredentials has it (webhook_targets.h)
  std::vector<std::string> events = {"*"};  // types, or "*"
  std::string secret;                       // empty: not signed
  bool enabled = true;
  int64_t retry_limit = kDefaultWebhookTries;  // tries of one event
  uint64_t created_ns = 0;

  bool Wants(std::string_view type) const;
  friend bool operator==(const Webhook&, const Webhook&) = default;
};

struct WebhookState {
  uint64_t cursor = 0;  // events up to this number are done with
  int64_t delivered = 0;
  int64_t dead = 0;               // rows of whd|
  int64_t last_status_code = 0;   // 0: there was no answer
  std::string last_error;         // empty after a delivery that worked
  uint64_t last_delivery_ns = 0;  // of the last try
  // How often events were removed from the log before it was told of them; of the last time, the
  // numbers of the first and the last of them, and when that was noticed.
  int64_t gaps = 0;
  uint64_t missed_from = 0;
  uint64_t missed_to = 0;
  uint64_t last_gap_ns = 0;
  friend bool operator==(const WebhookState&, const WebhookState&) = default;
};

struct DeadDelivery {
  uint64_t number = 0;
  std::string event;  // JSON, as it was to be told
  std::string error;
  int64_t status_code = 0;
  int64_t tries = 0;
  uint64_t failed_ns = 0;
};

// What is wrong with a webhook that somebody wants to store; nullopt if nothing is.
std::optional<std::string> FindWebhookFault(const Webhook& webhook);

store::Scopes WebhookScopes(std::string_view id);
// What PutWebhook needs: all of them are counted.
store::Scopes AllWebhooksScopes(std::string_view id);
// Woken by every change of a webhook that delivery has to hear of.
store::Topic WebhooksTopic();

Result<std::optional<Webhook>> LoadWebhook(store::Reader& reader, std::string_view id);
Result<std::vector<Webhook>> LoadWebhooks(store::Reader& reader);
Result<WebhookState> LoadWebhookState(store::Reader& reader, std::string_view id);

// A new one hears of events from now on; one that exists is changed, and goes on where it is. A
// secret that is empty, and a url as HideCredentials shows it, are left as they were.
// Refused if there are kMaxWebhooks already.
Result<void> PutWebhook(store::Transaction& transaction, const Webhook& webhook);
void PutWebhookState(store::Transaction& transaction, std::string_view id,
                     const WebhookState& state);
// False if there is none.
Result<bool> DeleteWebhook(store::Transaction& transaction, std::string_view id);

// In order of the events, after `after`: `limit` at most, and no more than about kMaxAnswerBytes of
// them.
Result<std::vector<DeadDelivery>> LoadDead(store::Reader& reader, std::string_view id,
                                           uint64_t after, size_t limit);
Result<std::vector<DeadDelivery>> LoadRedeliveries(store::Reader& reader, std::string_view id,
                                                   size_t limit);
// Has dead deliveries tried again: that of one event, or a page of those after `after`.
struct Redelivered {
  int64_t count = 0;
  uint64_t last = 0;  // the event of the last
};
Result<Redelivered> RedeliverOne(store::Transaction& transaction, std::string_view id,
                                 uint64_t number);
Result<Redelivered> RedeliverPage(store::Transaction& transaction, std::string_view id,
                                  uint64_t after);
// Keeps what could not be delivered; changes `state` to match. PutWebhookState follows.
Result<void> Bury(store::Transaction& transaction, std::string_view id, const DeadDelivery& dead,
                  WebhookState& state);
void DropRedelivery(store::Transaction& transaction, std::string_view id, uint64_t number);

// "sha256=" and the HMAC-SHA256 of the body in hexadecimal.
std::string SignWebhook(std::string_view secret, std::string_view body);

}  // namespace cairn::jobs
