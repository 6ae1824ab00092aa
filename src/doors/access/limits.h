#pragma once

#include <cstddef>
#include <cstdint>

// The bounds of both doors. What the protocol itself may carry is bounded by net::RespLimits.
namespace cairn::doors {

// Databases that SELECT reaches: 0 … kDatabases - 1.
inline constexpr int kDatabases = 16;

// What one connection may queue between MULTI and EXEC.
inline constexpr size_t kMaxQueuedCommands = 1'000'000;
inline constexpr size_t kMaxQueuedBytes = 1024UL * 1024 * 1024;

// Names of one kind that a key may be limited to, and the bytes of each.
inline constexpr size_t kMaxPatterns = 100;
inline constexpr size_t kMaxPatternBytes = 256;

// Keys one connection may watch.
inline constexpr size_t kMaxWatchedKeys = 100'000;

// How often a body may find that it needs more scopes before it gets everything. Each time
// something that it had found out has changed meanwhile, or a queued command behind the others
// needs more.
inline constexpr int kMaxWidenings = 8;

// A reply that is larger is not made on an event loop: others would wait for it.
inline constexpr size_t kMaxReplyBytesOnLoop = 4UL * 1024 * 1024;

// Client-side caching: keys remembered for clients that have read them, unless
// tracking-table-max-keys says otherwise, what they may take in any case, and the prefixes that one
// client may listen to.
inline constexpr size_t kTrackedKeys = 1'000'000;
inline constexpr size_t kMaxTrackingBytes = 128UL * 1024 * 1024;
inline constexpr size_t kMaxTrackingPrefixes = 1000;

// The name of a command, its container included.
inline constexpr size_t kMaxCommandName = 64;

// How much of an unknown command's name and arguments the error repeats.
inline constexpr size_t kMaxQuotedBytes = 128;

// What the slow log keeps of one call.
inline constexpr size_t kSlowLogArguments = 32;
inline constexpr size_t kSlowLogArgumentBytes = 128;

// The audit log: of each text of an entry, and of a command's arguments, which may have hundreds of
// megabytes.
inline constexpr size_t kMaxAuditTextBytes = 1'024;
inline constexpr size_t kMaxAuditedArgumentBytes = 4'096;

// Messages to other servers that share a row.
inline constexpr size_t kMaxRelayRowBytes = 1024UL * 1024;

}  // namespace cairn::doors
