#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cairn::doors {

// One thing that CONFIG GET shows. Both functions may be called from any thread.
struct Setting {
  std::string name;  // lower case
  std::function<std::string()> get;
  // Applies a new value or says, in a few words, why not. Null: fixed while the server runs.
  std::function<Result<void>(std::string_view value)> set = {};

  static Setting Fixed(std::string name, std::string value);
};

// A setting's value that is a number from `low` to `high`. The messages of errors are Redis's.
Result<int64_t> ParseSettingNumber(std::string_view text, int64_t low, int64_t high);

// The settings under the names that Redis clients ask for. Filled at start, each name once; safe to
// use from any thread after that.
class Settings {
 public:
  using Values = std::vector<std::pair<std::string, std::string>>;

  void Add(Setting setting);

  // Every setting that matches one of the patterns (or is named exactly), with its value, once.
  Values Find(std::span<const std::string_view> patterns) const;

  // Applies all or none. The message of an error is the one CONFIG SET replies with.
  Result<void> Set(std::span<const std::pair<std::string_view, std::string_view>> values);

 private:
  mutable std::mutex mutex_;  // one change at a time
  std::map<std::string, Setting, std::less<>> settings_;
};

}  // namespace cairn::doors
