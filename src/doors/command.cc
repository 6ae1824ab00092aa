#include "doors/command.h"

#include <cstring>

namespace cairn::doors {
namespace {

// Calls visit(index) for each argument at the places of `spec`.
template <typename Visit>
void ForEachAt(const KeySpec& spec, Args args, Visit visit) {
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

void AddScopes(const Command& command, Args args, uint8_t db, store::Scopes& scopes,
               Bytes& scratch) {
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

}  // namespace cairn::doors
