#include "outside/http_service.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "base/check.h"

namespace cairn::outside {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;
constexpr int kNoTimeoutMs = 3'600'000;
constexpr size_t kMaxHeaderBytes = 65'536;
constexpr size_t kMaxIdleHandles = 64;
// A connection that many calls share is found to be dead although nothing is sent on it.
constexpr long kKeepAliveSeconds = 30;

// libcurl's handles are all of the type void.
struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using EasyHandle = std::unique_ptr<CURL, FreeEasy>;

char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool EqualInAnyCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, ToLower, ToLower);
}

std::optional<std::string_view> Find(
    const std::vector<std::pair<std::string, std::string>>& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (EqualInAnyCase(key, name)) return value;
  }
  return std::nullopt;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

// "https" and "https://host:443" of a URL; empty if it is not one.
struct Origin {
  std::string scheme;
  std::string server;
};
Origin OriginOf(const std::string& url) {
  const std::unique_ptr<CURLU, FreeUrl> parts(curl_url());
  if (curl_url_set(parts.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return {};
  const auto part = [&](CURLUPart which) {
    char* text = nullptr;
    if (curl_url_get(parts.get(), which, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) {
      return std::string();
    }
    std::string copy(text);
    curl_free(text);
    std::ranges::transform(copy, copy.begin(), ToLower);
    return copy;
  };
  Origin origin{.scheme = part(CURLUPART_SCHEME), .server = ""};
  origin.server =
      fmt::format("{}://{}:{}", origin.scheme, part(CURLUPART_HOST), part(CURLUPART_PORT));
  return origin;
}

bool IsHttp(const Origin& origin) { return origin.scheme == "http" || origin.scheme == "https"; }

Error Cancelled() { return {ErrorCode::kUnavailable, "the request was cancelled"}; }
Error Stopped() { return {ErrorCode::kUnavailable, "the server is stopping"}; }

// One call. Stays where it is while it is under way: libcurl points to its parts.
struct Transfer {
  HttpService::Id id = 0;
  HttpCall call;
  HttpService::Done done;
  uint64_t deadline_ns = 0;
  int redirects = 0;

  EasyHandle easy = {};  // while under way
  std::unique_ptr<curl_slist, FreeList> headers = {};
  HttpAnswer answer = {};
  size_t header_bytes = 0;
  bool headers_ended = false;
  std::optional<std::string> refused = {};  // what the last address was that may not be asked
  bool too_large = false;
};

// Makes the socket for an address that libcurl is about to connect to, if it may.
curl_socket_t OpenSocket(void* given, curlsocktype /*purpose*/, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(given);
  const std::optional<IpAddress> asked = IpAddress::Of(address->addr);
  std::optional<std::string> refused =
      asked ? transfer.call.policy.WhyRefused(*asked) : "an address of an unknown family";
  if (refused) {
    transfer.refused = std::move(refused);
    return CURL_SOCKET_BAD;
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// The connection may have been opened by a call with another policy.
int BeforeRequest(void* given, char* remote, char* /*local*/, int /*remote_port*/,
                  int /*local_port*/) {
  auto& transfer = *static_cast<Transfer*>(given);
  std::string text(remote == nullptr ? "" : remote);
  text.resize(std::min(text.size(), text.find('%')));  // a zone
  const std::optional<IpAddress> asked = IpAddress::Parse(text);
  transfer.refused =
      asked ? transfer.call.policy.WhyRefused(*asked) : "an address of an unknown family";
  return transfer.refused ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

size_t TakeBody(char* data, size_t size, size_t count, void* given) {
  auto& transfer = *static_cast<Transfer*>(given);
  const std::string_view bytes(data, size * count);
  std::string& body = transfer.answer.body;
  const size_t room = transfer.call.max_answer_bytes - body.size();
  if (bytes.size() <= room) {
    body += bytes;
    return bytes.size();
  }
  transfer.answer.cut = true;
  body += bytes.substr(0, room);
  if (transfer.call.excess == HttpCall::Excess::kDiscard) return bytes.size();
  transfer.too_large = true;
  return 0;  // ends the transfer
}

size_t TakeHeader(char* data, size_t size, size_t count, void* given) {
  auto& transfer = *static_cast<Transfer*>(given);
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) {  // of the answer after an interim one
    transfer.answer.headers.clear();
    transfer.header_bytes = 0;
    transfer.headers_ended = false;
    return line.size();
  }
  transfer.header_bytes += line.size();
  const size_t colon = line.find(':');
  if (colon != std::string_view::npos && transfer.header_bytes <= kMaxHeaderBytes) {
    auto& taken = transfer.headers_ended ? transfer.answer.trailers : transfer.answer.headers;
    taken.emplace_back(Trim(line.substr(0, colon)), Trim(line.substr(colon + 1)));
  }
  if (Trim(line).empty()) transfer.headers_ended = true;
  return line.size();
}

void SetMethod(CURL* easy, const HttpCall& call) {
  if (call.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    return;
  }
  if (call.method == "POST" || !call.body.empty()) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call.body.c_str());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
  }
  if (call.method != "POST" && call.method != "GET") {
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call.method.c_str());
  } else if (call.method == "GET" && !call.body.empty()) {
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "GET");
  }
}

// libcurl before 8.0 begins HTTP/2 anew on a connection without TLS that speaks it already, and so
// breaks it: then each call has a connection of its own.
bool CanReuseClearHttp2() {
  constexpr unsigned int kFixed = 0x080000;
  static const unsigned int version = curl_version_info(CURLVERSION_NOW)->version_num;
  return version >= kFixed;
}

void SetVersion(CURL* easy, const HttpCall& call) {
  if (call.version != HttpCall::Version::kHttp2) return;
  const bool tls = OriginOf(call.url).scheme == "https";
  curl_easy_setopt(
      easy, CURLOPT_HTTP_VERSION,
      static_cast<long>(tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE));
  if (tls || CanReuseClearHttp2()) {
    // Waits for a connection that is being made rather than make one of its own.
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
  } else {
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
  }
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, kKeepAliveSeconds);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, kKeepAliveSeconds);
}

void SetUp(Transfer& transfer, long timeout_ms) {
  CURL* const easy = transfer.easy.get();
  const HttpCall& call = transfer.call;
  transfer.headers.reset();
  for (const std::string& header : call.headers) {
    curl_slist* const longer = curl_slist_append(transfer.headers.get(), header.c_str());
    CAIRN_CHECK(longer != nullptr);
    transfer.headers.release();  // NOLINT(bugprone-unused-return-value): it is part of `longer`
    transfer.headers.reset(longer);
  }
  curl_easy_setopt(easy, CURLOPT_URL, call.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  // A lookup of a name that takes long is left to end by itself.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, OpenSocket);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, BeforeRequest);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, call.user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers.get());
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, TakeBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, TakeHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   std::min(static_cast<long>(call.connect_timeout.count()), timeout_ms));
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
  SetMethod(easy, call);
  SetVersion(easy, call);
}

// Turns `call` into the one that an answer of `status` with this Location asks for.
Result<void> Redirect(HttpCall& call, int status, const std::string& location) {
  const Origin from = OriginOf(call.url);
  const Origin to = OriginOf(location);
  if (!IsHttp(to)) return Error{ErrorCode::kIo, "the answer led to something other than HTTP"};
  if (from.scheme == "https" && to.scheme == "http") {
    return Error{ErrorCode::kForbidden, "the answer led from https to http"};
  }
  // As browsers do: 307 and 308 repeat the request, the others fetch what it made.
  const bool repeats = status == 307 || status == 308 || call.method == "HEAD";
  if (!repeats && (status == 303 || call.method == "POST")) {
    call.method = "GET";
    call.body.clear();
    std::erase_if(call.headers, [](const std::string& header) {
      const std::string_view name(header.data(), std::min(header.find(':'), header.size()));
      return EqualInAnyCase(name, "Content-Type");
    });
  }
  if (from.server != to.server) {
    std::erase_if(call.headers, [](const std::string& header) {
      const std::string_view name(header.data(), std::min(header.find(':'), header.size()));
      return EqualInAnyCase(name, "Authorization") || EqualInAnyCase(name, "Cookie");
    });
  }
  call.url = location;
  return {};
}

}  // namespace

std::optional<std::string_view> HttpAnswer::Header(std::string_view name) const {
  return Find(headers, name);
}

std::optional<std::string_view> HttpAnswer::Trailer(std::string_view name) const {
  return Find(trailers, name);
}

class HttpService::Impl {
 public:
  Impl(const Clock& clock, HttpServiceOptions options) : clock_(clock), options_(options) {
    static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
    CAIRN_CHECK(once == CURLE_OK);
    CAIRN_CHECK(options_.max_in_flight > 0);
    multi_.reset(curl_multi_init());
    CAIRN_CHECK(multi_ != nullptr);
    thread_ = std::thread([this] { ThreadMain(); });
  }
  ~Impl() { Stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<Id> Send(HttpCall call, Done done) {
    if (!IsHttp(OriginOf(call.url))) {
      return Error{ErrorCode::kInvalid, "the URL is not one of http or https"};
    }
    auto transfer = std::make_unique<Transfer>();
    transfer->deadline_ns =
        clock_.MonotonicNs() +
        static_cast<uint64_t>(std::max<int64_t>(call.timeout.count(), 0)) * kNsPerMs;
    transfer->call = std::move(call);
    transfer->done = std::move(done);
    Id id = 0;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return Stopped();
      if (open_ >= options_.max_in_flight + options_.max_waiting) {
        return Error{ErrorCode::kTooMany, "too many outgoing requests are waiting already"};
      }
      ++open_;
      id = transfer->id = ++last_id_;
      sent_.push_back(std::move(transfer));
    }
    Wake();
    return id;
  }

  void Cancel(Id id) {
    {
      const std::lock_guard lock(mutex_);
      cancelled_.push_back(id);
    }
    Wake();
  }

  void Stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    Wake();
    thread_.join();
  }

  void Wake() { curl_multi_wakeup(multi_.get()); }

 private:
  using Owned = std::unique_ptr<Transfer>;

  void ThreadMain() {
    while (TakeRequests()) {
      Expire();
      BeginWaiting();
      int running = 0;
      curl_multi_perform(multi_.get(), &running);
      // Those that ended make room for others, which are begun before the thread sleeps.
      const int wait_ms = Finish() ? 0 : WaitMs();
      curl_multi_poll(multi_.get(), nullptr, 0, wait_ms, nullptr);
    }
    while (!waiting_.empty()) End(Take(waiting_.front()->id), Stopped());
    while (!running_.empty()) End(Take(running_.begin()->first), Stopped());
    for (Owned& transfer : sent_) End(std::move(transfer), Stopped());
  }

  // False when it is time to stop; sent_ is then nobody else's.
  bool TakeRequests() {
    std::vector<Owned> sent;
    std::vector<Id> cancelled;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return false;
      sent.swap(sent_);
      cancelled.swap(cancelled_);
    }
    for (Owned& transfer : sent) waiting_.push_back(std::move(transfer));
    for (const Id id : cancelled) {
      if (Owned transfer = Take(id)) End(std::move(transfer), Cancelled());
    }
    return true;
  }

  // Takes a call out of those that wait or are under way; null if it is none of them.
  Owned Take(Id id) {
    if (const auto found = running_.find(id); found != running_.end()) {
      Owned transfer = std::move(found->second);
      running_.erase(found);
      LetGo(*transfer);
      return transfer;
    }
    const auto has_id = [&](const Owned& transfer) { return transfer->id == id; };
    const auto found = std::ranges::find_if(waiting_, has_id);
    if (found == waiting_.end()) return nullptr;
    Owned transfer = std::move(*found);
    waiting_.erase(found);
    return transfer;
  }

  void LetGo(Transfer& transfer) {
    curl_multi_remove_handle(multi_.get(), transfer.easy.get());
    if (idle_.size() < kMaxIdleHandles) {
      curl_easy_reset(transfer.easy.get());
      idle_.push_back(std::move(transfer.easy));
    }
    transfer.easy.reset();
  }

  void End(Owned transfer, Result<HttpAnswer> result) {
    {
      const std::lock_guard lock(mutex_);
      --open_;
    }
    transfer->done(std::move(result));
  }

  void BeginWaiting() {
    while (!waiting_.empty() && running_.size() < options_.max_in_flight) {
      Owned transfer = std::move(waiting_.front());
      waiting_.pop_front();
      Begin(std::move(transfer));
    }
  }

  void Begin(Owned transfer) {
    if (idle_.empty()) {
      transfer->easy.reset(curl_easy_init());
    } else {
      transfer->easy = std::move(idle_.back());
      idle_.pop_back();
    }
    CAIRN_CHECK(transfer->easy != nullptr);
    SetUp(*transfer, MsUntil(transfer->deadline_ns));
    const CURLMcode added = curl_multi_add_handle(multi_.get(), transfer->easy.get());
    CAIRN_CHECK(added == CURLM_OK, "{}", curl_multi_strerror(added));
    const Id id = transfer->id;
    running_.emplace(id, std::move(transfer));
  }

  // At least 1, which to libcurl is the shortest time: 0 is none at all.
  long MsUntil(uint64_t deadline_ns) const {
    const uint64_t now = clock_.MonotonicNs();
    if (deadline_ns <= now) return 1;
    return static_cast<long>(
        std::clamp<uint64_t>((deadline_ns - now + kNsPerMs - 1) / kNsPerMs, 1, kNoTimeoutMs));
  }

  template <typename Each>
  void ForEach(const Each& each) {
    for (const auto& [id, transfer] : running_) each(*transfer);
    for (const Owned& transfer : waiting_) each(*transfer);
  }

  int WaitMs() {
    long wait = kNoTimeoutMs;
    ForEach(
        [&](const Transfer& transfer) { wait = std::min(wait, MsUntil(transfer.deadline_ns)); });
    return static_cast<int>(wait);
  }

  void Expire() {
    const uint64_t now = clock_.MonotonicNs();
    std::vector<Id> late;
    ForEach([&](const Transfer& transfer) {
      if (transfer.deadline_ns <= now) late.push_back(transfer.id);
    });
    for (const Id id : late) {
      End(Take(id), Error{ErrorCode::kIo, curl_easy_strerror(CURLE_OPERATION_TIMEDOUT)});
    }
  }

  // Whether any has ended.
  bool Finish() {
    bool any = false;
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      any = true;
      const CURLcode result = message->data.result;
      Transfer* ended = nullptr;
      long status = 0;
      char* location = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &ended);
      curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
      curl_easy_getinfo(message->easy_handle, CURLINFO_REDIRECT_URL, &location);
      ended->answer.status = static_cast<int>(status);
      const std::string next(location == nullptr ? "" : location);
      Owned transfer = Take(ended->id);
      Conclude(std::move(transfer), result, next);
    }
    return any;
  }

  void Conclude(Owned transfer, CURLcode code, const std::string& location) {
    const HttpCall& call = transfer->call;
    const bool is_answer = code == CURLE_OK || transfer->too_large;
    if (is_answer && !location.empty() && call.max_redirects > 0) {
      Follow(std::move(transfer), location);
    } else if (transfer->too_large && call.excess == HttpCall::Excess::kRefuse) {
      const size_t most = call.max_answer_bytes;
      End(std::move(transfer),
          Error{ErrorCode::kTooLarge, fmt::format("the answer is longer than {} bytes", most)});
    } else if (is_answer) {
      HttpAnswer answer = std::move(transfer->answer);
      answer.url = call.url;
      End(std::move(transfer), std::move(answer));
    } else if (transfer->refused) {
      std::string message =
          fmt::format("{} may not be sent to {}", call.plural, *transfer->refused);
      End(std::move(transfer), Error{ErrorCode::kForbidden, std::move(message)});
    } else {
      End(std::move(transfer), Error{ErrorCode::kIo, curl_easy_strerror(code)});
    }
  }

  // Sends the call once more, to where its answer leads. Its deadline stays.
  void Follow(Owned transfer, const std::string& location) {
    if (transfer->redirects >= transfer->call.max_redirects) {
      End(std::move(transfer), Error{ErrorCode::kIo, "the answer was one redirect too many"});
      return;
    }
    Result<void> redirected = Redirect(transfer->call, transfer->answer.status, location);
    if (redirected.ok() && transfer->call.check_redirect) {
      redirected = transfer->call.check_redirect(location);
    }
    if (!redirected.ok()) {
      End(std::move(transfer), redirected.error());
      return;
    }
    ++transfer->redirects;
    transfer->answer = {};
    transfer->header_bytes = 0;
    transfer->headers_ended = false;
    transfer->refused.reset();
    transfer->too_large = false;
    Begin(std::move(transfer));
  }

  const Clock& clock_;
  const HttpServiceOptions options_;
  std::unique_ptr<CURLM, FreeMulti> multi_;

  std::mutex mutex_;
  bool stopping_ = false;
  size_t open_ = 0;  // calls that have not ended
  Id last_id_ = 0;
  std::vector<Owned> sent_;
  std::vector<Id> cancelled_;

  // The thread's own.
  std::deque<Owned> waiting_;
  std::map<Id, Owned> running_;
  std::vector<EasyHandle> idle_;

  std::thread thread_;
};

HttpService::HttpService(const Clock& clock, HttpServiceOptions options)
    : impl_(std::make_unique<Impl>(clock, options)) {}
HttpService::~HttpService() = default;
Result<HttpService::Id> HttpService::Send(HttpCall call, Done done) {
  return impl_->Send(std::move(call), std::move(done));
}
void HttpService::Cancel(Id id) { impl_->Cancel(id); }
void HttpService::Stop() { impl_->Stop(); }
void HttpService::Wake() { impl_->Wake(); }

}  // namespace cairn::outside
