#include "actors/model/keys.h"

#include <algorithm>
#include <utility>

#include "actors/model/tuple.h"

namespace cairn::actors {
namespace {

using store::Range;
using store::Space;

constexpr int64_t kLayer = 1;
enum Family : uint8_t {
  kRecord = 1,
  kState = 2,
  kDirectory = 3,
  kInput = 4,
  kToken = 5,
  kTokenAge = 6,
  kPurge = 7,
  kActorCount = 8,
  kByteCount = 9,
};

constexpr int64_t kRivet = 0;
constexpr int64_t kPegboard = 3;
constexpr int64_t kActorKv = 72;
constexpr int64_t kData = 4;
constexpr int64_t kMetadata = 44;

TuplePacker Begin(Family family) {
  TuplePacker packer;
  packer.Integer(kLayer).Integer(family);
  return packer;
}

// An end behind the last key that begins so: no tuple begins with FF.
Bytes EndOf(Bytes prefix) {
  prefix.push_back('\xFF');
  return prefix;
}

// The elements behind (1, family); nullopt if there are not `count`.
std::optional<Tuple> ElementsOf(Family family, BytesView key, size_t count) {
  const Bytes prefix = Begin(family).Take();
  if (!key.starts_with(prefix)) return std::nullopt;
  std::optional<Tuple> tuple = UnpackTuple(key.substr(prefix.size()));
  if (!tuple || tuple->size() != count) return std::nullopt;
  return tuple;
}

std::optional<ActorId> IdOf(const TupleElement& element) {
  const auto* bytes = std::get_if<TupleBytes>(&element.value);
  return bytes == nullptr ? std::nullopt : ActorId::FromBytes(bytes->bytes);
}

// The bytes of a byte string up to its end, and what is behind it; nullopt if it has no end.
std::optional<std::pair<Bytes, BytesView>> TakeEscaped(BytesView rest) {
  Bytes bytes;
  while (true) {
    const size_t zero = rest.find('\0');
    if (zero == BytesView::npos) return std::nullopt;
    bytes.append(rest.substr(0, zero));
    rest.remove_prefix(zero + 1);
    if (!rest.starts_with('\xFF')) return std::pair{std::move(bytes), rest};
    rest.remove_prefix(1);
    bytes.push_back('\0');
  }
}

}  // namespace

Bytes RecordKey(const ActorId& id) { return Begin(kRecord).AddBytes(id.view()).Take(); }
Bytes StateKey(const ActorId& id) { return Begin(kState).AddBytes(id.view()).Take(); }
Bytes NamespacePrefix(std::string_view name_space) {
  return Begin(kDirectory).Text(name_space).Take();
}
Bytes NamePrefix(std::string_view name_space, std::string_view name) {
  return Begin(kDirectory).Text(name_space).Text(name).Take();
}
Bytes DirectoryKey(std::string_view name_space, std::string_view name, std::string_view key) {
  return Begin(kDirectory).Text(name_space).Text(name).Text(key).Take();
}
Bytes InputKey(const ActorId& id) { return Begin(kInput).AddBytes(id.view()).Take(); }
Bytes TokenPrefix(const ActorId& id) { return Begin(kToken).AddBytes(id.view()).Take(); }
Bytes TokenKey(const ActorId& id, std::string_view token) {
  return TuplePacker(TokenPrefix(id)).AddBytes(token).Take();
}
Bytes TokenAgePrefix(const ActorId& id) { return Begin(kTokenAge).AddBytes(id.view()).Take(); }
Bytes TokenAgeKey(const ActorId& id, int64_t at_ms, std::string_view token) {
  return TuplePacker(TokenAgePrefix(id)).Integer(at_ms).AddBytes(token).Take();
}
Bytes PurgeKey(const ActorId& id) { return Begin(kPurge).AddBytes(id.view()).Take(); }
Bytes ActorCountKey() { return Begin(kActorCount).Take(); }
Bytes ByteCountKey() { return Begin(kByteCount).Take(); }

Bytes RecordsPrefix() { return Begin(kRecord).Take(); }
Bytes StatesPrefix() { return Begin(kState).Take(); }
Bytes DirectoryPrefix() { return Begin(kDirectory).Take(); }
Bytes PurgesPrefix() { return Begin(kPurge).Take(); }

std::optional<DirectoryEntry> DecodeDirectoryKey(BytesView key) {
  const std::optional<Tuple> tuple = ElementsOf(kDirectory, key, 3);
  if (!tuple) return std::nullopt;
  const auto* name_space = std::get_if<TupleText>(&(*tuple)[0].value);
  const auto* name = std::get_if<TupleText>(&(*tuple)[1].value);
  const auto* text = std::get_if<TupleText>(&(*tuple)[2].value);
  if (name_space == nullptr || name == nullptr || text == nullptr) return std::nullopt;
  return DirectoryEntry{name_space->text, name->text, text->text};
}

std::optional<ActorId> DecodeIdKey(BytesView prefix, BytesView key) {
  if (!key.starts_with(prefix)) return std::nullopt;
  const std::optional<Tuple> tuple = UnpackTuple(key.substr(prefix.size()));
  if (!tuple || tuple->size() != 1) return std::nullopt;
  return IdOf(tuple->front());
}

std::optional<TokenAge> DecodeTokenAgeKey(BytesView key) {
  const std::optional<Tuple> tuple = ElementsOf(kTokenAge, key, 3);
  if (!tuple) return std::nullopt;
  const auto* at = std::get_if<TupleInteger>(&(*tuple)[1].value);
  const auto* token = std::get_if<TupleBytes>(&(*tuple)[2].value);
  if (at == nullptr || token == nullptr || !at->value()) return std::nullopt;
  return TokenAge{*at->value(), token->bytes};
}

Bytes EntriesPrefix() {
  return TuplePacker().Integer(kRivet).Integer(kPegboard).Integer(kActorKv).Take();
}
Bytes EntriesPrefix(const ActorId& id) {
  return TuplePacker(EntriesPrefix()).AddBytes(id.view()).Take();
}

std::optional<ActorId> DecodeEntriesId(BytesView key) {
  const Bytes prefix = EntriesPrefix() + '\x01';
  if (!key.starts_with(prefix)) return std::nullopt;
  const auto id = TakeEscaped(key.substr(prefix.size()));
  return id ? ActorId::FromBytes(id->first) : std::nullopt;
}

Bytes EntryKeys::Wrapped(BytesView key) const {
  return TuplePacker(prefix_).Begin().AddBytes(key).End().Take();
}
Bytes EntryKeys::Metadata(BytesView key) const {
  return TuplePacker(Wrapped(key)).Integer(kMetadata).Take();
}
Bytes EntryKeys::Chunk(BytesView key, uint64_t index) const {
  return TuplePacker(Wrapped(key)).Integer(kData).Magnitude(index, /*negative=*/false).Take();
}

Range EntryKeys::Prefix(BytesView prefix) const {
  // Without the end of the byte string: longer keys begin so too, those with FF next included.
  Bytes begin = prefix_ + "\x05\x01";
  AppendTupleEscaped(begin, prefix);
  return Range::Prefix(Space::kActors, begin);
}

Range EntryKeys::Between(BytesView begin, BytesView end, bool inclusive) const {
  return {Space::kActors, Wrapped(begin), inclusive ? EndOf(Wrapped(end)) : Wrapped(end)};
}

Range EntryKeys::From(BytesView begin) const { return {Space::kActors, Wrapped(begin), All().end}; }

Range EntryKeys::After(Range range, BytesView key) const {
  range.begin = std::max(range.begin, EndOf(Wrapped(key)));
  return range;
}

Range EntryKeys::Before(Range range, BytesView key) const {
  Bytes end = Wrapped(key);
  if (!range.end || end < *range.end) range.end = std::move(end);
  return range;
}

std::optional<EntryKeys::Row> EntryKeys::Decode(BytesView row) const {
  if (!row.starts_with(prefix_)) return std::nullopt;
  row.remove_prefix(prefix_.size());
  if (!row.starts_with("\x05\x01")) return std::nullopt;
  auto taken = TakeEscaped(row.substr(2));
  if (!taken || !taken->second.starts_with('\0')) return std::nullopt;
  const std::optional<Tuple> rest = UnpackTuple(taken->second.substr(1));
  if (!rest || rest->empty()) return std::nullopt;
  const auto* kind = std::get_if<TupleInteger>(&rest->front().value);
  if (kind == nullptr) return std::nullopt;
  if (rest->size() == 1 && kind->value() == kMetadata) {
    return Row{std::move(taken->first), std::nullopt};
  }
  if (rest->size() != 2 || kind->value() != kData) return std::nullopt;
  const auto* index = std::get_if<TupleInteger>(&rest->back().value);
  if (index == nullptr || index->negative) return std::nullopt;
  return Row{std::move(taken->first), index->magnitude};
}

void AddActorScope(const ActorId& id, store::Scopes& scopes) {
  scopes.Add(Space::kActors, id.view());
}
void AddDirectoryScope(const DirectoryEntry& entry, store::Scopes& scopes) {
  scopes.Add(Space::kActors, DirectoryKey(entry.name_space, entry.name, entry.key));
}

}  // namespace cairn::actors
