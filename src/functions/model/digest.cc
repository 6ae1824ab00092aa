#include "functions/model/digest.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace cairn::functions {

Bytes Sha256(BytesView bytes) {
  constexpr size_t kDigestBytes = 32;
  Bytes digest(kDigestBytes, '\0');
  unsigned size = 0;
  CAIRN_CHECK(EVP_Digest(bytes.data(), bytes.size(),
                         reinterpret_cast<unsigned char*>(digest.data()), &size, EVP_sha256(),
                         nullptr) == 1 &&
              size == kDigestBytes);
  return digest;
}

std::string Sha256Hex(BytesView bytes) { return HexEncode(Sha256(bytes)); }

}  // namespace cairn::functions
