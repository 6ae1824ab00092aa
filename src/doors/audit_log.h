#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "store/store.h"
#include "store/transaction.h"

// Who has changed what. One row of the space `system` per change that was made on purpose, by an
// operator or a program that manages; what workers and producers do all day is not listed.
//
//   audit/ time:8 number:8  →  JSON: principal, role, method, path, status, duration_us, query
//
// Big-endian, so that the rows stand in the order of time; the number is one that no other row has.
namespace cairn::doors {

inline constexpr size_t kMaxAuditRows = 50'000;
inline constexpr int64_t kAuditKeptUs = 90LL * 24 * 3600 * 1'000'000;

struct AuditEntry {
  std::string principal;  // as Principal::name
  std::string role;
  std::string method;  // of HTTP; RESP for a command
  std::string path;    // or the command with its first argument
  int status = 200;
  int64_t duration_us = 0;
  std::string query;
};

// An entry as it is stored.
struct AuditRow {
  Timestamp time;
  uint64_t number = 0;
  AuditEntry entry;
};

Bytes EncodeAuditKey(Timestamp time, uint64_t number);
// kCorruption for what no AuditLog has written.
Result<AuditRow> DecodeAuditRow(BytesView key, BytesView value);

// Safe to use from any thread.
class AuditLog {
 public:
  struct Limits {
    size_t rows = kMaxAuditRows;
    int64_t kept_us = kAuditKeptUs;
    size_t trim_every = 1'000;  // rows
  };

  // The pool forgets old rows; both outlive the log's use.
  AuditLog(store::Store& store, ThreadPool& pool) : AuditLog(store, pool, Limits()) {}
  AuditLog(store::Store& store, ThreadPool& pool, Limits limits)
      : store_(store), pool_(pool), limits_(limits) {}
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // As part of the change itself, or afterwards in a transaction of its own. Needs no scope.
  void Append(store::Transaction& transaction, const AuditEntry& entry);

  // Newest first, from before `until` to not before `since`; the visitor says whether to go on. A
  // row that cannot be read is left out.
  static Result<void> Read(store::Reader& reader, std::optional<Timestamp> since,
                           std::optional<Timestamp> until,
                           const std::function<bool(const AuditRow&)>& visit);

  // Removes rows that are too old, or too many. Waits for the store.
  Result<void> Trim();

 private:
  void CountAppended();

  store::Store& store_;
  ThreadPool& pool_;
  const Limits limits_;
  std::atomic<uint64_t> appended_{0};
};

}  // namespace cairn::doors
