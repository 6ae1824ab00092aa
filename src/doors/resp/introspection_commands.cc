#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "doors/resp/answer.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command_syntax.h"
#include "doors/resp/command_table.h"
#include "doors/resp/connection_commands.h"
#include "doors/resp/glob.h"
#include "doors/resp/instance.h"

// COMMAND and its subcommands, and every container's HELP: what the table says about itself.
namespace cairn::doors {
namespace {

void WriteSet(net::RespWriter& reply, const std::vector<std::string_view>& words) {
  reply.SetHeader(words.size());
  for (const std::string_view word : words) reply.Simple(word);
}

// --- COMMAND INFO -------------------------------------------------------------------------------

struct LegacyKeys {
  int first = 0;
  int last = 0;
  int step = 0;
};

LegacyKeys LegacyKeysOf(const Command& command) {
  LegacyKeys keys;
  for (const KeySpec& spec : command.keys) {
    if (spec.search != KeySearch::kRange) break;
    if (keys.step == 0) keys = {spec.first, spec.last, spec.step};
    keys.last = spec.last;
  }
  return keys;
}

using Numbers = std::initializer_list<std::pair<std::string_view, int64_t>>;

void WriteSearch(net::RespWriter& reply, std::string_view type, Numbers spec) {
  reply.MapHeader(2);
  reply.Bulk("type");
  reply.Bulk(type);
  reply.Bulk("spec");
  reply.MapHeader(spec.size());
  for (const auto& [name, number] : spec) {
    reply.Bulk(name);
    reply.Integer(number);
  }
}

// Where the keys begin: at a place, or behind a word.
void WriteBeginSearch(net::RespWriter& reply, const KeySpec& spec) {
  if (spec.search == KeySearch::kUnknown) return WriteSearch(reply, "unknown", {});
  if (spec.search != KeySearch::kKeyword)
    return WriteSearch(reply, "index", {{"index", spec.first}});
  reply.MapHeader(2);
  reply.Bulk("type");
  reply.Bulk("keyword");
  reply.Bulk("spec");
  reply.MapHeader(2);
  reply.Bulk("keyword");
  reply.Bulk(spec.keyword);
  reply.Bulk("startfrom");
  reply.Integer(spec.first);
}

// Which of the arguments from there on they are.
void WriteFindKeys(net::RespWriter& reply, const KeySpec& spec) {
  if (spec.search == KeySearch::kUnknown) return WriteSearch(reply, "unknown", {});
  if (spec.search == KeySearch::kCounted) {
    return WriteSearch(reply, "keynum",
                       {{"keynumidx", 0}, {"firstkey", 1}, {"keystep", spec.step}});
  }
  const bool relative = spec.last < 0 || spec.search == KeySearch::kKeyword;
  WriteSearch(reply, "range",
              {{"lastkey", relative ? spec.last : spec.last - spec.first},
               {"keystep", spec.step},
               {"limit", spec.limit}});
}

void WriteKeySpec(net::RespWriter& reply, const KeySpec& spec) {
  reply.MapHeader(3);
  reply.Bulk("flags");
  WriteSet(reply, SplitWords(spec.access));
  reply.Bulk("begin_search");
  WriteBeginSearch(reply, spec);
  reply.Bulk("find_keys");
  WriteFindKeys(reply, spec);
}

void WriteInfo(net::RespWriter& reply, const Command& command) {
  const LegacyKeys keys = LegacyKeysOf(command);
  reply.ArrayHeader(10);
  reply.Bulk(command.name);
  reply.Integer(command.arity);
  WriteSet(reply, FlagNames(command));
  reply.Integer(keys.first);
  reply.Integer(keys.last);
  reply.Integer(keys.step);
  WriteSet(reply, CategoryNames(command));
  reply.SetHeader(command.tips.size());
  for (const std::string_view tip : command.tips) reply.Bulk(tip);
  reply.SetHeader(command.keys.size());
  for (const KeySpec& spec : command.keys) WriteKeySpec(reply, spec);
  reply.SetHeader(command.subcommands.size());
  for (const Command* subcommand : command.subcommands) WriteInfo(reply, *subcommand);
}

void WriteAllInfo(AnswerContext& context, const CommandTable& table) {
  const auto& commands = table.commands();
  context.reply.ArrayHeader(commands.size());
  for (const Command* command : commands) WriteInfo(context.reply, *command);
}

void CommandInfo(AnswerContext& context, const CommandTable& table) {
  const Args names = context.args.subspan(2);
  if (names.empty()) return WriteAllInfo(context, table);
  context.reply.ArrayHeader(names.size());
  for (const std::string_view name : names) {
    if (const Command* command = table.FindByName(name)) {
      WriteInfo(context.reply, *command);
    } else {
      context.reply.Null();
    }
  }
}

// --- COMMAND DOCS -------------------------------------------------------------------------------

void WriteArgument(net::RespWriter& reply, const SyntaxArgument& argument, int& keys_seen) {
  const bool is_key = argument.type == "key";
  const bool has_flags = argument.optional || argument.multiple;
  reply.MapHeader(2U + (is_key ? 1 : 0) + (argument.token.empty() ? 0 : 1) + (has_flags ? 1 : 0) +
                  (argument.arguments.empty() ? 0 : 1));
  reply.Bulk("name");
  reply.Bulk(argument.name);
  reply.Bulk("type");
  reply.Bulk(argument.type);
  if (is_key) {
    reply.Bulk("key_spec_index");
    reply.Integer(keys_seen++);
  }
  if (!argument.token.empty()) {
    reply.Bulk("token");
    reply.Bulk(argument.token);
  }
  if (has_flags) {
    std::vector<std::string_view> flags;
    if (argument.optional) flags.push_back("optional");
    if (argument.multiple) flags.push_back("multiple");
    reply.Bulk("flags");
    WriteSet(reply, flags);
  }
  if (!argument.arguments.empty()) {
    reply.Bulk("arguments");
    reply.ArrayHeader(argument.arguments.size());
    for (const SyntaxArgument& part : argument.arguments) WriteArgument(reply, part, keys_seen);
  }
}

void WriteDocs(net::RespWriter& reply, const Command& command) {
  const bool deprecated = !command.deprecated_since.empty();
  const auto arguments = ParseSyntax(command.syntax);  // the table has checked that it parses
  std::vector<std::pair<std::string_view, std::string_view>> texts = {
      {"summary", command.summary}, {"since", command.since}, {"group", command.group}};
  if (!command.complexity.empty()) texts.emplace_back("complexity", command.complexity);
  if (deprecated) texts.emplace_back("deprecated_since", command.deprecated_since);
  if (deprecated) texts.emplace_back("replaced_by", command.replaced_by);

  reply.Bulk(command.name);
  reply.MapHeader(texts.size() + (deprecated ? 1 : 0) + (arguments->empty() ? 0 : 1) +
                  (command.subcommands.empty() ? 0 : 1));
  for (const auto& [name, text] : texts) {
    reply.Bulk(name);
    reply.Bulk(text);
  }
  if (deprecated) {
    reply.Bulk("doc_flags");
    WriteSet(reply, {"deprecated"});
  }
  if (!arguments->empty()) {
    int keys_seen = 0;
    reply.Bulk("arguments");
    reply.ArrayHeader(arguments->size());
    for (const SyntaxArgument& argument : *arguments) WriteArgument(reply, argument, keys_seen);
  }
  if (!command.subcommands.empty()) {
    reply.Bulk("subcommands");
    reply.MapHeader(command.subcommands.size());
    for (const Command* subcommand : command.subcommands) WriteDocs(reply, *subcommand);
  }
}

void CommandDocs(AnswerContext& context, const CommandTable& table) {
  std::vector<const Command*> found;
  if (context.args.size() == 2) {
    found = table.commands();
  } else {
    for (const std::string_view name : context.args.subspan(2)) {
      if (const Command* command = table.FindByName(name)) found.push_back(command);
    }
  }
  context.reply.MapHeader(found.size());
  for (const Command* command : found) WriteDocs(context.reply, *command);
}

// --- COMMAND COUNT, LIST, GETKEYS ---------------------------------------------------------------

void CommandCount(AnswerContext& context, const CommandTable& table) {
  context.reply.Integer(static_cast<int64_t>(table.commands().size()));
}

void CommandList(AnswerContext& context, const CommandTable& table) {
  std::string_view category;
  std::string_view pattern = "*";
  bool from_module = false;
  ArgParser parser(context.args, 2);
  if (parser.remaining() == 3 && parser.Keyword("FILTERBY")) {
    if (parser.Keyword("ACLCAT")) {
      category = parser.Next();
    } else if (parser.Keyword("PATTERN")) {
      pattern = parser.Next();
    } else if (parser.Keyword("MODULE")) {
      from_module = true;  // none has modules
      parser.Next();
    }
  }
  if (!parser.Finish()) return context.Fail(parser.error());
  std::vector<std::string_view> names;
  for (size_t i = 0; i < table.row_count(); ++i) {
    const Command& command = table.row(i);
    const bool in_category =
        category.empty() || std::ranges::any_of(CategoryNames(command), [&](std::string_view name) {
          return EqualsIgnoreCase(name.substr(1), category);
        });
    if (!from_module && in_category && GlobMatch(pattern, command.name)) {
      names.push_back(command.name);
    }
  }
  context.reply.ArrayHeader(names.size());
  for (const std::string_view name : names) context.reply.Bulk(name);
}

// The command that the rest of the arguments call, and its keys; null when it has replied.
const Command* FindCalled(AnswerContext& context, const CommandTable& table,
                          std::vector<size_t>& keys) {
  const Args call = context.args.subspan(2);
  const CommandTable::Lookup found = table.Find(call);
  if (found.command == nullptr || found.unknown_subcommand) {
    context.Fail("ERR Invalid command specified");
    return nullptr;
  }
  if (found.command->keys.empty() && !found.command->find_keys) {
    context.Fail("ERR The command has no key arguments");
    return nullptr;
  }
  if (!found.command->AcceptsArity(call.size())) {
    context.Fail("ERR Invalid number of arguments specified for command");
    return nullptr;
  }
  keys = FindKeys(*found.command, call);
  if (keys.empty() && !found.command->Has(kNoMandatoryKeys)) {
    context.Fail("ERR Invalid arguments specified for command");
    return nullptr;
  }
  return found.command;
}

void CommandGetKeys(AnswerContext& context, const CommandTable& table) {
  std::vector<size_t> keys;
  if (FindCalled(context, table, keys) == nullptr) return;
  context.reply.ArrayHeader(keys.size());
  for (const size_t key : keys) context.reply.Bulk(context.args[2 + key]);
}

void CommandGetKeysAndFlags(AnswerContext& context, const CommandTable& table) {
  std::vector<size_t> keys;
  const Command* command = FindCalled(context, table, keys);
  if (command == nullptr) return;
  context.reply.ArrayHeader(keys.size());
  for (const size_t key : keys) {
    context.reply.ArrayHeader(2);
    context.reply.Bulk(context.args[2 + key]);
    WriteSet(context.reply, SplitWords(AccessOfKey(*command, context.args.subspan(2), key)));
  }
}

// HELP lines: the container, then each subcommand with its arguments and what it does.
void Help(AnswerContext& context) {
  const Command& container = *context.command.container;
  const auto upper = [](std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::toupper(c); });
    return result;
  };
  std::vector<std::string> lines = {
      fmt::format("{} <subcommand> [<arg> ...]. Subcommands are:", upper(container.name))};
  for (const Command* subcommand : container.subcommands) {
    std::string line = upper(subcommand->name.substr(container.name.size() + 1));
    if (!subcommand->syntax.empty()) line += " " + SyntaxForPeople(subcommand->syntax);
    lines.push_back(std::move(line));
    lines.push_back(fmt::format("    {}", subcommand->summary));
  }
  context.reply.ArrayHeader(lines.size());
  for (const std::string& line : lines) context.reply.Simple(line);
}

constexpr uint32_t kFlags = kLoading | kStale;

}  // namespace

Command HelpRow(std::string_view name, uint32_t categories, std::string_view group,
                std::string_view since) {
  return {.name = name,
          .arity = 2,
          .flags = kFlags,
          .categories = categories,
          .scopes = ScopeRule::kNothing,
          .group = group,
          .since = since,
          .complexity = "O(1)",
          .summary = "Lists the subcommands.",
          .run = Answering(Help)};
}

void AddIntrospectionCommands(Instance& instance) {
  struct Row {
    std::string_view name;
    int arity;
    std::string_view since;
    std::string_view summary;
    std::string_view syntax;
    void (*answer)(AnswerContext&, const CommandTable&);
    std::vector<std::string_view> tips;
  };
  const std::vector<std::string_view> unordered = {"nondeterministic_output_order"};
  const Row kRows[] = {
      {"command", -1, "2.8.13", "Describes all commands.", "", WriteAllInfo, unordered},
      {"command|count", 2, "2.8.13", "Tells how many commands there are.", "", CommandCount, {}},
      {"command|info", -2, "2.8.13", "Describes commands for programs.", "[command-name ...]",
       CommandInfo, unordered},
      {"command|docs", -2, "7.0.0", "Describes commands for people.", "[command-name ...]",
       CommandDocs, unordered},
      {"command|list", -2, "7.0.0", "Lists the names of commands.",
       "[FILTERBY (MODULE module-name | ACLCAT category | PATTERN pattern:pattern)]", CommandList,
       unordered},
      {"command|getkeys",
       -4,
       "2.8.13",
       "Finds the keys in a command.",
       "command [arg ...]",
       CommandGetKeys,
       {}},
      {"command|getkeysandflags",
       -4,
       "7.0.0",
       "Finds the keys in a command and what it does to them.",
       "command [arg ...]",
       CommandGetKeysAndFlags,
       {}},
  };
  CommandTable& table = instance.commands();
  for (const Row& row : kRows) {
    table.Add({.name = row.name,
               .arity = row.arity,
               .flags = kFlags,
               .categories = kCategoryConnection,
               .scopes = ScopeRule::kNothing,
               .group = "server",
               .since = row.since,
               .complexity = "O(N) for N commands",
               .summary = row.summary,
               .syntax = row.syntax,
               .tips = row.tips,
               .run = Answering([answer = row.answer, &table](AnswerContext& context) {
                 answer(context, table);
               })});
  }
  table.Add(HelpRow("command|help", kCategoryConnection, "server", "5.0.0"));
}

}  // namespace cairn::doors
