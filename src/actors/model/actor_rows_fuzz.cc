// Rows and values that come from nobody knows where: whatever decodes encodes to the same bytes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "actors/model/actor_id.h"
#include "actors/model/actor_key.h"
#include "actors/model/keys.h"
#include "actors/model/records.h"
#include "base/check.h"

namespace cairn::actors {
namespace {

void CheckRow(const ActorId& id, BytesView bytes) {
  const EntryKeys keys(id);
  const Bytes row = EntriesPrefix(id) + Bytes(bytes);
  if (const auto decoded = keys.Decode(row)) {
    const Bytes again =
        decoded->chunk ? keys.Chunk(decoded->key, *decoded->chunk) : keys.Metadata(decoded->key);
    CAIRN_CHECK(again == row, "{}", HexEncode(row));
    CAIRN_CHECK(keys.Prefix(decoded->key).Contains(row), "{}", HexEncode(row));
  }
  if (const auto entry = DecodeDirectoryKey(bytes)) {
    CAIRN_CHECK(DirectoryKey(entry->name_space, entry->name, entry->key) == bytes);
  }
  if (const auto owner = DecodeIdKey(RecordsPrefix(), bytes)) {
    CAIRN_CHECK(RecordKey(*owner) == bytes);
  }
  (void)DecodeTokenAgeKey(bytes);
  (void)DecodeEntriesId(bytes);
}

void CheckValue(BytesView bytes) {
  if (const auto record = DecodeRecord(bytes)) CAIRN_CHECK(EncodeRecord(*record) == bytes);
  if (const auto state = DecodeState(bytes)) CAIRN_CHECK(EncodeState(*state) == bytes);
  if (const auto meta = DecodeEntryMeta(bytes)) CAIRN_CHECK(EncodeEntryMeta(*meta) == bytes);
  if (const auto row = DecodeTokenRow(bytes)) CAIRN_CHECK(EncodeTokenRow(*row) == bytes);
}

void CheckText(std::string_view text) {
  if (const auto id = ActorId::Parse(text)) CAIRN_CHECK(id->ToString() == text);
  if (const auto parts = ParseActorKey(text)) CAIRN_CHECK(ActorKeyText(*parts) == text);
}

}  // namespace
}  // namespace cairn::actors

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static const auto id = *cairn::actors::ActorId::FromBytes(
      std::string_view("\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\0\1", 18));
  cairn::actors::CheckRow(id, bytes);
  cairn::actors::CheckValue(bytes);
  cairn::actors::CheckText(bytes);
  return 0;
}
