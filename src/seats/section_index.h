#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "data/value/string_value.h"
#include "store/transaction.h"

// The longest run of free seats of each section of an event, so that a request for seats of any
// section skips those that cannot serve it. A string, one byte for each section in the order of the
// layout:
//
//   longest:1 × sections        the longest run of free seats in the section, 255 for that and more
//
// A hint like the row index (row_index.h), from which each byte is taken in the transaction that
// changes the section. Other clients do not know it, so a section that it passes over is looked at
// before anybody is refused.
namespace cairn::seats {

// Lives inside the transaction's body.
class SectionIndex {
 public:
  static Result<SectionIndex> Load(store::Transaction& transaction, uint8_t db,
                                   const std::string& key);

  // What the section at this place may have; kMaxIndexedRun if that is not known.
  uint8_t longest(int64_t place) const;

  // Writes the byte of a section if it is another one now.
  static Result<void> Update(store::Transaction& transaction, uint8_t db, const std::string& key,
                             int64_t place, uint8_t longest);
  // Writes the index of a new event.
  static Result<void> Create(store::Transaction& transaction, uint8_t db, const std::string& key,
                             const std::string& bytes);

 private:
  explicit SectionIndex(std::string bytes) : bytes_(std::move(bytes)) {}

  std::string bytes_;
};

}  // namespace cairn::seats
