#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "store/scopes.h"
#include "store/space.h"

namespace cairn::store {

// A point in the one order of commits. Grows; survives a restart.
struct Commit {
  uint64_t number = 0;
  friend auto operator<=>(const Commit&, const Commit&) = default;
};

struct ScanOptions {
  bool reverse = false;  // from the end of the range to its begin
  size_t limit = std::numeric_limits<size_t>::max();
};

// Called for each row in order; the views last until it returns. Returns whether to go on.
using RowVisitor = FunctionRef<bool(BytesView key, BytesView value)>;

// A consistent view of the store. Used by one thread at a time.
// A missing key is not an error: it is nullopt.
class Reader {
 public:
  virtual ~Reader() = default;

  virtual Result<std::optional<Bytes>> Get(Key key) = 0;
  virtual Result<std::vector<std::optional<Bytes>>> GetMany(std::span<const Key> keys);
  virtual Result<void> Scan(const Range& range, const ScanOptions& options, RowVisitor visit) = 0;

  // These keys will be read one by one: a chance to bring what is known about them, all at once
  // instead of one after the other. Changes nothing.
  virtual Result<void> Expect(std::span<const Key> /*keys*/) { return {}; }

  // One instant for the whole view, from the injected clock.
  virtual Timestamp now() const = 0;
};

// The unit of change: sees the store as of its start plus its own writes, and none of its writes is
// seen by others before all are. It lives inside Store::Run or Group::Run, is used by that one
// thread, and ends with the body. Nothing here waits for the disk to write.
//
// Any call may fail with kWouldBlock when the answer is on disk and this thread must not wait for
// it; the body passes the error on (CAIRN_RETURN_IF_ERROR) and is run again where waiting is
// allowed.
class Transaction : public Reader {
 public:
  virtual void Put(Key key, BytesView value) = 0;
  virtual void Delete(Key key) = 0;  // of a missing key: does nothing
  virtual void DeleteRange(const Range& range) = 0;

  // Adds to the counter stored under `key`: its value is 8 bytes, big-endian two's complement, 0
  // when missing. Additions of different transactions never conflict, so a counter needs no scope.
  // Get sees it with this transaction's own additions. Such a key is never Put.
  virtual void Add(Key counter, int64_t delta) = 0;

  // Appends a row whose key is `prefix` followed by an 8-byte big-endian number. Numbers grow in
  // the order of commits and are visible in that order: a reader that has seen number n will never
  // find a new row with a number below n. Numbers are never used twice; there may be gaps. The row
  // becomes visible with the commit; the transaction itself does not see it.
  void AppendEvent(Key prefix, BytesView value) { AppendEvents(prefix, value, 1); }
  // The same for a row that holds several events: it takes as many numbers, one after the other,
  // and its key has the last of them.
  virtual void AppendEvents(Key prefix, BytesView value, uint32_t count) = 0;

  // Wakes who waits for topic, after the commit and only then.
  virtual void Wake(Topic topic) = 0;

  // Calls `function` after the commit and only then, with the commit that made the transaction's
  // writes visible; functions of earlier commits have been called before. It must be quick and must
  // not call the store. What it tells the outside waits for Durable, like everything else.
  virtual void AfterCommit(std::function<void(Commit)> function) = 0;

  // Puts a timer into the due index (store/timers.h); it stays until it fires or is cancelled.
  // Setting the same (due, kind, owner) again replaces the payload.
  virtual void SetTimer(Timestamp due, uint8_t kind, BytesView owner, BytesView payload) = 0;
  virtual void CancelTimer(Timestamp due, uint8_t kind, BytesView owner) = 0;

  // Who asks for what this body writes, by a number of the caller's choosing; 0: nobody in
  // particular, as at the start of each body. Whoever listens to changes (Store::OnChange) is told.
  virtual void set_origin(uint32_t /*origin*/) {}

  // A number that no other transaction of this store ever has, larger than that of every
  // transaction this one can see the effects of. Records carry it as their version.
  virtual uint64_t stamp() = 0;
  // Another such number with each call, for what must have a name of its own.
  virtual uint64_t NewStamp() = 0;
};

// Runs inside a transaction. May run more than once, each time from the same start: it touches
// nothing but the transaction and its own locals (what it captures, it must overwrite, not append
// to). An error undoes what this body wrote and is handed to the caller.
using Body = FunctionRef<Result<void>(Transaction&)>;

}  // namespace cairn::store
