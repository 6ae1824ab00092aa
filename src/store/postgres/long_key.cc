#include "store/postgres/long_key.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace cairn::store::postgres {

Bytes StoredKey(BytesView key) {
  if (!IsLong(key)) return Bytes(key);
  Bytes stored(key);
  stored.erase(kStoredPrefixBytes);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  CAIRN_CHECK(EVP_Digest(key.data(), key.size(), digest, &size, EVP_sha256(), nullptr) == 1);
  CAIRN_CHECK(size == kStoredKeyBytes - kStoredPrefixBytes);
  stored.append(reinterpret_cast<const char*>(digest), size);
  return stored;
}

Bytes StoredValue(BytesView key, BytesView value) {
  Bytes stored;
  stored.reserve(4 + key.size() + value.size());
  AppendBig32(stored, static_cast<uint32_t>(key.size()));
  stored += key;
  stored += value;
  return stored;
}

std::optional<std::pair<BytesView, BytesView>> DecodeLongRow(BytesView stored_value) {
  BytesReader reader(stored_value);
  const BytesView key = reader.Take(reader.Big32());
  const BytesView value = reader.Rest();
  if (!reader.ok()) return std::nullopt;
  return std::pair(key, value);
}

Range StoredRange(const Range& range) {
  Range stored = range;
  if (IsInGroup(range.begin)) stored.begin.resize(kStoredPrefixBytes);
  if (range.end && IsInGroup(*range.end)) {
    stored.end = PrefixSuccessor(BytesView(*range.end).substr(0, kStoredPrefixBytes));
  }
  return stored;
}

}  // namespace cairn::store::postgres
