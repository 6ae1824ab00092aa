#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cairn::data {

// The floating point arithmetic of INCRBYFLOAT, which Redis does in long double: on other types the
// digits of its replies would differ.

// nullopt for what Redis does not take for a float: surrounding space, trailing text, NaN, a number
// that is too large or too small. "inf" and hexadecimal are numbers.
std::optional<long double> ParseLongDouble(std::string_view text);

// In decimal without exponent, up to 17 digits behind the point, no trailing zeros. `value` is
// finite.
std::string FormatLongDouble(long double value);

}  // namespace cairn::data
