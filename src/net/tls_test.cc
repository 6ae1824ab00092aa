#include "net/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <fstream>
#include <string>
#include <thread>

#include "net/testing/certificate.h"
#include "net/testing/resp_fixture.h"
#include "tests/support/temp_directory.h"

namespace cairn::net::testing {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using ::testing::HasSubstr;

class TlsContextTest : public ::testing::Test {
 protected:
  static std::string Problem(const TlsOptions& options) {
    const auto context = TlsContext::Load(options);
    return context.ok() ? "none" : context.error().message;
  }

  const cairn::testing::TempDirectory directory_;
  const TestCertificate certificate_{directory_.path()};
};

TEST_F(TlsContextTest, ErrorsNameTheFile) {
  const std::string good = certificate_.certificate_file();
  const std::string key = certificate_.key_file();
  const std::string garbage = directory_ / "garbage.pem";
  std::ofstream(garbage) << "no certificate";
  EXPECT_EQ(Problem({good, key, {}}), "none");
  EXPECT_THAT(Problem({"/missing.pem", key, {}}), HasSubstr("certificate \"/missing.pem\""));
  EXPECT_THAT(Problem({garbage, key, {}}), HasSubstr("certificate \"" + garbage));
  EXPECT_THAT(Problem({good, "/missing.key", {}}), HasSubstr("key \"/missing.key\""));
  EXPECT_THAT(Problem({good, key, "/missing.ca"}), HasSubstr("CA \"/missing.ca\""));
  EXPECT_THAT(Problem({good, key, {}, true}), HasSubstr("no CA file"));
}

TEST_F(TlsContextTest, AKeyOfAnotherCertificateIsRefused) {
  const cairn::testing::TempDirectory other_directory;
  const TestCertificate other(other_directory.path());
  EXPECT_THAT(Problem({certificate_.certificate_file(), other.key_file(), {}}),
              HasSubstr("key \"" + other.key_file()));
}

// A RESP server behind TLS, and OpenSSL's own client.
class RespTlsTest : public RespServerTest {
 protected:
  using Stream = asio::ssl::stream<asio::ip::tcp::socket>;

  void StartTls(bool require_client_certificate) {
    TlsOptions options{certificate_.certificate_file(), certificate_.key_file(),
                       certificate_.certificate_file(), require_client_certificate};
    auto context = TlsContext::Load(options);
    ASSERT_TRUE(context.ok()) << context.error().message;
    Start({}, 1, *context);
  }
  error_code Handshake(Stream& stream) {
    error_code failure;
    stream.next_layer().connect(asio::ip::tcp::endpoint(asio::ip::make_address("127.0.0.1"), port_),
                                failure);
    if (!failure) stream.handshake(asio::ssl::stream_base::client, failure);
    return failure;
  }
  static std::string Read(Stream& stream, size_t size) {
    std::string text(size, '\0');
    error_code failure;
    asio::read(stream, asio::buffer(text), failure);
    return failure ? failure.message() : text;
  }

  const cairn::testing::TempDirectory directory_;
  const TestCertificate certificate_{directory_.path()};
  asio::io_context io_;
  asio::ssl::context context_{asio::ssl::context::tls_client};
};

TEST_F(RespTlsTest, RequestsAreServed) {
  StartTls(false);
  context_.load_verify_file(certificate_.certificate_file());
  context_.set_verify_mode(asio::ssl::verify_peer);
  Stream stream(io_, context_);
  ASSERT_FALSE(Handshake(stream));
  asio::write(stream, asio::buffer(std::string("PING\r\nECHO a\r\n")));
  EXPECT_EQ(Read(stream, 14), "+PONG\r\n$1\r\na\r\n");
  // Split over records in the middle of requests.
  asio::write(stream, asio::buffer(std::string("PI")));
  asio::write(stream, asio::buffer(std::string("NG\r\nPING")));
  asio::write(stream, asio::buffer(std::string("\r\n")));
  EXPECT_EQ(Read(stream, 14), "+PONG\r\n+PONG\r\n");
  OnLoop([&] {
    server_->ForEachConnection(loop(),
                               [](RespConnection& connection) { EXPECT_TRUE(connection.tls()); });
  });
}

TEST_F(RespTlsTest, LargePipelinesPass) {
  StartTls(false);
  Stream stream(io_, context_);
  ASSERT_FALSE(Handshake(stream));
  std::string requests;
  constexpr int kRequests = 20'000;
  for (int i = 0; i < kRequests; ++i) requests += "*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n";
  std::thread sender([&] {
    error_code failure;
    asio::write(stream, asio::buffer(requests), failure);
    EXPECT_FALSE(failure);
  });
  sender.join();
  for (int i = 0; i < kRequests; ++i) ASSERT_EQ(Read(stream, 11), "$5\r\nhello\r\n") << i;
}

TEST_F(RespTlsTest, AFarewellIsAnsweredWithAFarewell) {
  StartTls(false);
  Stream stream(io_, context_);
  ASSERT_FALSE(Handshake(stream));
  asio::write(stream, asio::buffer(std::string("QUIT\r\n")));
  EXPECT_EQ(Read(stream, 5), "+OK\r\n");
  char byte = 0;
  error_code failure;
  stream.read_some(asio::buffer(&byte, 1), failure);
  EXPECT_EQ(failure, asio::error::eof) << "not a truncated stream: " << failure.message();
}

TEST_F(RespTlsTest, WhoDoesNotSpeakTlsIsClosed) {
  StartTls(false);
  RespClient client = Connect();
  Send(client, "PING\r\n");
  (void)client.ReceiveUntilClosed();
  WaitUntil([&] { return server_->stats().connections_open == 0; });
  EXPECT_EQ(log_.executed, 0);
}

TEST_F(RespTlsTest, AHandshakeThatNeverEndsIsGivenUp) {
  const TlsOptions files{certificate_.certificate_file(), certificate_.key_file(), {}};
  auto context = TlsContext::Load(files);
  ASSERT_TRUE(context.ok());
  RespServerOptions options;
  options.sweep_interval = std::chrono::milliseconds(1);
  Start(options, 1, *context);
  RespClient client = Connect();
  WaitUntil([&] { return server_->stats().connections_open == 1; });
  // Again and again: a connection counts as open before its time starts to run.
  WaitUntil([&] {
    clock_.AdvanceMillis(20'000);
    return server_->stats().connections_open == 0;
  });
  (void)client.ReceiveUntilClosed();
}

TEST_F(RespTlsTest, ARequiredClientCertificateIsAskedFor) {
  StartTls(true);
  {
    Stream without(io_, context_);
    // With TLS 1.3 the client learns of its refusal only with the first read.
    if (!Handshake(without)) {
      error_code failure;
      asio::write(without, asio::buffer(std::string("PING\r\n")), failure);
      EXPECT_NE(Read(without, 7), "+PONG\r\n");
    }
  }
  asio::ssl::context with_certificate(asio::ssl::context::tls_client);
  with_certificate.use_certificate_chain_file(certificate_.certificate_file());
  with_certificate.use_private_key_file(certificate_.key_file(), asio::ssl::context::pem);
  Stream stream(io_, with_certificate);
  ASSERT_FALSE(Handshake(stream));
  asio::write(stream, asio::buffer(std::string("PING\r\n")));
  EXPECT_EQ(Read(stream, 7), "+PONG\r\n");
}

}  // namespace
}  // namespace cairn::net::testing
