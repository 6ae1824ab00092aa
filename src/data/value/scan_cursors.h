#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"
#include "base/random.h"

namespace cairn::data {

// A cursor as a client writes it: as C's strtoul reads it, sign included and nothing at all being
// 0, which is what Redis goes by.
std::optional<uint64_t> ParseCursor(std::string_view text);

// Where SCANs have got to. A cursor is a number to clients and a key to us (of a record for SCAN,
// of an element for HSCAN and its like), so the numbers given out are remembered with their keys,
// the most recently used of them, within a bound.
//
// A number that is not known (any more, or to this process) stands for the beginning: such a scan
// returns keys again, which SCAN allows, and misses none, which it must not. Numbers are random, so
// that one from before a restart does not happen to mean another place.
//
// Safe to use from any thread.
class ScanCursors {
 public:
  ScanCursors(Random& random, size_t max_cursors, size_t max_bytes);

  // A cursor for going on at `next_key` of database `db`. Never 0, and below 2^53, which all
  // clients can hold as a number.
  uint64_t Save(uint8_t db, BytesView next_key);
  std::optional<Bytes> Find(uint64_t cursor, uint8_t db);

  size_t size() const;

 private:
  struct Position {
    uint64_t cursor;
    uint8_t db;
    Bytes next_key;
  };

  Random& random_;
  const size_t max_cursors_;
  const size_t max_bytes_;
  mutable std::mutex mutex_;
  std::list<Position> recent_;  // most recently used first
  std::unordered_map<uint64_t, std::list<Position>::iterator> by_cursor_;
  size_t bytes_ = 0;
};

}  // namespace cairn::data
