#include "app/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "app/backup.h"
#include "app/bench.h"
#include "app/completion.h"
#include "app/doctor.h"
#include "app/jobs.h"
#include "app/migrate.h"
#include "app/report.h"
#include "app/schedules.h"
#include "app/seats.h"
#include "app/serve.h"
#include "app/terminal.h"

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
  SeatsOptions seats;
  JobsOptions jobs;
  QueuesOptions queues;
  WorkersOptions workers;
  SchedulesOptions schedules;
  BenchOptions bench;
  std::string shell;
};

class CommandLine {
 public:
  explicit CommandLine(const Environment& environment)
      : environment_(environment), terminal_(environment) {
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
    AddBackup();
    AddRestore();
    AddMigrate();
    AddSeats();
    AddJobs();
    AddQueues();
    AddWorkers();
    AddSchedules();
    AddBench();
    AddVersion();
    AddCompletion();
    for (auto& [command, action] : actions_) {
      for (CLI::Option* option : command->get_options()) option->transform(BareWord);
    }
  }

  int Run(std::vector<std::string> args) {
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

  void AddSetting(CLI::App* command, const Setting& setting) {
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
    CLI::App* serve = AddCommand("serve", "Serve a data directory until SIGTERM or SIGINT", [this] {
      const LoadedConfig loaded = Load(Purpose::kServe);
      if (Complain(loaded)) return int{kExitUsage};
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
        AddCommand("config", "Show the settings in force and where each came from", [this] {
          if (given_.markdown) {
            terminal_.Print(SettingsMarkdown());
            return int{kExitOk};
          }
          const LoadedConfig loaded = Load(Purpose::kServe);
          PrintConfig(loaded, given_.json, terminal_);
          return Complain(loaded) ? int{kExitUsage} : int{kExitOk};
        });
    AddConfigFile(config);
    AddJson(config);
    config->add_flag("--markdown", given_.markdown, "Print the reference of all settings instead");
    AddSettings(config);
  }

  void AddDoctor() {
    CLI::App* doctor = AddCommand(
        "doctor", "Explain what is wrong with a configuration or a data directory", [this] {
          const std::vector<Finding> findings =
              Examine(Load(Purpose::kServe), {.verify = given_.verify}, SystemClock());
          PrintFindings(findings, given_.json, terminal_);
          return HasProblem(findings) ? int{kExitFailure} : int{kExitOk};
        });
    AddConfigFile(doctor);
    AddJson(doctor);
    doctor->add_flag("--verify", given_.verify, "Read all data and check it against its checksums");
    AddSettings(doctor);
  }

  void AddBackup() {
    CLI::App* backup = AddCommand(
        "backup", "Copy the data into a new directory, while the server runs or not", [this] {
          const LoadedConfig loaded = Load(Purpose::kOther);
          if (Complain(loaded)) return int{kExitUsage};
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
    CLI::App* restore =
        AddCommand("restore", "Make a data directory from a backup, checking every file", [this] {
          const LoadedConfig loaded = Load(Purpose::kOther);
          if (Complain(loaded)) return int{kExitUsage};
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
    CLI::App* migrate = AddCommand(
        "migrate", "Copy everything between a data directory and a PostgreSQL database", [this] {
          const LoadedConfig loaded = Load(Purpose::kOther);
          if (Complain(loaded)) return int{kExitUsage};
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

  void AddSeats() {
    CLI::App* seats =
        AddCommand("seats", "Create, look at, verify and simulate the sale of seats", [this] {
          const LoadedConfig loaded = Load(Purpose::kOther);
          if (Complain(loaded)) return int{kExitUsage};
          given_.seats.json = given_.json;
          return Seats(loaded.config, given_.seats, terminal_);
        });
    seats
        ->add_option("action", given_.seats.action,
                     "create FILE, events, state EVENT, map EVENT SECTION, verify EVENT, "
                     "simulate EVENT")
        ->required();
    seats->add_option("arguments", given_.seats.arguments, "What the action is about");
    AddServer(seats, given_.seats.url, given_.seats.ca_file);
    const auto number = [&](const char* flag, int64_t& value, int64_t most, const char* text) {
      seats->add_option(flag, value, fmt::format("simulate: {} (default: {})", text, value))
          ->type_name("N")
          ->check(CLI::Range(int64_t{1}, most));
    };
    number("--buyers", given_.seats.buyers, 1'000, "buyers at once");
    number("--sections", given_.seats.sections, 10'000, "sections of the house");
    number("--rows", given_.seats.rows, 10'000, "rows of a section");
    number("--cols", given_.seats.cols, 10'000, "seats of a row");
    number("--max-quantity", given_.seats.max_quantity, 100, "seats a buyer asks for at most");
    number("--pay-percent", given_.seats.pay_percent, 100, "how many of 100 pay; others cancel");
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

  void AddJobs() {
    JobsOptions& given = given_.jobs;
    CLI::App* jobs = AddCommand("jobs", "Enqueue, look at, change and verify jobs", [this] {
      const LoadedConfig loaded = Load(Purpose::kOther);
      if (Complain(loaded)) return int{kExitUsage};
      given_.jobs.json = given_.json;
      return Jobs(loaded.config, given_.jobs, terminal_);
    });
    jobs->add_option("action", given.action, JobsActionsHelp())->required();
    jobs->add_option("arguments", given.arguments, "What the action is about");
    const auto text = [&](const char* flag, std::string& value, const char* type,
                          const char* description) {
      jobs->add_option(flag, value, description)->type_name(type);
    };
    text("--priority", given.priority, "critical|high|normal",
         "enqueue, bulk change_priority: the priority");
    text("--unique-key", given.unique_key, "KEY", "enqueue: only one live job may have this key");
    text("--delay", given.delay, "5s", "enqueue: not before this much later");
    text("--scheduled-at", given.scheduled_at, "TIME", "enqueue: not before this time (RFC 3339)");
    jobs->add_option("--tag", given.tags, "enqueue: a tag of the job; may be repeated")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    jobs->add_option("--max-retries", given.max_retries, "enqueue: retries after the first run")
        ->type_name("N")
        ->check(CLI::NonNegativeNumber);
    jobs->add_option("--wait", given.wait_seconds,
                     "enqueue: wait up to so many seconds for the job to end, and show it")
        ->type_name("SECONDS")
        ->check(CLI::Range(0, 60));
    text("--reason", given.reason, "TEXT", "hold: why");
    text("--queue", given.queue, "QUEUE", "list, bulk: jobs of this queue");
    text("--state", given.states, "STATE,…", "list, bulk: jobs in these states");
    text("--filter", given.filter, "JSON",
         "list, bulk: what else has to fit, as POST /api/v1/jobs/search takes it");
    text("--cursor", given.cursor, "CURSOR", "list: goes on behind this page");
    text("--to", given.to_queue, "QUEUE", "bulk move: into this queue");
    jobs->add_option("--limit", given.limit, "list, search: how many at most (default: 50)")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000));
    AddServer(jobs, given.server.url, given.server.ca_file);
  }

  void AddQueues() {
    QueuesOptions& given = given_.queues;
    CLI::App* queues =
        AddCommand("queues", "List queues, pause, drain, limit or clear them", [this] {
          const LoadedConfig loaded = Load(Purpose::kOther);
          if (Complain(loaded)) return int{kExitUsage};
          given_.queues.json = given_.json;
          return Queues(loaded.config, given_.queues, terminal_);
        });
    queues->add_option("action", given.action, QueuesActionsHelp());
    queues->add_option("arguments", given.arguments, "What the action is about");
    queues
        ->add_option("--wait", given.wait_seconds,
                     "drain: wait so long until nothing runs (default: 30)")
        ->type_name("SECONDS")
        ->check(CLI::Range(0, 60));
    AddServer(queues, given.server.url, given.server.ca_file);
  }

  void AddBench() {
    BenchOptions& given = given_.bench;
    CLI::App* bench = AddCommand("bench", "Measure how fast a running server is", [this] {
      const LoadedConfig loaded = Load(Purpose::kOther);
      if (Complain(loaded)) return int{kExitUsage};
      given_.bench.json = given_.json;
      return Bench(loaded.config, given_.bench, terminal_);
    });
    bench->add_option("what", given.what, "jobs")->required();
    AddServer(bench, given.server.url, given.server.ca_file);
    const auto number = [&](const char* flag, int64_t& value, int64_t most, const char* text) {
      bench->add_option(flag, value, fmt::format("{} (default: {})", text, value))
          ->type_name("N")
          ->check(CLI::Range(int64_t{1}, most));
    };
    number("--jobs", given.jobs, 100'000'000, "jobs of each kind of work");
    number("--connections", given.connections, 256, "connections at once");
    number("--batch", given.batch, 512, "jobs of one request");
  }

  void AddWorkers() {
    WorkersOptions& given = given_.workers;
    CLI::App* workers = AddCommand("workers", "List the workers that fetch jobs", [this] {
      const LoadedConfig loaded = Load(Purpose::kOther);
      if (Complain(loaded)) return int{kExitUsage};
      given_.workers.json = given_.json;
      return Workers(loaded.config, given_.workers, terminal_);
    });
    AddServer(workers, given.server.url, given.server.ca_file);
  }

  void AddSchedules() {
    SchedulesOptions& given = given_.schedules;
    CLI::App* schedules =
        AddCommand("schedules", "List, create, pause and trigger jobs that come again", [this] {
          const LoadedConfig loaded = Load(Purpose::kOther);
          if (Complain(loaded)) return int{kExitUsage};
          given_.schedules.json = given_.json;
          return Schedules(loaded.config, given_.schedules, terminal_);
        });
    schedules->add_option("action", given.action, SchedulesActionsHelp());
    schedules->add_option("arguments", given.arguments, "What the action is about");
    const auto text = [&](const char* flag, std::string& value, const char* type,
                          const char* description) {
      schedules->add_option(flag, value, description)->type_name(type);
    };
    text("--timezone", given.timezone, "ZONE", "create, update: Europe/Berlin (default: UTC)");
    text("--overlap", given.overlap, "skip|queue|parallel",
         "create, update: while the job before has not ended (default: skip)");
    text("--catch-up", given.catch_up, "none|one|all",
         "create, update: for ticks that were missed (default: one)");
    text("--catch-up-window", given.catch_up_window, "24h",
         "create, update: how late a tick may be made up for (default: 24h)");
    AddServer(schedules, given.server.url, given.server.ca_file);
  }

  void AddVersion() {
    CLI::App* version = AddCommand("version", "Show the version", [this] {
      PrintVersion(given_.json, terminal_);
      return int{kExitOk};
    });
    AddJson(version);
  }

  void AddCompletion() {
    CLI::App* completion =
        AddCommand("completion", "Print a script that completes commands in your shell", [this] {
          static const std::map<std::string, Shell> shells = {
              {"bash", Shell::kBash}, {"zsh", Shell::kZsh}, {"fish", Shell::kFish}};
          const auto shell = shells.find(given_.shell);
          if (shell == shells.end()) return Refuse("completion: name bash, zsh or fish");
          terminal_.Print(CompletionScript(shell->second, DescribeCommands()));
          return int{kExitOk};
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
    return kExitUsage;
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
    return fmt::format("unknown {} '{}'{}", kind, name, DidYouMean(name, known));
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
      if (command.name == "seats") command.arguments = SeatsActions();
      if (command.name == "schedules") command.arguments = SchedulesActions();
      if (command.name == "jobs") command.arguments = JobsActions();
      if (command.name == "queues") command.arguments = QueuesActions();
      commands.push_back(std::move(command));
    }
    return commands;
  }

  const Environment& environment_;
  Terminal terminal_;
  Given given_;
  CLI::App root_{"Cairn: a durable application backend in one binary.", "cairn"};
  std::vector<std::pair<CLI::App*, Action>> actions_;
};

}  // namespace

int RunCommandLine(std::vector<std::string> args, const Environment& environment) {
  return CommandLine(environment).Run(std::move(args));
}

}  // namespace cairn::app
