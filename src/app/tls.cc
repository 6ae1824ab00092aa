#include "app/tls.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace cairn::app {

Result<std::shared_ptr<net::TlsContext>> LoadTls(const Config& config) {
  if (config.tls_cert.empty()) return std::shared_ptr<net::TlsContext>();
  return net::TlsContext::Load({.certificate_file = config.tls_cert,
                                .key_file = config.tls_key,
                                .ca_file = config.tls_client_ca,
                                .require_client_certificate = !config.tls_client_ca.empty()});
}

bool RespSpeaksTls(const Config& config) {
  return !config.tls_cert.empty() && config.tls_doors != TlsDoors::kHttp;
}

bool HttpSpeaksTls(const Config& config) {
  return !config.tls_cert.empty() && config.tls_doors != TlsDoors::kResp;
}

std::optional<int> CertificateDaysLeft(const std::string& path, Timestamp now) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> file(BIO_new_file(path.c_str(), "r"), &BIO_free);
  if (file == nullptr) return std::nullopt;
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr), &X509_free);
  if (certificate == nullptr) return std::nullopt;
  const std::unique_ptr<ASN1_TIME, decltype(&ASN1_STRING_free)> at(
      ASN1_TIME_set(nullptr, now.millis() / 1000), &ASN1_STRING_free);
  int days = 0;
  int seconds = 0;
  if (ASN1_TIME_diff(&days, &seconds, at.get(), X509_get0_notAfter(certificate.get())) != 1) {
    return std::nullopt;
  }
  // ASN1_TIME_diff rounds toward zero: an hour too late would read as 0 days.
  return seconds < 0 ? days - 1 : days;
}

}  // namespace cairn::app
