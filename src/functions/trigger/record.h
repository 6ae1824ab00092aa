#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "functions/model/keys.h"
#include "functions/model/limits.h"
#include "functions/model/message.h"

// The records of triggers, and their JSON, with the rules of model/records.h.
namespace cairn::functions {

struct TriggerId {
  NamespaceName ns;
  std::string name;
  friend auto operator<=>(const TriggerId&, const TriggerId&) = default;
};
// "T/N/X".
std::string ResourceName(const TriggerId& trigger);
// nullopt unless it has these parts; the names are not checked.
std::optional<TriggerId> ParseTriggerId(std::string_view text);

enum class SourceType : uint8_t { kQueue, kJobs, kSeats, kKeys };
std::string_view SourceName(SourceType type);  // "queue"
std::optional<SourceType> ParseSource(std::string_view name);
// How the names of a source are called: "queues", "events", "keys".
std::string_view NamesMember(SourceType type);

// Where a trigger's batches come from.
//
//   queue   names: queues, whose jobs are consumed      {"type":"queue","queues":["mail"]}
//   jobs    names: patterns of queues; types: failed …
//   {"type":"jobs","queues":["mail*"],"types":[…]} seats   names: patterns of events; types: sold …
//   {"type":"seats","events":["*"],"types":[…]} keys    names: patterns of keys; types: set, del …
//   {"type":"keys","keys":["order:*"],"types":[…]}
//
// Patterns are Redis's (doors/resp/glob.h). Without types all are meant. `database` is of seats and
// keys.
struct TriggerSource {
  SourceType type = SourceType::kQueue;
  std::vector<std::string> names;
  std::vector<std::string> types;
  int64_t database = 0;
  friend bool operator==(const TriggerSource&, const TriggerSource&) = default;
};
// Appends the object.
void WriteSource(const TriggerSource& source, std::string& out);

// {"name","source":{…},"ref":{"function","alias" or "version"},"batch_size","window_ms",
//  "concurrency","enabled","created_at_ms","tenant","namespace"}
struct TriggerConfig {
  std::string name;
  TriggerSource source;
  Ref ref;
  int64_t batch_size = kDefaultTriggerBatch;  // at most so many in one activation
  int64_t window_ms = 0;                      // how long fewer are waited with, for more
  int64_t concurrency = 1;                    // activations at once
  bool enabled = true;
  int64_t created_at_ms = 0;
  std::string tenant;
  std::string ns;
  friend bool operator==(const TriggerConfig&, const TriggerConfig&) = default;

  FunctionName function() const { return {tenant, ns, ref.function}; }
};
std::string Encode(const TriggerConfig& trigger);
Result<TriggerConfig> DecodeTriggerConfig(std::string_view text);

// {"cursor"}, and where they say something "inflight":[{"activation_id","message","since_ms"}],
// "batches", "delivered", "failed", "gaps", "missed_to", "last_activation_id", "last_batch_ms",
// "last_error", "last_error_ms", "read_ms"
struct TriggerState {
  uint64_t cursor = 0;  // of an event trigger: events up to this number have been dealt with
  struct Inflight {
    std::string activation_id;
    std::string message;  // of cs.invoke
    int64_t since_ms = 0;
    friend bool operator==(const Inflight&, const Inflight&) = default;
  };
  std::vector<Inflight> inflight;  // activations that have not ended
  int64_t batches = 0;             // activations ever
  int64_t delivered = 0;           // jobs or events in them
  int64_t failed = 0;              // of these, jobs that failed, or events whose activation did
  int64_t gaps = 0;                // how often events were removed before they were read
  uint64_t missed_to = 0;          // the last of them
  std::string last_activation_id;
  std::optional<int64_t> last_batch_ms;
  std::string last_error;
  std::optional<int64_t> last_error_ms;
  int64_t read_ms = 0;  // when the cursor was last written
  friend bool operator==(const TriggerState&, const TriggerState&) = default;
};
std::string Encode(const TriggerState& state);
Result<TriggerState> DecodeTriggerState(std::string_view text);

// The jobs that an activation has, and their leases: {"jobs":[{"id","token"}]}
struct TriggerBatch {
  struct Lease {
    std::string id;
    uint64_t token = 0;
    friend bool operator==(const Lease&, const Lease&) = default;
  };
  std::vector<Lease> jobs;
  friend bool operator==(const TriggerBatch&, const TriggerBatch&) = default;
};
std::string Encode(const TriggerBatch& batch);
Result<TriggerBatch> DecodeTriggerBatch(std::string_view text);

// `trigger.source` of an activation that a trigger has begun: {"trigger_name","type"}, and of one
// with jobs "queue" and "jobs":[id…].
struct TriggerCause {
  std::string trigger;
  SourceType type = SourceType::kQueue;
  std::string queue;
  std::vector<std::string> jobs;
  int64_t events = 0;  // of the other types, how many
};
std::string Encode(const TriggerCause& cause);
std::optional<TriggerCause> ParseCause(std::string_view source);

}  // namespace cairn::functions
