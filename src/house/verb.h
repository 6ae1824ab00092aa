#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "house/api_client.h"
#include "house/terminal.h"

// A verb is a command of the command line that a layer brings: `cairn jobs list`. It asks a running
// server. The row says what can be typed; help, completion and the errors about it are made of it.
//
//   {.name = "queues", .description = "List queues, pause, drain, limit or clear them",
//    .actions = {{"list"}, {"pause", "QUEUE", 1, 1}}, .initial_action = "list",
//    .options = {{.name = "wait", .value_name = "SECONDS", .description = "drain: wait so long",
//                 .kind = VerbOption::Kind::kNumber, .initial = 30, .least = 0, .most = 60}},
//    .run = Queues}
//
// Every verb also has --url, --ca, --config, --json and the settings http, password and
// password_file.
namespace cairn::house {

// The first word behind the verb.
struct VerbAction {
  static constexpr size_t kAny = std::numeric_limits<size_t>::max();

  std::string name;
  std::string arguments = {};  // as the help names them: "ID QUEUE"
  size_t least = 0;            // how many there must be
  size_t most = 0;
};

struct VerbOption {
  enum class Kind : uint8_t {
    kText,
    kList,    // may be given several times
    kNumber,  // whole
    kSwitch,  // takes no value
  };
  static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

  std::string name;        // --name
  std::string value_name;  // in the help; "a|b" also completes to a or b
  std::string description;
  Kind kind = Kind::kText;
  // Of a number. An initial value below the least means that nothing was given; any other is shown
  // in the help.
  int64_t initial = 0;
  int64_t least = 0;
  int64_t most = kUnbounded;
  char letter = 0;  // -l, a short form
};

// What somebody typed, complete and checked against the row.
struct VerbCall {
  std::string action;
  std::vector<std::string> arguments;
  bool json = false;  // print the result as JSON
  Environment environment = {};
  Result<ServerAccess> server;  // an error is fit for the command line
  const Terminal& terminal;
  std::map<std::string, std::string, std::less<>> texts = {};  // by the option's name
  std::map<std::string, std::vector<std::string>, std::less<>> lists = {};
  std::map<std::string, int64_t, std::less<>> numbers = {};
  std::map<std::string, bool, std::less<>> switches = {};

  // The value of an option that the row has; empty if it was not given.
  const std::string& Text(std::string_view option) const;
  const std::vector<std::string>& List(std::string_view option) const;
  int64_t Number(std::string_view option) const;
  bool Switch(std::string_view option) const;
};

struct Verb {
  std::string name;
  std::string description;
  std::string action_name = "action";    // in the help
  std::vector<VerbAction> actions = {};  // empty: it takes none
  std::string initial_action = {};       // where none is typed; empty: one must be
  std::vector<VerbOption> options = {};
  // Returns an exit code (terminal.h).
  std::function<int(const VerbCall& call)> run;

  // Whether something may be typed behind an action.
  bool takes_arguments() const;
  std::vector<std::string> ActionNames() const;
  std::string ActionsHelp() const;  // "list, pause QUEUE"
};

// A call without anything typed: every option of the row has its initial value.
VerbCall InitialCall(const Verb& verb, const Terminal& terminal);

// Runs it if the action and the number of its arguments are as the row says; complains if not.
int RunVerb(const Verb& verb, const VerbCall& call);

}  // namespace cairn::house
