#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "doors/resp/command.h"

namespace cairn::doors {

class AuditLog;

// All commands of the server. Filled at start by one thread, layer by layer; from then on it does
// not change and may be used from any thread. Rows keep their address.
class CommandTable {
 public:
  CommandTable();
  CommandTable(const CommandTable&) = delete;
  CommandTable& operator=(const CommandTable&) = delete;

  // A row that contradicts itself, or whose name is taken, is a bug of the caller and stops the
  // process. A container comes before its subcommands.
  void Add(Command command);
  void Add(std::span<const Command> commands);

  // From now on what audited rows write has its entry in the log, which outlives the table's use.
  // The table is complete. To say it twice is not an error.
  void SetAudit(AuditLog& log);

  // The command that a request calls, in any case of letters; for a container the subcommand that
  // args[1] names. Takes no memory.
  struct Lookup {
    const Command* command = nullptr;  // null: no such command
    bool unknown_subcommand = false;   // `command` is the container, which has no such subcommand
  };
  Lookup Find(Args args) const;
  // By its full name, "get" or "client|list"; null if there is none.
  const Command* FindByName(std::string_view full_name) const;

  // In the order in which they were added, subcommands excluded and included.
  const std::vector<const Command*>& commands() const { return top_level_; }
  size_t row_count() const { return rows_.size(); }
  const Command& row(size_t index) const { return rows_[index]; }

 private:
  struct Slot {
    uint32_t hash = 0;
    const Command* command = nullptr;
  };

  const Command* FindLowered(std::string_view name) const;
  void Insert(const Command& command);
  void Grow();

  std::deque<Command> rows_;
  bool audit_set_ = false;
  std::vector<const Command*> top_level_;
  std::vector<Slot> slots_;  // open addressing by the hash of the name; a power of two, half empty
};

// The words that COMMAND INFO shows.
std::vector<std::string_view> FlagNames(const Command& command);
std::vector<std::string_view> CategoryNames(const Command& command);  // "@string"

}  // namespace cairn::doors
