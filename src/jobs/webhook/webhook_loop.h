#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "net/http/server.h"

namespace cairn::jobs {

// What a webhook's request says about the store whose events it tells.
inline constexpr std::string_view kWebhookOriginHeader = "X-Cairn-Webhook-Origin";

// Refuses, with 508, what webhooks of the same store have sent: a webhook that leads to one of our
// own routes, by whatever name and way, would tell of the events that telling makes, without end.
// Other stores' webhooks are welcome.
class WebhookLoopGuard final : public net::HttpHandler {
 public:
  // An empty `origin` refuses nothing.
  WebhookLoopGuard(std::string origin, std::unique_ptr<net::HttpHandler> inner)
      : origin_(std::move(origin)), inner_(std::move(inner)) {}

  size_t BodyLimit(net::HttpRequest& head) override { return inner_->BodyLimit(head); }
  boost::asio::awaitable<net::HttpReply> Handle(net::HttpRequest request) override;
  std::string RefusalBody(std::string_view path, int status, std::string_view message,
                          std::string_view request_id) override {
    return inner_->RefusalBody(path, status, message, request_id);
  }

 private:
  const std::string origin_;
  const std::unique_ptr<net::HttpHandler> inner_;
};

}  // namespace cairn::jobs
