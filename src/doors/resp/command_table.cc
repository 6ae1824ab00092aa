#include "doors/resp/command_table.h"

#include <array>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "doors/access/limits.h"
#include "doors/resp/command_audit.h"
#include "doors/resp/command_syntax.h"

namespace cairn::doors {
namespace {

struct NamedBit {
  uint32_t bit;
  std::string_view name;
};

constexpr NamedBit kFlagNames[] = {
    {kWrite, "write"},
    {kReadOnly, "readonly"},
    {kDenyOom, "denyoom"},
    {kAdmin, "admin"},
    {kPubSub, "pubsub"},
    {kNoScript, "noscript"},
    {kBlocking, "blocking"},
    {kLoading, "loading"},
    {kStale, "stale"},
    {kSkipSlowLog, "skip_slowlog"},
    {kFast, "fast"},
    {kNoAuth, "no_auth"},
    {kNoAsyncLoading, "no_async_loading"},
    {kNoMulti, "no_multi"},
    {kAllowBusy, "allow_busy"},
    {kNoMandatoryKeys, "no_mandatory_keys"},
    {kMovableKeys, "movablekeys"},
};

// Lower-cases up to kMaxCommandName bytes into a buffer of its own.
class LoweredName {
 public:
  explicit LoweredName(std::string_view name) { Append(name); }

  void Append(std::string_view text) {
    if (text.size() > buffer_.size() - size_) {
      too_long_ = true;
      return;
    }
    for (const char c : text) {
      buffer_[size_++] = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    }
  }
  // Empty, which no command is called, if it did not fit.
  std::string_view view() const {
    return too_long_ ? std::string_view() : std::string_view(buffer_.data(), size_);
  }

 private:
  std::array<char, kMaxCommandName> buffer_;
  size_t size_ = 0;
  bool too_long_ = false;
};

uint32_t HashName(std::string_view name) { return static_cast<uint32_t>(Hash64(name)); }

void CheckRow(const Command& command) {
  const int handlers =
      (command.run ? 1 : 0) + (command.connection ? 1 : 0) + (command.prepare ? 1 : 0);
  CAIRN_CHECK(handlers <= 1, "{}: one handler", command.name);
  CAIRN_CHECK(!command.name.empty() && command.name.size() <= kMaxCommandName, "{}", command.name);
  CAIRN_CHECK(LoweredName(command.name).view() == command.name, "{}: lower case", command.name);
  CAIRN_CHECK(command.arity != 0, "{}: arity", command.name);
  CAIRN_CHECK(!command.summary.empty() && !command.group.empty() && !command.since.empty(),
              "{}: summary, group, since", command.name);
  CAIRN_CHECK(!(command.Has(kWrite) && command.Has(kReadOnly)), "{}: flags", command.name);
  CAIRN_CHECK(!command.Has(kWrite) || command.run, "{}: writes outside a transaction",
              command.name);
  CAIRN_CHECK(!command.parse || (command.run && !command.add_scopes),
              "{}: a row with a request has a handler for it, and no other scopes", command.name);
  CAIRN_CHECK(command.unaudited.empty() || !command.audited, "{}: audited or not", command.name);
  CAIRN_CHECK(ParseSyntax(command.syntax).ok(), "{}: syntax: {}", command.name,
              ParseSyntax(command.syntax).error().message);
}

}  // namespace

CommandTable::CommandTable() : slots_(64) {}

void CommandTable::Add(std::span<const Command> commands) {
  for (const Command& command : commands) Add(command);
}

void CommandTable::Add(Command command) {
  CheckRow(command);
  CAIRN_CHECK(FindLowered(command.name) == nullptr, "command {} is there twice", command.name);
  command.index = static_cast<uint32_t>(rows_.size());
  command.is_audited = IsAudited(command);
  Command& row = rows_.emplace_back(std::move(command));
  if (const size_t bar = row.name.find('|'); bar != std::string_view::npos) {
    const Command* container = FindLowered(row.name.substr(0, bar));
    CAIRN_CHECK(container != nullptr, "{} comes before its container", row.name);
    row.container = container;
    rows_[container->index].subcommands.push_back(&row);
  } else {
    top_level_.push_back(&row);
  }
  if (rows_.size() * 2 > slots_.size()) Grow();
  Insert(row);
}

void CommandTable::SetAudit(AuditLog& log) {
  if (std::exchange(audit_set_, true)) return;
  for (Command& row : rows_) {
    if (row.is_audited && AuditsInTransaction(row)) row.run = WithAudit(std::move(row.run), log);
  }
}

void CommandTable::Insert(const Command& command) {
  const uint32_t hash = HashName(command.name);
  size_t at = hash & (slots_.size() - 1);
  while (slots_[at].command != nullptr) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {hash, &command};
}

void CommandTable::Grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
  for (const Slot& slot : old) {
    if (slot.command != nullptr) Insert(*slot.command);
  }
}

const Command* CommandTable::FindLowered(std::string_view name) const {
  const uint32_t hash = HashName(name);
  for (size_t at = hash & (slots_.size() - 1); slots_[at].command != nullptr;
       at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].hash == hash && slots_[at].command->name == name) return slots_[at].command;
  }
  return nullptr;
}

CommandTable::Lookup CommandTable::Find(Args args) const {
  LoweredName name(args[0]);
  const Command* command = FindLowered(name.view());
  // "client|list" in one word is no command's name to a client.
  if (command == nullptr || command->container != nullptr) return {};
  if (command->subcommands.empty() || args.size() == 1) return {command};
  name.Append("|");
  name.Append(args[1]);
  const Command* subcommand = FindLowered(name.view());
  if (subcommand == nullptr) return {command, /*unknown_subcommand=*/true};
  return {subcommand};
}

const Command* CommandTable::FindByName(std::string_view full_name) const {
  return FindLowered(LoweredName(full_name).view());
}

std::vector<std::string_view> FlagNames(const Command& command) {
  std::vector<std::string_view> names;
  for (const NamedBit& flag : kFlagNames) {
    if ((command.flags & flag.bit) != 0) names.push_back(flag.name);
  }
  return names;
}

std::vector<std::string_view> CategoryNames(const Command& command) {
  const uint32_t categories = command.categories;
  const bool admin = command.Has(kAdmin) || (categories & kCategoryAdmin) != 0;
  const bool dangerous = admin || (categories & kCategoryDangerous) != 0;
  std::vector<std::string_view> names;
  const auto add = [&](bool has, std::string_view name) {
    if (has) names.push_back(name);
  };
  add((categories & kCategoryKeyspace) != 0, "@keyspace");
  // What a script does is checked as it does it: neither is of those that run one.
  const bool script = (categories & kCategoryScripting) != 0 && command.Has(kMovableKeys);
  add(command.Has(kReadOnly) && !script, "@read");
  add(command.Has(kWrite) && !script, "@write");
  add((categories & kCategorySet) != 0, "@set");
  add((categories & kCategorySortedSet) != 0, "@sortedset");
  add((categories & kCategoryList) != 0, "@list");
  add((categories & kCategoryHash) != 0, "@hash");
  add((categories & kCategoryString) != 0, "@string");
  add((categories & kCategoryBitmap) != 0, "@bitmap");
  add((categories & kCategoryHyperLogLog) != 0, "@hyperloglog");
  add((categories & kCategoryGeo) != 0, "@geo");
  add((categories & kCategoryStream) != 0, "@stream");
  add(command.Has(kPubSub) || (categories & kCategoryPubSub) != 0, "@pubsub");
  add(admin, "@admin");
  add(command.Has(kFast), "@fast");
  add(!command.Has(kFast), "@slow");
  add(command.Has(kBlocking), "@blocking");
  add(dangerous, "@dangerous");
  add((categories & kCategoryConnection) != 0, "@connection");
  add((categories & kCategoryTransaction) != 0, "@transaction");
  add((categories & kCategoryScripting) != 0, "@scripting");
  return names;
}

}  // namespace cairn::doors
