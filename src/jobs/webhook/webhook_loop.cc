#include "jobs/webhook/webhook_loop.h"

namespace cairn::jobs {

boost::asio::awaitable<net::HttpReply> WebhookLoopGuard::Handle(net::HttpRequest request) {
  if (!origin_.empty() && request.headers.Get(kWebhookOriginHeader) == origin_) {
    co_return net::HttpReply(net::HttpResponse::Json(
        508, RefusalBody(request.path, 508,
                         "the webhook's url leads back to this server; use another url",
                         request.request_id)));
  }
  co_return co_await inner_->Handle(std::move(request));
}

}  // namespace cairn::jobs
