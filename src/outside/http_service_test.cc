// Against servers on the loopback only. That addresses of other kinds are refused is shown without
// a request: the policy says no before a socket exists.
#include "outside/http_service.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"

namespace cairn::outside {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr milliseconds kLong = std::chrono::hours(1);

std::string Answer(int status, std::string_view body, std::string_view headers = "") {
  return fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(),
                     headers, body);
}

// A server that keeps what arrives and answers as it is told; it may not answer at all.
class Peer {
 public:
  // Given a request, what to send back; nullopt to leave the client waiting.
  using Script = std::function<std::optional<std::string>(const std::string& request)>;

  explicit Peer(Script script) : Peer(std::move(script), Framing::kRequests) {}
  enum class Framing : uint8_t {
    kRequests,  // the script is given whole requests of HTTP/1.1
    kNone,      // it is given what arrives
  };
  Peer(Script script, Framing framing) : script_(std::move(script)), framing_(framing) {
    listener_ = FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener_.get(), 64), 0);
    socklen_t size = sizeof(address);
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  ~Peer() {
    shutdown(listener_.get(), SHUT_RDWR);
    stopping_ = true;
    thread_.join();
  }

  uint16_t port() const { return port_; }
  std::string url(std::string_view path = "/") const {
    return fmt::format("http://127.0.0.1:{}{}", port_, path);
  }
  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  int connections() {
    const std::lock_guard lock(mutex_);
    return connections_;
  }
  void AwaitRequests(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(arrived_.wait_for(lock, seconds(60), [&] { return requests_.size() >= count; }))
        << "waited for " << count << " requests, got " << requests_.size();
  }

 private:
  struct Connection {
    FileDescriptor fd;
    std::string input = {};
  };

  void Run() {
    std::vector<Connection> connections;
    while (!stopping_) {
      std::vector<pollfd> fds = {{listener_.get(), POLLIN, 0}};
      for (const Connection& one : connections) fds.push_back({one.fd.get(), POLLIN, 0});
      (void)poll(fds.data(), fds.size(), 1'000);
      for (size_t i = fds.size() - 1; i > 0; --i) {
        if (fds[i].revents != 0 && !Serve(connections[i - 1])) {
          connections.erase(connections.begin() + static_cast<ptrdiff_t>(i) - 1);
        }
      }
      if (fds[0].revents == 0) continue;
      const int fd = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      connections.push_back({FileDescriptor(fd)});
      const std::lock_guard lock(mutex_);
      ++connections_;
    }
  }

  static bool IsWhole(const std::string& input) {
    const size_t end = input.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    size_t length = 0;
    if (const size_t at = input.find("Content-Length: "); at < end) {
      length = std::stoul(input.substr(at + 16));
    }
    return input.size() >= end + 4 + length;
  }

  // False if the connection is over.
  bool Serve(Connection& connection) {
    char buffer[4096];
    const ssize_t got = recv(connection.fd.get(), buffer, sizeof(buffer), 0);
    if (got <= 0) return false;
    connection.input.append(buffer, static_cast<size_t>(got));
    if (framing_ == Framing::kRequests && !IsWhole(connection.input)) return true;
    const std::string request = std::exchange(connection.input, {});
    const std::optional<std::string> answer = script_(request);
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      arrived_.notify_all();
    }
    if (!answer) return true;
    std::string_view left = *answer;
    while (!left.empty()) {
      const ssize_t sent = send(connection.fd.get(), left.data(), left.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      left.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  const Script script_;
  const Framing framing_;
  FileDescriptor listener_;
  uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::string> requests_;
  int connections_ = 0;
  std::thread thread_;
};

class HttpServiceTest : public ::testing::Test {
 protected:
  HttpCall CallTo(const std::string& url) const {
    return {
        .url = url, .policy = {.loopback = true}, .connect_timeout = seconds(30), .timeout = kLong};
  }
  std::future<Result<HttpAnswer>> Begin(HttpCall call, HttpService::Id* id = nullptr) {
    auto promise = std::make_shared<std::promise<Result<HttpAnswer>>>();
    const Result<HttpService::Id> sent =
        service_.Send(std::move(call),
                      [promise](const Result<HttpAnswer>& answer) { promise->set_value(answer); });
    if (!sent.ok()) promise->set_value(sent.error());
    if (id != nullptr && sent.ok()) *id = *sent;
    return promise->get_future();
  }
  static Result<HttpAnswer> Await(std::future<Result<HttpAnswer>> future) {
    if (future.wait_for(seconds(60)) != std::future_status::ready) {
      ADD_FAILURE() << "waited for an answer in vain";
      return Error{ErrorCode::kInternal, "no answer"};
    }
    return future.get();
  }
  Result<HttpAnswer> Ask(HttpCall call) { return Await(Begin(std::move(call))); }
  Error Refusal(HttpCall call) {
    const Result<HttpAnswer> answer = Ask(std::move(call));
    EXPECT_FALSE(answer.ok());
    return answer.ok() ? Error{} : answer.error();
  }

  ManualClock clock_;
  HttpService service_{clock_, {.max_in_flight = 2, .max_waiting = 1}};
};

TEST_F(HttpServiceTest, AsksAndHearsTheAnswer) {
  Peer peer([](const std::string&) { return Answer(201, "made", "X-Thing:  yes \r\n"); });
  HttpCall call = CallTo(peer.url("/a?b=c"));
  call.method = "POST";
  call.headers = {"X-Mine: 1"};
  call.body = "hello";
  const Result<HttpAnswer> answer = Ask(call);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->body, "made");
  EXPECT_FALSE(answer->cut);
  EXPECT_EQ(answer->Header("x-thing"), "yes");
  EXPECT_EQ(answer->Header("missing"), std::nullopt);
  const std::string request = peer.requests().at(0);
  EXPECT_THAT(request, StartsWith("POST /a?b=c HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("X-Mine: 1\r\n"));
  EXPECT_THAT(request, HasSubstr("User-Agent: cairn\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\n\r\nhello"));
}

TEST_F(HttpServiceTest, MethodsArriveAsTheyAreNamed) {
  Peer peer([](const std::string& request) {
    return Answer(200, request.starts_with("HEAD") ? "" : "x");
  });
  for (const std::string method : {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"}) {
    HttpCall call = CallTo(peer.url());
    call.method = method;
    if (method == "PUT") call.body = "data";
    EXPECT_TRUE(Ask(call).ok()) << method;
    EXPECT_THAT(peer.requests().back(), StartsWith(method + " / HTTP/1.1\r\n"));
  }
  EXPECT_EQ(peer.connections(), 1);  // kept, and used again
}

TEST_F(HttpServiceTest, AnyStatusIsAnAnswer) {
  Peer peer([](const std::string&) { return Answer(503, "later"); });
  const Result<HttpAnswer> answer = Ask(CallTo(peer.url()));
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->body, "later");
}

TEST_F(HttpServiceTest, AddressesThatAreNotAllowedAreNotAsked) {
  Peer peer([](const std::string&) { return Answer(200, ""); });
  HttpCall call = CallTo(peer.url());
  call.policy = {};
  EXPECT_EQ(Refusal(call), (Error{ErrorCode::kForbidden,
                                  "requests may not be sent to 127.0.0.1, a loopback address"}));
  // A name is refused for the addresses that it has.
  call.url = fmt::format("http://localhost:{}/", peer.port());
  call.plural = "letters";
  EXPECT_THAT(Refusal(call).message, StartsWith("letters may not be sent to "));
  for (const std::string host : {"10.0.0.1", "192.168.1.1", "169.254.169.254", "[fe80::1]",
                                 "[::ffff:10.0.0.1]", "0.0.0.0", "2130706433", "0x7f.1"}) {
    call.url = "http://" + host + "/";
    EXPECT_EQ(Refusal(call).code, ErrorCode::kForbidden) << host;
  }
  EXPECT_EQ(peer.connections(), 0);
}

TEST_F(HttpServiceTest, AConnectionThatAnotherPolicyAllowedIsNotUsed) {
  Peer peer([](const std::string&) { return Answer(200, ""); });
  ASSERT_TRUE(Ask(CallTo(peer.url())).ok());
  HttpCall strict = CallTo(peer.url());
  strict.policy = {};
  EXPECT_EQ(Refusal(strict).code, ErrorCode::kForbidden);
  EXPECT_THAT(peer.requests(), SizeIs(1));
}

TEST_F(HttpServiceTest, RedirectsAreAnswersUnlessTheyMayBeFollowed) {
  Peer peer([](const std::string& request) {
    return request.starts_with("GET /end") ? Answer(200, "here")
                                           : Answer(302, "", "Location: /end\r\n");
  });
  EXPECT_EQ(Ask(CallTo(peer.url()))->status, 302);
  HttpCall call = CallTo(peer.url());
  call.max_redirects = 1;
  call.method = "POST";
  call.body = "x";
  const Result<HttpAnswer> answer = Ask(call);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->body, "here");
  EXPECT_THAT(peer.requests().back(), Not(HasSubstr("Content-Length")));
}

TEST_F(HttpServiceTest, ARedirectThatRepeatsKeepsMethodAndBody) {
  Peer peer([](const std::string& request) {
    return request.starts_with("PUT /end") ? Answer(200, "here")
                                           : Answer(307, "", "Location: /end\r\n");
  });
  HttpCall call = CallTo(peer.url());
  call.max_redirects = 1;
  call.method = "PUT";
  call.body = "x";
  EXPECT_EQ(Ask(call)->body, "here");
  EXPECT_THAT(peer.requests().back(), HasSubstr("\r\n\r\nx"));
}

TEST_F(HttpServiceTest, ARedirectToAnAddressThatIsNotAllowedIsNotFollowed) {
  std::string location = "http://10.0.0.1/";
  Peer peer([&](const std::string&) {
    return Answer(302, "", fmt::format("Location: {}\r\n", location));
  });
  HttpCall call = CallTo(peer.url());
  call.max_redirects = 5;
  EXPECT_EQ(Refusal(call), (Error{ErrorCode::kForbidden,
                                  "requests may not be sent to 10.0.0.1, a private address"}));
  location = "http://169.254.169.254/latest/meta-data";
  EXPECT_EQ(Refusal(call).code, ErrorCode::kForbidden);
  location = "file:///etc/passwd";
  EXPECT_EQ(Refusal(call).code, ErrorCode::kIo);
}

TEST_F(HttpServiceTest, WhoeverAsksCanRefuseARedirect) {
  Peer peer([](const std::string& request) {
    if (request.starts_with("GET /end")) return Answer(200, "here");
    return Answer(302, "", "Location: /end\r\n");
  });
  HttpCall call = CallTo(peer.url());
  call.max_redirects = 1;
  std::string asked;
  call.check_redirect = [&](const std::string& url) -> Result<void> {
    asked = url;
    return {};
  };
  EXPECT_EQ(Ask(call)->url, peer.url() + "end");
  EXPECT_EQ(asked, peer.url() + "end");
  call.check_redirect = [](const std::string&) -> Result<void> {
    return Error{ErrorCode::kForbidden, "not there"};
  };
  EXPECT_EQ(Refusal(call), (Error{ErrorCode::kForbidden, "not there"}));
  EXPECT_EQ(peer.requests().size(), 3U);
}

TEST_F(HttpServiceTest, RedirectsHaveAnEnd) {
  Peer peer([](const std::string&) { return Answer(302, "", "Location: /again\r\n"); });
  HttpCall call = CallTo(peer.url());
  call.max_redirects = 3;
  EXPECT_EQ(Refusal(call).message, "the answer was one redirect too many");
  EXPECT_THAT(peer.requests(), SizeIs(4));
}

TEST_F(HttpServiceTest, CredentialsStayWithTheServerTheyAreFor) {
  Peer other([](const std::string&) { return Answer(200, ""); });
  Peer peer([&](const std::string& request) {
    return Answer(
        302, "",
        fmt::format("Location: {}\r\n", request.starts_with("GET /1") ? "/2" : other.url()));
  });
  HttpCall call = CallTo(fmt::format("http://ann:s3cret@127.0.0.1:{}/1", peer.port()));
  call.max_redirects = 2;
  call.headers = {"authorization: Bearer t0ken", "Cookie: c=1", "X-Other: 2"};
  ASSERT_TRUE(Ask(call).ok());
  EXPECT_THAT(peer.requests().at(1), HasSubstr("Bearer t0ken"));
  const std::string elsewhere = other.requests().at(0);
  EXPECT_THAT(elsewhere, Not(HasSubstr("uthorization")));
  EXPECT_THAT(elsewhere, Not(HasSubstr("Cookie")));
  EXPECT_THAT(elsewhere, HasSubstr("X-Other: 2"));
}

TEST_F(HttpServiceTest, ErrorsDoNotShowCredentials) {
  HttpCall call = CallTo("http://ann:s3cret@127.0.0.1:1/?token=t0ken");
  EXPECT_EQ(Refusal(call).code, ErrorCode::kIo);
  for (const std::string url :
       {"http://ann:s3cret@127.0.0.1:1/?token=t0ken", "ftp://ann:s3cret@127.0.0.1/",
        "http://ann:s3cret@10.0.0.1/", "http://ann:s3cret@:99999/"}) {
    EXPECT_THAT(Refusal(CallTo(url)).message, Not(HasSubstr("s3cret"))) << url;
  }
  EXPECT_EQ(Refusal(CallTo("ftp://127.0.0.1/")).code, ErrorCode::kInvalid);
  EXPECT_EQ(Refusal(CallTo("not a url")).code, ErrorCode::kInvalid);
  EXPECT_EQ(Refusal(CallTo("")).code, ErrorCode::kInvalid);
}

TEST_F(HttpServiceTest, AnswersAreBounded) {
  Peer peer([](const std::string&) { return Answer(200, std::string(100'000, 'x')); });
  HttpCall call = CallTo(peer.url());
  call.max_answer_bytes = 100'000;
  EXPECT_EQ(Ask(call)->body.size(), 100'000U);
  call.max_answer_bytes = 99'999;
  EXPECT_EQ(Refusal(call), (Error{ErrorCode::kTooLarge, "the answer is longer than 99999 bytes"}));
  call.excess = HttpCall::Excess::kCut;
  const Result<HttpAnswer> cut = Ask(call);
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->status, 200);
  EXPECT_EQ(cut->body.size(), 99'999U);
  EXPECT_TRUE(cut->cut);
  call.excess = HttpCall::Excess::kDiscard;
  call.max_answer_bytes = 0;
  const int before = peer.connections();
  for (int i = 0; i < 3; ++i) {
    const Result<HttpAnswer> dropped = Ask(call);
    ASSERT_TRUE(dropped.ok());
    EXPECT_EQ(dropped->body, "");
    EXPECT_TRUE(dropped->cut);
  }
  EXPECT_LE(peer.connections(), before + 1);
}

TEST_F(HttpServiceTest, OneThatNeverAnswersIsGivenUpInTime) {
  Peer peer([](const std::string&) { return std::nullopt; });
  HttpCall call = CallTo(peer.url());
  call.timeout = seconds(10);
  auto answer = Begin(call);
  peer.AwaitRequests(1);
  clock_.AdvanceMillis(10'000);
  service_.Wake();
  const Result<HttpAnswer> late = Await(std::move(answer));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error(), (Error{ErrorCode::kIo, "Timeout was reached"}));
}

TEST_F(HttpServiceTest, TheTimeOfARequestGoesOnAcrossRedirects) {
  Peer peer([&](const std::string& request) -> std::optional<std::string> {
    if (request.starts_with("GET /2")) return std::nullopt;
    clock_.AdvanceMillis(9'999);
    return Answer(302, "", "Location: /2\r\n");
  });
  HttpCall call = CallTo(peer.url());
  call.timeout = seconds(10);
  call.max_redirects = 1;
  auto answer = Begin(call);
  peer.AwaitRequests(2);
  clock_.AdvanceMillis(1);
  service_.Wake();
  EXPECT_FALSE(Await(std::move(answer)).ok());
}

TEST_F(HttpServiceTest, AFullServiceRefusesAtOnceAndServesTheRestInTurn) {
  std::mutex mutex;
  bool silent = true;
  Peer peer([&](const std::string&) -> std::optional<std::string> {
    const std::lock_guard lock(mutex);
    if (silent) return std::nullopt;
    return Answer(200, "");
  });
  HttpService::Id first = 0;
  auto a = Begin(CallTo(peer.url("/a")), &first);
  auto b = Begin(CallTo(peer.url("/b")));
  auto c = Begin(CallTo(peer.url("/c")));
  EXPECT_EQ(Refusal(CallTo(peer.url("/d"))),
            (Error{ErrorCode::kTooMany, "too many outgoing requests are waiting already"}));
  peer.AwaitRequests(2);
  {
    const std::lock_guard lock(mutex);
    silent = false;
  }
  service_.Cancel(first);
  EXPECT_EQ(Await(std::move(a)).error(),
            (Error{ErrorCode::kUnavailable, "the request was cancelled"}));
  EXPECT_TRUE(Await(std::move(c)).ok());
  EXPECT_TRUE(Ask(CallTo(peer.url("/e"))).ok());
  EXPECT_NE(b.wait_for(milliseconds(0)), std::future_status::ready);
}

TEST_F(HttpServiceTest, OneThatWaitsCanBeCancelledAndTooLateIsNoError) {
  Peer peer([](const std::string&) { return std::nullopt; });
  auto a = Begin(CallTo(peer.url("/a")));
  auto b = Begin(CallTo(peer.url("/b")));
  HttpService::Id id = 0;
  auto c = Begin(CallTo(peer.url("/c")), &id);
  service_.Cancel(id);
  EXPECT_EQ(Await(std::move(c)).error().code, ErrorCode::kUnavailable);
  service_.Cancel(id);
  service_.Cancel(999);
}

TEST_F(HttpServiceTest, StoppingWaitsForNobody) {
  Peer peer([](const std::string&) { return std::nullopt; });
  auto a = Begin(CallTo(peer.url("/a")));
  auto b = Begin(CallTo(peer.url("/b")));
  auto c = Begin(CallTo(peer.url("/c")));
  peer.AwaitRequests(2);
  service_.Stop();
  for (auto* future : {&a, &b, &c}) {
    EXPECT_EQ(Await(std::move(*future)).error(),
              (Error{ErrorCode::kUnavailable, "the server is stopping"}));
  }
  EXPECT_EQ(Refusal(CallTo(peer.url())).code, ErrorCode::kUnavailable);
  service_.Stop();
}

TEST_F(HttpServiceTest, HalfAnAnswerIsAnError) {
  Peer peer([](const std::string&) { return "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"; });
  HttpCall call = CallTo(peer.url());
  call.timeout = seconds(1);
  auto answer = Begin(call);
  peer.AwaitRequests(1);
  clock_.AdvanceMillis(1'000);  // the rest never comes
  service_.Wake();
  EXPECT_EQ(Await(std::move(answer)).error().code, ErrorCode::kIo);
}

TEST_F(HttpServiceTest, TrailersAreKeptApartFromHeaders) {
  Peer peer([](const std::string&) {
    return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\nX-Begin: 1\r\n\r\n"
           "3\r\nabc\r\n0\r\nX-End: 2\r\n\r\n";
  });
  const Result<HttpAnswer> answer = Ask(CallTo(peer.url()));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->body, "abc");
  EXPECT_EQ(answer->Header("x-begin"), "1");
  EXPECT_EQ(answer->Header("x-end"), std::nullopt);
  EXPECT_EQ(answer->Trailer("x-end"), "2");
  EXPECT_EQ(answer->Trailer("x-begin"), std::nullopt);
}

// --- HTTP/2 --------------------------------------------------------------------------------------

// As much of a server of HTTP/2 as one request at a time takes: it reads frames, and answers each
// stream that the client has ended. Header blocks are literals, so there is nothing to decode.
class Http2Peer {
 public:
  // Frames that answer the request on a stream.
  using Script = std::function<std::string(uint32_t stream)>;

  explicit Http2Peer(Script script)
      : script_(std::move(script)),
        peer_([this](const std::string& input) { return Answer(input); }, Peer::Framing::kNone) {}

  std::string url() const { return peer_.url("/call"); }

  static std::string Frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view body) {
    std::string frame;
    for (const int shift : {16, 8, 0}) frame += static_cast<char>(body.size() >> shift & 0xFFU);
    frame += static_cast<char>(type);
    frame += static_cast<char>(flags);
    for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(stream >> shift & 0xFFU);
    return frame.append(body);
  }
  static std::string Field(std::string_view name, std::string_view value) {
    std::string field(1, '\0');  // a literal that is not kept, with a name of its own
    field += static_cast<char>(name.size());
    field.append(name);
    field += static_cast<char>(value.size());
    return field.append(value);
  }

  static constexpr uint8_t kData = 0;
  static constexpr uint8_t kHeaders = 1;
  static constexpr uint8_t kEndStream = 1;
  static constexpr uint8_t kEndHeaders = 4;
  static constexpr const char* kStatus200 = "\x88";

 private:
  // What is to be sent for what has arrived, of which nothing is whole yet or some frames are.
  std::optional<std::string> Answer(const std::string& input) {
    constexpr uint8_t kSettings = 4;
    constexpr size_t kHead = 9;
    constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    std::string answer;
    input_ += input;
    if (!begun_) {
      if (input_.size() < kPreface.size()) return std::nullopt;
      EXPECT_THAT(input_, StartsWith(kPreface));
      input_.erase(0, kPreface.size());
      begun_ = true;
      answer += Frame(kSettings, 0, 0, "");
    }
    while (input_.size() >= kHead) {
      const auto byte = [&](size_t at) { return static_cast<unsigned char>(input_[at]); };
      const size_t length = static_cast<size_t>(byte(0)) << 16 | byte(1) << 8 | byte(2);
      if (input_.size() < kHead + length) break;
      const uint8_t type = byte(3);
      const uint8_t flags = byte(4);
      const uint32_t stream = static_cast<uint32_t>(byte(7)) << 8 | byte(8);
      input_.erase(0, kHead + length);
      if (type == kSettings && (flags & 1U) == 0) answer += Frame(kSettings, 1, 0, "");
      if ((type == kHeaders || type == kData) && (flags & kEndStream) != 0) {
        answer += script_(stream);
      }
    }
    return answer;
  }

  const Script script_;
  bool begun_ = false;  // of the one connection that it expects
  std::string input_;
  Peer peer_;  // last: its thread uses the others
};

TEST_F(HttpServiceTest, Http2IsSpokenFromTheFirstByte) {
  using H = Http2Peer;
  Http2Peer peer([](uint32_t stream) {
    return H::Frame(H::kHeaders, H::kEndHeaders, stream,
                    H::kStatus200 + H::Field("content-type", "application/grpc")) +
           H::Frame(H::kData, 0, stream, "body") +
           H::Frame(H::kHeaders, H::kEndHeaders | H::kEndStream, stream,
                    H::Field("grpc-status", "0"));
  });
  HttpCall call = CallTo(peer.url());
  call.method = "POST";
  call.version = HttpCall::Version::kHttp2;
  call.body = "question";
  const Result<HttpAnswer> answer = Ask(call);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "body");
  EXPECT_EQ(answer->Header("content-type"), "application/grpc");
  EXPECT_EQ(answer->Trailer("grpc-status"), "0");
}

TEST_F(HttpServiceTest, AnAnswerOfHttp2WithoutABodyHasHeadersAlone) {
  using H = Http2Peer;
  Http2Peer peer([](uint32_t stream) {
    return H::Frame(H::kHeaders, H::kEndHeaders | H::kEndStream, stream,
                    H::kStatus200 + H::Field("grpc-status", "5"));
  });
  HttpCall call = CallTo(peer.url());
  call.method = "POST";
  call.version = HttpCall::Version::kHttp2;
  const Result<HttpAnswer> answer = Ask(call);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->Header("grpc-status"), "5");
  EXPECT_THAT(answer->trailers, SizeIs(0));
}

TEST_F(HttpServiceTest, AServerThatDoesNotSpeakHttp2IsAnError) {
  Peer peer([](const std::string&) { return Answer(200, "hello"); });
  HttpCall call = CallTo(peer.url());
  call.version = HttpCall::Version::kHttp2;
  EXPECT_EQ(Refusal(call).code, ErrorCode::kIo);
}

}  // namespace
}  // namespace cairn::outside
