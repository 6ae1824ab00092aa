#include "seats/time_text.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>

namespace cairn::seats {
namespace {

constexpr int64_t kSecondUs = 1'000'000;
constexpr std::string_view kPattern = "0000-00-00T00:00:00.000000+00:00";

bool FitsPattern(std::string_view text) {
  if (text.size() != kPattern.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kPattern[i] == '0' && i < 26 ? !digit : text[i] != kPattern[i]) return false;
  }
  return true;
}

// Writes a number that has at most as many digits.
void PutNumber(std::string& text, size_t at, size_t digits, int64_t number) {
  for (size_t i = at + digits; i > at; --i) {
    text[i - 1] = static_cast<char>('0' + number % 10);
    number /= 10;
  }
}

int NumberAt(std::string_view text, size_t at, size_t digits) {
  int number = 0;
  std::from_chars(text.data() + at, text.data() + at + digits, number);
  return number;
}

}  // namespace

std::string FormatTime(Timestamp time) {
  using namespace std::chrono;
  const sys_time<microseconds> instant{microseconds(time.us)};
  const auto day = floor<days>(instant);
  const year_month_day date{day};
  const int64_t of_day = (instant - day).count();
  const int64_t seconds = of_day / kSecondUs;
  // Written digit by digit: every answer has several of these.
  std::string text(kPattern);
  PutNumber(text, 0, 4, static_cast<int>(date.year()));
  PutNumber(text, 5, 2, static_cast<unsigned>(date.month()));
  PutNumber(text, 8, 2, static_cast<unsigned>(date.day()));
  PutNumber(text, 11, 2, seconds / 3600);
  PutNumber(text, 14, 2, seconds / 60 % 60);
  PutNumber(text, 17, 2, seconds % 60);
  PutNumber(text, 20, 6, of_day % kSecondUs);
  return text;
}

std::optional<Timestamp> ParseTime(std::string_view text) {
  using namespace std::chrono;
  if (!FitsPattern(text)) return std::nullopt;
  const year_month_day date{year(NumberAt(text, 0, 4)),
                            month(static_cast<unsigned>(NumberAt(text, 5, 2))),
                            day(static_cast<unsigned>(NumberAt(text, 8, 2)))};
  const int hour = NumberAt(text, 11, 2);
  const int minute = NumberAt(text, 14, 2);
  const int second = NumberAt(text, 17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const int64_t seconds = sys_days(date).time_since_epoch().count() * int64_t{86400} + hour * 3600 +
                          minute * 60 + second;
  return Timestamp{seconds * kSecondUs + NumberAt(text, 20, 6)};
}

std::string FormatSeconds(int64_t us) {
  return fmt::format("{}.{:06}", us / kSecondUs, us % kSecondUs);
}

}  // namespace cairn::seats
