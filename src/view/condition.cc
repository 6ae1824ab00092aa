#include "view/condition.h"

#include <iterator>
#include <utility>

namespace cairn::view {

void Condition::And(Condition other) {
  if (other.sql_.empty()) return;
  if (!sql_.empty()) sql_ += " AND ";
  sql_ += "(" + other.sql_ + ")";
  values_.insert(values_.end(), std::make_move_iterator(other.values_.begin()),
                 std::make_move_iterator(other.values_.end()));
}

void Condition::BindTo(Statement& statement) const {
  for (const Value& value : values_) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      statement.Bind(std::string_view(*text));
    } else if (const auto* integer = std::get_if<int64_t>(&value)) {
      statement.Bind(*integer);
    } else {
      statement.Bind(std::get<double>(value));
    }
  }
}

}  // namespace cairn::view
