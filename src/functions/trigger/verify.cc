#include "functions/trigger/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "data/value/entry.h"
#include "data/value/keys.h"
#include "functions/activation/activations.h"
#include "functions/control/values.h"
#include "functions/model/errors.h"
#include "functions/model/keys.h"
#include "functions/model/limits.h"
#include "functions/trigger/triggers.h"

namespace cairn::functions {
namespace {

using Kind = TriggerKeyParts::Kind;
// What is wrong with what one key belongs to; a body collects it anew each time it runs.
using Problems = std::vector<std::string>;

// The first key from `from` on that begins with cs:trigger:.
Result<std::optional<std::string>> FirstKey(store::Store& store, const std::string& from) {
  std::optional<std::string> found;
  const store::Scopes none;
  const auto look = [&](store::Transaction& transaction) -> Result<void> {
    found.reset();
    store::Range range = data::RecordRange(kDatabase, kTriggersPrefix);
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

// What a refusal says is a problem, and no value; any other error is the store's.
template <typename T>
Result<std::optional<T>> Told(const TriggerId& id, Result<std::optional<T>> found,
                              Problems& problems) {
  if (found.ok() || !IsRefusal(found.error(), Code::kStoreReadFailed)) return found;
  problems.push_back(
      fmt::format("the trigger {} is damaged: {}", ResourceName(id), RefusalText(found.error())));
  return std::optional<T>();
}

Result<bool> IsInIndex(store::Transaction& transaction, const std::string& name) {
  CAIRN_ASSIGN_OR_RETURN(const auto names,
                         NamesInIndex(transaction, kTriggerIndexKey, "", kMaxTriggersAll + 1));
  return std::ranges::binary_search(names, name);
}

Result<void> CheckTrigger(store::Transaction& transaction, const TriggerId& id,
                          Problems& problems) {
  const auto problem = [&](std::string_view text) {
    problems.push_back(fmt::format("the trigger {} {}", ResourceName(id), text));
  };
  CAIRN_ASSIGN_OR_RETURN(const auto record, Told(id, FindTrigger(transaction, id), problems));
  if (!record) return {};  // damaged, or deleted since it was found
  const TriggerId named{{record->tenant, record->ns}, record->name};
  if (named != id) problem(fmt::format("has the record of {}", ResourceName(named)));
  const Result<bool> listed = IsInSet(transaction, TriggerSetKey(id.ns), id.name);
  if (!listed.ok() && !IsRefusal(listed.error(), Code::kStoreReadFailed)) return listed.error();
  if (!listed.ok() || !*listed) problem("is not in its namespace's set");
  const Result<bool> indexed = IsInIndex(transaction, ResourceName(id));
  if (!indexed.ok() && !IsRefusal(indexed.error(), Code::kStoreReadFailed)) return indexed.error();
  if (indexed.ok() && *indexed != record->enabled) {
    problem(record->enabled ? "is enabled and not in the index" : "is disabled and in the index");
  }
  CAIRN_ASSIGN_OR_RETURN(const auto state, Told(id, FindTriggerState(transaction, id), problems));
  if (!state) {
    problem("has no state");
  } else if (state->inflight.size() > static_cast<size_t>(kMaxTriggerConcurrency)) {
    problem(fmt::format("has {} activations under way", state->inflight.size()));
  }
  return {};
}

// Every name of a set has a record.
Result<size_t> CheckSet(store::Transaction& transaction, const NamespaceName& ns,
                        Problems& problems) {
  const Result<std::vector<std::string>> names = NamesInSet(transaction, TriggerSetKey(ns));
  if (!names.ok() && IsRefusal(names.error(), Code::kStoreReadFailed)) {
    problems.push_back(std::string(RefusalText(names.error())));
    return size_t{0};
  }
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    CAIRN_ASSIGN_OR_RETURN(const data::Entry entry,
                           data::Entry::Load(transaction, kDatabase, TriggerKey(ns, name)));
    if (!entry.exists()) {
      problems.push_back(fmt::format("the set of triggers has {}, which is not a trigger",
                                     ResourceName(TriggerId{ns, name})));
    }
  }
  return names->size();
}

// And so has every name of the index.
Result<size_t> CheckIndex(store::Transaction& transaction, Problems& problems) {
  const Result<std::vector<std::string>> names =
      NamesInIndex(transaction, kTriggerIndexKey, "", kMaxTriggersAll + 1);
  if (!names.ok() && IsRefusal(names.error(), Code::kStoreReadFailed)) {
    problems.push_back(std::string(RefusalText(names.error())));
    return size_t{0};
  }
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    const std::optional<TriggerId> id = ParseTriggerId(name);
    std::optional<TriggerConfig> trigger;
    if (id) {
      CAIRN_ASSIGN_OR_RETURN(trigger, Told(*id, FindTrigger(transaction, *id), problems));
    }
    if (!trigger) {
      problems.push_back(
          fmt::format("the index of triggers has {}, which is not a trigger", Printable(name)));
    }
  }
  return names->size();
}

// A state, or the jobs of an activation.
Result<void> CheckPart(store::Transaction& transaction, const std::string& key,
                       const TriggerKeyParts& parts, Problems& problems) {
  CAIRN_ASSIGN_OR_RETURN(const data::Entry entry, data::Entry::Load(transaction, kDatabase, key));
  if (!entry.exists()) return {};
  if (parts.kind == Kind::kBatch) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Status> status,
                           LoadActivationStatus(transaction, parts.ns.tenant, parts.activation));
    if (!status || IsTerminal(*status)) {
      problems.push_back(fmt::format("the key {} has jobs of an activation that has ended", key));
    }
    if (!entry.expire_ms()) problems.push_back(fmt::format("the key {} never expires", key));
    return {};
  }
  CAIRN_ASSIGN_OR_RETURN(
      const data::Entry trigger,
      data::Entry::Load(transaction, kDatabase, TriggerKey(parts.ns, parts.trigger)));
  if (!trigger.exists()) {
    problems.push_back(fmt::format("the key {} belongs to no trigger", key));
  }
  return {};
}

Result<void> CheckKey(store::Store& store, const std::string& key, house::Verification& found) {
  const std::optional<TriggerKeyParts> parts = ParseTriggerKey(key);
  if (!parts && key != kTriggerIndexKey) {
    found.Problem(fmt::format("the key {} is none of a trigger", Printable(key)));
    return {};
  }
  Problems problems;
  size_t rows = 1;
  const store::Scopes none;
  const auto check = [&](store::Transaction& transaction) -> Result<void> {
    problems.clear();
    if (!parts) {
      CAIRN_ASSIGN_OR_RETURN(rows, CheckIndex(transaction, problems));
      return {};
    }
    if (parts->kind == Kind::kSet) {
      CAIRN_ASSIGN_OR_RETURN(rows, CheckSet(transaction, parts->ns, problems));
      return {};
    }
    if (parts->kind == Kind::kMeta) {
      return CheckTrigger(transaction, {parts->ns, parts->trigger}, problems);
    }
    return CheckPart(transaction, key, *parts, problems);
  };
  CAIRN_RETURN_IF_ERROR(store.RunRead(none, check));
  for (std::string& problem : problems) found.Problem(std::move(problem));
  static_cast<void>(found.Read(rows));
  return {};
}

}  // namespace

Result<void> VerifyTriggers(store::Store& store, house::Verification& verification) {
  std::string from(kTriggersPrefix);
  while (!verification.abandoned()) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<std::string> key, FirstKey(store, from));
    if (!key) return {};
    CAIRN_RETURN_IF_ERROR(CheckKey(store, *key, verification));
    from = *key + '\0';
  }
  return {};
}

}  // namespace cairn::functions
