#include "doors/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "base/check.h"
#include "doors/arg_parser.h"
#include "doors/glob.h"

namespace cairn::doors {
namespace {

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  std::ranges::transform(lowered, lowered.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lowered;
}

Error Refused(std::string_view name, std::string_view reason) {
  return {
      ErrorCode::kInvalid,
      fmt::format("ERR CONFIG SET failed (possibly related to argument '{}') - {}", name, reason)};
}

}  // namespace

Result<int64_t> ParseSettingNumber(std::string_view text, int64_t low, int64_t high) {
  const std::optional<int64_t> number = ParseInteger(text);
  if (!number) {
    return Error{ErrorCode::kInvalid, "argument couldn't be parsed into an integer"};
  }
  if (*number < low || *number > high) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("argument must be between {} and {} inclusive", low, high)};
  }
  return *number;
}

Setting Setting::Fixed(std::string name, std::string value) {
  return {.name = std::move(name), .get = [value = std::move(value)] { return value; }};
}

void Settings::Add(Setting setting) {
  std::string name = setting.name;
  CAIRN_CHECK(!settings_.contains(name), "setting {} is there twice", name);
  settings_.emplace(std::move(name), std::move(setting));
}

Settings::Values Settings::Find(std::span<const std::string_view> patterns) const {
  Values values;
  for (const auto& [name, setting] : settings_) {
    const bool wanted = std::ranges::any_of(
        patterns, [&](std::string_view pattern) { return GlobMatch(Lowered(pattern), name); });
    if (wanted) values.emplace_back(name, setting.get());
  }
  return values;
}

Result<void> Settings::Set(std::span<const std::pair<std::string_view, std::string_view>> values) {
  const std::lock_guard lock(mutex_);
  std::vector<const Setting*> rows;
  std::set<std::string> seen;
  for (const auto& [name, value] : values) {
    const auto found = settings_.find(Lowered(name));
    if (found == settings_.end()) {
      return Error{
          ErrorCode::kInvalid,
          fmt::format("ERR Unknown option or number of arguments for CONFIG SET - '{}'", name)};
    }
    // Tools that make sure of a setting need not fail where it is as they want it.
    if (!found->second.set && found->second.get() != value) {
      return Refused(name, "can't set immutable config");
    }
    if (!seen.insert(found->first).second) return Refused(name, "duplicate parameter");
    rows.push_back(&found->second);
  }
  std::vector<std::string> before;
  for (size_t i = 0; i < rows.size(); ++i) {
    before.push_back(rows[i]->get());
    if (!rows[i]->set) continue;
    if (const Result<void> applied = rows[i]->set(values[i].second); !applied.ok()) {
      for (size_t undo = i; undo-- > 0;) {
        // The value was in force a moment ago, so it is accepted.
        CAIRN_CHECK(!rows[undo]->set || rows[undo]->set(before[undo]).ok());
      }
      return Refused(values[i].first, applied.error().message);
    }
  }
  return {};
}

}  // namespace cairn::doors
