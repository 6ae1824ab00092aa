#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/space.h"
#include "store/store.h"

namespace cairn::store {

// Makes one store hold what another does, whatever their engines.
//
// Both are read side by side and only what differs is written. So a copy that was interrupted goes
// on where it was, and a second one of a store that has changed little writes little. The source
// may be in use: the copy is of one moment. Nobody else may write the destination.
//
// Not copied is what each store keeps for itself: its numbers (see Numbers), the timers' lease, and
// the mark of an unfinished copy.

// What was read of one space.
struct SpaceContent {
  Space space = Space::kSystem;
  uint64_t rows = 0;
  uint64_t bytes = 0;
  std::string checksum;  // of all keys and values in order; hexadecimal

  friend bool operator==(const SpaceContent&, const SpaceContent&) = default;
};

struct CopyProgress {
  Space space;
  uint64_t rows = 0;  // so far, of all spaces
  uint64_t bytes = 0;
};

struct CopyOptions {
  // Whether a key is a counter (Transaction::Add): engines keep these in their own ways.
  std::function<bool(Key)> is_counter = [](Key) { return false; };
  std::function<void(const CopyProgress&)> progress = [](const CopyProgress&) {};
};

struct CopyCounts {
  uint64_t written = 0;
  uint64_t deleted = 0;
};

// Reads everything that a copy would have; in the order of kAllSpaces.
Result<std::vector<SpaceContent>> ReadContent(Reader& reader, const CopyOptions& options);

// Until this returns without an error the destination is marked as unfinished, by `source`.
Result<CopyCounts> CopyAll(Reader& from, Store& to, const std::string& source,
                           const CopyOptions& options);

// The source that an unfinished copy names; nullopt: it is none.
Result<std::optional<std::string>> UnfinishedCopyOf(Reader& reader);
Result<std::optional<std::string>> UnfinishedCopyOf(Store& store);
Result<bool> IsEmpty(Store& store);
// It is whole now. The result is durable.
Result<void> FinishCopy(Store& store);

// Numbers that a store has given out: every one is below these. A copy has to go on from there, or
// what it makes would have names that are taken.
struct Numbers {
  uint64_t stamp = 0;
  uint64_t event = 0;
};
// Where the embedded engine keeps them, readable by Reader and heeded by the next start.
Result<Numbers> ReadStoredNumbers(Reader& reader);
Result<void> RaiseStoredNumbers(Store& store, const Numbers& numbers);

}  // namespace cairn::store
