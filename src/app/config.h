#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/settings.h"
#include "house/configuration.h"
#include "house/terminal.h"

namespace cairn::app {

using house::Environment;

// The environment of this process.
Environment ProcessEnvironment();

// Where settings are looked for: a flag overrides the environment, that the file, that the default.
struct ConfigSources {
  std::map<std::string, std::string> flags;  // by setting name, as given on the command line
  Environment environment;  // all of it; what does not start with CAIRN_ is ignored
  // The TOML file. Unset: the one that CAIRN_CONFIG names, or none.
  std::optional<std::string> file;
};

// What is in force and why. With problems the values that could be read still stand in `config`, so
// that `cairn doctor` can go on and name further problems; nothing else may use it then.
struct LoadedConfig {
  Config config;
  // For each row of the settings, where its value came from: "default", "cairn.toml:3",
  // "CAIRN_DATA",
  // "--data".
  std::vector<std::string> origins;
  // One sentence each, naming the setting, the value, what is accepted and where it stood.
  std::vector<std::string> problems;
};

// What the settings are for: an address that cannot or should not be listened on is a problem only
// to a server.
enum class Purpose { kServe, kOther };

// Which of its addresses other machines can reach, as the beginning of a sentence; nullopt if none,
// or if that is allowed whoever asks.
std::optional<std::string> WhyReachable(const Config& config);

// Why a server must not listen so, if what it stores asks nobody for a secret either; nullopt if it
// may. A problem that only the server can find: keys are in the store.
std::optional<std::string> WhyExposed(const Config& config);

// What layers may know of it.
house::Configuration ConfigurationOf(const Config& config);

// `settings` are all that there are; origins are in their order.
LoadedConfig LoadConfig(const ConfigSources& sources, Purpose purpose = Purpose::kServe,
                        const std::vector<Setting>& settings = Settings());

}  // namespace cairn::app
