#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "store/store.h"
#include "store/transaction.h"

// The audit log: every change with its author, and counts of refusals. Rows of the space `system`:
//
//   audit/ time:8 number:8          →  JSON: principal, role, method, path, status, duration_us,
//                                      query, detail: one change
//   audit-refused/ time:8 number:8  →  the same of the last of several, with count and first_us
//
// Big-endian, so that the rows stand in the order of time; the number is one that no other row has.
// docs/decisions/0022 says what is a change, and what is only counted.
namespace cairn::doors {

struct AuditEntry {
  std::string principal;  // as Principal::name; empty: nobody who is known
  std::string role;
  std::string method;  // of HTTP; RESP for a command
  std::string path;    // or the command with what it is about
  int status = 200;
  int64_t duration_us = 0;
  std::string query;
  std::string detail = {};  // which key was made, where it came from: never a secret
  // What it is counted as where it is counted: the route, the command. Not stored. Clients cannot
  // make new kinds, so their number is bounded.
  std::string kind = {};
};

// An entry as it is stored, or several that were counted.
struct AuditRow {
  Timestamp time;  // of the last one
  uint64_t number = 0;
  AuditEntry entry;
  uint64_t count = 1;
  Timestamp first = {};
};

enum class AuditFamily : uint8_t { kChanges, kCounted };

Bytes EncodeAuditKey(AuditFamily family, Timestamp time, uint64_t number);
// kCorruption for what no AuditLog has written.
Result<AuditRow> DecodeAuditRow(BytesView key, BytesView value);

// Two ways in. A change is stored by itself. What was refused is counted: the same again, by the
// same principal, within an hour is one row whose count grows, so that requests cannot fill the
// log.
//
// The log is bounded by age and by bytes. Changes have seven eighths of the bytes and refusals one,
// so refusals never push out changes; and where there is too much, the oldest rows go of whoever
// has the most, so nobody pushes out what others did.
//
// Safe to use from any thread. Between Start and Stop a thread of its own writes and trims.
class AuditLog {
 public:
  struct Limits {
    uint64_t bytes = 64ULL << 20;
    int64_t kept_us = 90LL * 24 * 3600 * 1'000'000;
  };
  // How long the same refusal is counted in one row.
  static constexpr int64_t kCountedForUs = 3'600'000'000;
  // Rows that grow at a time. What does not fit is counted under the principal alone, or "*".
  static constexpr size_t kMaxCountedOfOne = 64;
  static constexpr size_t kMaxCounted = 1'024;
  // Changes that wait to be written; more are counted.
  static constexpr size_t kMaxWaiting = 1'024;

  // What it is given outlives it.
  AuditLog(store::Store& store, const Clock& clock, Log log, Limits limits)
      : store_(store), clock_(clock), log_(std::move(log)), limits_(limits) {}
  AuditLog(store::Store& store, const Clock& clock, Log log)
      : AuditLog(store, clock, std::move(log), Limits()) {}
  ~AuditLog();  // stops
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  void Start();
  // Writes what is left. Stopping twice is not an error.
  void Stop();

  // A change, as part of its own transaction, or afterwards in another. Needs no scope.
  void Append(store::Transaction& transaction, const AuditEntry& entry);
  // A change that is not in the store, or whose entry could not be written with it: is written
  // soon.
  void Keep(AuditEntry entry);
  // A refusal. Waits for nothing.
  void Count(AuditEntry entry);

  // Writes what was kept and counted so far. Waits for the store.
  Result<void> Flush();
  // Removes rows that are too old, or too many. Waits for the store.
  Result<void> Trim();

  // How often entries could not be written when they should have been.
  uint64_t failures() const { return failures_.load(std::memory_order_relaxed); }
  // An entry could not be written, and is kept or counted instead.
  void Failed(const Error& why);

  // Newest first, from before `until` to not before `since`; the visitor says whether to go on. A
  // row that cannot be read is left out.
  static Result<void> Read(store::Reader& reader, std::optional<Timestamp> since,
                           std::optional<Timestamp> until,
                           const std::function<bool(const AuditRow&)>& visit);

 private:
  struct Waiting {
    Timestamp time;
    AuditEntry entry;
  };
  // Refusals that are counted together.
  struct Counted {
    AuditRow row;           // its number is 0 until it is stored
    uint64_t stored = 0;    // as many of them are in the store
    Bytes stored_key = {};  // empty: nothing is
  };
  using AllCounted = std::map<std::string, Counted, std::less<>>;
  using Snapshot = std::vector<std::pair<std::string, Counted>>;

  void CountLocked(AuditEntry entry, Timestamp now);
  // Under which name, and as whom, it is counted.
  std::string NameLocked(AuditEntry& entry) const;
  Snapshot TakeCountedLocked() const;
  // How many bytes that was.
  Result<size_t> Write(const std::vector<Waiting>& waiting, Snapshot& counted);
  void StoredLocked(const Snapshot& written, Timestamp now);
  void NoteAppended(size_t bytes);
  Result<void> TrimFamily(AuditFamily family, uint64_t most);
  Result<void> RemoveOldest(AuditFamily family, std::map<std::string, uint64_t> excess);
  void ThreadMain();
  void FlushAndTrim();

  store::Store& store_;
  const Clock& clock_;
  const Log log_;
  const Limits limits_;
  std::atomic<uint64_t> failures_{0};
  std::atomic<bool> failing_{false};

  std::mutex flush_mutex_;  // one at a time
  std::mutex mutex_;
  std::condition_variable woken_;
  std::vector<Waiting> waiting_;
  AllCounted counted_;
  std::map<std::string, size_t, std::less<>> counted_of_;  // by principal
  uint64_t appended_bytes_ = 0;                            // since the last Trim
  bool stopping_ = false;
  uint64_t next_trim_ns_ = 0;
  std::thread thread_;
};

}  // namespace cairn::doors
