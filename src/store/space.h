#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace cairn::store {

// Everything durable is bytes under ordered keys in one of these spaces, one per owner of keys: a
// column family in RocksDB, a table in PostgreSQL. The numbers are not stored, the names are.
enum class Space : uint8_t { kSystem, kData, kJobs, kActors, kTimers, kEvents };

inline constexpr std::array kAllSpaces = {Space::kSystem, Space::kData,   Space::kJobs,
                                          Space::kActors, Space::kTimers, Space::kEvents};

constexpr std::string_view SpaceName(Space space) {
  constexpr std::array<std::string_view, kAllSpaces.size()> kNames = {"system", "data",   "jobs",
                                                                      "actors", "timers", "events"};
  return kNames[static_cast<size_t>(space)];
}

// A key, borrowed for the length of a call.
struct Key {
  Space space;
  BytesView bytes;
};

// The keys k of one space with begin <= k, and k < end where there is an end.
struct Range {
  Space space = Space::kSystem;
  Bytes begin;
  std::optional<Bytes> end;

  static Range All(Space space) { return {space, {}, std::nullopt}; }
  static Range Prefix(Space space, BytesView prefix) {
    return {space, Bytes(prefix), PrefixSuccessor(prefix)};
  }

  bool Contains(BytesView key) const { return key >= begin && (!end || key < *end); }
  bool empty() const { return end && *end <= begin; }
};

}  // namespace cairn::store
