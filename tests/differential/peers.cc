#include "tests/differential/peers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>

#include "base/check.h"

namespace cairn::testing {
namespace {

constexpr const char* kRedisProgram = "/usr/bin/redis-server";
constexpr int kAttempts = 5;
constexpr std::chrono::seconds kStartLimit{30};
constexpr std::chrono::milliseconds kLookAgain{5};
constexpr int kReplyLimitMs = 60'000;

// A port that was free a moment ago. Whoever takes it in between makes Redis fail to start.
uint16_t FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  CAIRN_CHECK(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
  CAIRN_CHECK(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  close(fd);
  return ntohs(address.sin_port);
}

// Until it answers; false if it ends or takes too long.
bool AwaitPong(Process& process, const net::Address& address) {
  const auto deadline = std::chrono::steady_clock::now() + kStartLimit;
  while (std::chrono::steady_clock::now() < deadline) {
    if (auto client = net::RespClient::Connect(address); client.ok()) {
      const auto pong = client->Command({"PING"});
      if (pong.ok() && pong->text == "PONG") return true;
    }
    if (process.Wait(kLookAgain)) return false;
  }
  return false;
}

net::RespClient ConnectOrDie(const net::Address& address) {
  Result<net::RespClient> client = net::RespClient::Connect(address);
  CAIRN_CHECK(client.ok(), "{}", client.error().message);
  return *std::move(client);
}

}  // namespace

Result<std::unique_ptr<RedisServer>> RedisServer::Start() {
  std::string said;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::unique_ptr<RedisServer> redis(new RedisServer());
    redis->address_ = {"127.0.0.1", FreePort()};
    CAIRN_ASSIGN_OR_RETURN(
        Process process,
        Process::Start({.args = {kRedisProgram, "--port", std::to_string(redis->address_.port),
                                 "--bind", "127.0.0.1", "--dir", redis->directory_.path(), "--save",
                                 "", "--appendonly", "no"},
                        .environment = {},
                        .directory = redis->directory_.path()}));
    redis->process_ = std::make_unique<Process>(std::move(process));
    if (AwaitPong(*redis->process_, redis->address_)) return redis;
    said = redis->process_->out() + redis->process_->err();
  }
  return Error{ErrorCode::kUnavailable, "redis-server does not start: " + said};
}

Result<std::unique_ptr<CairnServer>> CairnServer::Start() {
  std::unique_ptr<CairnServer> cairn(new CairnServer());
  CAIRN_ASSIGN_OR_RETURN(Server server, Server::Start({.data = cairn->directory_ / "data",
                                                       .flags = {"--durability", "os"},
                                                       .environment = {}}));
  cairn->server_ = std::make_unique<Server>(std::move(server));
  return cairn;
}

ByteClient::ByteClient(const net::Address& address) : client_(ConnectOrDie(address)) {}

void ByteClient::Send(const std::vector<std::string>& args) {
  [[maybe_unused]] const Result<void> sent = client_.Send(args);
}

Reply ByteClient::Receive() {
  while (true) {
    Result<std::optional<net::RespValue>> value = parser_.Next();
    if (!value.ok()) return {"no RESP: " + value.error().message, {}};
    if (*value) {
      const size_t size = unread_.size() - parser_.buffered();
      Reply reply{unread_.substr(0, size), std::move(**value)};
      unread_.erase(0, size);
      return reply;
    }
    pollfd readable{client_.fd(), POLLIN, 0};
    if (poll(&readable, 1, kReplyLimitMs) != 1) return {"nothing", {}};
    char buffer[16 * 1024];
    const ssize_t got = read(client_.fd(), buffer, sizeof(buffer));
    if (got <= 0) return {"closed", {}};
    const std::string_view bytes(buffer, static_cast<size_t>(got));
    parser_.Feed(bytes);
    unread_.append(bytes);
  }
}

}  // namespace cairn::testing
