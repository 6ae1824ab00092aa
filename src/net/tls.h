#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace boost::asio::ssl {
class context;
}

namespace cairn::net {

struct TlsOptions {
  std::string certificate_file;  // PEM, the server's certificate followed by its chain
  std::string key_file;          // PEM, unencrypted
  std::string ca_file;           // PEM; needed only to check client certificates
  bool require_client_certificate = false;
};

// The certificate, key and rules with which a server speaks TLS (1.2 or newer). Immutable after
// loading; shared by any number of servers and threads.
class TlsContext {
 public:
  // An error names the file that is missing, unreadable or does not fit.
  static Result<std::shared_ptr<TlsContext>> Load(const TlsOptions& options);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  boost::asio::ssl::context& context() { return *context_; }

 private:
  TlsContext();

  std::unique_ptr<boost::asio::ssl::context> context_;
};

}  // namespace cairn::net
