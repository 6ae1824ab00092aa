#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "jobs/ledger/event.h"
#include "jobs/webhook/webhook_targets.h"
#include "outside/http_service.h"
#include "store/store.h"

namespace cairn::jobs {

struct WebhookDeliveryOptions {
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(5);
  std::chrono::milliseconds timeout = std::chrono::seconds(15);  // of a whole request
  // Before the second try; doubles with each further one, up to the longest.
  std::chrono::milliseconds first_pause = std::chrono::seconds(1);
  std::chrono::milliseconds longest_pause = std::chrono::minutes(5);
  std::chrono::milliseconds lease = std::chrono::seconds(15);  // where processes share the store
  std::string user_agent = "cairn";
  WebhookTargets targets = {};
  // The store's own name, by which it knows its webhooks if they lead back to it (webhook_loop.h);
  // empty: none.
  std::string origin = {};
  // Sends the requests, for others too; null: one of its own.
  std::shared_ptr<outside::HttpService> http = {};
  std::shared_ptr<EventGaps> gaps = std::make_shared<EventGaps>();
};

// Tells webhooks of events: POSTs
//
//   {"webhook_id":"wh_…","event":{"seq":17,"type":"completed","job_id":"job_…",…},"sent_at":"…"}
//
// with X-Cairn-Webhook-ID, X-Cairn-Webhook-Event and, if there is a secret,
// X-Cairn-Signature: sha256=<HMAC-SHA256 of the body>; the same once more under the names
// X-Corvo-…, which receivers that exist may look for.
//
// Each address that a host's name leads to is checked against `targets` when it is about to be
// connected to (outside/http_service.h). Redirects are not followed.
//
// Operation: one thread, one request at a time to each webhook, so that it hears of events in their
// order; different webhooks do not wait for each other. Any answer of 2xx is a delivery. An event
// that was tried `retry_limit` times goes to the dead list and the next one has its turn. The
// thread sleeps until a commit brings events or changes a webhook, an answer arrives or a pause is
// over.
//
// Concurrency: where several processes share a store, the one that holds the lease (webhook.h)
// delivers; what another has begun meanwhile is not written down, and so told again.
//
// Gaps: events that the log lost before they were told are skipped; the webhook's state says which,
// the log of the server and `gaps` that it happened.
//
// Crash: the cursor moves after the delivery. What was told and not written down is told again.
class WebhookDelivery {
 public:
  WebhookDelivery(store::Store& store, const Clock& clock, Random& random, Log log,
                  WebhookDeliveryOptions options = {});
  ~WebhookDelivery();  // stops
  WebhookDelivery(const WebhookDelivery&) = delete;
  WebhookDelivery& operator=(const WebhookDelivery&) = delete;

  void Start();
  // Requests under way are given up.
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cairn::jobs
