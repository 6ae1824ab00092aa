#include "app/config.h"

#include <fmt/format.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "house/nearest.h"
#include "store/rocks/open.h"

namespace cairn::app {
namespace {

constexpr std::string_view kPrefix = "CAIRN_";
constexpr std::string_view kConfigVariable = "CAIRN_CONFIG";

// What `spelling` says of each.
template <typename Spelling>
std::vector<std::string> Names(const std::vector<Setting>& settings, Spelling spelling) {
  std::vector<std::string> names;
  for (const Setting& setting : settings) names.push_back(std::invoke(spelling, setting));
  return names;
}

// Kubernetes gives every container variables that describe the services of its namespace, so a
// service called "cairn" makes CAIRN_PORT=tcp://10.0.0.7:6666 and others appear. They are not ours.
bool IsServiceLink(const std::string& name, const std::string& value) {
  static const std::regex link(
      "CAIRN(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)"
      "(_(PROTO|PORT|ADDR))?)");
  static const std::regex port("CAIRN(_[A-Z0-9_]+)?_PORT");
  return std::regex_match(name, link) ||
         (std::regex_match(name, port) && value.find("://") != std::string::npos);
}

// What Cairn's own tests, benchmarks and scripts are told; the server has no use for it.
bool IsToolVariable(std::string_view name) {
  return name == "CAIRN_BINARY" || name.starts_with("CAIRN_TEST_") ||
         name.starts_with("CAIRN_BENCH_");
}

// Collects values from the lowest source to the highest; a later one replaces an earlier.
class Loader {
 public:
  explicit Loader(const std::vector<Setting>& settings) : settings_(settings) {}

  LoadedConfig Load(const ConfigSources& sources, Purpose purpose) {
    loaded_.origins.assign(settings_.size(), "default");
    ApplyDefaults(sources.environment);
    const auto variable = sources.environment.find(std::string(kConfigVariable));
    if (sources.file) {
      ApplyFile(*sources.file);
    } else if (variable != sources.environment.end() && !variable->second.empty()) {
      ApplyFile(variable->second);
    }
    ApplyEnvironment(sources.environment);
    for (const auto& [name, text] : sources.flags) {
      const Setting* setting = FindSetting(name, settings_);
      CAIRN_CHECK(setting != nullptr, "the command line has a flag for {}", name);
      Apply(*setting, text, setting->flag());
    }
    ApplyDerivedDefaults();
    ReadPasswordFile();
    CheckTogether();
    if (purpose == Purpose::kServe) CheckListening();
    return std::move(loaded_);
  }

 private:
  void Problem(std::string text) { loaded_.problems.push_back(std::move(text)); }

  const std::string& OriginOf(std::string_view name) const {
    return loaded_.origins[static_cast<size_t>(FindSetting(name, settings_) - settings_.data())];
  }

  void Apply(const Setting& setting, std::string_view text, const std::string& origin) {
    if (!setting.parse(text, loaded_.config)) {
      const std::string shown = setting.secret ? "the value" : fmt::format("'{}'", text);
      Problem(fmt::format("{}: {} is not accepted for {}: expected {}", origin, shown, setting.name,
                          setting.accepts));
    }
    loaded_.origins[static_cast<size_t>(&setting - settings_.data())] = origin;
  }

  void ApplyDefaults(const Environment& environment) {
    const auto home = environment.find("HOME");
    const bool has_home = home != environment.end() && !home->second.empty();
    loaded_.config.data = has_home ? home->second + "/.cairn" : "cairn-data";
    loaded_.config.memory_bytes = store::rocks::MemoryBudget::DefaultTotal();
  }

  // Defaults that depend on other settings.
  void ApplyDerivedDefaults() {
    Config& config = loaded_.config;
    if (config.limit_transaction_bytes == 0) {
      config.limit_transaction_bytes =
          store::rocks::MemoryBudget::FromTotal(config.memory_bytes).transaction_bytes;
    }
    if (config.limit_buffers_bytes == 0) config.limit_buffers_bytes = config.memory_bytes;
    if (config.limit_reply_bytes == 0) config.limit_reply_bytes = config.limit_buffers_bytes / 4;
  }

  void ApplyFile(const std::string& path) {
    std::ifstream file(path);
    if (!file || std::filesystem::is_directory(path)) {
      return Problem(fmt::format("{}: the configuration file cannot be read", path));
    }
    try {
      ApplyTable(toml::parse(file, path), "", path);
    } catch (const toml::parse_error& error) {
      Problem(fmt::format("{}:{}: not valid TOML: {}", path, error.source().begin.line,
                          error.description()));
    }
  }

  void ApplyTable(const toml::table& table, const std::string& prefix, const std::string& path) {
    for (const auto& [key, node] : table) {
      const std::string name = prefix + std::string(key.str());
      const std::string origin = fmt::format("{}:{}", path, key.source().begin.line);
      const Setting* setting = FindSetting(name, settings_);
      if (setting != nullptr) {
        ApplyNode(*setting, node, origin);
      } else if (node.is_table()) {
        ApplyTable(*node.as_table(), name + ".", path);
      } else {
        Problem(fmt::format("{}: there is no setting '{}'{}", origin, name,
                            house::DidYouMean(name, Names(settings_, &Setting::name))));
      }
    }
  }

  void ApplyNode(const Setting& setting, const toml::node& node, const std::string& origin) {
    const bool is_number = setting.kind == Setting::Kind::kNumber;
    if (node.is_boolean() && setting.kind == Setting::Kind::kSwitch) {
      Apply(setting, node.as_boolean()->get() ? "true" : "false", origin);
    } else if (node.is_integer() && is_number) {
      Apply(setting, fmt::format("{}", node.as_integer()->get()), origin);
    } else if (node.is_string() && setting.kind != Setting::Kind::kSwitch) {
      Apply(setting, node.as_string()->get(), origin);
    } else {
      Problem(fmt::format("{}: the value of {} has the wrong type: expected {}{}", origin,
                          setting.name, setting.accepts,
                          setting.kind == Setting::Kind::kText ? ", in quotes" : ""));
    }
  }

  void ApplyEnvironment(const Environment& environment) {
    for (const auto& [name, value] : environment) {
      if (!name.starts_with(kPrefix) || name == kConfigVariable || IsToolVariable(name)) continue;
      const auto setting = std::ranges::find(settings_, name, &Setting::environment);
      if (setting != settings_.end()) {
        // `CAIRN_X= cairn serve` and compose files with unset variables give an empty value.
        if (!value.empty()) Apply(*setting, value, name);
      } else if (!IsServiceLink(name, value)) {
        Problem(fmt::format("{}: there is no such setting{}", name,
                            house::DidYouMean(name, Names(settings_, &Setting::environment))));
      }
    }
  }

  void ReadPasswordFile() {
    Config& config = loaded_.config;
    if (config.password_file.empty()) return;
    if (!config.password.empty()) {
      return Problem(fmt::format("password ({}) and password_file ({}) are both set: give one",
                                 OriginOf("password"), OriginOf("password_file")));
    }
    std::ifstream file(config.password_file);
    std::getline(file, config.password);
    if (!config.password.empty() && config.password.back() == '\r') config.password.pop_back();
    if (!file.is_open() || config.password.empty()) {
      Problem(fmt::format("{}: password_file '{}' {}", OriginOf("password_file"),
                          config.password_file,
                          file.is_open() ? "has an empty first line" : "cannot be read"));
    }
  }

  // What no single value shows.
  void CheckTogether() {
    const Config& config = loaded_.config;
    if (config.tls_cert.empty() != config.tls_key.empty()) {
      Problem(fmt::format("tls.{} is set without tls.{}: TLS needs both",
                          config.tls_cert.empty() ? "key" : "cert",
                          config.tls_cert.empty() ? "cert" : "key"));
    }
    if (config.tls_cert.empty() && !config.tls_client_ca.empty()) {
      Problem("tls.client_ca is set without tls.cert and tls.key: TLS would stay off");
    }
  }

  void CheckListening() {
    const Config& config = loaded_.config;
    if (config.resp == config.http && config.resp.port != 0) {
      Problem(fmt::format("resp ({}) and http ({}) are both {}: each needs a port of its own",
                          OriginOf("resp"), OriginOf("http"), net::ToString(config.resp)));
    }
  }

  const std::vector<Setting>& settings_;
  LoadedConfig loaded_;
};

}  // namespace

Environment ProcessEnvironment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return environment;
}

std::optional<std::string> WhyReachable(const Config& config) {
  if (config.insecure) return std::nullopt;
  for (const auto& [name, address] : {std::pair{"resp", config.resp}, {"http", config.http}}) {
    if (net::IsLoopback(address)) continue;
    return fmt::format("{} {} can be reached from other machines", name, net::ToString(address));
  }
  return std::nullopt;
}

std::optional<std::string> WhyExposed(const Config& config) {
  if (!config.password.empty()) return std::nullopt;
  const std::optional<std::string> why = WhyReachable(config);
  if (!why) return std::nullopt;
  return *why +
         " and nobody needs a password or a key: set password_file, bind to 127.0.0.1 and make a "
         "key, or allow it with --insecure";
}

house::Configuration ConfigurationOf(const Config& config) {
  return {.settings = config.of_layers,
          .data = std::filesystem::absolute(config.data).lexically_normal().string(),
          .shared_store = !config.store_url.empty(),
          .resp = config.resp,
          .http = config.http,
          .memory_bytes = config.memory_bytes,
          .why_reachable = WhyReachable(config),
          .why_exposed = WhyExposed(config)};
}

LoadedConfig LoadConfig(const ConfigSources& sources, Purpose purpose,
                        const std::vector<Setting>& settings) {
  return Loader(settings).Load(sources, purpose);
}

}  // namespace cairn::app
