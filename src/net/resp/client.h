#pragma once

#include <chrono>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/address.h"
#include "net/resp/reply.h"

namespace cairn::net {

// A blocking RESP connection for tests, tools and benchmarks. Used by one thread at a time; every
// call that waits gives up with kUnavailable after the timeout.
class RespClient {
 public:
  static Result<RespClient> Connect(const Address& address,
                                    std::chrono::milliseconds timeout = std::chrono::seconds(30));
  RespClient(RespClient&& other) noexcept;
  RespClient& operator=(RespClient&& other) noexcept;
  ~RespClient();

  // Sends one request and returns its reply. An error reply is a value, not an Error.
  Result<RespValue> Command(std::initializer_list<std::string_view> args);
  Result<RespValue> Command(std::span<const std::string> args);

  // Pipelining: any number of Sends, then as many Receives.
  Result<void> Send(std::initializer_list<std::string_view> args);
  Result<void> Send(std::span<const std::string> args);
  Result<RespValue> Receive();

  // Bytes as they are, for tests of the protocol itself.
  Result<void> SendRaw(std::string_view bytes);
  // Everything up to the end of the stream.
  Result<std::string> ReceiveUntilClosed();
  // Tells the server that nothing more will be sent; replies still arrive.
  void FinishSending();
  void Close();

  int fd() const { return fd_; }

 private:
  RespClient(int fd, std::chrono::milliseconds timeout) : fd_(fd), timeout_(timeout) {}
  Result<size_t> ReadSome(char* data, size_t size);

  int fd_ = -1;
  std::chrono::milliseconds timeout_;
  RespReplyParser parser_;
};

// A request in the form in which clients send it: an array of bulk strings.
std::string EncodeRequest(std::span<const std::string_view> args);

}  // namespace cairn::net
