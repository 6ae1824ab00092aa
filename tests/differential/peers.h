#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/address.h"
#include "net/resp/client.h"
#include "net/resp/reply.h"
#include "tests/support/process.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {

// Debian's redis-server on a free port of 127.0.0.1, keeping nothing.
class RedisServer {
 public:
  static Result<std::unique_ptr<RedisServer>> Start();
  const net::Address& address() const { return address_; }

 private:
  RedisServer() = default;

  TempDirectory directory_;
  std::unique_ptr<Process> process_;
  net::Address address_;
};

// Cairn's binary.
class CairnServer {
 public:
  static Result<std::unique_ptr<CairnServer>> Start();
  const net::Address& address() const { return server_->resp(); }

 private:
  CairnServer() = default;

  TempDirectory directory_;
  std::unique_ptr<Server> server_;
};

// A reply and the very bytes it came in: to a client, a null array is not a null string.
struct Reply {
  std::string bytes;
  net::RespValue value;
};

// A connection that shows the bytes of replies.
class ByteClient {
 public:
  explicit ByteClient(const net::Address& address);

  // A request that cannot be sent will show as a reply that does not come.
  void Send(const std::vector<std::string>& args);
  // What went wrong instead of a reply is a reply, "closed" or "nothing", so that it is compared.
  Reply Receive();

 private:
  net::RespClient client_;
  net::RespReplyParser parser_;
  std::string unread_;  // what the parser holds and has not returned yet
};

}  // namespace cairn::testing
