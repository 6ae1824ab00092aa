#pragma once

#include <cstddef>
#include <cstdint>

// The bounds of functions. docs/functions.md has them as a table.
namespace cairn::functions {

inline constexpr int64_t kSecondMs = 1000;
inline constexpr int64_t kDayMs = 24L * 60 * 60 * kSecondMs;

// What a version consists of.
inline constexpr size_t kMaxBundleBytes = 16UL * 1024 * 1024;  // the canonical tar
inline constexpr size_t kMaxBundleFiles = 1000;
inline constexpr size_t kMaxBundlePathBytes = 255;
inline constexpr size_t kMaxManifestBytes = 256UL * 1024;

// How long records are kept.
inline constexpr int64_t kDraftTtlMs = kDayMs;
inline constexpr int64_t kActivationTtlMs = 7 * kDayMs;
inline constexpr int64_t kRequestResultTtlMs = 10L * 60 * kSecondMs;
inline constexpr int64_t kCadenceTaskTtlMs = kDayMs;

// Per function.
inline constexpr size_t kMaxDrafts = 100;
inline constexpr size_t kMaxAliases = 100;
inline constexpr size_t kAliasHistory = 10;  // earlier targets that rollback can return to

// Limits that a manifest or a publish sets.
inline constexpr int64_t kMinTimeoutMs = 1;
inline constexpr int64_t kMaxTimeoutMs = 900'000;
inline constexpr int64_t kMinMemoryMb = 16;
inline constexpr int64_t kMaxMemoryMb = 4096;
inline constexpr int64_t kMinConcurrency = 1;
inline constexpr int64_t kMaxConcurrency = 100;
inline constexpr int64_t kMaxRetries = 10;
inline constexpr int64_t kMaxRateLimit = 1'000'000;  // requests per second
inline constexpr int64_t kMaxWarm = 64;              // children kept warm for an alias

// Capabilities.
inline constexpr size_t kMaxKvPrefixes = 64;
inline constexpr size_t kMaxKvPrefixBytes = 256;
inline constexpr size_t kMaxPublishTopics = 64;
inline constexpr size_t kMaxTopicBytes = 256;
inline constexpr size_t kMaxAllowHosts = 128;
inline constexpr size_t kMaxHostBytes = 253;
inline constexpr int64_t kMinFetchTimeoutMs = 1;
inline constexpr int64_t kMaxFetchTimeoutMs = 30'000;

// Environment and secrets of a version.
inline constexpr size_t kMaxEnvEntries = 128;
inline constexpr size_t kMaxEnvNameBytes = 128;
inline constexpr size_t kMaxEnvBytes = 64UL * 1024;  // names and values together
// A value that is shorter is not looked for in logs: it would be found everywhere.
inline constexpr size_t kMinRedactedBytes = 4;

// Who is asked and who asks.
inline constexpr size_t kMaxRoles = 256;
inline constexpr size_t kMaxRoleBytes = 256;
inline constexpr size_t kMaxSubjectBytes = 256;

// An invocation.
inline constexpr int64_t kDefaultHttpTimeoutMs = 3'000;
inline constexpr int64_t kMaxHttpTimeoutMs = 30'000;
inline constexpr int64_t kDefaultWorkerTimeoutMs = 30'000;
inline constexpr size_t kMaxEventBytes = 6UL * 1024 * 1024;
inline constexpr size_t kMaxHttpHeaderBytes = 64UL * 1024;
inline constexpr size_t kMaxHttpQueryBytes = 16UL * 1024;
inline constexpr size_t kMaxResultBytes = 256UL * 1024;
inline constexpr size_t kMaxResultHeaders = 256;
inline constexpr size_t kMaxResultHeaderBytes = 64UL * 1024;
inline constexpr size_t kMaxErrorTypeBytes = 128;
inline constexpr size_t kMaxErrorMessageBytes = 64UL * 1024;
inline constexpr size_t kMaxStackBytes = 8192;
inline constexpr size_t kMaxLogBytes = 1024UL * 1024;
inline constexpr size_t kMaxTriggerSourceBytes = 64UL * 1024;
inline constexpr int kMinStatusCode = 100;
inline constexpr int kMaxStatusCode = 599;

// A message: an event in base64 or escaped, and what stands around it.
inline constexpr size_t kMaxMessageBytes = 16UL * 1024 * 1024;
inline constexpr size_t kMaxMessageIdBytes = 64;
inline constexpr size_t kMaxMessageTypeBytes = 64;
inline constexpr size_t kMaxJsonDepth = 128;

// Schedules and worker bindings.
inline constexpr int64_t kMinEverySeconds = 1;
inline constexpr int64_t kMaxEverySeconds = 86'400;
inline constexpr size_t kMaxCronBytes = 256;
inline constexpr size_t kMaxTimeZoneBytes = 64;
inline constexpr int64_t kMaxCatchUpTicks = 60;  // and ticks that queue
inline constexpr size_t kMaxSchedules = 10'000;  // of a namespace
inline constexpr int64_t kShownTicks = 5;        // next ones of a schedule
inline constexpr size_t kMaxPayloadBytes = 256UL * 1024;

// Triggers.
inline constexpr size_t kMaxTriggers = 1'000;     // of a namespace
inline constexpr size_t kMaxTriggersAll = 4'096;  // of the server
inline constexpr size_t kMaxTriggerQueues = 10;   // that one consumes
inline constexpr size_t kMaxTriggerNames = 64;    // patterns, and types, of an event trigger
inline constexpr size_t kMaxTriggerNameBytes = 512;
inline constexpr int64_t kMaxTriggerBatch = 100;
inline constexpr int64_t kMaxTriggerWindowMs = 300'000;
inline constexpr int64_t kMaxTriggerConcurrency = 100;
inline constexpr int64_t kDefaultTriggerBatch = 10;

inline constexpr size_t kMaxBindingNameBytes = 128;  // of domain, tasklist and worker_id
inline constexpr size_t kMaxActivities = 256;
inline constexpr int64_t kMaxPollers = 256;
inline constexpr int64_t kMaxInflightTasks = 100'000;
inline constexpr int64_t kDefaultInflightTasks = 256;

// A stepped shift of an alias.
inline constexpr int64_t kMinShiftIntervalSeconds = 1;
inline constexpr int64_t kMaxShiftIntervalSeconds = 86'400;
// Outcomes of a step that are needed before its error rate is judged.
inline constexpr int64_t kMinShiftOutcomes = 10;

// The API.
inline constexpr size_t kMaxRequestBytes = 32UL * 1024 * 1024;
inline constexpr int64_t kDefaultPage = 100;
inline constexpr int64_t kMaxPage = 500;

}  // namespace cairn::functions
