#include "doors/resp/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "base/check.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/glob.h"

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

constexpr std::string_view kKeyPrefix = "setting/";

Bytes EncodeSettingKey(std::string_view name) {
  Bytes key(kKeyPrefix);
  key += name;
  return key;
}

std::optional<int64_t> ParseBytes(std::string_view text) {
  constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"kb", 1LL << 10}, {"mb", 1LL << 20},    {"gb", 1LL << 30}, {"k", 1'000},
      {"m", 1'000'000},  {"g", 1'000'000'000}, {"b", 1},
  };
  int64_t factor = 1;
  for (const auto& [unit, bytes] : kUnits) {
    if (text.size() <= unit.size()) continue;
    const size_t digits = text.size() - unit.size();
    if (!EqualsIgnoreCase(text.substr(digits), unit)) continue;
    text = text.substr(0, digits);
    factor = bytes;
    break;
  }
  const std::optional<int64_t> number = ParseInteger(text);
  int64_t product = 0;
  if (!number || __builtin_mul_overflow(*number, factor, &product)) return std::nullopt;
  return product;
}

Result<int64_t> Within(int64_t number, int64_t low, int64_t high) {
  if (number >= low && number <= high) return number;
  return Error{ErrorCode::kInvalid,
               fmt::format("argument must be between {} and {} inclusive", low, high)};
}

// Whether a fixed setting has this value already, however it is written.
bool HasValue(const Setting& setting, std::string_view text) {
  const std::string value = setting.get();
  if (EqualsIgnoreCase(value, text)) return true;
  const std::optional<int64_t> bytes = ParseBytes(text);
  return bytes && bytes == ParseBytes(value);
}

Error RefusedAsFixed(std::string_view name, const Setting& setting) {
  constexpr std::string_view kFixed = "can't set immutable config";
  if (setting.advice.empty()) return Refused(name, kFixed);
  return Refused(name, fmt::format("{}: {}", kFixed, setting.advice));
}

}  // namespace

Result<int64_t> ParseSettingNumber(std::string_view text, int64_t low, int64_t high) {
  const std::optional<int64_t> number = ParseInteger(text);
  if (!number) {
    return Error{ErrorCode::kInvalid, "argument couldn't be parsed into an integer"};
  }
  return Within(*number, low, high);
}

Result<int64_t> ParseSettingBytes(std::string_view text, int64_t low, int64_t high) {
  const std::optional<int64_t> bytes = ParseBytes(text);
  if (!bytes) return Error{ErrorCode::kInvalid, "argument must be a memory value"};
  return Within(*bytes, low, high);
}

Result<bool> ParseSettingSwitch(std::string_view text) {
  if (EqualsIgnoreCase(text, "yes")) return true;
  if (EqualsIgnoreCase(text, "no")) return false;
  return Error{ErrorCode::kInvalid, "argument must be 'yes' or 'no'"};
}

Setting Setting::Fixed(std::string name, std::string value, std::string advice) {
  return {.name = std::move(name),
          .get = [value = std::move(value)] { return value; },
          .advice = std::move(advice)};
}

void Settings::AddScope(store::Scopes& scopes) { scopes.Add(store::Space::kSystem, kKeyPrefix); }

const Setting* Settings::Find(std::string_view name) const {
  auto found = settings_.find(name);
  if (found == settings_.end()) return nullptr;
  if (found->second.former_name_of.empty()) return &found->second;
  found = settings_.find(found->second.former_name_of);
  CAIRN_CHECK(found != settings_.end(), "no setting has the former name {}", name);
  return &found->second;
}

Result<void> Settings::Load(store::Reader& reader, const Log& log) {
  for (const auto& [name, setting] : settings_) {
    const bool kept = setting.kept && setting.set && setting.former_name_of.empty();
    if (kept) first_values_.insert_or_assign(name, setting.get());
  }
  const auto range = store::Range::Prefix(store::Space::kSystem, kKeyPrefix);
  Values stored;
  CAIRN_RETURN_IF_ERROR(reader.Scan(range, {}, [&](BytesView key, BytesView value) {
    stored.emplace_back(key.substr(kKeyPrefix.size()), value);
    return true;
  }));
  for (const auto& [name, value] : stored) {
    const std::pair<std::string_view, std::string_view> one[] = {{name, value}};
    if (const Result<void> set = Set(one); !set.ok()) {
      log.Warn("a stored setting is no longer accepted; change it with CONFIG SET",
               {{"name", name}, {"value", value}, {"reason", set.error().message}});
    }
  }
  return {};
}

void Settings::Save(store::Transaction& transaction,
                    std::span<const std::string_view> names) const {
  const std::lock_guard lock(mutex_);
  for (const std::string_view name : names) {
    const Setting* setting = Find(Lowered(name));
    if (setting == nullptr) continue;
    const auto first = first_values_.find(setting->name);
    if (first == first_values_.end()) continue;
    const Bytes key = EncodeSettingKey(setting->name);
    const std::string value = setting->get();
    if (value == first->second) {
      transaction.Delete({store::Space::kSystem, key});
    } else {
      transaction.Put({store::Space::kSystem, key}, value);
    }
  }
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
  for (const auto& [name, _] : values) {
    const Setting* setting = Find(Lowered(name));
    if (setting == nullptr) {
      return Error{
          ErrorCode::kInvalid,
          fmt::format("ERR Unknown option or number of arguments for CONFIG SET - '{}'", name)};
    }
    if (!seen.insert(setting->name).second) return Refused(name, "duplicate parameter");
    rows.push_back(setting);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& [name, value] = values[i];
    // Tools that make sure of a setting need not fail where it is as they want it.
    if (!rows[i]->set && !HasValue(*rows[i], value)) return RefusedAsFixed(name, *rows[i]);
  }
  std::vector<std::string> before;
  for (size_t i = 0; i < rows.size(); ++i) {
    before.push_back(rows[i]->get());
    if (!rows[i]->set) continue;
    if (const Result<void> applied = rows[i]->set(values[i].second); !applied.ok()) {
      for (size_t undo = i; undo-- > 0;) {
        // The value was in force a moment ago, so it is accepted; but for no password, if the last
        // key has gone meanwhile: then the new one stays.
        if (rows[undo]->set) (void)rows[undo]->set(before[undo]);
      }
      return Refused(values[i].first, applied.error().message);
    }
  }
  return {};
}

}  // namespace cairn::doors
