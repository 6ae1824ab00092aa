#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The keys of functions. They are keys of the data types in database 0, so any Redis client sees
// them. T, N and F stand for a tenant, a namespace and a function (names.h), which have no colon.
//
//   key                               type     content
//   ───────────────────────────────   ──────   ───────────────────────────────────────────────────
//   cs:fn:T:N:index                   zset     names of the namespace's functions, all scores 0,
//                                              so ordered by name; deleted ones too, until purged
//   cs:fn:T:N:F:meta                  string   the function, JSON (records.h)
//   cs:fn:T:N:F:version_seq           string   the newest version's number, decimal
//   cs:fn:T:N:F:draft:DRAFT           string   a draft, JSON; expires after 24 hours
//   cs:fn:T:N:F:ver:V:meta            string   a version, JSON
//   cs:fn:T:N:F:ver:V:bundle          string   its canonical tar (bundle.h)
//   cs:fn:T:N:F:ver:V:env             string   its environment, encrypted (secrets.h)
//   cs:fn:T:N:F:alias:A               string   an alias, JSON
//   cs:fn:T:N:F:shift:A               string   outcomes of the step that a shift of A is in, JSON
//
//   cs:warm:index                     zset     "T/N/F:A" of aliases with min_warm (control/warm.h)
//
//   cs:schedule:T:N:index             set      names of schedules
//   cs:schedule:T:N:S:meta            string   a schedule, JSON
//   cs:schedule:T:N:S:state           string   {next_tick_ms,tick_seq,…} (records.h)
//   cs:schedule:T:N:S:inflight        string   an activation's id; expires
//   cs:trigger:index                  zset     "T/N/X" of enabled triggers, all scores 0
//   cs:trigger:T:N:index              set      names of triggers
//   cs:trigger:T:N:X:meta             string   a trigger, JSON (trigger/record.h)
//   cs:trigger:T:N:X:state            string   how far it is, JSON
//   cs:trigger:T:N:X:batch:ID         string   the jobs of the activation ID, and their leases;
//   goes
//                                              with its end
//   cs:scheduler:leader:lease         string   who fires schedules, where that is not the timers'
//                                              own lease
//
//   cs:cadence:T:N:workers:index      set      names of worker bindings
//   cs:cadence:T:N:worker:W:meta      string   a worker binding, JSON
//   cs:cadence:T:N:task:HASH          string   {activation_id,created_at_ms}; expires after 24
//   hours
//
//   cs:act:T:ID:meta                  string   an activation, JSON; expires after 7 days
//   cs:act:T:ID:status                string   its status alone, for compare-and-set; expires with
//   it cs:req:T:REQUEST:result           string   an InvocationResult, JSON; expires after 10
//   minutes cs:log:T:ID:CHUNK                 string   log text; CHUNK is twelve digits
//   cs:log:T:ID:chunks                zset     chunk numbers, plain; each is its own score
//
//   cs:kv:T:N:…                       string   what functions of the namespace keep with cs.kv
//
// A function may be called "index", and a schedule too: their keys go on behind the name, so they
// are others.
namespace cairn::functions {

// The database of all of them.
inline constexpr uint8_t kDatabase = 0;

// A namespace, and a function in it.
struct NamespaceName {
  std::string tenant;
  std::string name;
  friend auto operator<=>(const NamespaceName&, const NamespaceName&) = default;
};
struct FunctionName {
  std::string tenant;
  std::string ns;
  std::string name;
  friend auto operator<=>(const FunctionName&, const FunctionName&) = default;

  NamespaceName in() const { return {tenant, ns}; }
};
// "T/N/F": what grants name, and what messages show.
std::string ResourceName(const FunctionName& function);
// "T/N/" with a star instead of a function.
std::string ResourceName(const NamespaceName& ns);

std::string FunctionIndexKey(const NamespaceName& ns);
std::string FunctionKey(const FunctionName& function);
std::string VersionSeqKey(const FunctionName& function);
std::string DraftKey(const FunctionName& function, std::string_view draft);
std::string VersionKey(const FunctionName& function, uint64_t version);
std::string BundleKey(const FunctionName& function, uint64_t version);
std::string EnvKey(const FunctionName& function, uint64_t version);
std::string AliasKey(const FunctionName& function, std::string_view alias);
std::string ShiftKey(const FunctionName& function, std::string_view alias);
// What all keys of a kind begin with: of a function, its drafts, its aliases; of every function.
std::string FunctionPrefix(const FunctionName& function);
std::string DraftPrefix(const FunctionName& function);
std::string AliasPrefix(const FunctionName& function);
inline constexpr std::string_view kFunctionsPrefix = "cs:fn:";
inline constexpr std::string_view kWarmIndexKey = "cs:warm:index";

std::string ScheduleIndexKey(const NamespaceName& ns);
std::string ScheduleKey(const NamespaceName& ns, std::string_view schedule);
std::string ScheduleStateKey(const NamespaceName& ns, std::string_view schedule);
std::string ScheduleInflightKey(const NamespaceName& ns, std::string_view schedule);
std::string TriggerSetKey(const NamespaceName& ns);
std::string TriggerKey(const NamespaceName& ns, std::string_view trigger);
std::string TriggerStateKey(const NamespaceName& ns, std::string_view trigger);
std::string TriggerBatchKey(const NamespaceName& ns, std::string_view trigger,
                            std::string_view activation);
inline constexpr std::string_view kTriggersPrefix = "cs:trigger:";
inline constexpr std::string_view kTriggerIndexKey = "cs:trigger:index";
inline constexpr std::string_view kSchedulesPrefix = "cs:schedule:";
inline constexpr std::string_view kSchedulerLeaseKey = "cs:scheduler:leader:lease";

std::string BindingIndexKey(const NamespaceName& ns);
std::string BindingKey(const NamespaceName& ns, std::string_view binding);
// `token_hash` is the SHA-256 of a task's token, in hexadecimal.
std::string CadenceTaskKey(const NamespaceName& ns, std::string_view token_hash);

std::string ActivationKey(std::string_view tenant, std::string_view activation);
std::string ActivationStatusKey(std::string_view tenant, std::string_view activation);
std::string RequestResultKey(std::string_view tenant, std::string_view request);
std::string LogChunkKey(std::string_view tenant, std::string_view activation, uint64_t chunk);
std::string LogIndexKey(std::string_view tenant, std::string_view activation);

// What keys of cs.kv begin with: no key behind it is another namespace's, or the platform's.
std::string KvPrefix(const NamespaceName& ns);

// What a key that begins with kFunctionsPrefix is about; nullopt for a key that is drawn nowhere
// above. An index key has no function name.
struct FunctionKeyParts {
  FunctionName function;
  enum class Kind : uint8_t {
    kIndex,
    kMeta,
    kVersionSeq,
    kDraft,
    kVersion,
    kBundle,
    kEnv,
    kAlias,
    kShift,
  } kind = Kind::kMeta;
  uint64_t version = 0;  // of kVersion, kBundle, kEnv
  std::string name;      // of kDraft, kAlias, kShift
  friend bool operator==(const FunctionKeyParts&, const FunctionKeyParts&) = default;
};
std::optional<FunctionKeyParts> ParseFunctionKey(std::string_view key);

// The same of a key that begins with kSchedulesPrefix. An index key has no schedule.
struct ScheduleKeyParts {
  NamespaceName ns;
  std::string schedule;
  enum class Kind : uint8_t { kIndex, kMeta, kState, kInflight } kind = Kind::kMeta;
  friend bool operator==(const ScheduleKeyParts&, const ScheduleKeyParts&) = default;
};
std::optional<ScheduleKeyParts> ParseScheduleKey(std::string_view key);

// The same of a key that begins with kTriggersPrefix and is not kTriggerIndexKey.
struct TriggerKeyParts {
  NamespaceName ns;
  std::string trigger;
  enum class Kind : uint8_t { kSet, kMeta, kState, kBatch } kind = Kind::kMeta;
  std::string activation;  // of kBatch
  friend bool operator==(const TriggerKeyParts&, const TriggerKeyParts&) = default;
};
std::optional<TriggerKeyParts> ParseTriggerKey(std::string_view key);

}  // namespace cairn::functions
