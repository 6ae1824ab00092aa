#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "data/value/keys.h"
#include "house/verify.h"

// The check of one value: that its elements say what its record says. verify.h checks all of them.
namespace cairn::data {

std::string_view SpokenTypeName(ValueType type);  // "sorted set"

// "1 entry", "2 entries".
template <typename Number>
std::string Amount(Number number, std::string_view noun) {
  if (number == 1) return fmt::format("1 {}", noun);
  if (noun.ends_with('y') && !noun.ends_with("key")) {
    return fmt::format("{} {}ies", number, noun.substr(0, noun.size() - 1));
  }
  return fmt::format("{} {}s", number, noun);
}

// What the sentences about a key begin with: hash "h" in database 0 …
struct Subject {
  house::Verification& verification;
  std::string_view type;
  uint8_t db = 0;
  BytesView user_key;

  template <typename... Args>
  void Problem(fmt::format_string<Args...> format, Args&&... args) const {
    verification.Problem(fmt::format("{} \"{}\" in database {} {}", type, Printable(user_key), db,
                                     fmt::format(format, std::forward<Args>(args)...)));
  }
  void CheckCount(uint64_t told, uint64_t found, std::string_view noun) const {
    if (told != found) Problem("counts {} but has {}", Amount(told, noun), found);
  }
};

// Checks the elements of one value against its record. Each type's Make returns null if the record
// cannot be read. The record outlives the check.
class ValueCheck {
 public:
  explicit ValueCheck(const Subject& subject) : subject_(subject) {}
  virtual ~ValueCheck() = default;
  ValueCheck(const ValueCheck&) = delete;
  ValueCheck& operator=(const ValueCheck&) = delete;

  // For each element, in the order of their suffixes.
  void Row(BytesView suffix, BytesView value) {
    if (!IsValid(suffix, value)) ++invalid_rows_;
  }
  void Finish() {
    if (invalid_rows_ != 0) subject_.Problem("has {}", Amount(invalid_rows_, "invalid row"));
    CheckAll();
  }

 protected:
  const Subject& subject() const { return subject_; }

 private:
  virtual bool IsValid(BytesView suffix, BytesView value) = 0;
  virtual void CheckAll() = 0;

  const Subject subject_;
  uint64_t invalid_rows_ = 0;
};

using NewCheck = std::unique_ptr<ValueCheck>;

// Null if the record cannot be read.
NewCheck MakeCheck(const Subject& subject, const Record& record);

}  // namespace cairn::data
