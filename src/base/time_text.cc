#include "base/time_text.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>

namespace cairn {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// Takes digits off the front; a number of exactly `digits` digits, or nullopt.
std::optional<int> TakeNumber(std::string_view& text, size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  const char* end = text.data() + digits;
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || text.front() == '-') return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

bool TakeChar(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// ".123456789" as nanoseconds; more digits than nine are dropped.
std::optional<uint64_t> TakeFraction(std::string_view& text) {
  if (!TakeChar(text, ".")) return uint64_t{0};
  uint64_t ns = 0;
  uint64_t unit = kNsPerSecond;
  size_t digits = 0;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1)) {
    unit /= 10;
    ns += unit * static_cast<uint64_t>(text.front() - '0');
    ++digits;
  }
  if (digits == 0) return std::nullopt;
  return ns;
}

// "Z" or "+01:30", in minutes.
std::optional<int> TakeOffset(std::string_view& text) {
  if (TakeChar(text, "Zz")) return 0;
  const bool west = !text.empty() && text.front() == '-';
  if (!TakeChar(text, "+-")) return std::nullopt;
  const auto hours = TakeNumber(text, 2);
  if (!hours || !TakeChar(text, ":")) return std::nullopt;
  const auto minutes = TakeNumber(text, 2);
  if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const int offset = *hours * 60 + *minutes;
  return west ? -offset : offset;
}

}  // namespace

std::string FormatTime(uint64_t ns) {
  const auto seconds = std::chrono::sys_seconds(std::chrono::seconds(ns / kNsPerSecond));
  const auto day = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(seconds - day);
  std::string out =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  time.hours().count(), time.minutes().count(), time.seconds().count());
  if (const uint64_t fraction = ns % kNsPerSecond; fraction != 0) {
    out += fmt::format(".{:09}", fraction);
    out.erase(out.find_last_not_of('0') + 1);
  }
  out.push_back('Z');
  return out;
}

std::optional<uint64_t> ParseTime(std::string_view text) {
  const auto year = TakeNumber(text, 4);
  if (!year || !TakeChar(text, "-")) return std::nullopt;
  const auto month = TakeNumber(text, 2);
  if (!month || !TakeChar(text, "-")) return std::nullopt;
  const auto day = TakeNumber(text, 2);
  if (!day || !TakeChar(text, "Tt ")) return std::nullopt;
  const auto hour = TakeNumber(text, 2);
  if (!hour || !TakeChar(text, ":")) return std::nullopt;
  const auto minute = TakeNumber(text, 2);
  if (!minute || !TakeChar(text, ":")) return std::nullopt;
  const auto second = TakeNumber(text, 2);
  const auto fraction = TakeFraction(text);
  const auto offset = TakeOffset(text);
  if (!second || !fraction || !offset || !text.empty()) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *year < 1970 || *year > 2200 || *hour > 23 || *minute > 59 || *second > 60) {
    return std::nullopt;
  }
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const int64_t seconds = days * 86'400 + *hour * 3'600 + (*minute - *offset) * 60 + *second;
  if (seconds < 0) return std::nullopt;
  return static_cast<uint64_t>(seconds) * kNsPerSecond + *fraction;
}

}  // namespace cairn
