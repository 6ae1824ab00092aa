#include "admin/access.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cctype>
#include <initializer_list>
#include <utility>

#include "admin/limits.h"
#include "doors/access/failed_logins.h"

namespace cairn::admin {
namespace {

// The rest of `text` after `scheme` and spaces, whose letters may be in any case (RFC 9110).
std::string_view AfterScheme(std::string_view text, std::string_view scheme) {
  const bool matches =
      text.size() > scheme.size() && text[scheme.size()] == ' ' &&
      std::equal(scheme.begin(), scheme.end(), text.begin(), [](unsigned char a, unsigned char b) {
        return std::tolower(a) == std::tolower(b);
      });
  if (!matches) return {};
  text.remove_prefix(scheme.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

// The value of the first cookie of one of these names in "a=1; b=2".
std::string_view CookieOf(std::string_view cookies, std::initializer_list<std::string_view> names) {
  while (!cookies.empty()) {
    const size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view cookie = cookies.substr(0, end);
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    cookie.remove_prefix(std::min(cookie.find_first_not_of(' '), cookie.size()));
    const size_t equals = cookie.find('=');
    if (equals == std::string_view::npos) continue;
    if (std::ranges::find(names, cookie.substr(0, equals)) != names.end()) {
      return cookie.substr(equals + 1);
    }
  }
  return {};
}

bool IsOpen(const net::HttpRequest& request) {
  return request.path == "/healthz" || request.path == "/readyz";
}

boost::asio::awaitable<void> Pause(std::chrono::milliseconds delay) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, delay);
  co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
}

}  // namespace

uint32_t Guessers::Failed(std::string_view peer) {
  if (const auto known = by_peer_.find(peer); known != by_peer_.end()) {
    guessers_.splice(guessers_.begin(), guessers_, known->second);
    return ++known->second->failures;
  }
  if (guessers_.size() >= kMaxGuessers) {
    by_peer_.erase(guessers_.back().peer);
    guessers_.pop_back();
  }
  guessers_.push_front({std::string(peer), 1});
  by_peer_.emplace(guessers_.front().peer, guessers_.begin());
  return 1;
}

void Guessers::Succeeded(std::string_view peer) {
  if (by_peer_.empty()) return;
  const auto known = by_peer_.find(peer);
  if (known == by_peer_.end()) return;
  const auto guesser = known->second;
  by_peer_.erase(known);
  guessers_.erase(guesser);
}

std::string PresentedSecret(const net::HttpRequest& request) {
  if (const auto authorization = request.headers.Get("Authorization")) {
    return std::string(AfterScheme(*authorization, "Bearer"));
  }
  if (const auto key = request.headers.Get("X-API-Key")) return std::string(*key);
  if (request.method != "GET") return {};
  const auto cookies = request.headers.Get("Cookie");
  const std::string_view value = CookieOf(cookies.value_or(""), {"cairn_api_key", "corvo_api_key"});
  return net::PercentDecode(value).value_or("");
}

Guard::Guard(GuardOptions options, std::unique_ptr<doors::RouteDoor> inner)
    : options_(std::move(options)), inner_(std::move(inner)) {}

std::shared_ptr<const doors::Principal> Guard::Who(const net::HttpRequest& request) const {
  return options_.identify(PresentedSecret(request));
}

// Finds out who asks, once for head and body.
size_t Guard::BodyLimit(net::HttpRequest& head) {
  if (!IsOpen(head)) {
    head.note = Who(head);
    if (head.note == nullptr) return kMaxRefusedBodyBytes;
  }
  const size_t limit = inner_->BodyLimit(head);
  return limit == net::kDefaultBodyLimit ? options_.default_body_limit : limit;
}

std::string Guard::RefusalBody(std::string_view path, int status, std::string_view message,
                               std::string_view request_id) {
  return inner_->RefusalBody(path, status, message, request_id);
}

boost::asio::awaitable<net::HttpReply> Guard::Handle(net::HttpRequest request) {
  if (IsOpen(request)) co_return co_await inner_->Handle(std::move(request));
  auto who = std::static_pointer_cast<const doors::Principal>(request.note);
  // The key may have been withdrawn while the body arrived.
  if (who == nullptr || who->ended()) who = Who(request);
  if (who != nullptr) {
    guessers_.Succeeded(request.peer);
    co_return co_await inner_->HandleFor(std::move(who), std::move(request));
  }
  const Presented presented =
      PresentedSecret(request).empty() ? Presented::kNothing : Presented::kWrongSecret;
  if (options_.on_refused) options_.on_refused(request, presented);
  if (presented == Presented::kWrongSecret) {
    const auto delay = doors::FailedLogins::DelayAfter(guessers_.Failed(request.peer));
    if (options_.pause) {
      co_await options_.pause(delay);
    } else {
      co_await Pause(delay);
    }
  }
  net::HttpResponse refusal = net::HttpResponse::Json(
      401, RefusalBody(request.path, 401,
                       "present the password or a key as Authorization: Bearer or X-API-Key",
                       request.request_id));
  refusal.headers.Set("WWW-Authenticate", "Bearer");
  co_return refusal;
}

}  // namespace cairn::admin
