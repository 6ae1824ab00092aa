#include "functions/cadence/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/value/entry.h"
#include "data/value/keys.h"
#include "functions/cadence/bindings.h"
#include "functions/cadence/keys.h"
#include "functions/cadence/tasks.h"
#include "functions/control/values.h"
#include "functions/model/errors.h"
#include "functions/model/keys.h"

namespace cairn::functions {
namespace {

using Kind = CadenceKeyParts::Kind;
// What is wrong with what one key belongs to; a body collects it anew each time it runs.
using Problems = std::vector<std::string>;

// The first key from `from` on that begins with cs:cadence:.
Result<std::optional<std::string>> FirstKey(store::Store& store, const std::string& from) {
  std::optional<std::string> found;
  const store::Scopes none;
  const auto look = [&](store::Transaction& transaction) -> Result<void> {
    found.reset();
    store::Range range = data::RecordRange(kDatabase, kCadencePrefix);
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

Result<void> CheckBinding(store::Transaction& transaction, const BindingName& name,
                          Problems& problems) {
  const auto problem = [&](std::string_view text) {
    problems.push_back(fmt::format("the worker binding {} {}", ResourceName(name), text));
  };
  const Result<std::optional<WorkerBinding>> record = FindBinding(transaction, name);
  if (!record.ok()) {
    if (!IsRefusal(record.error(), Code::kStoreReadFailed)) return record.error();
    problem(fmt::format("is damaged: {}", RefusalText(record.error())));
    return {};
  }
  if (!*record) return {};  // deleted since it was found
  const BindingName named{{(*record)->tenant, (*record)->ns}, (*record)->name};
  if (named != name) problem(fmt::format("has the record of {}", ResourceName(named)));
  const Result<bool> listed = IsInSet(transaction, BindingIndexKey(name.ns), name.name);
  if (!listed.ok() && !IsRefusal(listed.error(), Code::kStoreReadFailed)) return listed.error();
  if (!listed.ok() || !*listed) problem("is not in the index");
  return {};
}

// Every name of an index has a record.
Result<size_t> CheckIndex(store::Transaction& transaction, const NamespaceName& ns,
                          Problems& problems) {
  const Result<std::vector<std::string>> names = NamesInSet(transaction, BindingIndexKey(ns));
  if (!names.ok() && IsRefusal(names.error(), Code::kStoreReadFailed)) {
    problems.push_back(std::string(RefusalText(names.error())));
    return size_t{0};
  }
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    CAIRN_ASSIGN_OR_RETURN(const data::Entry entry,
                           data::Entry::Load(transaction, kDatabase, BindingKey(ns, name)));
    if (!entry.exists()) {
      problems.push_back(fmt::format("the index of worker bindings has {}, which is not one",
                                     ResourceName(BindingName{ns, name})));
    }
  }
  return names->size();
}

Result<void> CheckTask(store::Transaction& transaction, const std::string& key,
                       Problems& problems) {
  CAIRN_ASSIGN_OR_RETURN(const data::Entry entry, data::Entry::Load(transaction, kDatabase, key));
  if (!entry.exists()) return {};
  if (!entry.expire_ms()) problems.push_back(fmt::format("the key {} never expires", key));
  const Result<std::optional<Bytes>> record = ReadString(transaction, key);
  if (!record.ok() && !IsRefusal(record.error(), Code::kStoreReadFailed)) return record.error();
  const Result<CadenceTask> task =
      record.ok() ? DecodeCadenceTask(record->value_or("")) : Result<CadenceTask>(record.error());
  if (task.ok()) return {};
  problems.push_back(fmt::format("the key {} is damaged: {}", key, RefusalText(task.error())));
  return {};
}

Result<void> CheckKey(store::Store& store, const std::string& key, const CadenceKeyParts& parts,
                      house::Verification& verification) {
  Problems problems;
  size_t rows = 1;
  const store::Scopes none;
  const auto check = [&](store::Transaction& transaction) -> Result<void> {
    problems.clear();
    switch (parts.kind) {
      case Kind::kIndex: {
        CAIRN_ASSIGN_OR_RETURN(rows, CheckIndex(transaction, parts.ns, problems));
        return {};
      }
      case Kind::kMeta:
        return CheckBinding(transaction, {parts.ns, parts.name}, problems);
      case Kind::kTask:
        return CheckTask(transaction, key, problems);
    }
    return {};
  };
  CAIRN_RETURN_IF_ERROR(store.RunRead(none, check));
  for (std::string& problem : problems) verification.Problem(std::move(problem));
  static_cast<void>(verification.Read(rows));
  return {};
}

}  // namespace

Result<void> VerifyBindings(store::Store& store, house::Verification& verification) {
  std::string from(kCadencePrefix);
  while (!verification.abandoned()) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<std::string> key, FirstKey(store, from));
    if (!key) return {};
    const std::optional<CadenceKeyParts> parts = ParseCadenceKey(*key);
    if (parts) {
      CAIRN_RETURN_IF_ERROR(CheckKey(store, *key, *parts, verification));
    } else {
      verification.Problem(
          fmt::format("the key {} is none of a worker binding or a task", Printable(*key)));
    }
    from = *key + '\0';
  }
  return {};
}

}  // namespace cairn::functions
