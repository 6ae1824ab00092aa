#include "doors/resp/command.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "doors/resp/arg_parser.h"

namespace cairn::doors {
namespace {

// The last place of a counted spec; one before the first if the number makes no sense.
int LastCounted(const KeySpec& spec, Args args) {
  const auto at = static_cast<size_t>(spec.first);
  if (at >= args.size()) return spec.first;
  const std::optional<int64_t> number = ParseInteger(args[at]);
  const auto rest = static_cast<int64_t>(args.size() - at - 1);
  if (!number || *number < 1 || *number > rest) return spec.first;
  return spec.first + static_cast<int>(*number);
}

// Calls visit(index) for each argument at the places of `spec`.
template <typename Visit>
void ForEachAt(const KeySpec& spec, Args args, Visit visit) {
  if (spec.search == KeySearch::kCounted) {
    const int last = LastCounted(spec, args);
    for (int i = spec.first + 1; i <= last; ++i) visit(static_cast<size_t>(i));
    return;
  }
  if (spec.search != KeySearch::kRange) return;
  const auto count = static_cast<int>(args.size());
  const int last = spec.last >= 0 ? spec.last : count + spec.last;
  for (int i = spec.first; i <= last && i < count; i += spec.step) visit(static_cast<size_t>(i));
}

// Calls visit(index) for each key that the fixed places name.
template <typename Visit>
void ForEachFixedKey(const Command& command, Args args, Visit visit) {
  for (const KeySpec& spec : command.keys) ForEachAt(spec, args, visit);
}

}  // namespace

std::vector<size_t> FindKeys(const Command& command, Args args) {
  std::vector<size_t> keys;
  // Specs that say of themselves that they do not tell all leave it to the command.
  const bool incomplete = std::ranges::any_of(
      command.keys, [](const KeySpec& spec) { return spec.access.ends_with("incomplete"); });
  if (incomplete && command.find_keys) return command.find_keys(args);
  for (const KeySpec& spec : command.keys) {
    if (spec.access == kNotAKey) continue;
    ForEachAt(spec, args, [&](size_t index) { keys.push_back(index); });
  }
  if (command.find_keys) {
    const std::vector<size_t> found = command.find_keys(args);
    keys.insert(keys.end(), found.begin(), found.end());
  }
  return keys;
}

namespace {

// SET reads only with GET; BITFIELD writes only with SET or INCRBY.
std::string_view VariableAccess(const Command& command, Args args) {
  const auto has = [&](std::string_view word, size_t from) {
    return std::any_of(args.begin() + static_cast<ptrdiff_t>(std::min(from, args.size())),
                       args.end(),
                       [&](std::string_view arg) { return EqualsIgnoreCase(arg, word); });
  };
  if (command.name == "set") return has("get", 3) ? "RW access update" : "OW update";
  return has("set", 2) || has("incrby", 2) ? "RW access update" : "RO access";
}

}  // namespace

std::vector<std::string_view> KeysIn(const Command& command, Args args) {
  std::vector<std::string_view> keys;
  for (const size_t index : FindKeys(command, args)) keys.push_back(args[index]);
  return keys;
}

bool NamesReadKeys(const Command& command) {
  return command.Has(kReadOnly) && !command.Has(kPubSub) && command.run &&
         (command.categories & kCategoryScripting) == 0;
}

std::string_view AccessOfKey(const Command& command, Args args, size_t index) {
  std::string_view access;
  for (const KeySpec& spec : command.keys) {
    if (spec.search == KeySearch::kKeyword || spec.search == KeySearch::kUnknown) {
      access = spec.access;  // if no other spec has it
      continue;
    }
    bool found = false;
    ForEachAt(spec, args, [&](size_t at) { found = found || at == index; });
    if (!found) continue;
    return spec.access.ends_with("variable_flags") ? VariableAccess(command, args) : spec.access;
  }
  return access;
}

void AddKeyScope(uint8_t db, BytesView key, store::Scopes& scopes, Bytes& scratch) {
  scratch.assign(1, static_cast<char>(db));
  scratch.append(key);
  scopes.Add(store::Space::kData, scratch);
}

store::Topic KeyTopic(uint8_t db, BytesView key) {
  Bytes name(1, static_cast<char>(db));
  name += key;
  return store::Topic::Of(store::Space::kData, name);
}

store::Topic ClearedTopic(uint8_t db) {
  // No key's topic begins so: databases have small numbers.
  const char name[] = {'\xff', static_cast<char>(db)};
  return store::Topic::Of(store::Space::kData, BytesView(name, sizeof(name)));
}

void AddScopes(const Call& call, uint8_t db, store::Scopes& scopes, Bytes& scratch) {
  if (call.request != nullptr) return call.request->AddScopes(db, scopes);
  const Command& command = call.command;
  const Args args = call.args;
  if (command.add_scopes) {
    command.add_scopes(args, db, scopes);
    return;
  }
  switch (command.scopes) {
    case ScopeRule::kNothing:
      return;
    case ScopeRule::kEverything:
      scopes.AddAll(store::Scopes::Exclusive());
      return;
    case ScopeRule::kKeys:
      break;
  }
  const auto add = [&](size_t index) { AddKeyScope(db, args[index], scopes, scratch); };
  ForEachFixedKey(command, args, add);
  if (command.find_keys) {
    for (const size_t index : command.find_keys(args)) add(index);
  }
}

OwnedArgs::OwnedArgs(Args args) {
  for (const std::string_view arg : args) size_ += arg.size();
  buffer_ = std::make_unique_for_overwrite<char[]>(size_);
  views_.reserve(args.size());
  char* at = buffer_.get();
  for (const std::string_view arg : args) {
    if (!arg.empty()) std::memcpy(at, arg.data(), arg.size());
    views_.emplace_back(at, arg.size());
    at += arg.size();
  }
}

Result<void> RunHandlerOf(CommandContext& context, const net::ReplyMeter& meter) {
  Result<void> result = context.command.run(context);
  if (meter.overrun()) return meter.error();
  return result;
}

bool ChangesOrTells(const Command& command) {
  const bool publishes = command.Has(kPubSub) && command.run && command.container == nullptr;
  // PFCOUNT may write its result down, in Redis.
  return command.Has(kWrite) || publishes || command.name == "pfcount";
}

}  // namespace cairn::doors
