#include "data/verify.h"

#include <fmt/format.h>

#include <array>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "data/value/keys.h"
#include "data/value/limits.h"
#include "data/value_check.h"
#include "doors/access/limits.h"
#include "store/timers.h"
#include "store/transaction.h"

namespace cairn::data {
namespace {

using store::Space;

using Generations = boost::unordered_flat_set<uint64_t>;

class Verifier {
 public:
  Verifier(store::Snapshot& reader, house::Verification& verification)
      : reader_(reader), verification_(verification) {}

  Result<void> Run() {
    CAIRN_RETURN_IF_ERROR(ReadTimers());
    for (int db = 0; db < doors::kDatabases; ++db) {
      CAIRN_RETURN_IF_ERROR(CheckDatabase(static_cast<uint8_t>(db)));
    }
    return CheckOtherRows();
  }

 private:
  // A key whose timer is to be looked up.
  struct Expiring {
    ValueType type = ValueType::kString;
    Bytes record_key;
    Bytes timer_key;
  };

  Subject SubjectOf(ValueType type, BytesView record_key) const {
    const RecordKey key = DecodeRecordKey(record_key).value_or(RecordKey());
    return {verification_, SpokenTypeName(type), key.db, key.user_key};
  }

  Result<void> Scan(const store::Range& range, store::RowVisitor visit) {
    if (verification_.abandoned()) return {};
    return reader_.Scan(range, {}, visit);
  }

  Result<void> ReadTimers() {
    return Scan(store::Range::All(Space::kTimers), [&](BytesView key, BytesView) {
      const std::optional<store::Timer> timer = store::DecodeTimerKey(key);
      const bool foreign =
          timer && timer->kind != store::kTimerKeyExpiry && timer->kind != store::kTimerReclaim;
      if (foreign) return true;
      if (!timer || !TakeTimer(*timer)) {
        verification_.Problem(fmt::format("the timer {} cannot be read", Printable(key)));
      }
      return verification_.Read();
    });
  }

  bool TakeTimer(const store::Timer& timer) {
    if (timer.kind == store::kTimerKeyExpiry) {
      const std::optional<RecordKey> key = DecodeTimerOwner(timer.owner);
      return key && key->db < doors::kDatabases;
    }
    const std::optional<Reclaimed> reclaimed = DecodeReclaimOwner(timer.owner);
    if (!reclaimed || reclaimed->db >= doors::kDatabases) return false;
    reclaimed_[reclaimed->db].insert(reclaimed->generation);
    return true;
  }

  Result<void> CheckDatabase(uint8_t db) {
    keys_ = expiring_keys_ = 0;
    owned_.clear();
    Result<void> checked;
    CAIRN_RETURN_IF_ERROR(Scan(RecordRange(db), [&](BytesView key, BytesView value) {
      checked = CheckRecord(key, value);
      return checked.ok() && verification_.Read();
    }));
    if (!checked.ok()) return checked;
    CAIRN_RETURN_IF_ERROR(CheckExpiryTimers());
    CAIRN_RETURN_IF_ERROR(CheckOwners(db));
    CAIRN_RETURN_IF_ERROR(CheckCounter(db, EncodeKeyCounter(db), keys_, "key"));
    return CheckCounter(db, EncodeExpiringCounter(db), expiring_keys_, "expiring key");
  }

  Result<void> CheckRecord(BytesView key, BytesView value) {
    ++keys_;
    const std::optional<Record> record = DecodeRecord(value);
    if (!record) {
      Subject subject = SubjectOf(ValueType::kString, key);
      subject.type = "key";
      subject.Problem("has a record that cannot be read");
      return {};
    }
    if (record->expire_ms) CAIRN_RETURN_IF_ERROR(NoteExpiry(key, *record));
    const bool is_plain = record->type == ValueType::kString && record->generation == 0;
    return is_plain ? Result<void>() : CheckValue(key, *record);
  }

  Result<void> CheckValue(BytesView key, const Record& record) {
    const uint64_t generation = record.generation;
    const Subject subject = SubjectOf(record.type, key);
    if (generation != 0) {
      if (!owned_.insert(generation).second) {
        subject.Problem("shares its elements with another key");
        return {};
      }
      if (reclaimed_[subject.db].contains(generation)) {
        subject.Problem("has elements that are about to be reclaimed");
      }
    }
    const NewCheck check = MakeCheck(subject, record);
    if (check == nullptr) {
      subject.Problem("has a record that cannot be read");
      return {};
    }
    if (generation != 0) CAIRN_RETURN_IF_ERROR(ReadElements(subject.db, generation, *check));
    if (!verification_.abandoned()) check->Finish();
    return {};
  }

  // CheckOwners counts the first one.
  Result<void> ReadElements(uint8_t db, uint64_t generation, ValueCheck& check) {
    bool first = true;
    const Bytes prefix = EncodeElementPrefix(db, generation);
    return Scan(store::Range::Prefix(Space::kData, prefix), [&](BytesView key, BytesView value) {
      check.Row(key.substr(prefix.size()), value);
      return std::exchange(first, false) || verification_.Read();
    });
  }

  Result<void> NoteExpiry(BytesView key, const Record& record) {
    constexpr size_t kTimersAtOnce = 256;
    constexpr int64_t kLastTimerMs = std::numeric_limits<int64_t>::max() / 1000;
    const int64_t expire_ms = *record.expire_ms;
    ++expiring_keys_;
    if (expire_ms < 0) {
      SubjectOf(record.type, key).Problem("expires before 1970");
    } else if (expire_ms <= kLastTimerMs) {  // no timer reaches further
      expiring_.push_back({record.type, Bytes(key),
                           store::EncodeTimerKey(Timestamp::FromMillis(expire_ms),
                                                 store::kTimerKeyExpiry, TimerOwner(key))});
    }
    return expiring_.size() < kTimersAtOnce ? Result<void>() : CheckExpiryTimers();
  }

  Result<void> CheckExpiryTimers() {
    std::vector<store::Key> timers;
    timers.reserve(expiring_.size());
    for (const Expiring& each : expiring_) timers.push_back({Space::kTimers, each.timer_key});
    CAIRN_ASSIGN_OR_RETURN(const auto found, reader_.GetMany(timers));
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i]) continue;
      SubjectOf(expiring_[i].type, expiring_[i].record_key).Problem("expires but has no timer");
    }
    expiring_.clear();
    return {};
  }

  // Each element of a database belongs to a value that was checked, or is about to be reclaimed.
  // What was checked is jumped over, unless reading on takes less time. To show progress here too,
  // the first row of each value is counted here, and the others where they were checked.
  Result<void> CheckOwners(uint8_t db) {
    constexpr int kMaxRowsReadOver = 32;
    store::Range range = ElementRange(db);
    std::optional<uint64_t> current;
    std::optional<Bytes> jump_to;
    do {
      if (jump_to) range.begin = *std::exchange(jump_to, std::nullopt);
      int read_over = 0;
      CAIRN_RETURN_IF_ERROR(Scan(range, [&](BytesView key, BytesView) {
        const std::optional<uint64_t> generation = GenerationOf(key);
        if (!generation) {
          ReportUnknownRow(key);
          return verification_.Read();
        }
        const bool owned = owned_.contains(*generation);
        if (current != generation) {
          current = generation;
          read_over = 0;
          if (!owned && !reclaimed_[db].contains(*generation)) ReportOrphan(db, *generation);
          return verification_.Read();
        }
        if (!owned) return verification_.Read();
        if (++read_over < kMaxRowsReadOver) return true;
        jump_to = PrefixSuccessor(EncodeElementPrefix(db, *generation));
        return false;
      }));
    } while (jump_to);
    return {};
  }

  static std::optional<uint64_t> GenerationOf(BytesView element_key) {
    BytesReader reader(element_key.substr(2));
    const uint64_t generation = reader.Big64();
    return reader.ok() ? std::optional(generation) : std::nullopt;
  }

  void ReportOrphan(uint8_t db, uint64_t generation) {
    verification_.Problem(
        fmt::format("the elements of generation {} in database {} (rows {}...) belong to no key "
                    "and are not about to be reclaimed",
                    generation, db, Printable(EncodeElementPrefix(db, generation))));
  }

  Result<void> CheckCounter(uint8_t db, const Bytes& counter, int64_t found,
                            std::string_view noun) {
    if (verification_.abandoned()) return {};
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, reader_.Get({Space::kData, counter}));
    if (value && !verification_.Read()) return {};
    if (value && value->size() != sizeof(int64_t)) {
      verification_.Problem(
          fmt::format("database {} has an unreadable counter under {}", db, Printable(counter)));
    } else if (DecodeCounter(value) != found) {
      verification_.Problem(fmt::format("database {} counts {} but has {}", db,
                                        Amount(DecodeCounter(value), noun), found));
    }
    return {};
  }

  // Whatever stands between the rows that were read so far.
  Result<void> CheckOtherRows() {
    const auto row = [](const Bytes& key) {
      return store::Range{Space::kData, key, key + Bytes(1, '\0')};
    };
    std::array<std::vector<store::Range>, 4> families;
    for (int number = 0; number < doors::kDatabases; ++number) {
      const auto db = static_cast<uint8_t>(number);
      families[0].push_back(RecordRange(db));
      families[1].push_back(ElementRange(db));
      families[2].push_back(row(EncodeKeyCounter(db)));
      families[3].push_back(row(EncodeExpiringCounter(db)));
    }
    store::Range rest = store::Range::All(Space::kData);
    for (const std::vector<store::Range>& family : families) {
      for (const store::Range& read : family) {
        CAIRN_RETURN_IF_ERROR(CheckNoRows({Space::kData, rest.begin, read.begin}));
        rest.begin = read.end.value_or(read.begin);
      }
    }
    return CheckNoRows(rest);
  }

  Result<void> CheckNoRows(const store::Range& range) {
    if (range.empty()) return {};
    return Scan(range, [&](BytesView key, BytesView) {
      ReportUnknownRow(key);
      return verification_.Read();
    });
  }

  void ReportUnknownRow(BytesView key) {
    verification_.Problem(fmt::format("the row {} is not a row of any key", Printable(key)));
  }

  store::Snapshot& reader_;
  house::Verification& verification_;
  std::array<Generations, doors::kDatabases> reclaimed_;  // about to be
  std::vector<Expiring> expiring_;

  // Of the database that is being read.
  int64_t keys_ = 0;
  int64_t expiring_keys_ = 0;
  Generations owned_;
};

}  // namespace

Result<void> Verify(store::Store& store, house::Verification& verification) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Snapshot> snapshot, store.Read());
  return Verifier(*snapshot, verification).Run();
}

}  // namespace cairn::data
