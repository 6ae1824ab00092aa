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

#include "base/log.h"
#include "base/result.h"
#include "store/scopes.h"
#include "store/transaction.h"

namespace cairn::doors {

// One thing that CONFIG GET shows. Both functions may be called from any thread.
struct Setting {
  std::string name;  // lower case
  std::function<std::string()> get;
  // Applies a new value or says, in a few words, why not. Null: fixed while the server runs.
  std::function<Result<void>(std::string_view value)> set = {};
  // Of a fixed one: what whoever wants to change it can do, or why there is nothing to change.
  std::string advice = {};
  // Whether a value that was set outlives the server. Not so where the command line or the
  // configuration file say what the server starts with.
  bool kept = true;
  // The present name of a setting that is here under a former one: they are one setting.
  std::string former_name_of = {};

  static Setting Fixed(std::string name, std::string value, std::string advice = {});
};

// A setting's value that is a number from `low` to `high`. The messages of errors are Redis's.
Result<int64_t> ParseSettingNumber(std::string_view text, int64_t low, int64_t high);
// The same for a number of bytes, which may have a unit: b, k, kb, m, mb, g, gb in any case. As in
// Redis those with a b are powers of 1024, the others of 1000.
Result<int64_t> ParseSettingBytes(std::string_view text, int64_t low, int64_t high);
// yes or no.
Result<bool> ParseSettingSwitch(std::string_view text);

// The settings under the names that Redis clients ask for. Filled at start, each name once; safe to
// use from any thread after that.
//
// What CONFIG SET has changed is stored, in the space `system` under `setting/NAME`, and is set
// again when the server starts: no file says what it starts with. A setting that has its first
// value again is not stored.
class Settings {
 public:
  using Values = std::vector<std::pair<std::string, std::string>>;

  void Add(Setting setting);

  // Sets what is stored, when all are added and none was set. What is not accepted any more stays
  // as it is, and is logged.
  Result<void> Load(store::Reader& reader, const Log& log);
  // Stores the present values of those among `names` that are kept.
  void Save(store::Transaction& transaction, std::span<const std::string_view> names) const;
  static void AddScope(store::Scopes& scopes);

  // Every setting that matches one of the patterns (or is named exactly), with its value, once.
  Values Find(std::span<const std::string_view> patterns) const;

  // Applies all or none. The message of an error is the one CONFIG SET replies with.
  Result<void> Set(std::span<const std::pair<std::string_view, std::string_view>> values);

 private:
  // The setting that a name stands for; null if there is none.
  const Setting* Find(std::string_view name) const;

  mutable std::mutex mutex_;                                      // one change at a time
  std::map<std::string, std::string, std::less<>> first_values_;  // of those that are kept
  std::map<std::string, Setting, std::less<>> settings_;
};

}  // namespace cairn::doors
