#include "app/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "app/backup.h"
#include "app/completion.h"
#include "app/doctor.h"
#include "app/layers.h"
#include "app/migrate.h"
#include "app/report.h"
#include "app/serve.h"
#include "app/server_access.h"
#include "app/verify.h"
#include "base/check.h"
#include "house/declarations.h"
#include "house/nearest.h"
#include "house/terminal.h"
#include "house/verb.h"

namespace cairn::app {
namespace {

// A word behind a command's name is what somebody typed, byte for byte. CLI11 would take [1,2] for
// a list of two, and a queue called `backup` for the command of this name; so such words pass
// through it behind a zero byte, which no word can hold, and options take it off again.
constexpr char kWord = '\0';

void GuardWords(std::vector<std::string>& args) {
  const auto is_option = [](const std::string& word) { return word.starts_with('-'); };
  auto word = std::ranges::find_if_not(args, is_option);  // the command
  if (word == args.end()) return;
  for (++word; word != args.end(); ++word) {
    if (!is_option(*word)) word->insert(word->begin(), kWord);
  }
}

std::string BareWord(std::string word) {
  if (word.starts_with(kWord)) word.erase(word.begin());
  return word;
}

// Everything that flags can say. Each command fills what it has flags for.
struct Given {
  std::map<std::string, std::string> settings;  // by setting name
  std::optional<std::string> config_file;
  bool json = false;

  std::string ready_file;  // serve
  bool markdown = false;   // config
  bool verify = false;     // doctor
  BackupOptions backup;
  std::string restore_from;
  MigrateOptions migrate;
  VerifyOptions verification;
  std::string url;  // of the server that a verb asks
  std::string ca_file;
  std::string shell;
};

// The commands that no layer brings.
const std::vector<std::string>& OwnCommands() {
  static const std::vector<std::string> names = {"help",    "serve",     "config",  "doctor",
                                                 "verify",  "backup",    "restore", "migrate",
                                                 "version", "completion"};
  return names;
}

class CommandLine {
 public:
  explicit CommandLine(const Environment& environment)
      : environment_(environment),
        terminal_(environment),
        layers_(MakeLayers()),
        declarations_(layers_, {.flags = OwnFlags(), .verbs = OwnCommands()}) {
    root_.allow_extras();  // unknown words are ours to report, with a suggestion
    root_.set_help_flag("-h,--help", "Show what can be given here");
    root_.set_version_flag(
        "--version", [] { return VersionLine(); }, "Show the version");
    root_.get_formatter()->column_width(34);
    root_.get_formatter()->label("SUBCOMMAND", "COMMAND");
    root_.footer("`cairn COMMAND --help` tells more about one command.");
    AddServe();
    AddConfig();
    AddDoctor();
    AddVerify();
    AddBackup();
    AddRestore();
    AddMigrate();
    for (const house::Verb& verb : declarations_.verbs()) AddVerb(verb);
    AddVersion();
    AddCompletion();
    for (auto& [command, action] : actions_) {
      for (CLI::Option* option : command->get_options()) option->transform(BareWord);
    }
  }

  int Run(std::vector<std::string> args) {
    if (declarations_.collision()) {
      terminal_.Complain(declarations_.collision()->message);
      return house::kExitFailure;
    }
    if (args.empty()) args = {"--help"};
    if (args[0] == "help") {  // `cairn help serve` is `cairn serve --help`
      args.erase(args.begin());
      args.emplace_back("--help");
    }
    GuardWords(args);
    std::ranges::reverse(args);  // CLI11 takes them from the back
    try {
      root_.parse(args);
    } catch (const CLI::Success& request) {  // --help, --version
      return root_.exit(request);
    } catch (const CLI::ParseError& error) {
      return Refuse(error.what());
    }
    if (const std::optional<std::string> unknown = FindUnknown()) return Refuse(*unknown);
    for (auto& [command, action] : actions_) {
      if (command->parsed()) return action();
    }
    return Refuse("name a command");
  }

 private:
  using Action = std::function<int()>;

  CLI::App* AddOwnCommand(const std::string& name, const std::string& description, Action action) {
    CAIRN_CHECK(std::ranges::find(OwnCommands(), name) != OwnCommands().end(), "{}", name);
    return AddCommand(name, description, std::move(action));
  }

  CLI::App* AddCommand(const std::string& name, const std::string& description, Action action) {
    CLI::App* command = root_.add_subcommand(name, description);
    command->group("Commands")->footer("");
    actions_.emplace_back(command, std::move(action));
    return command;
  }

  void AddJson(CLI::App* command) {
    command->add_flag("--json", given_.json, "Print the result as JSON");
  }

  void AddConfigFile(CLI::App* command) {
    command
        ->add_option_function<std::string>(
            "--config", [this](const std::string& path) { given_.config_file = path; },
            "Read settings from this TOML file (environment: CAIRN_CONFIG)")
        ->type_name("FILE");
  }

  void AddSetting(CLI::App* command, const house::Setting& setting) {
    const auto keep = [this, name = setting.name](const std::string& value) {
      given_.settings[name] = value;
    };
    const std::string description =
        setting.default_text.empty() || setting.kind == Setting::Kind::kSwitch
            ? setting.description
            : fmt::format("{} (default: {})", setting.description, setting.default_text);
    CLI::Option* option = nullptr;
    if (setting.kind == Setting::Kind::kSwitch) {
      option = command->add_flag_function(
          setting.flag(), [keep](int64_t count) { keep(count > 0 ? "true" : "false"); },
          description);
    } else {
      option = command->add_option_function<std::string>(setting.flag(), keep, description)
                   ->type_name(setting.value_name);
    }
    option->group("Settings");
  }

  void AddSettings(CLI::App* command) {
    for (const Setting& setting : Settings()) AddSetting(command, setting);
  }

  void AddServe() {
    CLI::App* serve =
        AddOwnCommand("serve", "Serve a data directory until SIGTERM or SIGINT", [this] {
          const LoadedConfig loaded = Load(Purpose::kServe);
          if (Complain(loaded)) return int{house::kExitUsage};
          return Serve(loaded.config, {.ready_file = given_.ready_file}, terminal_);
        });
    AddConfigFile(serve);
    serve
        ->add_option("--ready-file", given_.ready_file,
                     "Write the real addresses to this file, as JSON, once everything listens")
        ->type_name("FILE");
    AddSettings(serve);
  }

  void AddConfig() {
    CLI::App* config =
        AddOwnCommand("config", "Show the settings in force and where each came from", [this] {
          if (given_.markdown) {
            terminal_.Print(SettingsMarkdown());
            return int{house::kExitOk};
          }
          const LoadedConfig loaded = Load(Purpose::kServe);
          PrintConfig(loaded, given_.json, terminal_);
          return Complain(loaded) ? int{house::kExitUsage} : int{house::kExitOk};
        });
    AddConfigFile(config);
    AddJson(config);
    config->add_flag("--markdown", given_.markdown, "Print the reference of all settings instead");
    AddSettings(config);
  }

  void AddDoctor() {
    CLI::App* doctor = AddOwnCommand(
        "doctor", "Explain what is wrong with a configuration or a data directory", [this] {
          const std::vector<Finding> findings =
              Examine(Load(Purpose::kServe), layers_, declarations_, {.verify = given_.verify},
                      SystemClock());
          PrintFindings(findings, given_.json, terminal_);
          return HasProblem(findings) ? int{house::kExitFailure} : int{house::kExitOk};
        });
    AddConfigFile(doctor);
    AddJson(doctor);
    doctor->add_flag("--verify", given_.verify, "Read all data and check it against its checksums");
    AddSettings(doctor);
  }

  void AddVerify() {
    CLI::App* verify = AddOwnCommand(
        "verify", "Check that everything stored agrees with itself, layer by layer", [this] {
          const LoadedConfig loaded = Load(Purpose::kOther);
          if (Complain(loaded)) return int{house::kExitUsage};
          given_.verification.json = given_.json;
          return Verify(loaded.config, layers_, declarations_, given_.verification, terminal_);
        });
    verify
        ->add_option("--url", given_.verification.url,
                     "Ask the server at this address to verify its store while it runs")
        ->type_name("URL");
    verify
        ->add_option("--ca", given_.verification.ca_file,
                     "Trust this authority for an https URL (PEM)")
        ->type_name("FILE");
    AddConfigFile(verify);
    AddJson(verify);
    for (const char* name : {"data", "store", "memory", "password", "password_file",
                             "postgres.schema", "postgres.mode", "postgres.statement_timeout"}) {
      AddSetting(verify, *FindSetting(name));
    }
    // What is checked may depend on them: under which keys a layer looks.
    for (const house::Setting& setting : declarations_.settings()) AddSetting(verify, setting);
  }

  void AddBackup() {
    CLI::App* backup = AddOwnCommand(
        "backup", "Copy the data into a new directory, while the server runs or not", [this] {
          const LoadedConfig loaded = Load(Purpose::kOther);
          if (Complain(loaded)) return int{house::kExitUsage};
          given_.backup.json = given_.json;
          return Backup(loaded.config, given_.backup, terminal_);
        });
    backup->add_option("--to", given_.backup.to, "Where the backup goes; must not exist")
        ->type_name("DIR")
        ->required();
    backup
        ->add_option("--url", given_.backup.url,
                     "Ask the server at this address, which writes the backup on its machine")
        ->type_name("URL");
    backup->add_option("--ca", given_.backup.ca_file, "Trust this authority for an https URL (PEM)")
        ->type_name("FILE");
    AddConfigFile(backup);
    AddJson(backup);
    for (const char* name : {"data", "http", "memory", "password", "password_file"}) {
      AddSetting(backup, *FindSetting(name));
    }
  }

  void AddRestore() {
    CLI::App* restore = AddOwnCommand(
        "restore", "Make a data directory from a backup, checking every file", [this] {
          const LoadedConfig loaded = Load(Purpose::kOther);
          if (Complain(loaded)) return int{house::kExitUsage};
          return Restore(loaded.config, {.from = given_.restore_from, .json = given_.json},
                         terminal_);
        });
    restore->add_option("--from", given_.restore_from, "The directory that `cairn backup` made")
        ->type_name("DIR")
        ->required();
    AddConfigFile(restore);
    AddJson(restore);
    AddSetting(restore, *FindSetting("data"));
  }

  void AddMigrate() {
    CLI::App* migrate = AddOwnCommand(
        "migrate", "Copy everything between a data directory and a PostgreSQL database", [this] {
          const LoadedConfig loaded = Load(Purpose::kOther);
          if (Complain(loaded)) return int{house::kExitUsage};
          given_.migrate.json = given_.json;
          return Migrate(loaded.config, given_.migrate, terminal_);
        });
    migrate->add_option("--from", given_.migrate.from, "What is copied: DIR or postgres://…")
        ->type_name("STORE")
        ->required();
    migrate
        ->add_option("--to", given_.migrate.to,
                     "Where it goes, empty or an unfinished copy: DIR or postgres://…")
        ->type_name("STORE")
        ->required();
    migrate->add_flag("--source-in-use", given_.migrate.source_in_use,
                      "Leave the copy unfinished, to be run again when no server uses the source");
    AddConfigFile(migrate);
    AddJson(migrate);
    for (const char* name : {"memory", "http", "password", "password_file", "postgres.schema",
                             "postgres.mode", "postgres.statement_timeout"}) {
      AddSetting(migrate, *FindSetting(name));
    }
  }

  // What every command takes that asks a running server.
  void AddServer(CLI::App* command, std::string& url, std::string& ca_file) {
    command->add_option("--url", url, "Ask the server at this address")->type_name("URL");
    command->add_option("--ca", ca_file, "Trust this authority for an https URL (PEM)")
        ->type_name("FILE");
    AddConfigFile(command);
    AddJson(command);
    for (const char* name : {"http", "password", "password_file"}) {
      AddSetting(command, *FindSetting(name));
    }
  }

  // A layer's verb: the row says what can be typed.
  void AddVerb(const house::Verb& verb) {
    house::VerbCall& call = calls_.emplace_back(house::InitialCall(verb, terminal_));
    CLI::App* command = AddCommand(verb.name, verb.description, [this, &verb, &call] {
      const LoadedConfig loaded = Load(Purpose::kOther);
      if (Complain(loaded)) return int{house::kExitUsage};
      call.json = given_.json;
      call.environment = environment_;
      call.server = AccessTo(loaded, given_.url, given_.ca_file, environment_);
      return house::RunVerb(verb, call);
    });
    verbs_[command] = &verb;
    if (!verb.actions.empty()) {
      command->add_option(verb.action_name, call.action, verb.ActionsHelp())
          ->required(verb.initial_action.empty());
    }
    if (verb.takes_arguments()) {
      command->add_option("arguments", call.arguments, "What the action is about");
    }
    for (const house::VerbOption& option : verb.options) AddVerbOption(command, option, call);
    AddServer(command, given_.url, given_.ca_file);
  }

  // As CLI11 has it: "-l,--letter".
  static std::string FlagOf(const house::VerbOption& option) {
    if (option.letter == 0) return "--" + option.name;
    return fmt::format("-{},--{}", option.letter, option.name);
  }

  static void AddVerbOption(CLI::App* command, const house::VerbOption& option,
                            house::VerbCall& call) {
    const std::string flag = FlagOf(option);
    switch (option.kind) {
      case house::VerbOption::Kind::kText:
        command->add_option(flag, call.texts[option.name], option.description)
            ->type_name(option.value_name);
        return;
      case house::VerbOption::Kind::kList:
        command->add_option(flag, call.lists[option.name], option.description)
            ->type_name(option.value_name)
            ->allow_extra_args(false);
        return;
      case house::VerbOption::Kind::kNumber:
        AddNumber(command, option, call.numbers[option.name]);
        return;
      case house::VerbOption::Kind::kSwitch:
        command->add_flag(flag, call.switches[option.name], option.description);
        return;
    }
  }

  static void AddNumber(CLI::App* command, const house::VerbOption& option, int64_t& value) {
    const std::string description =
        option.initial < option.least
            ? option.description
            : fmt::format("{} (default: {})", option.description, option.initial);
    CLI::Option* added =
        command->add_option(FlagOf(option), value, description)->type_name(option.value_name);
    if (option.least == 0 && option.most == house::VerbOption::kUnbounded) {
      added->check(CLI::NonNegativeNumber);
    } else {
      added->check(CLI::Range(option.least, option.most));
    }
  }

  void AddVersion() {
    CLI::App* version = AddOwnCommand("version", "Show the version", [this] {
      PrintVersion(given_.json, terminal_);
      return int{house::kExitOk};
    });
    AddJson(version);
  }

  void AddCompletion() {
    CLI::App* completion =
        AddOwnCommand("completion", "Print a script that completes commands in your shell", [this] {
          static const std::map<std::string, Shell> shells = {
              {"bash", Shell::kBash}, {"zsh", Shell::kZsh}, {"fish", Shell::kFish}};
          const auto shell = shells.find(given_.shell);
          if (shell == shells.end()) return Refuse("completion: name bash, zsh or fish");
          terminal_.Print(CompletionScript(shell->second, DescribeCommands()));
          return int{house::kExitOk};
        });
    completion->add_option("shell", given_.shell, "bash, zsh or fish")->required();
  }

  LoadedConfig Load(Purpose purpose) const {
    return LoadConfig(
        {.flags = given_.settings, .environment = environment_, .file = given_.config_file},
        purpose);
  }

  // Tells what is wrong with the configuration; whether anything is.
  bool Complain(const LoadedConfig& loaded) const {
    for (const std::string& problem : loaded.problems) terminal_.Complain(problem);
    return !loaded.problems.empty();
  }

  int Refuse(const std::string& message) const {
    std::string help = "cairn --help";
    for (const auto& [command, action] : actions_) {
      if (command->parsed()) help = fmt::format("cairn {} --help", command->get_name());
    }
    terminal_.Complain(fmt::format("{}; `{}` shows what can be given", message, help));
    return house::kExitUsage;
  }

  // The first word that no command or option took, as a message.
  std::optional<std::string> FindUnknown() const {
    const CLI::App* place = &root_;
    for (const auto& [command, action] : actions_) {
      if (command->parsed() && !command->remaining().empty()) place = command;
    }
    const std::vector<std::string> unknown = place->remaining();
    if (unknown.empty()) return std::nullopt;
    const auto first_option = std::ranges::find_if(
        unknown, [](const std::string& word) { return word.starts_with('-'); });
    const std::string word =
        BareWord(first_option == unknown.end() ? unknown.front() : *first_option);
    const std::string name = word.substr(0, word.find('='));
    std::vector<std::string> known;
    const bool is_option = word.starts_with('-');
    if (is_option) {
      for (const CLI::Option* option : place->get_options()) {
        for (const std::string& flag : option->get_lnames()) known.push_back("--" + flag);
      }
    } else if (place == &root_) {
      for (const auto& [command, action] : actions_) known.push_back(command->get_name());
    }
    const std::string_view kind = is_option ? "option" : place == &root_ ? "command" : "argument";
    return fmt::format("unknown {} '{}'{}", kind, name, house::DidYouMean(name, known));
  }

  std::vector<CompletedCommand> DescribeCommands() const {
    std::vector<CompletedCommand> commands;
    for (const auto& [app, action] : actions_) {
      CompletedCommand command{.name = app->get_name(), .description = app->get_description()};
      for (const CLI::Option* option : app->get_options()) {
        if (option->get_lnames().empty()) continue;
        CompletedCommand::Option described{.flag = "--" + option->get_lnames().front(),
                                           .description = option->get_description()};
        described.takes_value = option->get_items_expected_max() > 0;
        const std::string type = option->get_type_name();
        if (type.find('|') != std::string::npos) described.values = CLI::detail::split(type, '|');
        command.options.push_back(std::move(described));
      }
      if (command.name == "completion") command.arguments = {"bash", "zsh", "fish"};
      if (const auto verb = verbs_.find(app); verb != verbs_.end()) {
        command.arguments = verb->second->ActionNames();
      }
      commands.push_back(std::move(command));
    }
    return commands;
  }

  const Environment& environment_;
  house::Terminal terminal_;
  const house::Layers layers_;
  const house::Declarations declarations_;
  Given given_;
  std::deque<house::VerbCall> calls_;  // options write into them
  CLI::App root_{"Cairn: a durable application backend in one binary.", "cairn"};
  std::vector<std::pair<CLI::App*, Action>> actions_;
  std::map<const CLI::App*, const house::Verb*> verbs_;
};

}  // namespace

int RunCommandLine(std::vector<std::string> args, const Environment& environment) {
  return CommandLine(environment).Run(std::move(args));
}

}  // namespace cairn::app
