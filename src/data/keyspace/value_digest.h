#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "data/value/entry.h"
#include "doors/resp/command.h"

// Fingerprints of content, for tests that compare data sets before and after (DEBUG DIGEST). Equal
// values have equal digests, however they came to be and are stored; the digests themselves are not
// those of Redis.
namespace cairn::data {

// 20 bytes. XOR of digests is the digest of a set of things in any order; nothing is all zeros.
class Digest {
 public:
  Digest();
  static Digest Of(BytesView bytes);

  void Add(const Digest& other);
  BytesView bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

// Of the value under a key that exists, of the context's database. Does not depend on the key.
Result<Digest> DigestOfValue(doors::CommandContext& context, const Entry& entry);

// Of all keys of all databases, their values and whether they expire.
Result<Digest> DigestOfEverything(doors::CommandContext& context);

}  // namespace cairn::data
