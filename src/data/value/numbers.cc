#include "data/value/numbers.h"

#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace cairn::data {
namespace {

// The longest text that Redis looks at.
constexpr size_t kMaxDigits = 5 * 1024;

}  // namespace

std::optional<long double> ParseLongDouble(std::string_view text) {
  if (text.empty() || text.size() >= kMaxDigits) return std::nullopt;
  if (std::isspace(static_cast<unsigned char>(text.front())) != 0) return std::nullopt;
  const std::string terminated(text);
  char* end = nullptr;
  errno = 0;
  const long double value = std::strtold(terminated.c_str(), &end);
  const bool whole = end == terminated.c_str() + terminated.size();
  const bool overflow = errno == ERANGE && (std::isinf(value) || value == 0);
  if (!whole || overflow || errno == EINVAL || std::isnan(value)) return std::nullopt;
  return value;
}

std::string FormatLongDouble(long double value) {
  std::string digits(kMaxDigits, '\0');
  const int size = std::snprintf(digits.data(), digits.size(), "%.17Lf", value);
  digits.resize(static_cast<size_t>(size));
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.pop_back();
  return digits == "-0" ? "0" : digits;
}

}  // namespace cairn::data
