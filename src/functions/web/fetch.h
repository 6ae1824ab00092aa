#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "functions/model/config.h"
#include "outside/address_policy.h"
#include "outside/http_service.h"

// fetch of functions: requests to hosts that the version's manifest names, and to addresses that
// the server's policy allows. Both are asked again for each redirect; the policy is asked about
// every address just before it is connected to (outside/http_service.h).
namespace cairn::functions {

inline constexpr size_t kMaxFetchBodyBytes = 6UL * 1024 * 1024;    // of a request
inline constexpr size_t kMaxFetchAnswerBytes = 8UL * 1024 * 1024;  // of an answer
inline constexpr size_t kMaxFetchUrlBytes = 8UL * 1024;
inline constexpr size_t kMaxFetchHeaders = 100;
inline constexpr size_t kMaxFetchHeaderBytes = 64UL * 1024;
inline constexpr int kMaxFetchRedirects = 10;

struct FetchCall {
  std::string url;
  std::string method = "GET";
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  enum class Redirect : uint8_t { kFollow, kManual, kError };
  Redirect redirect = Redirect::kFollow;
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
};

// {"url","method","headers":[[name,value]…],"body":base64,"redirect","timeoutMs"}, as the runtime
// sends it; what is missing is as in FetchCall. CS_VALIDATION_FAILED names the member.
Result<FetchCall> ParseFetch(std::string_view arguments);

// Whether the version may ask this URL: http or https, and a host that its manifest names, whatever
// the case. CS_RUNTIME_CAPABILITY_DENIED says what to add.
Result<void> CheckFetchUrl(const Capabilities& capabilities, const std::string& url);

struct FetchParts {
  outside::HttpService& http;
  outside::AddressPolicy policy;
};
// {"status","statusText","headers":[[name,value]…],"body":base64,"url","redirected"}. Cancelling
// the coroutine ends the request. The loop outlives the service. What it borrows must live until it
// has ended.
boost::asio::awaitable<Result<std::string>> Fetch(const FetchParts& parts,
                                                  const Capabilities& capabilities, FetchCall call);

}  // namespace cairn::functions
