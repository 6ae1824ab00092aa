#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "house/configuration.h"
#include "house/setting.h"
#include "net/address.h"
#include "net/http/cors.h"
#include "net/http/host.h"
#include "store/postgres/open.h"
#include "store/store.h"

namespace cairn::app {

// Which front doors speak TLS once a certificate is configured.
enum class TlsDoors { kBoth, kResp, kHttp };

// Everything an operator can choose. The initial values are the defaults; those that depend on the
// machine or on others (data, memory, limits.transaction, limits.buffers, limits.reply) are filled
// in by LoadConfig.
struct Config {
  std::string data;
  std::string store_url;  // a postgres:// URL; empty: the embedded engine in `data`
  net::Address resp{"127.0.0.1", 6666};
  net::Address http{"127.0.0.1", 8080};

  store::Durability durability = store::Durability::kSync;
  std::chrono::milliseconds sync_interval{1000};
  uint64_t memory_bytes = 0;

  size_t io_threads = 1;
  size_t pool_threads = 8;
  size_t max_clients = 10'000;
  size_t max_http_connections = 4'000;
  std::chrono::milliseconds idle_timeout{0};
  std::chrono::milliseconds script_time_limit{60'000};
  std::chrono::milliseconds auth_timeout{30'000};
  std::chrono::milliseconds drain_timeout{10'000};
  uint64_t limit_bulk_bytes = 512ULL << 20;
  uint64_t limit_http_body_bytes = 1ULL << 20;
  uint64_t limit_buffers_bytes = 0;
  uint64_t limit_reply_bytes = 0;
  uint64_t limit_transaction_bytes = 0;

  std::string postgres_schema = "cairn";
  size_t postgres_connections = 16;
  store::postgres::Mode postgres_mode = store::postgres::Mode::kAuto;
  std::chrono::milliseconds postgres_statement_timeout{10'000};

  // What was set of the settings of layers, by name.
  std::map<std::string, std::string, std::less<>> of_layers;

  std::string password;  // LoadConfig puts the content of password_file here
  std::string password_file;
  bool insecure = false;
  std::optional<net::CorsPolicy> cors_origins;  // unset: see CorsOf
  net::AllowedHosts allowed_hosts;              // beside those of this machine

  std::chrono::milliseconds audit_kept = std::chrono::hours(90 * 24);
  uint64_t audit_bytes = 64ULL << 20;

  std::string tls_cert;
  std::string tls_key;
  std::string tls_client_ca;
  TlsDoors tls_doors = TlsDoors::kBoth;

  LogLevel log_level = LogLevel::kInfo;
  std::optional<LogFormat> log_format;  // unset: text on a terminal, else JSON
};

// Where the data is, for people: the directory, or the URL without its password.
std::string StoreName(const Config& config);

// Which web pages may use the HTTP door of a server that asks for a password, or does not: as set,
// or every page if a password is needed, else those of this machine. Every site that its user
// visits can have a browser ask a server on loopback.
const net::CorsPolicy& CorsOf(const Config& config, bool needs_password);

// One row of the settings table, and where its value is in the config.
struct Setting : house::Setting {
  // Puts the value into the config, or returns false and leaves the config alone.
  std::function<bool(std::string_view text, Config& config)> parse;
  // The value as parse would accept it; empty where it is not set.
  std::function<std::string(const Config& config)> format;
};

// A layer's row: its value is in Config::of_layers.
Setting SettingOfLayer(house::Setting row);

// All settings, the program's and its layers', in the order in which they are documented. A
// constant.
const std::vector<Setting>& Settings();

// Null if there is none.
const Setting* FindSetting(std::string_view name,
                           const std::vector<Setting>& settings = Settings());

// The flags of the program's own settings: no layer may have them.
std::vector<std::string> OwnFlags();

// The table as docs/operations.md shows it.
std::string SettingsMarkdown();

}  // namespace cairn::app
