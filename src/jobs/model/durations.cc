#include "jobs/model/durations.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "jobs/model/limits.h"

namespace cairn::jobs {
namespace {

struct Unit {
  std::string_view name;
  double ms;
};
constexpr std::array kUnits = {Unit{"ms", 1},        Unit{"us", 1e-3},  Unit{"ns", 1e-6},
                               Unit{"s", 1'000},     Unit{"m", 60'000}, Unit{"h", 3'600'000},
                               Unit{"d", 86'400'000}};

}  // namespace

std::optional<int64_t> ParseDuration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  double total_ms = 0;
  while (!text.empty()) {
    const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    double amount = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + digits, amount);
    if (digits == 0 || parsed.ec != std::errc() || parsed.ptr != text.data() + digits) {
      return std::nullopt;
    }
    text.remove_prefix(digits);
    const auto* unit = std::ranges::find_if(kUnits, [&](const Unit& candidate) {
      const size_t size = candidate.name.size();
      return text.starts_with(candidate.name) &&
             (text.size() == size || (text[size] >= '0' && text[size] <= '9'));
    });
    if (unit == kUnits.end()) return std::nullopt;
    text.remove_prefix(unit->name.size());
    total_ms += amount * unit->ms;
  }
  if (total_ms > static_cast<double>(kMaxDelayMs)) return std::nullopt;
  return static_cast<int64_t>(std::llround(total_ms));
}

}  // namespace cairn::jobs
