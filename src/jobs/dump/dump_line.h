#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "jobs/model/job.h"
#include "jobs/model/keys.h"
#include "jobs/model/queue_state.h"
#include "jobs/webhook/webhook.h"

// The lines of a dump of the queue (dump.h): each is one JSON object that says what it is by its
// member `type`, and holds one thing as it is stored.
//
//   {"type":"header","format":"cairn-jobs","version":1,"exported_at":"…"}
//   {"type":"queue","name":"mail","config":"{…}","created_ns":…,"counts":[…],…}
//   {"type":"job","id":"job_…","queue":"mail","state":"retrying","payload":"{\"to\":\"ann\"}",…}
//   …
//   {"type":"end","lines":4711,"jobs":4000}
//
// Members that are empty, zero or false are left out. What is JSON itself (payload, result, the
// configuration of a queue) is there as a string, because only so it comes back byte for byte.
namespace cairn::jobs {

inline constexpr std::string_view kDumpFormat = "cairn-jobs";
inline constexpr int64_t kDumpVersion = 1;

struct HeaderLine {
  std::string format;
  int64_t version = 0;
  std::string exported_at;
  friend bool operator==(const HeaderLine&, const HeaderLine&) = default;
};
struct QueueLine {
  std::string name;
  std::string config;  // the row qc|; empty: there is none
  QueueState state;    // without its cursors: the restored queue is read from its start
  friend bool operator==(const QueueLine&, const QueueLine&) = default;
};
struct BatchLine {
  std::string id;
  std::string document;  // the row b|
  friend bool operator==(const BatchLine&, const BatchLine&) = default;
};
struct GateLine {
  std::string queue;
  Gate gate = Gate::kOpen;
  std::string key;
  GateState state;
  friend bool operator==(const GateLine&, const GateLine&) = default;
};
// A start in a rate window.
struct StartLine {
  std::string queue;
  std::string key;  // empty: in that of the queue
  uint64_t ns = 0;
  uint64_t serial = 0;
  friend bool operator==(const StartLine&, const StartLine&) = default;
};
struct UniqueLockLine {
  std::string queue;
  std::string key;
  std::string job_id;
  uint64_t expires_ns = 0;
  friend bool operator==(const UniqueLockLine&, const UniqueLockLine&) = default;
};
struct IdempotencyKeyLine {
  std::string queue;
  std::string key;
  std::string job_id;
  uint64_t until_ns = 0;
  friend bool operator==(const IdempotencyKeyLine&, const IdempotencyKeyLine&) = default;
};
struct DependantLine {
  std::string job_id;
  std::string waiting_id;
  friend bool operator==(const DependantLine&, const DependantLine&) = default;
};
struct JobErrorLine {
  std::string job_id;
  int64_t attempt = 0;
  std::string document;  // the row je|
  friend bool operator==(const JobErrorLine&, const JobErrorLine&) = default;
};
struct JobLine {
  Job job;
  friend bool operator==(const JobLine&, const JobLine&) = default;
};
struct ScheduleLine {
  std::string id;
  std::string document;  // the row sc|
  friend bool operator==(const ScheduleLine&, const ScheduleLine&) = default;
};
struct WebhookLine {
  Webhook webhook;
  friend bool operator==(const WebhookLine&, const WebhookLine&) = default;
};
struct EndLine {
  int64_t lines = 0;  // before this one
  int64_t jobs = 0;
  friend bool operator==(const EndLine&, const EndLine&) = default;
};

// In the order in which they stand in a dump.
using DumpLine = std::variant<HeaderLine, QueueLine, BatchLine, GateLine, StartLine, UniqueLockLine,
                              IdempotencyKeyLine, DependantLine, JobErrorLine, JobLine,
                              ScheduleLine, WebhookLine, EndLine>;

// Without a line break.
std::string FormatLine(const DumpLine& line);
// Refuses (VALIDATION_ERROR) what is no such line or cannot have come from a store; the text names
// the member.
Result<DumpLine> ParseLine(std::string_view text);

}  // namespace cairn::jobs
