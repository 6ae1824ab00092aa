#pragma once

#include <cstddef>
#include <cstdint>

// The limits of this layer.
namespace cairn::admin {

inline constexpr size_t kMaxKeys = 10'000;
inline constexpr size_t kMaxKeyNameBytes = 128;
// A key that its maker chooses, instead of having one made up.
inline constexpr size_t kMinGivenKeyBytes = 16;
inline constexpr size_t kMaxGivenKeyBytes = 256;

// Entries of one page of the audit log.
inline constexpr int64_t kMaxAuditPage = 1'000;

// What one request of a restore may bring: it is held in memory. A larger dump comes in parts.
inline constexpr size_t kMaxPartBytes = 32UL * 1024 * 1024;

// Connections whose wrong secrets in a row are counted, per event loop.
inline constexpr size_t kMaxGuessers = 1'024;

// What is about to be refused may bring a small body, so that the client reads the refusal.
inline constexpr size_t kMaxRefusedBodyBytes = 64 * 1024;

}  // namespace cairn::admin
