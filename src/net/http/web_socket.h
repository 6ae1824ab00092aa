#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <memory>
#include <string>

#include "net/http/server.h"
#include "net/http/stream_host.h"

namespace cairn::net {

using TcpStream = boost::asio::ip::tcp::socket;
using TlsStream = boost::asio::ssl::stream<boost::asio::ip::tcp::socket>;

// The WebSocket behind a connection. Dead peers are found by pings, as often as the server's idle
// time-out says.
class WebSocketConnection : public WebSocket {
 public:
  // Accepts the upgrade and runs the handler's coroutine until it ends, or until the host stops and
  // the peer has been told. Returns what the handler threw, empty if nothing.
  virtual boost::asio::awaitable<std::string> Run(
      const boost::beast::http::request<boost::beast::http::string_body>& request,
      const HttpHeaders& headers, HttpWebSocket& upgrade, StreamHost& host) = 0;
  // Closes the socket as it is.
  virtual void Abort() = 0;
};

std::unique_ptr<WebSocketConnection> MakeWebSocket(TcpStream stream,
                                                   const HttpServerOptions& options,
                                                   size_t message_limit);
std::unique_ptr<WebSocketConnection> MakeWebSocket(TlsStream stream,
                                                   const HttpServerOptions& options,
                                                   size_t message_limit);

}  // namespace cairn::net
