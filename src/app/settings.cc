#include "app/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/layers.h"
#include "house/declarations.h"
#include "house/units.h"

namespace cairn::app {
namespace {

using house::SettingText;
using house::WithDefaultText;

// Binds a row to what it sets. `assign` is given values in their usual form.
template <typename Assign, typename Format>
Setting Bind(house::Setting row, const Assign& assign, const Format& format) {
  Setting bound{std::move(row), {}, {}};
  bound.parse = [normalize = bound.normalize, assign](std::string_view text, Config& config) {
    const std::optional<std::string> value = normalize(text);
    if (value) assign(*value, config);
    return value.has_value();
  };
  bound.format = format;
  return bound;
}

Setting BindText(house::Setting row, std::string Config::*member) {
  return Bind(
      std::move(row),
      [member](const std::string& value, Config& config) { config.*member = value; },
      [member](const Config& config) { return config.*member; });
}

Setting Path(const SettingText& text, std::string value_name, std::string Config::*member) {
  return BindText(house::PathSetting(text, std::move(value_name)), member);
}

Setting Name(const SettingText& text, std::string Config::*member) {
  return BindText(house::NameSetting(text, Config().*member), member);
}

Setting Secret(const SettingText& text, std::string Config::*member) {
  house::Setting row = house::PathSetting(text, "SECRET");
  row.accepts = "a text that is not empty";
  row.secret = true;
  return BindText(std::move(row), member);
}

Setting Store(const SettingText& text) {
  const auto normalize = [](std::string_view value) -> std::optional<std::string> {
    if (!store::postgres::IsUrl(value)) return std::nullopt;
    return std::string(value);
  };
  house::Setting row = house::TextSetting(
      text, "URL", "a URL that starts with postgres:// or postgresql://", normalize);
  row.secret = true;  // it may hold a password
  return BindText(WithDefaultText(std::move(row), "the data directory"), &Config::store_url);
}

// A row whose values are what `parse` gives, an optional, and `format` writes.
template <typename Parse, typename Format>
house::Setting Parsed(const SettingText& text, const std::string& value_name,
                      const std::string& accepts, Parse parse, Format format) {
  return house::TextSetting(text, value_name, accepts,
                            [=](std::string_view value) -> std::optional<std::string> {
                              const auto parsed = parse(value);
                              if (!parsed) return std::nullopt;
                              return format(*parsed);
                            });
}

std::optional<net::Address> AddressOf(std::string_view text) {
  const Result<net::Address> address = net::ParseAddress(text);
  if (!address.ok()) return std::nullopt;
  return *address;
}

Setting Address(const SettingText& text, net::Address Config::*member) {
  house::Setting row = Parsed(
      text, "HOST:PORT", "HOST:PORT with a numeric address or localhost, such as 127.0.0.1:6666",
      AddressOf, net::ToString);
  return Bind(
      WithDefaultText(std::move(row), net::ToString(Config().*member)),
      [member](const std::string& value, Config& config) { config.*member = *AddressOf(value); },
      [member](const Config& config) { return net::ToString(config.*member); });
}

Setting Cors(const SettingText& text) {
  house::Setting row =
      Parsed(text, "ORIGINS", "*, none, or a list such as local,https://app.example.com",
             net::ParseCorsPolicy, net::FormatCorsPolicy);
  return Bind(
      WithDefaultText(std::move(row), "* with a password, else local"),
      [](const std::string& value, Config& config) {
        config.cors_origins = net::ParseCorsPolicy(value);
      },
      [](const Config& config) {
        return config.cors_origins ? net::FormatCorsPolicy(*config.cors_origins) : "";
      });
}

Setting Hosts(const SettingText& text) {
  house::Setting row =
      Parsed(text, "NAMES", "*, or a list of names without ports such as cairn.internal,10.0.0.7",
             net::ParseAllowedHosts, net::FormatAllowedHosts);
  return Bind(
      WithDefaultText(std::move(row), "those of this machine"),
      [](const std::string& value, Config& config) {
        config.allowed_hosts = *net::ParseAllowedHosts(value);
      },
      [](const Config& config) { return net::FormatAllowedHosts(config.allowed_hosts); });
}

Setting Count(const SettingText& text, size_t Config::*member, size_t least, size_t most) {
  return Bind(
      house::CountSetting(text, Config().*member, least, most),
      [member](const std::string& value, Config& config) {
        config.*member = *house::ParseWhole(value);
      },
      [member](const Config& config) { return fmt::format("{}", config.*member); });
}

// An empty `default_text` stands for the initial value in Config.
Setting Size(const SettingText& text, uint64_t Config::*member, uint64_t least, uint64_t most,
             std::string default_text = "") {
  house::Setting row = house::SizeSetting(text, Config().*member, least, most);
  if (!default_text.empty()) row.default_text = std::move(default_text);
  return Bind(
      std::move(row),
      [member](const std::string& value, Config& config) {
        config.*member = *house::ParseSize(value);
      },
      [member](const Config& config) { return house::FormatSize(config.*member); });
}

Setting Duration(const SettingText& text, std::chrono::milliseconds Config::*member,
                 std::chrono::milliseconds least, std::chrono::milliseconds most) {
  return Bind(
      house::DurationSetting(text, Config().*member, least, most),
      [member](const std::string& value, Config& config) {
        config.*member = *house::ParseDuration(value);
      },
      [member](const Config& config) { return house::FormatDuration(config.*member); });
}

Setting Switch(const SettingText& text, bool Config::*member) {
  return Bind(
      house::SwitchSetting(text, Config().*member),
      [member](const std::string& value, Config& config) { config.*member = value == "true"; },
      [member](const Config& config) { return config.*member ? "true" : "false"; });
}

template <typename Enum>
using Choices = std::vector<std::pair<std::string, Enum>>;

// Value is Enum, or std::optional<Enum> where unset is a choice of its own.
template <typename Enum, typename Value>
Setting Choice(const SettingText& text, Value Config::*member, const Choices<Enum>& choices) {
  const auto format = [member, choices](const Config& config) -> std::string {
    for (const auto& [name, value] : choices) {
      if (config.*member == value) return name;
    }
    return "";
  };
  const auto assign = [member, choices](const std::string& value, Config& config) {
    config.*member =
        std::ranges::find(choices, value, &std::pair<std::string, Enum>::first)->second;
  };
  std::vector<std::string> names;
  for (const auto& choice : choices) names.push_back(choice.first);
  return Bind(house::ChoiceSetting(text, names, format(Config())), assign, format);
}

Setting WithDefaultText(Setting row, std::string default_text) {
  row.default_text = std::move(default_text);
  return row;
}

std::vector<Setting> MakeFirstSettings() {
  using std::chrono::hours;
  using std::chrono::milliseconds;
  using store::Durability;
  constexpr milliseconds kNever{0};
  constexpr milliseconds kDay = hours(24);
  return {
      WithDefaultText(
          Path({"data", "The data directory, made if it does not exist."}, "DIR", &Config::data),
          "~/.cairn"),
      Store({"store",
             "Keep everything in this PostgreSQL database, which any number of servers may "
             "share, instead of in the data directory. PGPASSWORD and PGPASSFILE are "
             "honoured, TLS is chosen by sslmode in the URL."}),
      Address({"resp", "Where the Redis protocol listens. Port 0 lets the system choose."},
              &Config::resp),
      Address({"http", "Where HTTP listens. Port 0 lets the system choose."}, &Config::http),
      Choice<Durability>(
          {"durability",
           "When an acknowledged write is on disk: before it is acknowledged, within the sync "
           "interval, or when the operating system writes it."},
          &Config::durability,
          {{"sync", Durability::kSync},
           {"interval", Durability::kInterval},
           {"os", Durability::kOs}}),
      Duration({"sync_interval", "How often the log is synced with durability interval."},
               &Config::sync_interval, milliseconds(1), milliseconds(60'000)),
      WithDefaultText(Size({"memory",
                            "What the store's caches and write buffers may use together. "
                            "Connections and requests come on top."},
                           &Config::memory_bytes, 64ULL << 20, 4ULL << 40),
                      "a quarter of the memory, 192MiB to 16GiB"),
      Count({"io_threads", "Event loops, each on a thread of its own."}, &Config::io_threads, 1,
            64),
      Count({"pool_threads",
             "Threads for requests that have to wait for the disk or for PostgreSQL."},
            &Config::pool_threads, 1, 256),
      Count({"max_clients", "Redis-protocol connections served at a time."}, &Config::max_clients,
            1, 1'000'000),
      Count({"max_http_connections", "HTTP connections served at a time."},
            &Config::max_http_connections, 1, 1'000'000),
      Duration({"idle_timeout",
                "Redis-protocol clients that are silent for this long are closed; 0 never."},
               &Config::idle_timeout, kNever, kDay),
      Duration({"auth_timeout",
                "Where a password or key is required, connections that have not presented one "
                "after this long are closed; 0 never."},
               &Config::auth_timeout, kNever, kDay),
      Duration({"script_time_limit",
                "A script or function that runs for longer is ended, and nothing of it is "
                "kept."},
               &Config::script_time_limit, milliseconds(100), kDay),
      Duration({"drain_timeout",
                "How long a stopping server waits for running requests and unsent replies."},
               &Config::drain_timeout, kNever, hours(1)),
      Secret({"password",
              "What clients must present: AUTH in the Redis protocol, a bearer token or "
              "X-API-Key in HTTP. Every user of the machine can see a command line: prefer "
              "password_file."},
             &Config::password),
      Path({"password_file", "A file whose first line is the password."}, "FILE",
           &Config::password_file),
      Switch({"insecure",
              "Allow an address that other machines can reach although nobody needs a "
              "password or key."},
             &Config::insecure),
      Cors({"cors.origins",
            "Which web pages may use HTTP from a browser, besides those of its own origin: * "
            "all, none, or a list of origins, where local means pages served on this "
            "machine."}),
      Hosts({"allowed_hosts",
             "While http is bound to loopback and nobody needs a password or a key: host "
             "names that HTTP accepts besides localhost and loopback addresses, or * for "
             "any. Others get 421, because a web site can make its own name point "
             "here."}),
      Duration({"audit.kept", "How long entries of the audit log are kept."}, &Config::audit_kept,
               hours(1), hours(10 * 365 * 24)),
      Size({"audit.bytes",
            "How large the audit log may become: seven eighths for changes, one for counted "
            "refusals. Past that, the oldest entries of the principal with the most go first."},
           &Config::audit_bytes, 1ULL << 20, 1ULL << 40),
      Size({"limits.bulk", "The largest argument of a Redis-protocol request."},
           &Config::limit_bulk_bytes, 1ULL << 20, 512ULL << 20),
      Size({"limits.http_body",
            "The largest body of an HTTP request, where the route names no limit of its own."},
           &Config::limit_http_body_bytes, 1ULL << 10, 1ULL << 30),
      WithDefaultText(
          Size({"limits.transaction",
                "What one command, script or MULTI may write at once: keys, values and 64 "
                "bytes each time that a row is written. A larger write fails and changes nothing."},
               &Config::limit_transaction_bytes, 64ULL << 20, 2ULL << 30),
          "a quarter of `memory`, 64MiB to 1GiB"),
      WithDefaultText(
          Size({"limits.buffers",
                "What the requests and replies of all connections may take together, beside "
                "memory. Beyond it, the connection that holds the most is closed."},
               &Config::limit_buffers_bytes, 16ULL << 20, 4ULL << 40),
          "as much as memory"),
      WithDefaultText(
          Size({"limits.reply",
                "The largest reply to one Redis-protocol request, a whole EXEC included. A "
                "request whose reply would be larger fails, and nothing of it remains."},
               &Config::limit_reply_bytes, 1ULL << 20, 4ULL << 40),
          "a quarter of limits.buffers"),
      Name({"postgres.schema", "The schema that holds Cairn's tables, made if it is missing."},
           &Config::postgres_schema),
      Count({"postgres.connections",
             "Sessions for transactions; snapshots and notifications have their own."},
            &Config::postgres_connections, 1, 1'000),
      Choice<store::postgres::Mode>(
          {"postgres.mode",
           "What makes requests for the same key take turns: advisory locks, serializable "
           "transactions alone, or the first if the server has them."},
          &Config::postgres_mode,
          {{"auto", store::postgres::Mode::kAuto},
           {"advisory", store::postgres::Mode::kAdvisory},
           {"portable", store::postgres::Mode::kPortable}}),
      Duration(
          {"postgres.statement_timeout", "How long one statement, or a wait for a lock, may take."},
          &Config::postgres_statement_timeout, milliseconds(100), hours(1)),
  };
}

// Those that stand behind the layers'.
std::vector<Setting> MakeLastSettings() {
  return {
      Path({"tls.cert", "Certificate (PEM, with its chain); with tls.key it turns TLS on."}, "FILE",
           &Config::tls_cert),
      Path({"tls.key", "Private key of the certificate (PEM, not encrypted)."}, "FILE",
           &Config::tls_key),
      Path({"tls.client_ca",
            "Certificate authorities (PEM): clients must then present a certificate of one."},
           "FILE", &Config::tls_client_ca),
      Choice<TlsDoors>(
          {"tls.doors", "Which listeners speak TLS once a certificate is set."}, &Config::tls_doors,
          {{"both", TlsDoors::kBoth}, {"resp", TlsDoors::kResp}, {"http", TlsDoors::kHttp}}),
      Choice<LogLevel>({"log.level", "The least severe messages that are logged."},
                       &Config::log_level,
                       {{"debug", LogLevel::kDebug},
                        {"info", LogLevel::kInfo},
                        {"warn", LogLevel::kWarn},
                        {"error", LogLevel::kError}}),
      WithDefaultText(
          Choice<LogFormat>({"log.format", "Log lines for people or one JSON object per line."},
                            &Config::log_format,
                            {{"text", LogFormat::kText}, {"json", LogFormat::kJson}}),
          "text on a terminal, else json"),
  };
}

std::vector<Setting> MakeSettings() {
  std::vector<Setting> settings = MakeFirstSettings();
  const house::Layers layers = MakeLayers();
  const house::Declarations declarations(layers);
  for (const house::Setting& row : declarations.settings()) {
    settings.push_back(SettingOfLayer(row));
  }
  for (Setting& row : MakeLastSettings()) settings.push_back(std::move(row));
  return settings;
}

}  // namespace

const net::CorsPolicy& CorsOf(const Config& config, bool needs_password) {
  static const net::CorsPolicy every_page{.any = true};
  static const net::CorsPolicy pages_of_this_machine{.local = true};
  if (config.cors_origins) return *config.cors_origins;
  return needs_password ? every_page : pages_of_this_machine;
}

std::string StoreName(const Config& config) {
  return config.store_url.empty() ? config.data : store::postgres::PublicUrl(config.store_url);
}

Setting SettingOfLayer(house::Setting row) {
  const std::string name = row.name;
  const std::string initial = row.initial;
  return Bind(
      std::move(row),
      [name](const std::string& value, Config& config) { config.of_layers[name] = value; },
      [name, initial](const Config& config) {
        const auto set = config.of_layers.find(name);
        return set == config.of_layers.end() ? initial : set->second;
      });
}

const std::vector<Setting>& Settings() {
  static const std::vector<Setting> settings = MakeSettings();
  return settings;
}

const Setting* FindSetting(std::string_view name, const std::vector<Setting>& settings) {
  const auto found = std::ranges::find(settings, name, &Setting::name);
  return found == settings.end() ? nullptr : &*found;
}

std::vector<std::string> OwnFlags() {
  std::vector<std::string> flags;
  for (const Setting& setting : MakeFirstSettings()) flags.push_back(setting.flag());
  for (const Setting& setting : MakeLastSettings()) flags.push_back(setting.flag());
  return flags;
}

std::string SettingsMarkdown() {
  std::string table =
      "| setting | command line | environment | default | what it does |\n|---|---|---|---|---|\n";
  for (const Setting& setting : Settings()) {
    const std::string value =
        setting.value_name.empty() ? "" : fmt::format(" {}", setting.value_name);
    std::string flag = setting.flag() + value;
    for (size_t at = flag.find('|'); at != std::string::npos; at = flag.find('|', at + 2)) {
      flag.insert(at, "\\");  // a bare one would end the table's cell
    }
    table += fmt::format(
        "| `{}` | `{}` | `{}` | {} | {} |\n", setting.name, flag, setting.environment(),
        setting.default_text.empty() ? "none" : setting.default_text, setting.description);
  }
  return table;
}

}  // namespace cairn::app
