#include "functions/control/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "data/value/entry.h"
#include "data/value/keys.h"
#include "functions/control/aliases.h"
#include "functions/control/functions.h"
#include "functions/control/values.h"
#include "functions/control/versions.h"
#include "functions/control/warm.h"
#include "functions/model/digest.h"
#include "functions/model/names.h"
#include "store/timers.h"

namespace cairn::functions {
namespace {

using Kind = FunctionKeyParts::Kind;

// What is wrong with one function or index; a body collects it anew each time it runs.
using Problems = std::vector<std::string>;

// The first key from `from` on that begins with cs:fn:.
Result<std::optional<std::string>> FirstKey(store::Store& store, const std::string& from) {
  std::optional<std::string> found;
  const store::Scopes none;
  const auto look = [&](store::Transaction& transaction) -> Result<void> {
    found.reset();
    store::Range range = data::RecordRange(kDatabase, kFunctionsPrefix);
    range.begin = std::max(range.begin, data::EncodeRecordKey({kDatabase, from}));
    return data::ScanRecords(transaction, range,
                             [&](const data::RecordKey& key, const data::Record&) {
                               found = std::string(key.user_key);
                               return false;
                             });
  };
  const Result<store::Commit> done = store.RunRead(none, look);
  if (!done.ok()) return done.error();
  return found;
}

// One function, all its keys.
class FunctionCheck {
 public:
  FunctionCheck(store::Transaction& transaction, FunctionName function, Problems& problems)
      : transaction_(transaction), function_(std::move(function)), problems_(problems) {}

  Result<void> Run() {
    const std::string prefix = FunctionPrefix(function_);
    CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> keys, KeysBehind(transaction_, prefix));
    if (keys.empty()) return {};  // purged since it was found
    rows_ = keys.size();
    for (const std::string& key : keys) {
      const std::optional<FunctionKeyParts> parts = ParseFunctionKey(prefix + key);
      if (!parts) {
        Problem(fmt::format("has a key that does not belong to it: {}", Printable(prefix + key)));
      } else {
        Sort(*parts);
      }
    }
    CAIRN_RETURN_IF_ERROR(CheckRecord());
    CAIRN_RETURN_IF_ERROR(CheckVersions());
    CheckCode();
    for (const std::string& alias : aliases_) CAIRN_RETURN_IF_ERROR(CheckAlias(alias));
    for (const std::string& alias : shifts_) CAIRN_RETURN_IF_ERROR(CheckShift(alias));
    for (const std::string& draft : drafts_) CAIRN_RETURN_IF_ERROR(CheckDraft(draft));
    return {};
  }
  size_t rows() const { return rows_; }

 private:
  void Problem(std::string_view text) {
    problems_.push_back(fmt::format("the function {} {}", ResourceName(function_), text));
  }

  void Sort(const FunctionKeyParts& parts) {
    if (parts.kind == Kind::kVersion) versions_.insert(parts.version);
    if (parts.kind == Kind::kBundle) bundles_.insert(parts.version);
    if (parts.kind == Kind::kEnv) envs_.insert(parts.version);
    if (parts.kind == Kind::kCode) codes_.push_back(parts.name);
    if (parts.kind == Kind::kAlias) aliases_.push_back(parts.name);
    if (parts.kind == Kind::kShift) shifts_.push_back(parts.name);
    if (parts.kind == Kind::kDraft) drafts_.push_back(parts.name);
  }

  // What a refusal says is a problem; any other error is the store's.
  template <typename T>
  Result<std::optional<T>> Told(Result<T> result) {
    if (result.ok()) return std::optional<T>(std::move(*result));
    if (result.error().code == ErrorCode::kWouldBlock || result.error().code == ErrorCode::kIo ||
        result.error().code == ErrorCode::kUnavailable) {
      return result.error();
    }
    Problem(fmt::format("is damaged: {}", RefusalText(result.error())));
    return std::optional<T>();
  }

  Result<void> CheckRecord() {
    const Context anybody{transaction_};
    CAIRN_ASSIGN_OR_RETURN(const auto record,
                           Told(LoadFunction(anybody, function_, Deleted::kShown)));
    const FunctionName named =
        record ? FunctionName{record->tenant, record->ns, record->name} : function_;
    if (named != function_) Problem(fmt::format("has the record of {}", ResourceName(named)));
    CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> listed,
                           NamesInIndex(transaction_, FunctionIndexKey(function_.in()),
                                        PredecessorOf(function_.name), 1));
    if (listed.empty() || listed.front() != function_.name) Problem("is not in the index");
    return {};
  }

  // A name behind which `name` comes next, if it is there.
  static std::string PredecessorOf(std::string name) {
    name.back() = static_cast<char>(name.back() - 1);
    return name + '\xFF';
  }

  Result<void> CheckVersions() {
    CAIRN_ASSIGN_OR_RETURN(const auto newest, Told(NewestVersion(transaction_, function_)));
    newest_ = newest.value_or(0);
    for (uint64_t version = 1; version <= newest_ && problems_.size() < kEnough; ++version) {
      if (!versions_.contains(version) || !bundles_.contains(version)) {
        Problem(fmt::format("lacks version {}", version));
        continue;
      }
      CAIRN_ASSIGN_OR_RETURN(const auto loaded,
                             Told(LoadVersion(transaction_, function_, version)));
      if (!loaded) continue;
      digests_.insert(loaded->meta.sha256);
      if (loaded->meta.version != version) {
        Problem(fmt::format("has the record of version {} as version {}", loaded->meta.version,
                            version));
      }
      if (loaded->meta.config.env_names.empty() == envs_.contains(version)) {
        Problem(fmt::format("has {} environment for version {}, whose config says otherwise",
                            envs_.contains(version) ? "an" : "no", version));
      }
    }
    for (const auto* numbers : {&versions_, &bundles_, &envs_}) {
      if (!numbers->empty() && *numbers->rbegin() > newest_) {
        Problem(fmt::format("has something of version {}, but version_seq is {}",
                            *numbers->rbegin(), newest_));
      }
    }
    return {};
  }

  void CheckCode() {
    if (problems_.size() >= kEnough) return;
    for (const std::string& digest : codes_) {
      if (digests_.contains(digest)) continue;
      Problem(fmt::format("has code of the bundle {}, which no version has", digest));
    }
  }

  Result<void> CheckAlias(const std::string& name) {
    CAIRN_ASSIGN_OR_RETURN(const auto record, ReadString(transaction_, AliasKey(function_, name)));
    CAIRN_ASSIGN_OR_RETURN(const auto alias, Told(DecodeAlias(record.value_or(""))));
    if (!alias) return {};
    if (alias->alias != name) Problem(fmt::format("has the alias {} as {}", alias->alias, name));
    const auto check = [&](uint64_t version) {
      if (version > newest_) {
        Problem(fmt::format("has the alias {}, which points to version {}; there is none", name,
                            version));
      }
    };
    check(alias->target.version);
    if (alias->target.second) check(alias->target.second->version);
    CAIRN_RETURN_IF_ERROR(CheckWarm(*alias));
    if (!alias->shift) return {};
    shifting_.insert(name);
    check(alias->shift->to);
    const Bytes timer = store::EncodeTimerKey(Timestamp::FromMillis(alias->shift->next_step_at_ms),
                                              kTimerShift, ShiftTimerOwner(function_, name));
    CAIRN_ASSIGN_OR_RETURN(const auto row, transaction_.Get({store::Space::kTimers, timer}));
    if (!row) Problem(fmt::format("has no timer for the shift of alias {}", name));
    return {};
  }

  Result<void> CheckWarm(const Alias& alias) {
    const std::string name = NameInWarmIndex(function_, alias.alias);
    CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> listed,
                           NamesInIndex(transaction_, kWarmIndexKey, PredecessorOf(name), 1));
    const bool is_listed = !listed.empty() && listed.front() == name;
    if (is_listed == (alias.min_warm != 0)) return {};
    Problem(fmt::format("has the alias {} with min_warm {}, which is {} in the index of those",
                        alias.alias, alias.min_warm, is_listed ? "" : "not"));
    return {};
  }

  Result<void> CheckShift(const std::string& alias) {
    if (!shifting_.contains(alias)) {
      Problem(fmt::format("has outcomes of a shift of alias {}, which is not shifted", alias));
    }
    return {};
  }

  Result<void> CheckDraft(const std::string& draft) {
    CAIRN_ASSIGN_OR_RETURN(const data::Entry entry,
                           data::Entry::Load(transaction_, kDatabase, DraftKey(function_, draft)));
    if (entry.exists() && !entry.expire_ms()) {
      Problem(fmt::format("has the draft {}, which never expires", draft));
    }
    return {};
  }

  static constexpr size_t kEnough = 100;  // problems of one function

  store::Transaction& transaction_;
  const FunctionName function_;
  Problems& problems_;
  size_t rows_ = 0;
  uint64_t newest_ = 0;
  std::set<uint64_t> versions_;
  std::set<uint64_t> bundles_;
  std::set<uint64_t> envs_;
  std::set<std::string> digests_;
  std::vector<std::string> codes_;
  std::vector<std::string> aliases_;
  std::vector<std::string> shifts_;
  std::vector<std::string> drafts_;
  std::set<std::string> shifting_;
};

// Every name of an index has a record.
Result<size_t> CheckIndex(store::Transaction& transaction, const NamespaceName& ns,
                          Problems& problems) {
  size_t rows = 0;
  std::string after;
  for (;;) {
    const Result<std::vector<std::string>> names =
        NamesInIndex(transaction, FunctionIndexKey(ns), after, kMaxPage);
    if (!names.ok() && IsRefusal(names.error(), Code::kStoreReadFailed)) {
      problems.push_back(std::string(RefusalText(names.error())));
      return rows;
    }
    if (!names.ok()) return names.error();
    if (names->empty()) return rows;
    for (const std::string& name : *names) {
      const FunctionName function{ns.tenant, ns.name, name};
      CAIRN_ASSIGN_OR_RETURN(const data::Entry entry,
                             data::Entry::Load(transaction, kDatabase, FunctionKey(function)));
      if (!entry.exists()) {
        problems.push_back(
            fmt::format("the index has {}, which is not a function", ResourceName(function)));
      }
    }
    rows += names->size();
    after = names->back();
  }
}

// Every name of the index of aliases with min_warm is one.
Result<void> CheckWarmIndex(store::Store& store, house::Verification& verification) {
  Problems problems;
  const store::Scopes none;
  const auto check = [&](store::Transaction& transaction) -> Result<void> {
    problems.clear();
    std::string after;
    for (;;) {
      const Result<std::vector<std::string>> names =
          NamesInIndex(transaction, kWarmIndexKey, after, kMaxPage);
      if (!names.ok() && IsRefusal(names.error(), Code::kStoreReadFailed)) {
        problems.push_back(std::string(RefusalText(names.error())));
        return {};
      }
      if (!names.ok()) return names.error();
      if (names->empty()) return {};
      for (const std::string& name : *names) {
        const auto alias = ParseWarmName(name);
        if (alias) {
          CAIRN_ASSIGN_OR_RETURN(
              const data::Entry entry,
              data::Entry::Load(transaction, kDatabase, AliasKey(alias->first, alias->second)));
          if (entry.exists()) continue;
        }
        problems.push_back(fmt::format("the key {} has {}, which is not an alias", kWarmIndexKey,
                                       Printable(name)));
      }
      after = names->back();
    }
  };
  CAIRN_RETURN_IF_ERROR(store.RunRead(none, check));
  for (std::string& problem : problems) verification.Problem(std::move(problem));
  return {};
}

Result<void> CheckOne(store::Store& store, const FunctionKeyParts& parts,
                      house::Verification& verification) {
  Problems problems;
  size_t rows = 0;
  const store::Scopes none;
  const auto check = [&](store::Transaction& transaction) -> Result<void> {
    problems.clear();
    if (parts.kind == Kind::kIndex) {
      CAIRN_ASSIGN_OR_RETURN(rows, CheckIndex(transaction, parts.function.in(), problems));
      return {};
    }
    FunctionCheck function(transaction, parts.function, problems);
    CAIRN_RETURN_IF_ERROR(function.Run());
    rows = function.rows();
    return {};
  };
  CAIRN_RETURN_IF_ERROR(store.RunRead(none, check));
  for (std::string& problem : problems) verification.Problem(std::move(problem));
  static_cast<void>(verification.Read(rows));
  return {};
}

}  // namespace

Result<void> VerifyFunctions(store::Store& store, house::Verification& verification) {
  CAIRN_RETURN_IF_ERROR(CheckWarmIndex(store, verification));
  std::string from(kFunctionsPrefix);
  while (!verification.abandoned()) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<std::string> key, FirstKey(store, from));
    if (!key) return {};
    const std::optional<FunctionKeyParts> parts = ParseFunctionKey(*key);
    if (parts) {
      CAIRN_RETURN_IF_ERROR(CheckOne(store, *parts, verification));
    } else {
      verification.Problem(fmt::format("the key {} is none of a function", Printable(*key)));
    }
    // Behind all keys of the function.
    const bool whole = parts && parts->kind != Kind::kIndex;
    from = whole ? FunctionPrefix(parts->function) + '\xFF' : *key + '\0';
  }
  return {};
}

}  // namespace cairn::functions
