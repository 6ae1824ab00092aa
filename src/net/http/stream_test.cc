// Responses that stay open: event streams, streamed bodies and WebSockets, over TCP and TLS.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <string>
#include <thread>

#include "net/http/server.h"
#include "net/testing/certificate.h"
#include "net/testing/http_fixture.h"
#include "tests/support/temp_directory.h"

namespace cairn::net::testing {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ServerEventTest, IsWrittenAsTheStandardSays) {
  EXPECT_EQ(FormatServerEvent({"1", "tick", "a\nb\r\nc\rd"}),
            "id: 1\nevent: tick\ndata: a\ndata: b\ndata: c\ndata: d\n\n");
  EXPECT_EQ(FormatServerEvent({"", "", ""}), "data: \n\n");
  EXPECT_EQ(FormatServerEvent({"a\nevil: 1", "b\r", ""}), "id: a evil: 1\nevent: b \ndata: \n\n");
}

// --- Event streams ------------------------------------------------------------------------------

class EventStreamTest : public HttpServerTest {
 protected:
  // Reads until `part` has arrived.
  static std::string ReadUntil(RespClient& client, std::string_view part) {
    std::string received;
    while (received.find(part) == std::string::npos) {
      char byte = 0;
      const ssize_t size = recv(client.fd(), &byte, 1, 0);
      if (size == 1) received.push_back(byte);
      if (size == 0) return received + "<closed>";
    }
    return received;
  }
};

TEST_F(EventStreamTest, CarriesEventsAndEnds) {
  Start();
  const auto response = Client().Get("/events/2");
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->headers.Get("Content-Type"), "text/event-stream");
  EXPECT_EQ(response->headers.Get("Cache-Control"), "no-cache");
  EXPECT_THAT(response->body, StartsWith("id: 1\nevent: tick\ndata: line 1\ndata: line 2\n\n"
                                         "id: 2\nevent: tick\ndata: line 1\ndata: line 2\n\n"));
  EXPECT_EQ(log_.streams_ended, 1);
}

TEST_F(EventStreamTest, OldClientsGetItWithoutChunks) {
  Start();
  EXPECT_THAT(Exchange("GET /events/1 HTTP/1.0\r\n\r\n"),
              HasSubstr("\r\n\r\nid: 1\nevent: tick\ndata: line 1\ndata: line 2\n\n"));
}

TEST_F(EventStreamTest, HeartbeatsKeepASilentStreamOpen) {
  Start();
  RespClient client = Raw();
  ASSERT_TRUE(client.SendRaw("GET /events/forever HTTP/1.0\r\n\r\n").ok());
  EXPECT_THAT(ReadUntil(client, ":\n\n:\n\n"), HasSubstr("id: 1\n"));
}

TEST_F(EventStreamTest, AClientThatLeavesEndsTheHandler) {
  Start();
  for (int i = 1; i <= 20; ++i) {
    RespClient client = Raw();
    ASSERT_TRUE(client.SendRaw("GET /events/forever HTTP/1.1\r\nHost: x\r\n\r\n").ok());
    ReadUntil(client, "line 2");
    client.Close();
    WaitUntil([&] { return log_.streams_ended == i; });
  }
  WaitUntil([&] { return server_->stats().connections_open == 0; });
}

TEST_F(EventStreamTest, AClientThatDoesNotReadEndsTheHandler) {
  HttpServerOptions options;
  options.write_timeout = std::chrono::milliseconds(50);
  Start(options);
  RespClient client = Raw();
  ASSERT_TRUE(client.SendRaw("GET /events/10000000 HTTP/1.1\r\nHost: x\r\n\r\n").ok());
  WaitUntil([&] { return log_.streams_ended == 1; });
}

TEST_F(EventStreamTest, ADrainEndsTheStreamCleanly) {
  Start();
  RespClient client = Raw();
  ASSERT_TRUE(client.SendRaw("GET /events/forever HTTP/1.1\r\nHost: x\r\n\r\n").ok());
  ReadUntil(client, "line 2");
  server_->Drain(seconds(60));
  EXPECT_EQ(log_.streams_ended, 1);
  EXPECT_TRUE(All(client).ends_with("0\r\n\r\n"));
}

TEST_F(EventStreamTest, AServerMayEndWithStreamsOpen) {
  Start();
  RespClient client = Raw();
  ASSERT_TRUE(client.SendRaw("GET /events/forever HTTP/1.1\r\nHost: x\r\n\r\n").ok());
  ReadUntil(client, "line 2");
  server_.reset();
  WaitUntil([&] { return log_.streams_ended == 1; });
}

// --- Streamed bodies ----------------------------------------------------------------------------

class BodyStreamTest : public EventStreamTest {};

TEST_F(BodyStreamTest, CarriesItsPieces) {
  Start();
  const auto response = Client().Get("/body/3");
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->headers.Get("Content-Type"), "text/plain");
  EXPECT_EQ(response->body, "piece 1\npiece 2\npiece 3\n");
  EXPECT_EQ(log_.streams_ended, 1);
}

TEST_F(BodyStreamTest, AClientMayTakeItPieceByPiece) {
  Start();
  HttpClient client = Client();
  std::string body;
  const auto take = [&](std::string_view piece) -> Result<void> {
    body.append(piece);
    return {};
  };
  const auto whole = client.Download("/body/1000", {}, take);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(whole->body, "");
  EXPECT_TRUE(body.starts_with("piece 1\npiece 2\n"));
  EXPECT_TRUE(body.ends_with("piece 1000\n"));
  EXPECT_FALSE(client.Download("/body/broken", {}, take).ok());
  body.clear();
  const auto missing = client.Download("/none", {}, take);
  ASSERT_TRUE(missing.ok());
  EXPECT_EQ(missing->status, 404);
  EXPECT_EQ(missing->body, "{}");
  EXPECT_EQ(body, "");
}

TEST_F(BodyStreamTest, OldClientsGetItWithoutChunks) {
  Start();
  EXPECT_THAT(Exchange("GET /body/2 HTTP/1.0\r\n\r\n"), HasSubstr("\r\n\r\npiece 1\npiece 2\n"));
}

TEST_F(BodyStreamTest, AClientCanTellThatABodyWasGivenUp) {
  Start();
  EXPECT_FALSE(Client().Get("/body/broken").ok());
  EXPECT_EQ(log_.streams_ended, 1);
}

TEST_F(BodyStreamTest, ALateResponseMayHaveOneWithAStatusOfItsOwn) {
  Start();
  std::thread proceed([&] {
    WaitUntil([&] { return log_.late_waiting == 1; });
    Proceed();
  });
  const auto response = Client().Get("/watched");
  proceed.join();
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->status, 202);
  EXPECT_EQ(response->body, "begun\ndone\n");
  EXPECT_EQ(response->headers.Get("Transfer-Encoding"), "chunked");
}

TEST_F(BodyStreamTest, AWatchedClientThatLeavesEndsTheHandlerWhileNothingIsWritten) {
  Start();
  {
    RespClient client = Raw();
    ASSERT_TRUE(client.SendRaw("GET /watched HTTP/1.1\r\nHost: x\r\n\r\n").ok());
    EXPECT_THAT(ReadUntil(client, "begun\n"), StartsWith("HTTP/1.1 202 "));
  }
  WaitUntil([&] { return log_.streams_ended == 1; });
  WaitUntil([&] { return server_->stats().connections_open == 0; });
}

TEST_F(BodyStreamTest, ADrainGivesUpAWatchedBody) {
  Start();
  RespClient client = Raw();
  ASSERT_TRUE(client.SendRaw("GET /watched HTTP/1.1\r\nHost: x\r\n\r\n").ok());
  ReadUntil(client, "begun\n");
  server_->Drain(seconds(30));
  EXPECT_THAT(ReadUntil(client, "0\r\n\r\n"), ::testing::EndsWith("<closed>"));
}

TEST_F(BodyStreamTest, AClientThatDoesNotReadEndsTheHandler) {
  HttpServerOptions options;
  options.write_timeout = std::chrono::milliseconds(50);
  Start(options);
  RespClient client = Raw();
  ASSERT_TRUE(client.SendRaw("GET /body/10000000 HTTP/1.1\r\nHost: x\r\n\r\n").ok());
  WaitUntil([&] { return log_.streams_ended == 1; });
}

TEST_F(BodyStreamTest, ADrainEndsTheBody) {
  Start();
  RespClient client = Raw();
  ASSERT_TRUE(client.SendRaw("GET /body/100000000 HTTP/1.1\r\nHost: x\r\n\r\n").ok());
  ReadUntil(client, "piece 2");
  std::thread reader([&] { EXPECT_FALSE(All(client).ends_with("0\r\n\r\n")); });
  server_->Drain(seconds(60));
  reader.join();
  EXPECT_EQ(log_.streams_ended, 1);
}

// --- WebSockets ---------------------------------------------------------------------------------

class WebSocketTest : public HttpServerTest {
 protected:
  using Socket = websocket::stream<asio::ip::tcp::socket>;

  void ConnectSocket(Socket& socket) {
    beast::get_lowest_layer(socket).connect(
        asio::ip::tcp::endpoint(asio::ip::make_address("127.0.0.1"), port_));
    socket.handshake(response_, "127.0.0.1", "/socket");
  }
  static std::string Receive(Socket& socket) {
    beast::flat_buffer buffer;
    error_code failure;
    socket.read(buffer, failure);
    return failure ? "failed: " + failure.message() : beast::buffers_to_string(buffer.data());
  }

  asio::io_context io_;
  websocket::response_type response_;
};

TEST_F(WebSocketTest, EchoesTextAndBinary) {
  Start();
  Socket socket(io_);
  ConnectSocket(socket);
  EXPECT_EQ(response_.count("X-Request-Id"), 1U);
  EXPECT_EQ(response_.count("Server-Timing"), 1U);
  socket.write(asio::buffer(std::string("hello")));
  EXPECT_EQ(Receive(socket), "hello");
  EXPECT_TRUE(socket.got_text());
  const std::string bytes("\0\xff\x01", 3);
  socket.binary(true);
  socket.write(asio::buffer(bytes));
  EXPECT_EQ(Receive(socket), bytes);
  EXPECT_TRUE(socket.got_binary());
  socket.close(websocket::close_code::normal);
  WaitUntil([&] { return log_.sockets_ended == 1; });
}

TEST_F(WebSocketTest, FragmentsAreJoined) {
  Start();
  Socket socket(io_);
  ConnectSocket(socket);
  socket.write_some(false, asio::buffer(std::string("one ")));
  socket.write_some(false, asio::buffer(std::string("two ")));
  socket.ping({});
  socket.write_some(true, asio::buffer(std::string("three")));
  EXPECT_EQ(Receive(socket), "one two three");
}

TEST_F(WebSocketTest, ManyMessagesKeepTheirOrder) {
  Start();
  Socket socket(io_);
  ConnectSocket(socket);
  std::thread sender([&] {
    for (int i = 0; i < 1000; ++i) socket.write(asio::buffer(std::to_string(i)));
  });
  sender.join();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(Receive(socket), std::to_string(i));
}

TEST_F(WebSocketTest, ATooLargeMessageEndsIt) {
  Start();
  Socket socket(io_);
  ConnectSocket(socket);
  error_code failure;
  socket.write(asio::buffer(std::string(200'000, 'x')), failure);
  EXPECT_THAT(Receive(socket), StartsWith("failed"));
  WaitUntil([&] { return log_.sockets_ended == 1; });
}

TEST_F(WebSocketTest, TheServerMayClose) {
  Start();
  Socket socket(io_);
  ConnectSocket(socket);
  socket.write(asio::buffer(std::string("close")));
  EXPECT_THAT(Receive(socket), StartsWith("failed"));
  EXPECT_EQ(socket.reason().code, 4000);
  EXPECT_EQ(socket.reason().reason, "as you wish");
}

TEST_F(WebSocketTest, AClientThatVanishesEndsTheHandler) {
  Start();
  {
    Socket socket(io_);
    ConnectSocket(socket);
    beast::get_lowest_layer(socket).close();
  }
  WaitUntil([&] { return log_.sockets_ended == 1 && server_->stats().connections_open == 0; });
}

TEST_F(WebSocketTest, ADrainTellsTheClient) {
  Start();
  Socket socket(io_);
  ConnectSocket(socket);
  std::thread drain([&] { server_->Drain(seconds(60)); });
  EXPECT_THAT(Receive(socket), StartsWith("failed"));
  EXPECT_EQ(socket.reason().code, websocket::close_code::going_away);
  drain.join();
  EXPECT_EQ(log_.sockets_ended, 1);
}

TEST_F(WebSocketTest, ADrainDoesNotWaitForeverForAClientThatDoesNotAnswer) {
  Start();
  Socket socket(io_);
  ConnectSocket(socket);
  server_->Drain(std::chrono::milliseconds(50));
  WaitUntil([&] { return log_.sockets_ended == 1; });
}

TEST_F(WebSocketTest, AServerMayEndWithSocketsOpen) {
  Start();
  Socket socket(io_);
  ConnectSocket(socket);
  server_.reset();
  EXPECT_THAT(Receive(socket), StartsWith("failed"));
}

// --- TLS ----------------------------------------------------------------------------------------

class HttpTlsTest : public HttpServerTest {
 protected:
  void StartTls(const HttpServerOptions& options = {}) {
    auto context = TlsContext::Load({certificate_.certificate_file(), certificate_.key_file(), {}});
    ASSERT_TRUE(context.ok()) << context.error().message;
    Start(options, *context);
  }
  HttpClient TlsClient() const {
    HttpClientOptions options;
    options.tls = true;
    options.ca_file = certificate_.certificate_file();
    return HttpClient(address(), options);
  }

  const cairn::testing::TempDirectory directory_;
  const TestCertificate certificate_{directory_.path()};
};

TEST_F(HttpTlsTest, RequestsAreServed) {
  StartTls();
  HttpClient client = TlsClient();
  const auto described = client.Get("/describe");
  ASSERT_TRUE(described.ok()) << described.error().message;
  EXPECT_THAT(described->body, HasSubstr("\ntls\n"));
  const std::string body(1024 * 1024, 'b');
  EXPECT_TRUE(client.Post("/echo", body)->body == body);
  EXPECT_EQ(client.Get("/big/5000000")->body.size(), 5'000'000U);
  EXPECT_EQ(server_->stats().connections_received, 1U);
  EXPECT_THAT(client.Get("/events/1")->body, StartsWith("id: 1\n"));
}

TEST_F(HttpTlsTest, AnUntrustedServerIsRefusedByTheClient) {
  StartTls();
  HttpClientOptions options;
  options.tls = true;
  HttpClient client(address(), options);
  const auto response = client.Get("/describe");
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
}

TEST_F(HttpTlsTest, WhoDoesNotSpeakTlsIsClosed) {
  HttpServerOptions options;
  options.header_timeout = std::chrono::milliseconds(50);
  StartTls(options);
  (void)Exchange("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(Exchange(""), "") << "nor is somebody who says nothing waited for";
  WaitUntil([&] { return server_->stats().connections_open == 0; });
}

TEST_F(HttpTlsTest, WebSocketsWork) {
  StartTls();
  asio::io_context io;
  asio::ssl::context context(asio::ssl::context::tls_client);
  websocket::stream<asio::ssl::stream<asio::ip::tcp::socket>> socket(io, context);
  beast::get_lowest_layer(socket).connect(
      asio::ip::tcp::endpoint(asio::ip::make_address("127.0.0.1"), port_));
  socket.next_layer().handshake(asio::ssl::stream_base::client);
  socket.handshake("127.0.0.1", "/socket");
  socket.write(asio::buffer(std::string("hello")));
  beast::flat_buffer buffer;
  socket.read(buffer);
  EXPECT_EQ(beast::buffers_to_string(buffer.data()), "hello");
  error_code ignored;
  socket.close(websocket::close_code::normal, ignored);
}

TEST_F(HttpTlsTest, ADrainEndsStreams) {
  StartTls();
  std::thread client(
      [&] { EXPECT_THAT(TlsClient().Get("/events/forever")->body, StartsWith("id")); });
  WaitUntil([&] { return log_.handled == 1; });
  server_->Drain(seconds(60));
  client.join();
}

}  // namespace
}  // namespace cairn::net::testing
