#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "base/result.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/instance.h"
#include "functions/control/context.h"
#include "functions/model/secrets.h"

// What commands of the control plane have in common: each is an operation in the transaction of its
// call, whose reply is JSON.
namespace cairn::functions {

// What handlers are made with. Outlives the commands.
struct CommandParts {
  const SecretKeys& secrets;
  Random& random;
};

Context ContextOf(doors::CommandContext& command, const CommandParts& parts);

// CS_VALIDATION_FAILED.
Error SyntaxError(std::string_view text = "syntax error");
// Refuses arguments that are more than the command takes, or less.
Result<void> FinishArguments(doors::ArgParser& parser);
// The number behind LIMIT, of a page.
Result<size_t> TakeLimit(doors::ArgParser& parser);

// An answer is the reply; so is a refusal, which has written nothing. What the store could not do
// is handed on.
Result<void> ReplyWith(doors::CommandContext& command, const Result<std::string>& answer);

// Adds rows with what they have in common.
class CommandRows {
 public:
  // Makes the reply.
  using Maker = std::function<Result<std::string>(Context&, doors::Args)>;

  CommandRows(doors::Instance& instance, CommandParts parts) : instance_(instance), parts_(parts) {}

  void AddContainer(doors::Command command);
  void AddRead(doors::Command command, Maker maker);
  void AddWrite(doors::Command command, doors::ScopeFunction add_scopes, Maker maker);

 private:
  void Add(doors::Command command, Maker maker);

  doors::Instance& instance_;
  const CommandParts parts_;
};

}  // namespace cairn::functions
