#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "view/sqlite.h"

namespace cairn::view {

// A part of a WHERE clause: SQL of our own with a ? for each value. What users give is only ever
// one of the values.
class Condition {
 public:
  using Value = std::variant<std::string, int64_t, double>;

  Condition() = default;  // always true
  explicit Condition(std::string_view sql, std::vector<Value> values = {})
      : sql_(sql), values_(std::move(values)) {}

  // Both have to hold.
  void And(Condition other);
  void And(std::string_view sql, std::vector<Value> values = {}) {
    And(Condition(sql, std::move(values)));
  }

  // It must not hold. Nothing is unknown: what cannot be told does not hold.
  Condition Not() const { return Condition("NOT coalesce((" + sql() + "), FALSE)", values_); }

  // It must hold, and is only looked at where `guard`, SQL of our own, holds.
  Condition If(std::string_view guard) const {
    return Condition("CASE WHEN " + std::string(guard) + " THEN " + sql() + " ELSE FALSE END",
                     values_);
  }

  // Never empty: what stands behind WHERE.
  std::string sql() const { return sql_.empty() ? "TRUE" : sql_; }
  // The values as the next parameters of `statement`, which borrows them.
  void BindTo(Statement& statement) const;

 private:
  std::string sql_;
  std::vector<Value> values_;
};

}  // namespace cairn::view
