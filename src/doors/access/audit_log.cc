#include "doors/access/audit_log.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "doors/access/limits.h"

namespace cairn::doors {
namespace {

namespace json = boost::json;
using store::Space;

constexpr std::string_view kChangesPrefix = "audit/";
constexpr std::string_view kCountedPrefix = "audit-refused/";
// What is counted is written this often at most.
constexpr std::chrono::seconds kFlushEvery{10};
constexpr uint64_t kTrimEveryNs = 3'600'000'000'000;  // an hour
// How many rows one transaction removes.
constexpr size_t kRemovedAtOnce = 1'000;
// Who is counted together with others, because there are too many.
constexpr std::string_view kAnyone = "*";

std::string_view PrefixOf(AuditFamily family) {
  return family == AuditFamily::kChanges ? kChangesPrefix : kCountedPrefix;
}

std::string_view Cut(std::string_view text) { return text.substr(0, kMaxAuditTextBytes); }

// What waits in memory takes no more than what is stored.
void CutAll(AuditEntry& entry) {
  for (std::string* text : {&entry.principal, &entry.role, &entry.method, &entry.path, &entry.query,
                            &entry.detail, &entry.kind}) {
    if (text->size() > kMaxAuditTextBytes) *text = std::string(Cut(*text));
  }
}

std::string Encode(const AuditRow& row) {
  const AuditEntry& entry = row.entry;
  json::object object{{"principal", Cut(entry.principal)},
                      {"role", Cut(entry.role)},
                      {"method", Cut(entry.method)},
                      {"path", Cut(entry.path)},
                      {"status", entry.status},
                      {"duration_us", entry.duration_us},
                      {"query", Cut(entry.query)}};
  if (!entry.detail.empty()) object["detail"] = Cut(entry.detail);
  if (row.count > 1) {
    object["count"] = static_cast<int64_t>(row.count);
    object["first_us"] = row.first.us;
  }
  return json::serialize(object);
}

std::string TextOf(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

int64_t NumberOf(const json::object& object, std::string_view name, int64_t otherwise = 0) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_int64() ? value->as_int64() : otherwise;
}

// By how much each is over the share that lets all of them together have `most`: who has less than
// an equal share keeps it, and the others share the rest.
std::map<std::string, uint64_t> ExcessOf(const std::map<std::string, uint64_t>& sizes,
                                         uint64_t most) {
  std::vector<uint64_t> ordered;
  for (const auto& [name, bytes] : sizes) ordered.push_back(bytes);
  std::ranges::sort(ordered);
  uint64_t left = most;
  uint64_t share = 0;
  for (size_t i = 0; i < ordered.size(); ++i) {
    share = left / (ordered.size() - i);
    if (ordered[i] > share) break;
    left -= ordered[i];
  }
  std::map<std::string, uint64_t> excess;
  for (const auto& [name, bytes] : sizes) {
    if (bytes > share) excess.emplace(name, bytes - share);
  }
  return excess;
}

}  // namespace

// --- Rows ---------------------------------------------------------------------------------------

Bytes EncodeAuditKey(AuditFamily family, Timestamp time, uint64_t number) {
  Bytes key(PrefixOf(family));
  AppendBig64(key, static_cast<uint64_t>(time.us));
  AppendBig64(key, number);
  return key;
}

Result<AuditRow> DecodeAuditRow(BytesView key, BytesView value) {
  const Error corrupt{ErrorCode::kCorruption, "a row of the audit log cannot be read"};
  const bool counted = key.starts_with(kCountedPrefix);
  if (!counted && !key.starts_with(kChangesPrefix)) return corrupt;
  BytesReader reader(key.substr(counted ? kCountedPrefix.size() : kChangesPrefix.size()));
  AuditRow row;
  row.time.us = static_cast<int64_t>(reader.Big64());
  row.number = reader.Big64();
  boost::system::error_code failure;
  // Names may hold any bytes, and a long one was cut between two.
  json::parse_options any_bytes;
  any_bytes.allow_invalid_utf8 = true;
  const json::value parsed =
      json::parse(json::string_view(value.data(), value.size()), failure, {}, any_bytes);
  if (!reader.ok() || !reader.AtEnd() || failure || !parsed.is_object()) return corrupt;
  const json::object& object = parsed.as_object();
  row.entry = {.principal = TextOf(object, "principal"),
               .role = TextOf(object, "role"),
               .method = TextOf(object, "method"),
               .path = TextOf(object, "path"),
               .status = static_cast<int>(NumberOf(object, "status")),
               .duration_us = NumberOf(object, "duration_us"),
               .query = TextOf(object, "query"),
               .detail = TextOf(object, "detail")};
  row.count = static_cast<uint64_t>(NumberOf(object, "count", 1));
  row.first = {NumberOf(object, "first_us", row.time.us)};
  return row;
}

// --- Writing ------------------------------------------------------------------------------------

AuditLog::~AuditLog() { Stop(); }

void AuditLog::Append(store::Transaction& transaction, const AuditEntry& entry) {
  const Bytes key =
      EncodeAuditKey(AuditFamily::kChanges, transaction.now(), transaction.NewStamp());
  const std::string value = Encode({.time = {}, .entry = entry});
  transaction.Put({Space::kSystem, key}, value);
  const size_t bytes = key.size() + value.size();
  transaction.AfterCommit([this, bytes](store::Commit) { NoteAppended(bytes); });
}

void AuditLog::NoteAppended(size_t bytes) {
  const std::lock_guard lock(mutex_);
  appended_bytes_ += bytes;
  if (appended_bytes_ >= limits_.bytes / 16) woken_.notify_all();
}

void AuditLog::Keep(AuditEntry entry) {
  CutAll(entry);
  const Timestamp now = clock_.Now();
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMaxWaiting) return CountLocked(std::move(entry), now);
  waiting_.push_back({now, std::move(entry)});
  woken_.notify_all();
}

void AuditLog::Count(AuditEntry entry) {
  CutAll(entry);
  const Timestamp now = clock_.Now();
  const std::lock_guard lock(mutex_);
  CountLocked(std::move(entry), now);
}

std::string AuditLog::NameLocked(AuditEntry& entry) const {
  const auto name = [&] {
    std::string text;
    for (const std::string_view part :
         {std::string_view(entry.principal), std::string_view(entry.role),
          std::string_view(entry.method), std::string_view(entry.kind)}) {
      text.append(part).push_back('\0');
    }
    return text + std::to_string(entry.status);
  };
  std::string wanted = name();
  if (counted_.contains(wanted)) return wanted;
  const auto generalise = [&] {
    entry.method = entry.path = entry.kind = kAnyone;
    entry.query.clear();
    entry.detail.clear();
    entry.status = 0;
  };
  const auto own = counted_of_.find(entry.principal);
  if (own != counted_of_.end() && own->second >= kMaxCountedOfOne) {
    generalise();
    wanted = name();
  }
  if (counted_.size() >= kMaxCounted && !counted_.contains(wanted)) {
    generalise();
    entry.principal = entry.role = kAnyone;
    wanted = name();
  }
  return wanted;
}

void AuditLog::CountLocked(AuditEntry entry, Timestamp now) {
  const std::string name = NameLocked(entry);
  const auto [at, is_new] = counted_.try_emplace(name);
  AuditRow& row = at->second.row;
  if (is_new) {
    ++counted_of_[entry.principal];
    row.count = 0;
    row.first = now;
  }
  ++row.count;
  row.time = now;
  row.entry = std::move(entry);
}

AuditLog::Snapshot AuditLog::TakeCountedLocked() const {
  Snapshot changed;
  for (const auto& [name, counted] : counted_) {
    if (counted.row.count != counted.stored) changed.emplace_back(name, counted);
  }
  return changed;
}

void AuditLog::StoredLocked(const Snapshot& written, Timestamp now) {
  const auto over = [&](const Counted& counted) {
    return std::abs(now.us - counted.row.first.us) >= kCountedForUs;
  };
  for (const auto& [name, stored] : written) {
    Counted& counted = counted_.find(name)->second;
    counted.stored = stored.row.count;
    counted.stored_key = EncodeAuditKey(AuditFamily::kCounted, stored.row.time, stored.row.number);
    if (!over(counted) || counted.row.count == counted.stored) continue;
    // More has come meanwhile: that begins another row.
    counted.row.count -= counted.stored;
    counted.row.first = now;
    counted.stored = 0;
    counted.stored_key.clear();
  }
  std::erase_if(counted_, [&](const auto& item) {
    const Counted& counted = item.second;
    if (counted.stored != counted.row.count || !over(counted)) return false;
    const auto of = counted_of_.find(counted.row.entry.principal);
    if (--of->second == 0) counted_of_.erase(of);
    return true;
  });
}

Result<size_t> AuditLog::Write(const std::vector<Waiting>& waiting, Snapshot& counted) {
  size_t bytes = 0;
  const auto done = store_.Run({}, [&](store::Transaction& transaction) -> Result<void> {
    bytes = 0;
    const auto put = [&](AuditFamily family, const AuditRow& row) {
      const Bytes key = EncodeAuditKey(family, row.time, row.number);
      const std::string value = Encode(row);
      transaction.Put({Space::kSystem, key}, value);
      bytes += key.size() + value.size();
    };
    for (const Waiting& one : waiting) {
      put(AuditFamily::kChanges,
          {.time = one.time, .number = transaction.NewStamp(), .entry = one.entry});
    }
    for (auto& [name, each] : counted) {
      if (!each.stored_key.empty()) transaction.Delete({Space::kSystem, each.stored_key});
      each.row.number = transaction.NewStamp();
      put(AuditFamily::kCounted, each.row);
    }
    return {};
  });
  if (!done.ok()) return done.error();
  return bytes;
}

Result<void> AuditLog::Flush() {
  const std::lock_guard flushing(flush_mutex_);
  const Timestamp now = clock_.Now();
  std::vector<Waiting> waiting;
  Snapshot counted;
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(waiting_);
    counted = TakeCountedLocked();
  }
  const bool nothing = waiting.empty() && counted.empty();
  const Result<size_t> written = nothing ? Result<size_t>(size_t{0}) : Write(waiting, counted);
  const std::lock_guard lock(mutex_);
  if (!written.ok()) {
    waiting_.insert(waiting_.begin(), std::make_move_iterator(waiting.begin()),
                    std::make_move_iterator(waiting.end()));
    return written.error();
  }
  if (!nothing) failing_ = false;
  appended_bytes_ += *written;
  StoredLocked(counted, now);
  return {};
}

void AuditLog::Failed(const Error& why) {
  failures_.fetch_add(1, std::memory_order_relaxed);
  if (failing_.exchange(true)) return;
  log_.Warn("the audit log cannot be written; its entries wait in memory",
            {{"reason", why.message}});
}

// --- Trimming -----------------------------------------------------------------------------------

Result<void> AuditLog::Trim() {
  {
    const std::lock_guard lock(mutex_);
    appended_bytes_ = 0;
    next_trim_ns_ = clock_.MonotonicNs() + kTrimEveryNs;
  }
  const uint64_t for_counted = limits_.bytes / 8;
  CAIRN_RETURN_IF_ERROR(TrimFamily(AuditFamily::kCounted, for_counted));
  return TrimFamily(AuditFamily::kChanges, limits_.bytes - for_counted);
}

Result<void> AuditLog::TrimFamily(AuditFamily family, uint64_t most) {
  const int64_t oldest_us = std::max<int64_t>(clock_.Now().us - limits_.kept_us, 0);
  const Bytes oldest = EncodeAuditKey(family, {oldest_us}, 0);
  std::map<std::string, uint64_t> sizes;  // by principal
  uint64_t total = 0;
  bool outdated = false;
  {
    CAIRN_ASSIGN_OR_RETURN(const auto snapshot, store_.Read());
    CAIRN_RETURN_IF_ERROR(snapshot->Scan(store::Range::Prefix(Space::kSystem, PrefixOf(family)), {},
                                         [&](BytesView key, BytesView value) {
                                           if (key < oldest) return outdated = true;
                                           const auto row = DecodeAuditRow(key, value);
                                           const size_t bytes = key.size() + value.size();
                                           sizes[row.ok() ? row->entry.principal : ""] += bytes;
                                           total += bytes;
                                           return true;
                                         }));
  }
  if (outdated) {
    const auto removed = store_.Run({}, [&](store::Transaction& transaction) -> Result<void> {
      transaction.DeleteRange({Space::kSystem, Bytes(PrefixOf(family)), oldest});
      return {};
    });
    if (!removed.ok()) return removed.error();
  }
  if (total <= most) return {};
  // Some room, so that not every row that is added asks for this again.
  return RemoveOldest(family, ExcessOf(sizes, most - most / 8));
}

Result<void> AuditLog::RemoveOldest(AuditFamily family, std::map<std::string, uint64_t> excess) {
  store::Range rest = store::Range::Prefix(Space::kSystem, PrefixOf(family));
  while (!excess.empty()) {
    std::vector<Bytes> removed;
    CAIRN_ASSIGN_OR_RETURN(const auto snapshot, store_.Read());
    CAIRN_RETURN_IF_ERROR(snapshot->Scan(rest, {}, [&](BytesView key, BytesView value) {
      const auto row = DecodeAuditRow(key, value);
      const auto of = excess.find(row.ok() ? row->entry.principal : "");
      if (of == excess.end()) return true;
      removed.emplace_back(key);
      const size_t bytes = key.size() + value.size();
      of->second -= std::min<uint64_t>(of->second, bytes);
      if (of->second == 0) excess.erase(of);
      return removed.size() < kRemovedAtOnce && !excess.empty();
    }));
    if (removed.empty()) return {};
    const auto done = store_.Run({}, [&](store::Transaction& transaction) -> Result<void> {
      for (const Bytes& key : removed) transaction.Delete({Space::kSystem, key});
      return {};
    });
    if (!done.ok()) return done.error();
    rest.begin = removed.back();
  }
  return {};
}

// --- The thread ---------------------------------------------------------------------------------

void AuditLog::Start() {
  thread_ = std::thread([this] { ThreadMain(); });
}

void AuditLog::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_all();
  if (!thread_.joinable()) return;
  thread_.join();
  FlushAndTrim();
}

void AuditLog::FlushAndTrim() {
  if (const Result<void> flushed = Flush(); !flushed.ok()) Failed(flushed.error());
  bool due = false;
  {
    const std::lock_guard lock(mutex_);
    due = appended_bytes_ >= limits_.bytes / 16 || clock_.MonotonicNs() >= next_trim_ns_;
  }
  // What cannot be removed now is removed later.
  if (due) (void)Trim();
}

void AuditLog::ThreadMain() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    FlushAndTrim();
    lock.lock();
    // What cannot be written is not tried again at once.
    woken_.wait_for(lock, kFlushEvery, [this] {
      const bool due = !waiting_.empty() || appended_bytes_ >= limits_.bytes / 16;
      return stopping_ || (due && !failing_);
    });
  }
}

// --- Reading ------------------------------------------------------------------------------------

Result<void> AuditLog::Read(store::Reader& reader, std::optional<Timestamp> since,
                            std::optional<Timestamp> until,
                            const std::function<bool(const AuditRow&)>& visit) {
  const auto scan = [&](AuditFamily family, const std::function<bool(const AuditRow&)>& each) {
    store::Range range = store::Range::Prefix(Space::kSystem, PrefixOf(family));
    if (since) range.begin = EncodeAuditKey(family, *since, 0);
    if (until) range.end = EncodeAuditKey(family, *until, 0);
    return reader.Scan(range, {.reverse = true}, [&](BytesView key, BytesView value) {
      const Result<AuditRow> row = DecodeAuditRow(key, value);
      return !row.ok() || each(*row);
    });
  };
  // They are few: an eighth of the log at most.
  std::vector<AuditRow> counted;
  CAIRN_RETURN_IF_ERROR(scan(AuditFamily::kCounted, [&](const AuditRow& row) {
    counted.push_back(row);
    return true;
  }));
  auto next = counted.begin();
  bool wanted = true;
  const auto visit_counted = [&](auto before) {
    while (wanted && next != counted.end() && before(*next)) wanted = visit(*next++);
  };
  CAIRN_RETURN_IF_ERROR(scan(AuditFamily::kChanges, [&](const AuditRow& row) {
    visit_counted([&](const AuditRow& one) { return one.time >= row.time; });
    wanted = wanted && visit(row);
    return wanted;
  }));
  visit_counted([](const AuditRow&) { return true; });
  return {};
}

}  // namespace cairn::doors
