#include "data/keyspace/value_digest.h"

#include <openssl/evp.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "data/keyspace/dump.h"
#include "data/value/fields.h"
#include "data/value/keys.h"
#include "doors/access/limits.h"

namespace cairn::data {
namespace {

constexpr size_t kDigestBytes = 20;

void AppendText(Bytes& bytes, BytesView text) {
  AppendBig64(bytes, text.size());
  bytes += text;
}

// Of a hash or a set, whose members are not in an order that means anything.
Result<Digest> DigestOfFields(doors::CommandContext& context, const Entry& entry) {
  Digest members;
  CAIRN_ASSIGN_OR_RETURN(Fields fields, Fields::Load(context, entry.user_key(), entry.type()));
  CAIRN_RETURN_IF_ERROR(
      fields.ForEachInAnyOrder([&](BytesView member, BytesView value) -> Result<bool> {
        Bytes text;
        AppendText(text, member);
        AppendText(text, value);
        members.Add(Digest::Of(text));
        return true;
      }));
  return members;
}

Result<Digest> DigestOfKey(doors::CommandContext& context, BytesView key) {
  CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Load(context, key));
  if (!entry.exists()) return Digest();
  CAIRN_ASSIGN_OR_RETURN(const Digest value, DigestOfValue(context, entry));
  Bytes text;
  text.push_back(static_cast<char>(context.db()));
  text.push_back(entry.expire_ms() ? '\1' : '\0');
  AppendText(text, key);
  AppendText(text, value.bytes());
  return Digest::Of(text);
}

}  // namespace

Digest::Digest() : bytes_(kDigestBytes, '\0') {}

Digest Digest::Of(BytesView bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha1(), nullptr);
  Digest result;
  result.bytes_.assign(digest.begin(), digest.begin() + kDigestBytes);
  return result;
}

void Digest::Add(const Digest& other) {
  for (size_t i = 0; i < kDigestBytes; ++i) {
    bytes_[i] = static_cast<char>(bytes_[i] ^ other.bytes_[i]);
  }
}

Result<Digest> DigestOfValue(doors::CommandContext& context, const Entry& entry) {
  Bytes text(1, static_cast<char>(entry.type()));
  if (entry.type() == ValueType::kHash || entry.type() == ValueType::kSet) {
    CAIRN_ASSIGN_OR_RETURN(const Digest members, DigestOfFields(context, entry));
    AppendText(text, members.bytes());
  } else {
    CAIRN_ASSIGN_OR_RETURN(const Bytes dump, DumpValue(context, entry));
    AppendText(text, dump);
  }
  return Digest::Of(text);
}

Result<Digest> DigestOfEverything(doors::CommandContext& context) {
  Digest everything;
  for (int db = 0; db < doors::kDatabases; ++db) {
    doors::Caller caller = context.caller;
    caller.db = static_cast<uint8_t>(db);
    std::string no_reply;
    doors::CommandContext there(context.transaction, context.call, caller,
                                net::RespWriter(no_reply, caller.protocol), context.pubsub,
                                context.held);
    // The keys first: what is read of each must not happen inside a scan.
    std::vector<Bytes> keys;
    const auto note = [&](const RecordKey& key, const Record&) {
      keys.emplace_back(key.user_key);
      return true;
    };
    CAIRN_RETURN_IF_ERROR(ScanRecords(context.transaction, RecordRange(caller.db), note));
    for (const Bytes& key : keys) {
      CAIRN_ASSIGN_OR_RETURN(const Digest digest, DigestOfKey(there, key));
      everything.Add(digest);
    }
  }
  return everything;
}

}  // namespace cairn::data
