#include "jobs/schedule/cron.h"

#include <date/date.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace cairn::jobs {
namespace {

constexpr int64_t kDaySeconds = 86'400;
constexpr int64_t kMicros = 1'000'000;

// Rounds down, also before 1970.
int64_t FloorDivide(int64_t value, int64_t by) { return value / by - (value % by < 0 ? 1 : 0); }

constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                      "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kWeekdays = {"sun", "mon", "tue", "wed",
                                                       "thu", "fri", "sat"};

struct Field {
  std::string_view name;
  int first;
  int last;
  std::span<const std::string_view> names = {};
};
constexpr Field kSecond{"second", 0, 59};
constexpr Field kMinute{"minute", 0, 59};
constexpr Field kHour{"hour", 0, 23};
constexpr Field kDate{"day-of-month", 1, 31};
constexpr Field kMonth{"month", 1, 12, kMonths};
constexpr Field kWeekday{"day-of-week", 0, 7, kWeekdays};

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNicknames = {{
    {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
    {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
}};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::vector<std::string_view> Words(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  std::vector<std::string_view> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
    if (text.empty()) return words;
    const size_t end = std::min(text.find_first_of(kBlank), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::optional<int> Digits(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool digits_only =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (error != std::errc() || end != text.data() + text.size() || !digits_only) return std::nullopt;
  return value;
}

Error Wrong(const Field& field, std::string_view part, std::string_view why) {
  return Error{ErrorCode::kInvalid,
               fmt::format("cron: {} '{}': {}", field.name, Printable(part), why)};
}

// A number or a name.
Result<int> Value(const Field& field, std::string_view text) {
  const auto name = std::find(field.names.begin(), field.names.end(), text);
  if (name != field.names.end()) {
    return field.first == 1 ? static_cast<int>(name - field.names.begin()) + 1
                            : static_cast<int>(name - field.names.begin());
  }
  const std::optional<int> number = Digits(text);
  if (!number || *number < field.first || *number > field.last) {
    return Wrong(field, text,
                 fmt::format("expected a number from {} to {}{}", field.first, field.last,
                             field.names.empty() ? "" : " or a name"));
  }
  return *number;
}

struct Steps {
  int first = 0;
  int last = 0;
  int step = 1;
};

Result<Steps> ParseSteps(const Field& field, std::string_view part) {
  Steps steps{field.first, field.last, 1};
  std::string_view range = part;
  const size_t slash = part.find('/');
  if (slash != std::string_view::npos) {
    range = part.substr(0, slash);
    const std::optional<int> step = Digits(part.substr(slash + 1));
    if (!step || *step == 0) return Wrong(field, part, "a step is a number from 1");
    steps.step = *step;
  }
  if (range == "*" || range == "?") return steps;
  const size_t dash = range.find('-');
  CAIRN_ASSIGN_OR_RETURN(steps.first, Value(field, range.substr(0, dash)));
  if (dash == std::string_view::npos) {
    if (slash == std::string_view::npos) steps.last = steps.first;
    return steps;
  }
  CAIRN_ASSIGN_OR_RETURN(steps.last, Value(field, range.substr(dash + 1)));
  if (field.last == 7 && steps.last == 0) steps.last = 7;  // fri-sun
  if (steps.last < steps.first) {
    return Wrong(field, part, "the range runs backwards; write it as two");
  }
  return steps;
}

template <size_t size>
Result<void> AddSteps(const Field& field, std::string_view part, std::bitset<size>& values) {
  CAIRN_ASSIGN_OR_RETURN(const Steps steps, ParseSteps(field, part));
  for (int value = steps.first; value <= steps.last; value += steps.step) {
    // The only value beyond a set is 7, Sunday again.
    values.set(static_cast<size_t>(value) == size ? 0 : static_cast<size_t>(value));
    if (steps.step > field.last) break;
  }
  return {};
}

// Calls `add` for each part of a list.
template <typename Add>
Result<void> ForEachPart(const Field& field, std::string_view text, Add add) {
  std::string_view rest = text;
  while (true) {
    const size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    if (part.empty()) return Wrong(field, text, "a value is missing");
    CAIRN_RETURN_IF_ERROR(add(part));
    if (comma == std::string_view::npos) return {};
    rest.remove_prefix(comma + 1);
  }
}

bool Restricts(std::string_view field) { return field.front() != '*' && field.front() != '?'; }

}  // namespace

struct Cron::Day {
  int64_t number;  // days since 1970-01-01
  int year;
  unsigned month;
  unsigned date;
  unsigned last_date;
  unsigned weekday;

  static Day Of(int64_t number) {
    const date::sys_days days{date::days(number)};
    const date::year_month_day ymd(days);
    const unsigned last = static_cast<unsigned>((ymd.year() / ymd.month() / date::last).day());
    return {number,
            static_cast<int>(ymd.year()),
            static_cast<unsigned>(ymd.month()),
            static_cast<unsigned>(ymd.day()),
            last,
            date::weekday(days).c_encoding()};
  }
  Day NextMonth() const { return Of(number + (last_date - date) + 1); }
};

class CronParser {
 public:
  static Result<Cron> Parse(std::string_view expression) {
    std::string text = Lower(expression);
    if (text.starts_with('@')) {
      CAIRN_ASSIGN_OR_RETURN(text, Nickname(text));
    }
    std::vector<std::string_view> fields = Words(text);
    if (fields.size() == 5) fields.insert(fields.begin(), "0");
    if (fields.size() != 6) {
      return Error{ErrorCode::kInvalid,
                   fmt::format("cron: '{}' has {} fields; expected minute hour day-of-month month "
                               "day-of-week, with or without a second before them, or a name such "
                               "as @daily",
                               Printable(expression), fields.size())};
    }
    Cron cron;
    CAIRN_RETURN_IF_ERROR(Simple(kSecond, fields[0], cron.seconds_));
    CAIRN_RETURN_IF_ERROR(Simple(kMinute, fields[1], cron.minutes_));
    CAIRN_RETURN_IF_ERROR(Simple(kHour, fields[2], cron.hours_));
    CAIRN_RETURN_IF_ERROR(Dates(fields[3], cron));
    CAIRN_RETURN_IF_ERROR(Simple(kMonth, fields[4], cron.months_));
    CAIRN_RETURN_IF_ERROR(Weekdays(fields[5], cron));
    return Possible(cron, expression);
  }

 private:
  static Result<std::string> Nickname(const std::string& name) {
    for (const auto& [nickname, meaning] : kNicknames) {
      if (name == nickname) return std::string(meaning);
    }
    return Error{
        ErrorCode::kInvalid,
        fmt::format("cron: '{}' is not known; expected @yearly, @monthly, @weekly, @daily or "
                    "@hourly",
                    Printable(name))};
  }

  template <size_t size>
  static Result<void> Simple(const Field& field, std::string_view text, std::bitset<size>& values) {
    return ForEachPart(field, text, [&](std::string_view part) -> Result<void> {
      if (part.front() == '?') return Wrong(field, part, "? stands for a day only");
      return AddSteps(field, part, values);
    });
  }

  static Result<void> Dates(std::string_view text, Cron& cron) {
    cron.dates_restricted_ = Restricts(text);
    return ForEachPart(kDate, text, [&](std::string_view part) -> Result<void> {
      if (part.front() != 'l') return AddSteps(kDate, part, cron.dates_);
      std::optional<int> before = 0;
      if (part.size() > 1) before = part[1] == '-' ? Digits(part.substr(2)) : std::nullopt;
      if (!before || *before > 30) {
        return Wrong(kDate, part, "expected L, or L-n with n up to 30");
      }
      cron.from_last_.set(static_cast<size_t>(*before));
      return {};
    });
  }

  static Result<void> Weekdays(std::string_view text, Cron& cron) {
    cron.weekdays_restricted_ = Restricts(text);
    return ForEachPart(kWeekday, text, [&](std::string_view part) -> Result<void> {
      const size_t hash = part.find('#');
      if (hash != std::string_view::npos) {
        CAIRN_ASSIGN_OR_RETURN(const int day, Value(kWeekday, part.substr(0, hash)));
        const std::optional<int> nth = Digits(part.substr(hash + 1));
        if (!nth || *nth < 1 || *nth > 5) return Wrong(kWeekday, part, "expected 1 to 5 after #");
        cron.nth_weekdays_[static_cast<size_t>(day % 7)].set(static_cast<size_t>(*nth));
        return {};
      }
      if (part.size() > 1 && part.back() == 'l') {
        CAIRN_ASSIGN_OR_RETURN(const int day, Value(kWeekday, part.substr(0, part.size() - 1)));
        cron.last_weekdays_.set(static_cast<size_t>(day % 7));
        return {};
      }
      return AddSteps(kWeekday, part, cron.weekdays_);
    });
  }

  // The calendar repeats after 400 years: what does not come in them never comes.
  static Result<Cron> Possible(Cron cron, std::string_view expression) {
    constexpr int64_t kYear1600 = -135'140;
    constexpr int64_t kYear2000 = 10'957;
    for (Cron::Day day = Cron::Day::Of(kYear1600); day.number < kYear2000;) {
      if (!cron.months_[day.month]) {
        day = day.NextMonth();
      } else if (cron.Fits(day)) {
        return cron;
      } else {
        day = Cron::Day::Of(day.number + 1);
      }
    }
    return Error{ErrorCode::kInvalid,
                 fmt::format("cron: '{}' never comes: no month that it names has such a day",
                             Printable(expression))};
  }
};

Result<Cron> Cron::Parse(std::string_view expression) { return CronParser::Parse(expression); }

bool Cron::FitsDate(const Day& day) const {
  return dates_[day.date] || from_last_[day.last_date - day.date];
}

bool Cron::FitsWeekday(const Day& day) const {
  if (weekdays_[day.weekday]) return true;
  if (nth_weekdays_[day.weekday][(day.date - 1) / 7 + 1]) return true;
  return last_weekdays_[day.weekday] && day.date + 7 > day.last_date;
}

bool Cron::Fits(const Day& day) const {
  if (!months_[day.month]) return false;
  if (dates_restricted_ && weekdays_restricted_) return FitsDate(day) || FitsWeekday(day);
  return FitsDate(day) && FitsWeekday(day);
}

std::optional<int64_t> Cron::TimeOfDay(int64_t from) const {
  for (int64_t hour = from / 3600; hour < 24; ++hour) {
    if (!hours_[static_cast<size_t>(hour)]) continue;
    const int64_t in_hour = std::max<int64_t>(from - hour * 3600, 0);
    for (int64_t minute = in_hour / 60; minute < 60; ++minute) {
      if (!minutes_[static_cast<size_t>(minute)]) continue;
      for (int64_t second = std::max<int64_t>(in_hour - minute * 60, 0); second < 60; ++second) {
        if (seconds_[static_cast<size_t>(second)]) return hour * 3600 + minute * 60 + second;
      }
    }
  }
  return std::nullopt;
}

std::optional<LocalSeconds> Cron::FirstFrom(LocalSeconds from) const {
  Day day = Day::Of(FloorDivide(from.count, kDaySeconds));
  int64_t in_day = from.count - day.number * kDaySeconds;
  while (day.year <= kLastYear) {
    if (!months_[day.month]) {
      day = day.NextMonth();
    } else {
      const std::optional<int64_t> time = Fits(day) ? TimeOfDay(in_day) : std::nullopt;
      if (time) return LocalSeconds{day.number * kDaySeconds + *time};
      day = Day::Of(day.number + 1);
    }
    in_day = 0;
  }
  return std::nullopt;
}

// ToUtc never decreases and maps what the clocks show at `after` to no later than `after`, so the
// first time that comes after it is later on the wall, too.
std::optional<int64_t> Cron::NextByClock(int64_t after, const TimeZone& zone) const {
  LocalSeconds local{after + zone.SpanAt(after).offset_seconds};
  while (true) {
    const std::optional<LocalSeconds> next = FirstFrom({local.count + 1});
    if (!next) return std::nullopt;
    const int64_t utc = zone.ToUtc(*next);
    if (utc > after) return utc;
    local = *next;  // of the repeated hour, which has had its turn
  }
}

std::optional<int64_t> Cron::NextByInterval(int64_t after, const TimeZone& zone) const {
  int64_t from = after + 1;
  while (true) {
    const OffsetSpan span = zone.SpanAt(from);
    const std::optional<LocalSeconds> next = FirstFrom({from + span.offset_seconds});
    if (!next) return std::nullopt;
    const int64_t utc = next->count - span.offset_seconds;
    if (utc < span.end) return utc;
    from = span.end;
  }
}

Result<Timestamp> Cron::Next(Timestamp after, const TimeZone& zone) const {
  constexpr int64_t kYear10000 = 253'402'300'800;
  const int64_t second = FloorDivide(after.us, kMicros);
  std::optional<int64_t> next;
  if (second > -kYear10000 && second < kYear10000) {
    next = hours_.all() ? NextByInterval(second, zone) : NextByClock(second, zone);
  }
  if (!next) {
    return Error{ErrorCode::kInvalid, fmt::format("cron: beyond the year {}", kLastYear)};
  }
  return Timestamp{*next * kMicros};
}

}  // namespace cairn::jobs
