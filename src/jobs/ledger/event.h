#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jobs/model/keys.h"
#include "store/transaction.h"

// Every transition of a job, and what is done to a queue, in the order of commits: the rows ev|.
//
//   {"at_ns":1700000000000000000,"type":"failed","job_id":"job_…","queue":"mail","data":{…}}
//
// The number in the key is the event's: what SSE calls its id. `job_id` is missing in events of a
// queue, `data` where there is nothing to add. The events of one operation share a row, in which
// one leaves out what it has in common with the one before: time, type, queue. They have numbers
// that follow one another, and the key has the last.
//
//   [{"at_ns":17…,"type":"started","job_id":"job_1","queue":"mail","data":{…}},
//    {"job_id":"job_2","data":{…}},
//    {"job_id":"job_3","queue":"sms"}]
//
// An event says that a job changed; what it is now stands in its document, so a reader that applies
// each event by reading the document, and removes the job if there is none, ends with the truth
// however late it is. A queue that keeps no completed jobs has no document to read afterwards:
// there the completion itself tells the result.
namespace cairn::jobs {

enum class EventType : uint8_t {
  kEnqueued,       // data: state
  kStarted,        // worker_id, attempt
  kCompleted,      // where completed jobs are not kept: removed, result
  kContinued,      // put back by its worker
  kFailed,         // an attempt: error, attempt, next_attempt_at_ns
  kRetrying,       //
  kDead,           // reason
  kCancelled,      // reason
  kHeld,           // reason
  kApproved,       //
  kRejected,       // reason
  kProgress,       // the report itself
  kPromoted,       // its time has come
  kReclaimed,      // its lease lapsed: reclaims
  kExpired,        //
  kSnoozed,        // until_ns
  kRetried,        // by hand
  kMoved,          // from
  kReprioritized,  // priority
  kUpdated,        // by a debounce
  kDeleted,        //
  kQueuePaused,    //
  kQueueResumed,
  kQueueDraining,
  kQueueCleared,  // count
  kQueueDeleted,
  kQueueConfigured,
  kBatchSealed,     // batch_id
  kBatchCompleted,  // batch_id, counts
};
std::string_view EventTypeName(EventType type);  // "queue.paused", "reclaimed"
std::optional<EventType> ParseEventType(std::string_view name);

struct NewEvent {
  EventType type;
  std::string_view job = {};
  std::string_view queue = {};
  std::string_view data = {};  // JSON; empty: none
};
// The events of one operation on their way into the log. They are in it after Write, which also
// wakes who follows it.
class EventRows {
 public:
  explicit EventRows(store::Transaction& transaction) : transaction_(transaction) {}

  void Add(const NewEvent& event);
  void Write();

 private:
  void WriteRow();

  store::Transaction& transaction_;
  std::string row_;     // "[", then the events without the closing bracket
  uint32_t count_ = 0;  // of the events in it
  bool written_ = false;
  EventType type_ = EventType::kEnqueued;  // of the last one
  std::string queue_;
};
// An operation that has one event.
void AppendEvent(store::Transaction& transaction, const NewEvent& event);
// What those wait for who follow the log.
store::Topic EventsTopic();

struct Event {
  uint64_t number = 0;
  uint64_t at_ns = 0;
  EventType type = EventType::kEnqueued;
  std::string job;
  std::string queue;
  std::string data;  // JSON; empty: none
};
// An event as clients see it: {"seq","type","job_id","queue","at_ns","data"}.
std::string EventJson(const Event& event);
// The events of a row, oldest first; kCorruption for bytes that are none.
Result<std::vector<Event>> DecodeEvents(BytesView key, BytesView value);
// When they happened, without looking further; 0 for bytes that are no events.
uint64_t EventRowTime(BytesView value);
// How many a row has, without taking them apart.
uint64_t EventRowCount(BytesView value);

// What follows an event in the log.
struct EventPage {
  std::vector<Event> events;  // oldest first
  // There were events after the given number that have been removed, up to this one: whoever goes
  // on from that number has missed them, and says so (EventGaps). 0: none is missing.
  uint64_t missed_to = 0;
  // It ended at the limit, or because the events are large: there may be more of them.
  bool more = false;
};
// Events after `number`, `limit` at most, and no more than about kMaxAnswerBytes of them.
Result<EventPage> ReadEvents(store::Reader& reader, uint64_t number, size_t limit);
// The data of the completion of a job that is not kept.
std::string RemovalData(std::string_view result);
// When such a job ended, and with what.
struct Removal {
  uint64_t at_ns = 0;
  std::string result;  // JSON; empty: none
};
// Looks among the newest events, no further back than `since_ns`.
Result<std::optional<Removal>> FindRemoval(store::Reader& reader, std::string_view job,
                                           uint64_t since_ns);
// The newest number; 0 if there was never an event.
Result<uint64_t> NewestEvent(store::Reader& reader);
// Events up to this number have been removed: who has seen an older one last has missed some.
Result<uint64_t> RemovedEvents(store::Reader& reader);

// Where the log begins, and what is known about its length (event_trim.h): the row evc|.
struct EventTail {
  uint64_t removed = 0;  // events up to this number are gone
  uint64_t counted = 0;  // not below `removed`
  uint64_t count = 0;    // events after `removed`, up to `counted`
  friend bool operator==(const EventTail&, const EventTail&) = default;
};
Bytes EncodeEventTail(const EventTail& tail);
Result<EventTail> LoadEventTail(store::Reader& reader);

// How often those who read the log from a place of their own found that the events behind it were
// gone, since the start of the process. Safe to use from any thread.
struct EventGaps {
  std::atomic<uint64_t> streams{0};     // GET /events
  std::atomic<uint64_t> pages{0};       // GET /cluster/events
  std::atomic<uint64_t> webhooks{0};    //
  std::atomic<uint64_t> view{0};        // the search view, which is then built anew
  std::atomic<uint64_t> throughput{0};  // GET /metrics/throughput
};

}  // namespace cairn::jobs
