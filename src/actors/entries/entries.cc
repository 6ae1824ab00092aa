#include "actors/entries/entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "actors/model/limits.h"

namespace cairn::actors {
namespace {

// Puts rows of a scan together to entries, in either direction, and ends the page in time.
class PageBuilder {
 public:
  PageBuilder(const EntryReader& entries, const ListQuery& query)
      : entries_(entries), query_(query) {}

  // Returns whether to go on.
  bool Take(BytesView row, BytesView value) {
    std::optional<EntryKeys::Row> decoded = entries_.keys().Decode(row);
    if (!decoded) return Fail(entries_.Damaged(row, "is a row of no entry"));
    const bool starts = !open_ || decoded->key != entry_.key;
    if (starts && !Start(std::move(decoded->key))) return false;
    return decoded->chunk ? TakeChunk(*decoded->chunk, value) : TakeMeta(value);
  }

  Result<EntryPage> Finish() {
    if (!failure_ && open_ && !Close()) return *failure_;
    if (failure_) return *failure_;
    return std::move(page_);
  }

 private:
  bool Fail(Error error) {
    failure_ = std::move(error);
    return false;
  }
  bool FailEntry(std::string_view what) { return Fail(entries_.Damaged(entry_.key, what)); }

  // An entry begins; false if the page has no room for one more.
  bool Start(Bytes key) {
    if (open_ && !Close()) return false;
    if (page_.entries.size() >= query_.limit) return End();
    entry_ = {.key = std::move(key), .value = {}, .meta = {}};
    open_ = true;
    has_meta_ = false;
    chunks_ = 0;
    return FitsOrEnd(0);
  }

  // Whether the entry has room with so many bytes of its value; ends the page if it has not.
  bool FitsOrEnd(size_t value_bytes) {
    const size_t needed = entry_.key.size() + value_bytes;
    if (page_.entries.empty() || (needed <= query_.bytes && bytes_ <= query_.bytes - needed)) {
      return true;
    }
    open_ = false;
    return End();
  }

  bool End() {
    page_.more = true;
    return false;
  }

  bool TakeMeta(BytesView value) {
    const std::optional<EntryMeta> meta = DecodeEntryMeta(value);
    if (!meta || meta->size > kMaxBatchValueBytes) {
      return FailEntry("has metadata that cannot be read");
    }
    entry_.meta = *meta;
    has_meta_ = true;
    if (!FitsOrEnd(meta->size)) return false;
    if (query_.reverse) chunks_ = ChunksOf(meta->size);
    // Backwards the chunks follow, forwards this is the last row.
    if (!query_.reverse || chunks_ == 0) return Close();
    entry_.value.resize(meta->size);
    return true;
  }

  bool TakeChunk(uint64_t index, BytesView value) {
    if (query_.reverse) return TakeChunkBackwards(index, value);
    if (index != chunks_) return FailEntry("lacks a chunk");
    ++chunks_;
    entry_.value.append(value);
    return FitsOrEnd(entry_.value.size());
  }

  bool TakeChunkBackwards(uint64_t index, BytesView value) {
    if (!has_meta_) return FailEntry("has chunks without metadata");
    if (chunks_ == 0 || index != chunks_ - 1) return FailEntry("lacks a chunk");
    const size_t begin = index * kChunkBytes;
    if (value.size() != std::min(kChunkBytes, entry_.value.size() - begin)) {
      return FailEntry("has a chunk of another size");
    }
    std::ranges::copy(value, entry_.value.begin() + static_cast<std::ptrdiff_t>(begin));
    --chunks_;
    return chunks_ > 0 || Close();
  }

  // The entry is complete; false if it is not.
  bool Close() {
    open_ = false;
    if (!has_meta_) return FailEntry("has chunks without metadata");
    if (query_.reverse && chunks_ > 0) return FailEntry("lacks a chunk");
    if (entry_.value.size() != entry_.meta.size) return FailEntry("has a value of another size");
    if (ChecksumOf(entry_.value) != entry_.meta.checksum) return FailEntry("fails its checksum");
    bytes_ += entry_.key.size() + entry_.value.size();
    page_.entries.push_back(std::move(entry_));
    entry_ = {};
    return true;
  }

  const EntryReader& entries_;
  const ListQuery& query_;
  EntryPage page_;
  size_t bytes_ = 0;
  // The one that rows come in for.
  Entry entry_;
  bool open_ = false;
  bool has_meta_ = false;
  uint64_t chunks_ = 0;  // forwards: taken; backwards: still to come
  std::optional<Error> failure_;
};

}  // namespace

uint64_t ChunksOf(uint64_t size) { return (size + kChunkBytes - 1) / kChunkBytes; }

Error EntryReader::Damaged(BytesView key, std::string_view what) const {
  return {ErrorCode::kCorruption,
          fmt::format("entry '{}' of actor {} {}", Printable(key), id_.ToString(), what)};
}

Result<std::optional<EntryMeta>> EntryReader::Meta(BytesView key) {
  const Bytes row = keys_.Metadata(key);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, reader_.Get(InActors(row)));
  if (!value) return std::optional<EntryMeta>();
  const std::optional<EntryMeta> meta = DecodeEntryMeta(*value);
  if (!meta) return Damaged(key, "has metadata that cannot be read");
  return meta;
}

Result<std::vector<std::optional<EntryMeta>>> EntryReader::Metas(std::span<const Bytes> keys) {
  std::vector<Bytes> rows;
  rows.reserve(keys.size());
  for (const Bytes& key : keys) rows.push_back(keys_.Metadata(key));
  std::vector<store::Key> wanted;
  wanted.reserve(rows.size());
  for (const Bytes& row : rows) wanted.push_back(InActors(row));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::optional<Bytes>> values, reader_.GetMany(wanted));
  std::vector<std::optional<EntryMeta>> metas(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!values[i]) continue;
    metas[i] = DecodeEntryMeta(*values[i]);
    if (!metas[i]) return Damaged(keys[i], "has metadata that cannot be read");
  }
  return metas;
}

Result<std::optional<Entry>> EntryReader::Get(BytesView key) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<EntryMeta> meta, Meta(key));
  if (!meta) return std::optional<Entry>();
  std::vector<Bytes> rows;
  for (uint64_t i = 0; i < ChunksOf(meta->size); ++i) rows.push_back(keys_.Chunk(key, i));
  std::vector<store::Key> wanted;
  wanted.reserve(rows.size());
  for (const Bytes& row : rows) wanted.push_back(InActors(row));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::optional<Bytes>> chunks, reader_.GetMany(wanted));
  Entry entry{.key = Bytes(key), .value = {}, .meta = *meta};
  entry.value.reserve(meta->size);
  for (const std::optional<Bytes>& chunk : chunks) {
    if (!chunk) return Damaged(key, "lacks a chunk");
    entry.value += *chunk;
  }
  if (entry.value.size() != meta->size) return Damaged(key, "has a value of another size");
  if (ChecksumOf(entry.value) != meta->checksum) return Damaged(key, "fails its checksum");
  return std::optional<Entry>(std::move(entry));
}

store::Range RangeOf(const EntryKeys& keys, const ListQuery& query) {
  store::Range range = keys.Prefix(query.prefix);
  const auto narrow = [&](const store::Range& other) {
    range.begin = std::max(range.begin, other.begin);
    if (!range.end || (other.end && *other.end < *range.end)) range.end = other.end;
  };
  if (query.begin) narrow(keys.From(*query.begin));
  if (query.end) narrow(keys.Between({}, *query.end, query.end_inclusive));
  if (!query.after) return range;
  return query.reverse ? keys.Before(std::move(range), *query.after)
                       : keys.After(std::move(range), *query.after);
}

Result<EntryPage> EntryReader::List(const ListQuery& query) {
  const store::Range range = RangeOf(keys_, query);
  if (range.empty() || query.limit == 0) return EntryPage();
  PageBuilder builder(*this, query);
  CAIRN_RETURN_IF_ERROR(
      reader_.Scan(range, {.reverse = query.reverse},
                   [&](BytesView row, BytesView value) { return builder.Take(row, value); }));
  return builder.Finish();
}

Result<RangeSize> EntryReader::Measure(const store::Range& range, size_t most,
                                       std::vector<Bytes>& rows) {
  RangeSize size;
  if (range.empty()) return size;
  std::optional<Error> failure;
  CAIRN_RETURN_IF_ERROR(reader_.Scan(range, {}, [&](BytesView row, BytesView value) {
    ++size.rows;
    if (size.rows <= most) rows.emplace_back(row);
    const std::optional<EntryKeys::Row> decoded = keys_.Decode(row);
    if (!decoded) {
      failure = Damaged(row, "is a row of no entry");
      return false;
    }
    if (decoded->chunk) return true;
    const std::optional<EntryMeta> meta = DecodeEntryMeta(value);
    if (!meta) {
      failure = Damaged(decoded->key, "has metadata that cannot be read");
      return false;
    }
    ++size.entries;
    size.bytes += decoded->key.size() + meta->size;
    return true;
  }));
  if (failure) return *failure;
  return size;
}

void WriteEntry(store::Transaction& transaction, const EntryKeys& keys, const EntryView& entry,
                const std::optional<EntryMeta>& before) {
  const uint64_t chunks = ChunksOf(entry.value.size());
  BytesView rest = entry.value;
  for (uint64_t i = 0; i < chunks; ++i) {
    transaction.Put(InActors(keys.Chunk(entry.key, i)), rest.substr(0, kChunkBytes));
    rest.remove_prefix(std::min(rest.size(), kChunkBytes));
  }
  for (uint64_t i = chunks; before && i < ChunksOf(before->size); ++i) {
    transaction.Delete(InActors(keys.Chunk(entry.key, i)));
  }
  transaction.Put(InActors(keys.Metadata(entry.key)), EncodeEntryMeta(entry.meta));
}

void EraseEntry(store::Transaction& transaction, const EntryKeys& keys, BytesView key,
                const EntryMeta& before) {
  for (uint64_t i = 0; i < ChunksOf(before.size); ++i) {
    transaction.Delete(InActors(keys.Chunk(key, i)));
  }
  transaction.Delete(InActors(keys.Metadata(key)));
}

}  // namespace cairn::actors
