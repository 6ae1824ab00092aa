#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <string>

#include "base/check.h"

namespace cairn::net::testing {

// A fresh self-signed certificate for 127.0.0.1 and its key, as PEM files in a directory. It is its
// own CA.
class TestCertificate {
 public:
  explicit TestCertificate(const std::string& directory)
      : certificate_file_(directory + "/certificate.pem"), key_file_(directory + "/key.pem") {
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"),
                                                                  EVP_PKEY_free);
    CAIRN_CHECK(key != nullptr);
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
    X509_set_version(certificate.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kDaySeconds);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kDaySeconds);
    X509_set_pubkey(certificate.get(), key.get());
    X509_NAME* const name = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("cairn test"), -1, -1, 0);
    X509_set_issuer_name(certificate.get(), name);
    AddExtension(*certificate, NID_subject_alt_name, "IP:127.0.0.1");
    AddExtension(*certificate, NID_basic_constraints, "critical,CA:TRUE");
    CAIRN_CHECK(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);

    WriteFile(certificate_file_,
              [&](FILE* file) { return PEM_write_X509(file, certificate.get()); });
    WriteFile(key_file_, [&](FILE* file) {
      return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
  }

  const std::string& certificate_file() const { return certificate_file_; }
  const std::string& key_file() const { return key_file_; }

 private:
  static constexpr long kDaySeconds = 24L * 60 * 60;

  static void AddExtension(X509& certificate, int kind, const char* value) {
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
    CAIRN_CHECK(extension != nullptr, "{}", value);
    X509_add_ext(&certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  template <typename Write>
  static void WriteFile(const std::string& path, const Write& write) {
    FILE* const file = std::fopen(path.c_str(), "w");
    CAIRN_CHECK(file != nullptr, "{}", path);
    CAIRN_CHECK(write(file) == 1, "{}", path);
    std::fclose(file);
  }

  std::string certificate_file_;
  std::string key_file_;
};

}  // namespace cairn::net::testing
