#include "actors/operations/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "actors/entries/entries.h"
#include "actors/model/actor_id.h"
#include "actors/model/keys.h"
#include "actors/model/records.h"
#include "store/timers.h"

namespace cairn::actors {
namespace {

using store::Range;
using store::Space;

constexpr size_t kRowsAtOnce = 1'000;

struct Row {
  Bytes key;
  Bytes value;
};

// The next rows of a range, which begins behind them then.
Result<std::vector<Row>> TakeRows(store::Reader& reader, Range& range) {
  std::vector<Row> rows;
  CAIRN_RETURN_IF_ERROR(
      reader.Scan(range, {.limit = kRowsAtOnce}, [&](BytesView key, BytesView value) {
        rows.push_back({Bytes(key), Bytes(value)});
        return true;
      }));
  if (!rows.empty()) range.begin = rows.back().key + '\0';
  return rows;
}

int64_t CounterOf(const std::optional<Bytes>& value) {
  if (!value) return 0;
  return static_cast<int64_t>(BytesReader(*value).Big64());
}

class Check {
 public:
  Check(store::Reader& reader, house::Verification& verification)
      : reader_(reader), verification_(verification) {}

  Result<void> Run() {
    CAIRN_RETURN_IF_ERROR(ForEach(RecordsPrefix(), &Check::CheckRecord));
    CAIRN_RETURN_IF_ERROR(ForEach(StatesPrefix(), &Check::CheckState));
    CAIRN_RETURN_IF_ERROR(ForEach(DirectoryPrefix(), &Check::CheckDirectory));
    CAIRN_RETURN_IF_ERROR(ForEach(PurgesPrefix(), &Check::CheckPurge));
    CAIRN_RETURN_IF_ERROR(CheckOwners());
    if (verification_.abandoned()) return {};
    CAIRN_RETURN_IF_ERROR(CheckCounter(ActorCountKey(), actors_, "actors"));
    return CheckCounter(ByteCountKey(), bytes_, "bytes");
  }

 private:
  using RowCheck = Result<void> (Check::*)(const Row&);

  template <typename... Args>
  void Problem(fmt::format_string<Args...> format, Args&&... args) {
    verification_.Problem(fmt::format(format, std::forward<Args>(args)...));
  }

  Result<void> ForEach(const Bytes& prefix, RowCheck check) {
    Range range = Range::Prefix(Space::kActors, prefix);
    while (!verification_.abandoned()) {
      CAIRN_ASSIGN_OR_RETURN(const std::vector<Row> rows, TakeRows(reader_, range));
      if (rows.empty()) break;
      for (const Row& row : rows) {
        if (!verification_.Read()) return {};
        CAIRN_RETURN_IF_ERROR((this->*check)(row));
      }
    }
    return {};
  }

  Result<bool> Exists(const Bytes& key) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, reader_.Get(InActors(key)));
    return value.has_value();
  }

  Result<void> CheckRecord(const Row& row) {
    const std::optional<ActorId> id = DecodeIdKey(RecordsPrefix(), row.key);
    const std::optional<ActorRecord> record = DecodeRecord(row.value);
    if (!id || !record) {
      Problem("the record {} cannot be read", HexEncode(row.key));
      return {};
    }
    ++actors_;
    const std::string name = id->ToString();
    const Bytes listed = DirectoryKey(record->name_space, record->name, record->key);
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> entry, reader_.Get(InActors(listed)));
    if (entry != id->view()) Problem("actor {} is not in the directory", name);
    const Bytes state_key = StateKey(*id);
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, reader_.Get(InActors(state_key)));
    const std::optional<ActorState> state = value ? DecodeState(*value) : std::nullopt;
    if (!state) {
      Problem("actor {} has no state that can be read", name);
      return {};
    }
    bytes_ += static_cast<int64_t>(state->bytes);
    CAIRN_RETURN_IF_ERROR(CheckEntries(*id, *state));
    return CheckTokens(*id, *state);
  }

  // Entries come one after the other: the chunks of each, then its metadata.
  Result<void> CheckEntries(const ActorId& id, const ActorState& state) {
    const EntryKeys keys(id);
    const std::string name = id.ToString();
    RangeSize found;
    std::optional<Bytes> open;  // the entry whose chunks have been read, without metadata so far
    Bytes value;
    uint64_t chunks = 0;
    const auto lose = [&] {
      if (open)
        Problem("entry '{}' of actor {} has chunks without metadata", Printable(*open), name);
      open.reset();
      value.clear();
      chunks = 0;
    };
    CAIRN_RETURN_IF_ERROR(reader_.Scan(keys.All(), {}, [&](BytesView key, BytesView bytes) {
      if (!verification_.Read()) return false;
      std::optional<EntryKeys::Row> row = keys.Decode(key);
      if (!row) {
        Problem("actor {} has a row of no entry: {}", name, HexEncode(key));
        return true;
      }
      if (open != row->key) lose();
      if (row->chunk) {
        if (*row->chunk != chunks) {
          Problem("entry '{}' of actor {} lacks chunk {}", Printable(row->key), name, chunks);
        }
        chunks = *row->chunk + 1;
        value.append(bytes);
        open = std::move(row->key);
        return true;
      }
      CheckMeta(name, row->key, bytes, value);
      ++found.entries;
      found.bytes += row->key.size() + value.size();
      open.reset();
      lose();
      return true;
    }));
    lose();
    if (verification_.abandoned()) return {};
    if (found.entries != state.entries || found.bytes != state.bytes) {
      Problem("actor {} has {} entries of {} bytes, and counts {} of {}", name, found.entries,
              found.bytes, state.entries, state.bytes);
    }
    return {};
  }

  void CheckMeta(const std::string& name, const Bytes& key, BytesView bytes, const Bytes& value) {
    const std::optional<EntryMeta> meta = DecodeEntryMeta(bytes);
    if (!meta) {
      Problem("entry '{}' of actor {} has metadata that cannot be read", Printable(key), name);
    } else if (meta->size != value.size()) {
      Problem("entry '{}' of actor {} has {} bytes, and should have {}", Printable(key), name,
              value.size(), meta->size);
    } else if (meta->checksum != ChecksumOf(value)) {
      Problem("entry '{}' of actor {} fails its checksum", Printable(key), name);
    }
  }

  Result<void> CheckTokens(const ActorId& id, const ActorState& state) {
    uint64_t tokens = 0;
    uint64_t ages = 0;
    const auto count = [&](const Bytes& prefix, uint64_t& rows) {
      return reader_.Scan(Range::Prefix(Space::kActors, prefix), {},
                          [&](BytesView /*key*/, BytesView /*value*/) {
                            ++rows;
                            return verification_.Read();
                          });
    };
    CAIRN_RETURN_IF_ERROR(count(TokenPrefix(id), tokens));
    CAIRN_RETURN_IF_ERROR(count(TokenAgePrefix(id), ages));
    if (verification_.abandoned() || (tokens == state.tokens && ages == state.tokens)) return {};
    Problem("actor {} remembers {} idempotency ids, {} with an age, and counts {}", id.ToString(),
            tokens, ages, state.tokens);
    return {};
  }

  Result<void> CheckState(const Row& row) {
    const std::optional<ActorId> id = DecodeIdKey(StatesPrefix(), row.key);
    if (!id) {
      Problem("the state {} is of no actor", HexEncode(row.key));
      return {};
    }
    CAIRN_ASSIGN_OR_RETURN(const bool there, Exists(RecordKey(*id)));
    if (!there) Problem("actor {} has a state and no record", id->ToString());
    return {};
  }

  Result<void> CheckDirectory(const Row& row) {
    const std::optional<DirectoryEntry> entry = DecodeDirectoryKey(row.key);
    const std::optional<ActorId> id = ActorId::FromBytes(row.value);
    if (!entry || !id) {
      Problem("the row {} of the directory cannot be read", HexEncode(row.key));
      return {};
    }
    const Bytes key = RecordKey(*id);
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, reader_.Get(InActors(key)));
    const std::optional<ActorRecord> record = value ? DecodeRecord(*value) : std::nullopt;
    if (!record || DirectoryEntry{record->name_space, record->name, record->key} != *entry) {
      Problem("the directory has {}/{}/{} for actor {}, which is another or none",
              entry->name_space, entry->name, Printable(entry->key), id->ToString());
    }
    return {};
  }

  Result<void> CheckPurge(const Row& row) {
    const std::optional<ActorId> id = DecodeIdKey(PurgesPrefix(), row.key);
    if (!id || row.value.size() != 8) {
      Problem("the row {} of a destroyed actor cannot be read", HexEncode(row.key));
      return {};
    }
    const auto due = Timestamp::FromMillis(static_cast<int64_t>(BytesReader(row.value).Big64()));
    const Bytes timer = store::EncodeTimerKey(due, kTimerPurge, id->view());
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, reader_.Get({Space::kTimers, timer}));
    if (!value) Problem("the rows of destroyed actor {} have no timer", id->ToString());
    return {};
  }

  // Looks at the first row of each actor that has entries.
  Result<void> CheckOwners() {
    Range range = Range::Prefix(Space::kActors, EntriesPrefix());
    while (verification_.Read()) {
      std::optional<Bytes> first;
      CAIRN_RETURN_IF_ERROR(
          reader_.Scan(range, {.limit = 1}, [&](BytesView key, BytesView /*value*/) {
            first = Bytes(key);
            return false;
          }));
      if (!first) break;
      const std::optional<ActorId> id = DecodeEntriesId(*first);
      if (!id) {
        Problem("the row {} is of no actor", HexEncode(*first));
        range.begin = *first + '\0';
        continue;
      }
      CAIRN_ASSIGN_OR_RETURN(const bool there, Exists(StateKey(*id)));
      CAIRN_ASSIGN_OR_RETURN(const bool destroyed, Exists(PurgeKey(*id)));
      if (!there && !destroyed)
        Problem("there are entries of actor {}, which is none", id->ToString());
      range.begin = *PrefixSuccessor(EntriesPrefix(*id));
    }
    return {};
  }

  Result<void> CheckCounter(const Bytes& key, int64_t expected, std::string_view what) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, reader_.Get(InActors(key)));
    const int64_t counted = CounterOf(value);
    if (counted != expected)
      Problem("there are {} {}, and the counter says {}", expected, what, counted);
    return {};
  }

  store::Reader& reader_;
  house::Verification& verification_;
  int64_t actors_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace

Result<void> VerifyActors(store::Reader& reader, house::Verification& verification) {
  return Check(reader, verification).Run();
}

}  // namespace cairn::actors
