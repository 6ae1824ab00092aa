#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doors/resp/acl_rules.h"
#include "doors/resp/command.h"
#include "doors/resp/command_table.h"

namespace cairn::doors {

class Instance;

// Why a nested command was not run. Nothing was replied.
enum class Refusal : uint8_t {
  kNone,
  kUnknown,     // no such command or subcommand
  kArity,       // the wrong number of arguments
  kNotAllowed,  // it concerns the connection, or its row says so
  kReadOnly,    // it may write, and the outer command must not
  kForbidden,   // the user may not call it
  kForbiddenKey,
  kForbiddenChannel,
};

struct NestedOptions {
  bool read_only = false;
};

// Calls commands of the table from inside another command, in the transaction of that command: a
// script, a function.
//
//   NestedCalls calls(instance, context, {.read_only = …});
//   CAIRN_ASSIGN_OR_RETURN(Refusal refusal, calls.Run(args, 2, reply));
//
// What the inner command touches must be covered by the outer one's scopes; where it is not, the
// outer command is run again under all scopes. Nested commands never block. SELECT changes the
// database of the calls that follow and of nothing else.
class NestedCalls {
 public:
  NestedCalls(Instance& instance, CommandContext& outer, NestedOptions options);

  // Appends the reply, in this version of the protocol, to `reply` unless it is refused. An Error
  // must be what the outer handler returns.
  Result<Refusal> Run(Args args, int protocol, std::string& reply);

  // Whether a command that may write has run.
  bool written() const { return written_; }

 private:
  Refusal Check(const CommandTable::Lookup& found, Args args);
  Refusal CheckAcl(const Command& command, Args args);
  bool IsCovered(const Call& call);
  void RememberReads(const Command& command, Args args);
  void RunHere(const Command& command, Args args, net::RespWriter reply);

  Instance& instance_;
  CommandContext& outer_;
  const NestedOptions options_;
  const std::shared_ptr<const AclRules> rules_;  // null: everything is allowed
  uint8_t db_;
  bool written_ = false;
  bool has_read_ = false;  // for a client that tracks

  std::vector<uint64_t> declared_;  // the outer command's scopes, sorted
  store::Scopes scopes_;
  Bytes scratch_;
};

}  // namespace cairn::doors
