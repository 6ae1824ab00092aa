#include "app/completion.h"

#include <fmt/format.h>

namespace cairn::app {
namespace {

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    text += word;
  }
  return text;
}

std::vector<std::string> CommandNames(const std::vector<CompletedCommand>& commands) {
  std::vector<std::string> names;
  for (const CompletedCommand& command : commands) names.push_back(command.name);
  return names;
}

// Everything but the fixed values: the options and argument words of one command.
std::string WordsOf(const CompletedCommand& command) {
  std::vector<std::string> words;
  for (const CompletedCommand::Option& option : command.options) words.push_back(option.flag);
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  return Joined(words);
}

// `text` inside single quotes of a shell.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string BashScript(const std::vector<CompletedCommand>& commands) {
  std::string values;
  std::string words;
  for (const CompletedCommand& command : commands) {
    for (const CompletedCommand::Option& option : command.options) {
      if (!option.takes_value) continue;
      const std::string choice = option.values.empty()
                                     ? "COMPREPLY=($(compgen -f -- \"$current\"))"
                                     : fmt::format("COMPREPLY=($(compgen -W {} -- \"$current\"))",
                                                   Quoted(Joined(option.values)));
      values += fmt::format("    {}:{}) {}; return ;;\n", command.name, option.flag, choice);
    }
    words += fmt::format("    {}) words={} ;;\n", command.name, Quoted(WordsOf(command)));
  }
  return fmt::format(R"(# bash completion for cairn:  source <(cairn completion bash)
_cairn() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  local command=${{COMP_WORDS[1]}} words
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W {} -- "$current"))
    return
  fi
  case $command:$previous in
{}  esac
  case $command in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -F _cairn cairn)",
                     Quoted(Joined(CommandNames(commands))), values, words);
}

// zsh runs bash's completions through its compatibility layer.
std::string ZshScript(const std::vector<CompletedCommand>& commands) {
  return "# zsh completion for cairn:  source <(cairn completion zsh)\n"
         "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n" +
         BashScript(commands);
}

std::string FishScript(const std::vector<CompletedCommand>& commands) {
  std::string script =
      "# fish completion for cairn:  cairn completion fish | source\ncomplete -c cairn -f\n";
  for (const CompletedCommand& command : commands) {
    script += fmt::format("complete -c cairn -n __fish_use_subcommand -a {} -d {}\n", command.name,
                          Quoted(command.description));
    const std::string when = Quoted("__fish_seen_subcommand_from " + command.name);
    for (const CompletedCommand::Option& option : command.options) {
      std::string value;
      if (!option.values.empty()) {
        value = " -x -a " + Quoted(Joined(option.values));
      } else if (option.takes_value) {
        value = " -r -F";
      }
      script += fmt::format("complete -c cairn -n {} -l {} -d {}{}\n", when, option.flag.substr(2),
                            Quoted(option.description), value);
    }
    if (!command.arguments.empty()) {
      script +=
          fmt::format("complete -c cairn -n {} -a {}\n", when, Quoted(Joined(command.arguments)));
    }
  }
  script.pop_back();
  return script;
}

}  // namespace

std::string CompletionScript(Shell shell, const std::vector<CompletedCommand>& commands) {
  switch (shell) {
    case Shell::kBash:
      return BashScript(commands);
    case Shell::kZsh:
      return ZshScript(commands);
    case Shell::kFish:
      return FishScript(commands);
  }
  return "";
}

}  // namespace cairn::app
