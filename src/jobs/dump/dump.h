#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "jobs/ledger/verify.h"
#include "store/store.h"

// The whole queue as text, and back: every job in every state with its errors, locks, idempotency
// keys, batches, schedules, webhooks with their secrets, the settings and counts of queues. What is
// restored is as it was, to the byte and to the nanosecond; a lease stays its worker's, and one
// that has run out meanwhile lapses.
//
// Not in it: workers, who come back by themselves; the event log and what webhooks could not
// deliver, whose numbers are those of one store.
//
// A dump is lines (dump_line.h), so that neither side holds all of it. A restore has two steps:
//
//   1. Lines are checked and put aside, as many at a time as their sender likes:
//
//        rs|  line:8     a line
//        rsp|            how far it is (RestoreState in restore.cc)
//
//      A line that is wrong ends the restore: what was put aside is dropped, nothing has happened.
//   2. With the last line there, they are carried out, in passes of many small transactions that
//      each note how far they are. Nothing can be wrong with them any more; a restore that a crash
//      interrupts is gone on with by whoever asks for it again. Queues are paused until the end.
//
//      pass    what                                   so that
//      rows    documents, indexes, counts, locks …
//      due     what happens at a time, and an event   nothing is due before all of it is there
//              `updated` {"restored":true} per job
//      open    queues, schedules, webhooks            no worker meets half a queue, and webhooks
//                                                     hear nothing of jobs that came back
//      clean   lines are dropped
namespace cairn::jobs {

// Makes a dump of what `snapshot` has. Used by one thread at a time.
class Dump {
 public:
  // kConflict while a restore is running.
  static Result<Dump> Begin(std::unique_ptr<store::Snapshot> snapshot);

  // Some of the lines, each with its line break; empty at the end. An error, also for what a dump
  // could not give back as it is, leaves the dump unfinished: without its last line it is none.
  Result<std::string> Next();

 private:
  explicit Dump(std::unique_ptr<store::Snapshot> snapshot) : snapshot_(std::move(snapshot)) {}

  Result<void> AddRows(std::string& out);
  Result<void> AddWebhooks(std::string& out);

  std::unique_ptr<store::Snapshot> snapshot_;
  bool begun_ = false;
  bool ended_ = false;
  size_t section_ = 0;
  Bytes after_;  // the last key of the section that was read
  int64_t lines_ = 0;
  int64_t jobs_ = 0;
};

struct RestoreReport {
  bool finished = false;  // else more lines are to come
  int64_t lines = 0;      // that were put aside so far
  int64_t jobs = 0;       // among them
  VerifyReport verify;    // of a finished one
};

// Takes lines of a dump, the first of which is number `first_line`; with the last one the restore
// is carried out before this returns. Line 1 begins a restore and drops the lines of one that was
// not carried out. Lines that are there already are passed over, so what got no answer may be sent
// again. Waits for the disk: for a thread that may.
//
// Refused (VALIDATION_ERROR, naming line and member) is what is no dump, kConflict says that the
// store has jobs, queues, batches, schedules or webhooks, or which line is to come. A restore that
// is being carried out is gone on with, whatever `text` is.
Result<RestoreReport> Restore(store::Store& store, int64_t first_line, std::string_view text);

// Whether a restore is running, or was when the process ended.
Result<bool> IsRestoring(store::Reader& reader);

}  // namespace cairn::jobs
