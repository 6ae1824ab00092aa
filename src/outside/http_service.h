#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "outside/address_policy.h"

namespace cairn::outside {

// A request to another server.
struct HttpCall {
  // What happens to the part of an answer that is longer than `max_answer_bytes`.
  enum class Excess : uint8_t {
    kRefuse,   // the call fails with kTooLarge
    kCut,      // the rest is not waited for; HttpAnswer::cut says so
    kDiscard,  // the rest is read and dropped, so that the connection can be used again
  };

  enum class Version : uint8_t {
    kAny,
    // HTTP/2 from the first byte: over TLS as the handshake agrees on it, without TLS because the
    // caller knows that the server speaks it. Calls share connections, with TLS or libcurl 8.0.
    kHttp2,
  };

  std::string method = "GET";
  std::string url;  // http or https; may hold credentials
  Version version = Version::kAny;
  std::vector<std::string> headers = {};  // "Name: value"
  std::string body = {};                  // sent if it is not empty, or the method is POST
  std::string user_agent = "cairn";
  AddressPolicy policy = {};        // which addresses may be asked
  std::string plural = "requests";  // what errors call it: "requests may not be sent to …"
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(5);
  std::chrono::milliseconds timeout = std::chrono::seconds(15);  // from Send to the end, by Clock
  size_t max_answer_bytes = 1 << 20;
  Excess excess = Excess::kRefuse;
  // Further servers that answers of 3xx may lead to. 0: such an answer is the answer.
  int max_redirects = 0;
  // Asked about the URL of each redirect, on the service's thread; its error ends the call. Empty:
  // only the policy decides.
  std::function<Result<void>(const std::string& url)> check_redirect = {};
};

struct HttpAnswer {
  int status = 0;
  // As sent; with the trailers, which follow the body, at most 64 KiB.
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::vector<std::pair<std::string, std::string>> trailers = {};
  std::string body = {};
  bool cut = false;
  std::string url = {};  // that has answered, after redirects

  // The first header, or trailer, of this name in any case; nullopt if there is none.
  std::optional<std::string_view> Header(std::string_view name) const;
  std::optional<std::string_view> Trailer(std::string_view name) const;
};

struct HttpServiceOptions {
  size_t max_in_flight = 256;
  size_t max_waiting = 4'096;  // for one of those to end
};

// Sends requests to other servers: all of the process, by libcurl, on one thread.
//
// Operation: connections are kept and used again. Proxies of the environment, .netrc and protocols
// other than HTTP are not used. An answer of any status is an answer.
//
// Safety: the policy of a call is asked about each address just before it is connected to, and
// about that of a connection just before it is used again. A name is looked up once, and what was
// looked up is what is checked, so it cannot show one address to the check and another to the
// request. Redirects are followed here, one call each, so all of this holds for them too; one that
// leads from https to http is refused, and one that leads to another server takes along neither
// Authorization nor Cookie nor the password of the URL. Errors and logs name no URL.
//
// Errors: kInvalid (not a URL), kForbidden (the policy refuses), kTooMany (too many calls),
// kTooLarge (the answer), kUnavailable (cancelled, or stopped), kIo (no connection, no answer in
// time, too many redirects). After kIo, kTooLarge and kUnavailable the other side may have acted.
//
// Concurrency: safe to use from any thread.
class HttpService {
 public:
  using Id = uint64_t;
  // Called once for each call that was accepted, on the service's thread; must not wait. May call
  // Send and Cancel.
  using Done = std::function<void(Result<HttpAnswer>)>;

  // `clock` outlives it.
  explicit HttpService(const Clock& clock, HttpServiceOptions options = {});
  ~HttpService();  // stops
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;

  // kTooMany if too many wait already, kUnavailable after Stop: then `done` is not called.
  Result<Id> Send(HttpCall call, Done done);
  // Ends a call early, with kUnavailable. One that has ended is not an error.
  void Cancel(Id id);
  // Ends all calls with kUnavailable, without waiting for other servers. Not from `done`.
  void Stop();
  // Looks at the clock again, for tests that have moved it.
  void Wake();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cairn::outside
