#include "house/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>

namespace cairn::house {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

// Larger units stand first, so that formatting finds the largest that fits.
constexpr std::array kBinarySizes = {Unit{"TiB", 1ULL << 40}, Unit{"GiB", 1ULL << 30},
                                     Unit{"MiB", 1ULL << 20}, Unit{"KiB", 1ULL << 10}};
constexpr std::array kDecimalSizes = {Unit{"TB", 1'000'000'000'000}, Unit{"GB", 1'000'000'000},
                                      Unit{"MB", 1'000'000}, Unit{"KB", 1'000}, Unit{"B", 1}};
constexpr std::array kDurations = {Unit{"h", 3'600'000}, Unit{"m", 60'000}, Unit{"s", 1'000},
                                   Unit{"ms", 1}};

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::optional<uint64_t> Scaled(std::string_view number, uint64_t factor) {
  const std::optional<uint64_t> value = ParseWhole(number);
  if (!value || *value > std::numeric_limits<uint64_t>::max() / factor) return std::nullopt;
  return *value * factor;
}

std::optional<uint64_t> ParseWithUnit(std::string_view text, std::span<const Unit> units) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  for (const Unit& unit : units) {
    if (EqualIgnoringCase(text.substr(digits), unit.name)) {
      return Scaled(text.substr(0, digits), unit.factor);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> ParseWhole(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (text.empty() || failure != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<uint64_t> ParseSize(std::string_view text) {
  if (const auto bytes = ParseWhole(text)) return bytes;
  if (const auto bytes = ParseWithUnit(text, kBinarySizes)) return bytes;
  return ParseWithUnit(text, kDecimalSizes);
}

std::string FormatSize(uint64_t bytes) {
  for (const Unit& unit : kBinarySizes) {
    if (bytes != 0 && bytes % unit.factor == 0) {
      return fmt::format("{}{}", bytes / unit.factor, unit.name);
    }
  }
  return fmt::format("{}", bytes);
}

std::string ReadableSize(uint64_t bytes) {
  for (const Unit& unit : kBinarySizes) {
    if (bytes >= unit.factor) {
      return fmt::format("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(unit.factor),
                         unit.name);
    }
  }
  return fmt::format("{} bytes", bytes);
}

std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  if (text == "0") return std::chrono::milliseconds(0);
  const std::optional<uint64_t> ms = ParseWithUnit(text, kDurations);
  if (!ms || *ms > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return std::chrono::milliseconds(static_cast<int64_t>(*ms));
}

std::string FormatDuration(std::chrono::milliseconds duration) {
  const auto ms = static_cast<uint64_t>(duration.count());
  if (ms == 0) return "0s";
  for (const Unit& unit : kDurations) {
    if (ms % unit.factor == 0) return fmt::format("{}{}", ms / unit.factor, unit.name);
  }
  return fmt::format("{}ms", ms);
}

}  // namespace cairn::house
