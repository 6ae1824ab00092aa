#include "house/setting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "house/units.h"

namespace cairn::house {
namespace {

using Normalize = std::function<std::optional<std::string>(std::string_view)>;

Setting Row(const SettingText& text, Setting::Kind kind, std::string value_name,
            std::string accepts, std::string initial, Normalize normalize) {
  Setting row;
  row.name = text.name;
  row.kind = kind;
  row.value_name = std::move(value_name);
  row.accepts = std::move(accepts);
  row.default_text = initial;
  row.initial = std::move(initial);
  row.description = text.description;
  row.normalize = std::move(normalize);
  return row;
}

// The setting's name with every separator as `separator`, in the given case.
std::string Spell(std::string_view name, char separator, int (*change_case)(int)) {
  std::string spelled;
  for (const char c : name) {
    const bool is_separator = c == '.' || c == '_';
    spelled +=
        is_separator ? separator : static_cast<char>(change_case(static_cast<unsigned char>(c)));
  }
  return spelled;
}

// Reads with `parse`, checks the bounds and writes with `format`.
template <typename Value, typename Parse, typename Format>
Normalize Within(Value least, Value most, Parse parse, Format format) {
  return [=](std::string_view text) -> std::optional<std::string> {
    const std::optional<Value> value = parse(text);
    if (!value || *value < least || *value > most) return std::nullopt;
    return format(*value);
  };
}

std::string FormatCount(uint64_t count) { return fmt::format("{}", count); }

}  // namespace

std::string Setting::flag() const { return "--" + Spell(name, '-', std::tolower); }

std::string Setting::environment() const { return "CAIRN_" + Spell(name, '_', std::toupper); }

Setting TextSetting(const SettingText& text, std::string value_name, std::string accepts,
                    Normalize normalize) {
  return Row(text, Setting::Kind::kText, std::move(value_name), std::move(accepts), "",
             std::move(normalize));
}

Setting PathSetting(const SettingText& text, std::string value_name) {
  const auto normalize = [](std::string_view value) -> std::optional<std::string> {
    if (value.empty()) return std::nullopt;
    return std::string(value);
  };
  return TextSetting(text, std::move(value_name), "a path that is not empty", normalize);
}

Setting NameSetting(const SettingText& text, std::string initial) {
  const auto normalize = [](std::string_view value) -> std::optional<std::string> {
    const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
    if (value.empty() || std::ranges::any_of(value, control)) return std::nullopt;
    return std::string(value);
  };
  return Row(text, Setting::Kind::kText, "NAME",
             "a text that is not empty and has no control characters", std::move(initial),
             normalize);
}

Setting CountSetting(const SettingText& text, uint64_t initial, uint64_t least, uint64_t most) {
  return Row(text, Setting::Kind::kNumber, "N",
             fmt::format("a whole number from {} to {}", least, most), FormatCount(initial),
             Within(least, most, ParseWhole, FormatCount));
}

Setting SizeSetting(const SettingText& text, uint64_t initial, uint64_t least, uint64_t most) {
  return Row(text, Setting::Kind::kNumber, "SIZE",
             fmt::format("a size from {} to {}", FormatSize(least), FormatSize(most)),
             FormatSize(initial), Within(least, most, ParseSize, FormatSize));
}

Setting DurationSetting(const SettingText& text, std::chrono::milliseconds initial,
                        std::chrono::milliseconds least, std::chrono::milliseconds most) {
  return Row(text, Setting::Kind::kText, "TIME",
             fmt::format("a time with its unit (ms, s, m, h) from {} to {}", FormatDuration(least),
                         FormatDuration(most)),
             FormatDuration(initial), Within(least, most, ParseDuration, FormatDuration));
}

Setting SwitchSetting(const SettingText& text, bool initial) {
  const auto normalize = [](std::string_view value) -> std::optional<std::string> {
    if (value != "true" && value != "false") return std::nullopt;
    return std::string(value);
  };
  return Row(text, Setting::Kind::kSwitch, "", "true or false", initial ? "true" : "false",
             normalize);
}

Setting ChoiceSetting(const SettingText& text, const std::vector<std::string>& choices,
                      std::string initial) {
  const auto normalize = [choices](std::string_view value) -> std::optional<std::string> {
    if (std::ranges::find(choices, value) == choices.end()) return std::nullopt;
    return std::string(value);
  };
  return Row(text, Setting::Kind::kText, fmt::format("{}", fmt::join(choices, "|")),
             fmt::format("one of {}", fmt::join(choices, ", ")), std::move(initial), normalize);
}

Setting WithDefaultText(Setting row, std::string default_text) {
  row.default_text = std::move(default_text);
  return row;
}

}  // namespace cairn::house
