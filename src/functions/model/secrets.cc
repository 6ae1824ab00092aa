#include "functions/model/secrets.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/check.h"
#include "base/json_text.h"
#include "functions/model/digest.h"
#include "functions/model/json_object.h"
#include "functions/model/json_writer.h"
#include "functions/model/limits.h"

namespace cairn::functions {
namespace {

constexpr std::string_view kMagic = "cs\x01";
constexpr size_t kKeyIdBytes = 4;
constexpr size_t kKeyBytes = 32;
constexpr size_t kNonceBytes = 12;
constexpr size_t kTagBytes = 16;
constexpr size_t kHeadBytes = 3 + kKeyIdBytes + kNonceBytes;
constexpr std::string_view kPurpose = "cairn functions environment v1";
constexpr std::string_view kRedacted = "[redacted]";

const unsigned char* In(BytesView bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* Out(Bytes& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

// HKDF: a secret may be a sentence or hexadecimal, a key is 32 even bytes.
Bytes DeriveKey(std::string_view secret) {
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr), EVP_PKEY_CTX_free);
  Bytes key(kKeyBytes, '\0');
  size_t size = key.size();
  CAIRN_CHECK(
      context != nullptr && EVP_PKEY_derive_init(context.get()) == 1 &&
      EVP_PKEY_CTX_set_hkdf_md(context.get(), EVP_sha256()) == 1 &&
      EVP_PKEY_CTX_set1_hkdf_key(context.get(), In(secret), static_cast<int>(secret.size())) == 1 &&
      EVP_PKEY_CTX_add1_hkdf_info(context.get(), In(kPurpose), static_cast<int>(kPurpose.size())) ==
          1 &&
      EVP_PKEY_derive(context.get(), Out(key), &size) == 1 && size == kKeyBytes);
  return key;
}

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;
Cipher NewCipher() {
  Cipher cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  CAIRN_CHECK(cipher != nullptr);
  return cipher;
}

Bytes Encrypt(BytesView key, BytesView nonce, BytesView bound, BytesView plain) {
  const Cipher cipher = NewCipher();
  Bytes out(plain.size() + kTagBytes, '\0');
  int size = 0;
  int rest = 0;
  CAIRN_CHECK(
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, In(key), In(nonce)) == 1 &&
      EVP_EncryptUpdate(cipher.get(), nullptr, &size, In(bound), static_cast<int>(bound.size())) ==
          1 &&
      EVP_EncryptUpdate(cipher.get(), Out(out), &size, In(plain), static_cast<int>(plain.size())) ==
          1 &&
      EVP_EncryptFinal_ex(cipher.get(), Out(out) + size, &rest) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, Out(out) + plain.size()) ==
          1);
  return out;
}

std::optional<Bytes> Decrypt(BytesView key, BytesView nonce, BytesView bound, BytesView sealed) {
  const Cipher cipher = NewCipher();
  const size_t plain_size = sealed.size() - kTagBytes;
  Bytes plain(plain_size, '\0');
  Bytes tag(sealed.substr(plain_size));
  int size = 0;
  int rest = 0;
  const bool opened =
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, In(key), In(nonce)) == 1 &&
      EVP_DecryptUpdate(cipher.get(), nullptr, &size, In(bound), static_cast<int>(bound.size())) ==
          1 &&
      EVP_DecryptUpdate(cipher.get(), Out(plain), &size, In(sealed),
                        static_cast<int>(plain_size)) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, Out(tag)) == 1 &&
      EVP_DecryptFinal_ex(cipher.get(), Out(plain) + size, &rest) == 1;
  return opened ? std::optional(std::move(plain)) : std::nullopt;
}

void ReplaceAll(std::string& text, std::string_view value) {
  for (size_t at = text.find(value); at != std::string::npos;
       at = text.find(value, at + kRedacted.size())) {
    text.replace(at, value.size(), kRedacted);
  }
}

std::vector<std::string> ValuesOf(const EnvMap& env) {
  std::vector<std::string> values;
  values.reserve(env.size());
  for (const auto& [name, value] : env) values.push_back(value);
  return values;
}

}  // namespace

Error NoSecretKeys() {
  return Refuse(Code::kSecretsUnavailable,
                "the server has no key for env and secrets; set functions.secret_file");
}

Result<SecretKeys> SecretKeys::Parse(std::string_view text) {
  SecretKeys keys;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    if (line.size() < kMinSecretBytes) {
      return Error{ErrorCode::kInvalid,
                   fmt::format("key {} has {} bytes; a key for secrets needs {} or more, such as "
                               "the output of: openssl rand -hex 32",
                               keys.keys_.size() + 1, line.size(), kMinSecretBytes)};
    }
    Bytes key = DeriveKey(line);
    keys.keys_.push_back({Sha256(key).substr(0, kKeyIdBytes), std::move(key)});
    if (keys.keys_.size() > kMaxKeys) {
      return Error{ErrorCode::kInvalid, fmt::format("there are more than {} keys", kMaxKeys)};
    }
  }
  if (keys.empty()) return Error{ErrorCode::kInvalid, "there is no key for secrets"};
  return keys;
}

Result<Bytes> SecretKeys::Seal(BytesView plain, std::string_view stored_under,
                               Random& random) const {
  if (keys_.empty()) return NoSecretKeys();
  const Bytes nonce = random.NextBytes(kNonceBytes);
  Bytes sealed(kMagic);
  sealed.append(keys_.front().id).append(nonce);
  sealed += Encrypt(keys_.front().key, nonce, stored_under, plain);
  return sealed;
}

Result<Bytes> SecretKeys::Open(BytesView sealed, std::string_view stored_under) const {
  if (!sealed.starts_with(kMagic) || sealed.size() < kHeadBytes + kTagBytes) {
    return Refuse(Code::kStoreReadFailed, "an environment is not what was written");
  }
  const BytesView id = sealed.substr(kMagic.size(), kKeyIdBytes);
  const auto key = std::ranges::find(keys_, id, &Key::id);
  if (key == keys_.end()) {
    return Refuse(Code::kSecretsUnavailable,
                  "the environment was encrypted with a key that functions.secret_file does "
                  "not have; add the old key as a further line");
  }
  const BytesView nonce = sealed.substr(kMagic.size() + kKeyIdBytes, kNonceBytes);
  std::optional<Bytes> plain = Decrypt(key->key, nonce, stored_under, sealed.substr(kHeadBytes));
  if (!plain) return Refuse(Code::kStoreReadFailed, "an environment is not what was written");
  return *std::move(plain);
}

std::string EncodeEnv(const EnvMap& env) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.TextMap("env", env);
  json.EndObject();
  return text;
}

Result<EnvMap> DecodeEnv(std::string_view text) {
  return ReadObject(text, Code::kStoreReadFailed, [](ObjectReader& object) {
    return object.TextMap("env", kMaxEnvEntries, kMaxEnvBytes);
  });
}

Redactor::Redactor(std::vector<std::string> values) {
  for (std::string& value : values) {
    if (value.size() < kMinRedactedBytes) continue;
    // A value that was logged as part of a JSON text.
    const std::string quoted = JsonString(value);
    std::string escaped = quoted.substr(1, quoted.size() - 2);
    if (escaped != value) values_.push_back(std::move(escaped));
    values_.push_back(std::move(value));
  }
  std::ranges::stable_sort(values_, std::ranges::greater(), &std::string::size);
}

Redactor::Redactor(const EnvMap& env) : Redactor(ValuesOf(env)) {}

std::string Redactor::Redact(std::string_view text) const {
  std::string redacted(text);
  for (const std::string& value : values_) ReplaceAll(redacted, value);
  return redacted;
}

}  // namespace cairn::functions
