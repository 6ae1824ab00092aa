#include "house/verb.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.h"
#include "house/nearest.h"

namespace cairn::house {
namespace {

template <typename Value>
const Value& Find(const std::map<std::string, Value, std::less<>>& values,
                  std::string_view option) {
  const auto found = values.find(option);
  CAIRN_CHECK(found != values.end(), "the verb has no option --{} of this kind", option);
  return found->second;
}

// One that is the only one needs no word for what it is.
std::string UnknownAction(const Verb& verb, const std::string& given) {
  const std::vector<std::string> names = verb.ActionNames();
  if (names.size() == 1) {
    return fmt::format("{}: unknown '{}'; there is: {}", verb.name, given, names.front());
  }
  return fmt::format("{}: unknown action '{}'{}", verb.name, given, DidYouMean(given, names));
}

}  // namespace

const std::string& VerbCall::Text(std::string_view option) const { return Find(texts, option); }
const std::vector<std::string>& VerbCall::List(std::string_view option) const {
  return Find(lists, option);
}
int64_t VerbCall::Number(std::string_view option) const { return Find(numbers, option); }
bool VerbCall::Switch(std::string_view option) const { return Find(switches, option); }

bool Verb::takes_arguments() const {
  return std::ranges::any_of(actions, [](const VerbAction& action) { return action.most > 0; });
}

std::vector<std::string> Verb::ActionNames() const {
  std::vector<std::string> names;
  for (const VerbAction& action : actions) names.push_back(action.name);
  return names;
}

std::string Verb::ActionsHelp() const {
  std::vector<std::string> words;
  for (const VerbAction& action : actions) {
    words.push_back(action.arguments.empty() ? action.name
                                             : fmt::format("{} {}", action.name, action.arguments));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

VerbCall InitialCall(const Verb& verb, const Terminal& terminal) {
  VerbCall call{.action = verb.initial_action,
                .arguments = {},
                .server = Error{ErrorCode::kInvalid, "no server is named"},
                .terminal = terminal};
  for (const VerbOption& option : verb.options) {
    switch (option.kind) {
      case VerbOption::Kind::kText:
        call.texts[option.name];
        break;
      case VerbOption::Kind::kList:
        call.lists[option.name];
        break;
      case VerbOption::Kind::kNumber:
        call.numbers[option.name] = option.initial;
        break;
      case VerbOption::Kind::kSwitch:
        call.switches[option.name] = false;
        break;
    }
  }
  return call;
}

int RunVerb(const Verb& verb, const VerbCall& call) {
  if (verb.actions.empty()) return verb.run(call);
  const auto action = std::ranges::find(verb.actions, call.action, &VerbAction::name);
  if (action == verb.actions.end()) {
    call.terminal.Complain(UnknownAction(verb, call.action));
    return kExitUsage;
  }
  if (call.arguments.size() < action->least || call.arguments.size() > action->most) {
    call.terminal.Complain(
        fmt::format("usage: cairn {} {} {}", verb.name, action->name, action->arguments));
    return kExitUsage;
  }
  return verb.run(call);
}

}  // namespace cairn::house
