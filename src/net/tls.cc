#include "net/tls.h"

#include <fmt/format.h>

#include <boost/asio/ssl/context.hpp>

namespace cairn::net {
namespace {

namespace ssl = boost::asio::ssl;

Error FileError(std::string_view what, const std::string& file,
                const boost::system::error_code& error) {
  return {ErrorCode::kInvalid, fmt::format("TLS {} \"{}\": {}", what, file, error.message())};
}

}  // namespace

TlsContext::TlsContext() : context_(std::make_unique<ssl::context>(ssl::context::tls_server)) {}

TlsContext::~TlsContext() = default;

Result<std::shared_ptr<TlsContext>> TlsContext::Load(const TlsOptions& options) {
  std::shared_ptr<TlsContext> made(new TlsContext);
  ssl::context& context = *made->context_;
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  // A write may be retried from another place in memory, since the output it sends from keeps
  // growing.
  SSL_CTX_set_mode(context.native_handle(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                                SSL_MODE_RELEASE_BUFFERS);

  boost::system::error_code error;
  context.use_certificate_chain_file(options.certificate_file, error);
  if (error) return FileError("certificate", options.certificate_file, error);
  context.use_private_key_file(options.key_file, ssl::context::pem, error);
  if (error) return FileError("key", options.key_file, error);
  if (!options.ca_file.empty()) {
    context.load_verify_file(options.ca_file, error);
    if (error) return FileError("CA", options.ca_file, error);
    context.set_verify_mode(options.require_client_certificate
                                ? ssl::verify_peer | ssl::verify_fail_if_no_peer_cert
                                : ssl::verify_peer);
  } else if (options.require_client_certificate) {
    return Error{ErrorCode::kInvalid,
                 "TLS: client certificates are required, but no CA file to check them is given"};
  }
  return made;
}

}  // namespace cairn::net
