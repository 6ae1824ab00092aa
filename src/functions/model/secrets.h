#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "base/result.h"
#include "functions/model/config.h"

// The environment of functions at rest and in logs.
//
// A sealed value is
//
//   'c' 's' 01 key:4 nonce:12 ciphertext… tag:16      AES-256-GCM
//
// where `key` is the beginning of the key's own digest, so that a value says which key it needs. It
// is bound to the name under which it is stored: moved to another key of the store it does not
// open.
namespace cairn::functions {

// CS_SECRETS_UNAVAILABLE, saying how to give the server a key.
Error NoSecretKeys();

// The keys that the configuration gives, the newest first: it seals, all open. Immutable; safe to
// use from any thread.
class SecretKeys {
 public:
  // No key: nothing can be sealed or opened.
  SecretKeys() = default;
  // One secret a line, at least kMinSecretBytes each, as a key file has them; blank lines and what
  // begins with # are passed over. kInvalid, without repeating a secret.
  static Result<SecretKeys> Parse(std::string_view text);
  static constexpr size_t kMinSecretBytes = 32;
  static constexpr size_t kMaxKeys = 16;

  bool empty() const { return keys_.empty(); }

  // CS_SECRETS_UNAVAILABLE without a key.
  Result<Bytes> Seal(BytesView plain, std::string_view stored_under, Random& random) const;
  // CS_SECRETS_UNAVAILABLE for a value that was sealed with a key that is not here;
  // CS_KVROCKS_READ_FAILED for one that was changed, or moved.
  Result<Bytes> Open(BytesView sealed, std::string_view stored_under) const;

 private:
  struct Key {
    Bytes id;
    Bytes key;
  };
  std::vector<Key> keys_;
};

// An environment as the bytes that are sealed, and back.
std::string EncodeEnv(const EnvMap& env);
Result<EnvMap> DecodeEnv(std::string_view text);

// Takes values out of text that somebody else will read. Immutable; safe to use from any thread.
class Redactor {
 public:
  // Values that are shorter than kMinRedactedBytes are left alone.
  explicit Redactor(std::vector<std::string> values);
  // All values of an environment.
  explicit Redactor(const EnvMap& env);

  bool empty() const { return values_.empty(); }
  // The text with "[redacted]" where a value stood, also where it stood as JSON writes it.
  std::string Redact(std::string_view text) const;

 private:
  std::vector<std::string> values_;  // the longest first, so that none hides in another
};

}  // namespace cairn::functions
