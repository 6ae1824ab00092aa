#include "app/settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <numeric>
#include <utility>

#include "app/units.h"

namespace cairn::app {
namespace {

// The fields that every kind of setting has; the builders below add the rest.
struct Text {
  std::string_view name;
  std::string_view description;
};

Setting Row(const Text& text, Setting::Kind kind, std::string value_name, std::string accepts) {
  Setting row;
  row.name = text.name;
  row.description = text.description;
  row.kind = kind;
  row.value_name = std::move(value_name);
  row.accepts = std::move(accepts);
  return row;
}

// For settings whose default is the initial value in Config.
Setting WithDefault(Setting row) {
  row.default_text = row.format(Config());
  return row;
}

Setting WithDefaultText(Setting row, std::string default_text) {
  row.default_text = std::move(default_text);
  return row;
}

Setting PathSetting(const Text& text, std::string value_name, std::string Config::*member) {
  Setting row = Row(text, Setting::Kind::kText, std::move(value_name), "a path that is not empty");
  row.parse = [member](std::string_view value, Config& config) {
    if (value.empty()) return false;
    config.*member = value;
    return true;
  };
  row.format = [member](const Config& config) { return config.*member; };
  return WithDefault(std::move(row));
}

// A name or a part of one: printable, so that it can be shown and typed again.
Setting NameSetting(const Text& text, std::string Config::*member) {
  Setting row = Row(text, Setting::Kind::kText, "NAME",
                    "a text that is not empty and has no control characters");
  row.parse = [member](std::string_view value, Config& config) {
    const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
    if (value.empty() || std::ranges::any_of(value, control)) return false;
    config.*member = value;
    return true;
  };
  row.format = [member](const Config& config) { return config.*member; };
  return WithDefault(std::move(row));
}

Setting SecretSetting(const Text& text, std::string Config::*member) {
  Setting row = PathSetting(text, "SECRET", member);
  row.accepts = "a text that is not empty";
  row.secret = true;
  return row;
}

Setting StoreSetting(const Text& text) {
  Setting row =
      Row(text, Setting::Kind::kText, "URL", "a URL that starts with postgres:// or postgresql://");
  row.secret = true;  // it may hold a password
  row.parse = [](std::string_view value, Config& config) {
    if (!store::postgres::IsUrl(value)) return false;
    config.store_url = value;
    return true;
  };
  row.format = [](const Config& config) { return config.store_url; };
  return WithDefaultText(std::move(row), "the data directory");
}

Setting AddressSetting(const Text& text, net::Address Config::*member) {
  Setting row = Row(text, Setting::Kind::kText, "HOST:PORT",
                    "HOST:PORT with a numeric address or localhost, such as 127.0.0.1:6666");
  row.parse = [member](std::string_view value, Config& config) {
    const Result<net::Address> address = net::ParseAddress(value);
    if (!address.ok()) return false;
    config.*member = *address;
    return true;
  };
  row.format = [member](const Config& config) { return net::ToString(config.*member); };
  return WithDefault(std::move(row));
}

Setting CorsSetting(const Text& text) {
  Setting row = Row(text, Setting::Kind::kText, "ORIGINS",
                    "*, none, or a list such as local,https://app.example.com");
  row.parse = [](std::string_view value, Config& config) {
    std::optional<net::CorsPolicy> policy = net::ParseCorsPolicy(value);
    if (!policy) return false;
    config.cors_origins = std::move(policy);
    return true;
  };
  row.format = [](const Config& config) {
    return config.cors_origins ? net::FormatCorsPolicy(*config.cors_origins) : "";
  };
  return WithDefaultText(std::move(row), "* with a password, else local");
}

Setting HostsSetting(const Text& text) {
  Setting row = Row(text, Setting::Kind::kText, "NAMES",
                    "*, or a list of names without ports such as cairn.internal,10.0.0.7");
  row.parse = [](std::string_view value, Config& config) {
    std::optional<net::AllowedHosts> hosts = net::ParseAllowedHosts(value);
    if (!hosts) return false;
    config.allowed_hosts = *std::move(hosts);
    return true;
  };
  row.format = [](const Config& config) { return net::FormatAllowedHosts(config.allowed_hosts); };
  return WithDefaultText(std::move(row), "those of this machine");
}

Setting TargetsSetting(const Text& text) {
  Setting row = Row(text, Setting::Kind::kText, "TARGETS",
                    "public, or a list such as loopback,private,10.1.0.0/16");
  row.parse = [](std::string_view value, Config& config) {
    std::optional<jobs::WebhookTargets> targets = jobs::WebhookTargets::Parse(value);
    if (!targets) return false;
    config.webhooks_allow = std::move(targets);
    return true;
  };
  row.format = [](const Config& config) {
    return config.webhooks_allow ? config.webhooks_allow->ToString() : "";
  };
  return WithDefaultText(std::move(row), "loopback while all listens there, else public");
}

Setting CountSetting(const Text& text, size_t Config::*member, size_t least, size_t most) {
  Setting row = Row(text, Setting::Kind::kNumber, "N",
                    fmt::format("a whole number from {} to {}", least, most));
  row.parse = [=](std::string_view value, Config& config) {
    const std::optional<uint64_t> count = ParseWhole(value);
    if (!count || *count < least || *count > most) return false;
    config.*member = *count;
    return true;
  };
  row.format = [member](const Config& config) { return fmt::format("{}", config.*member); };
  return WithDefault(std::move(row));
}

Setting SizeSetting(const Text& text, uint64_t Config::*member, uint64_t least, uint64_t most) {
  Setting row = Row(text, Setting::Kind::kNumber, "SIZE",
                    fmt::format("a size from {} to {}", FormatSize(least), FormatSize(most)));
  row.parse = [=](std::string_view value, Config& config) {
    const std::optional<uint64_t> bytes = ParseSize(value);
    if (!bytes || *bytes < least || *bytes > most) return false;
    config.*member = *bytes;
    return true;
  };
  row.format = [member](const Config& config) { return FormatSize(config.*member); };
  return WithDefault(std::move(row));
}

Setting DurationSetting(const Text& text, std::chrono::milliseconds Config::*member,
                        std::chrono::milliseconds least, std::chrono::milliseconds most) {
  Setting row = Row(text, Setting::Kind::kText, "TIME",
                    fmt::format("a time with its unit (ms, s, m, h) from {} to {}",
                                FormatDuration(least), FormatDuration(most)));
  row.parse = [=](std::string_view value, Config& config) {
    const std::optional<std::chrono::milliseconds> duration = ParseDuration(value);
    if (!duration || *duration < least || *duration > most) return false;
    config.*member = *duration;
    return true;
  };
  row.format = [member](const Config& config) { return FormatDuration(config.*member); };
  return WithDefault(std::move(row));
}

Setting SwitchSetting(const Text& text, bool Config::*member) {
  Setting row = Row(text, Setting::Kind::kSwitch, "", "true or false");
  row.parse = [member](std::string_view value, Config& config) {
    if (value != "true" && value != "false") return false;
    config.*member = value == "true";
    return true;
  };
  row.format = [member](const Config& config) { return config.*member ? "true" : "false"; };
  return WithDefault(std::move(row));
}

template <typename Enum>
using Choices = std::vector<std::pair<std::string, Enum>>;

template <typename Enum>
std::string ChoiceNames(const Choices<Enum>& choices, std::string_view separator) {
  std::string names;
  for (const auto& choice : choices) {
    if (!names.empty()) names += separator;
    names += choice.first;
  }
  return names;
}

// Value is Enum, or std::optional<Enum> where unset is a choice of its own.
template <typename Enum, typename Value>
Setting ChoiceSetting(const Text& text, Value Config::*member, Choices<Enum> choices) {
  Setting row = Row(text, Setting::Kind::kText, ChoiceNames(choices, "|"),
                    "one of " + ChoiceNames(choices, ", "));
  row.parse = [member, choices](std::string_view value, Config& config) {
    const auto found = std::ranges::find(choices, value, &std::pair<std::string, Enum>::first);
    if (found == choices.end()) return false;
    config.*member = found->second;
    return true;
  };
  row.format = [member, choices](const Config& config) -> std::string {
    for (const auto& [name, value] : choices) {
      if (config.*member == value) return name;
    }
    return "";
  };
  return WithDefault(std::move(row));
}

std::vector<Setting> MakeSettings() {
  using std::chrono::hours;
  using std::chrono::milliseconds;
  using store::Durability;
  constexpr milliseconds kNever{0};
  constexpr milliseconds kDay = hours(24);
  return {
      WithDefaultText(PathSetting({"data", "The data directory, made if it does not exist."}, "DIR",
                                  &Config::data),
                      "~/.cairn"),
      StoreSetting({"store",
                    "Keep everything in this PostgreSQL database, which any number of servers may "
                    "share, instead of in the data directory. PGPASSWORD and PGPASSFILE are "
                    "honoured, TLS is chosen by sslmode in the URL."}),
      AddressSetting({"resp", "Where the Redis protocol listens. Port 0 lets the system choose."},
                     &Config::resp),
      AddressSetting({"http", "Where HTTP listens. Port 0 lets the system choose."}, &Config::http),
      ChoiceSetting<Durability>(
          {"durability",
           "When an acknowledged write is on disk: before it is acknowledged, within the sync "
           "interval, or when the operating system writes it."},
          &Config::durability,
          {{"sync", Durability::kSync},
           {"interval", Durability::kInterval},
           {"os", Durability::kOs}}),
      DurationSetting({"sync_interval", "How often the log is synced with durability interval."},
                      &Config::sync_interval, milliseconds(1), milliseconds(60'000)),
      WithDefaultText(SizeSetting({"memory",
                                   "What the store's caches and write buffers may use together. "
                                   "Connections and requests come on top."},
                                  &Config::memory_bytes, 64ULL << 20, 4ULL << 40),
                      "a quarter of the memory, 192MiB to 16GiB"),
      CountSetting({"io_threads", "Event loops, each on a thread of its own."}, &Config::io_threads,
                   1, 64),
      CountSetting({"pool_threads",
                    "Threads for requests that have to wait for the disk or for PostgreSQL."},
                   &Config::pool_threads, 1, 256),
      CountSetting({"max_clients", "Redis-protocol connections served at a time."},
                   &Config::max_clients, 1, 1'000'000),
      CountSetting({"max_http_connections", "HTTP connections served at a time."},
                   &Config::max_http_connections, 1, 1'000'000),
      DurationSetting({"idle_timeout",
                       "Redis-protocol clients that are silent for this long are closed; 0 never."},
                      &Config::idle_timeout, kNever, kDay),
      DurationSetting(
          {"auth_timeout",
           "Where a password or key is required, connections that have not presented one "
           "after this long are closed; 0 never."},
          &Config::auth_timeout, kNever, kDay),
      DurationSetting({"script_time_limit",
                       "A script or function that runs for longer is ended, and nothing of it is "
                       "kept."},
                      &Config::script_time_limit, milliseconds(100), kDay),
      DurationSetting({"drain_timeout",
                       "How long a stopping server waits for running requests and unsent replies."},
                      &Config::drain_timeout, kNever, hours(1)),
      SecretSetting({"password",
                     "What clients must present: AUTH in the Redis protocol, a bearer token or "
                     "X-API-Key in HTTP. Every user of the machine can see a command line: prefer "
                     "password_file."},
                    &Config::password),
      PathSetting({"password_file", "A file whose first line is the password."}, "FILE",
                  &Config::password_file),
      SwitchSetting({"insecure",
                     "Allow an address that other machines can reach although nobody needs a "
                     "password or key."},
                    &Config::insecure),
      CorsSetting({"cors.origins",
                   "Which web pages may use HTTP from a browser, beside those of its own origin: * "
                   "all, none, or a list of origins, where local means pages served on this "
                   "machine."}),
      HostsSetting({"allowed_hosts",
                    "While http is bound to loopback and nobody needs a password or a key: names "
                    "under which HTTP may be asked beside localhost and loopback addresses, or * "
                    "for any. Others get 421, because a web site can make its own name point "
                    "here."}),
      WithDefaultText(
          PathSetting({"backup.directory",
                       "Backups that a running server makes go below this directory only."},
                      "DIR", &Config::backup_directory),
          "backups in the data directory"),
      DurationSetting({"audit.kept", "How long entries of the audit log are kept."},
                      &Config::audit_kept, hours(1), hours(10 * 365 * 24)),
      SizeSetting({"audit.bytes",
                   "How large the audit log may become: seven eighths for changes, one for counted "
                   "refusals. Beyond that the oldest entries go of whoever has the most."},
                  &Config::audit_bytes, 1ULL << 20, 1ULL << 40),
      SizeSetting({"limits.bulk", "The largest argument of a Redis-protocol request."},
                  &Config::limit_bulk_bytes, 1ULL << 20, 512ULL << 20),
      SizeSetting(
          {"limits.http_body",
           "The largest body of an HTTP request, where the route names no limit of its own."},
          &Config::limit_http_body_bytes, 1ULL << 10, 1ULL << 30),
      WithDefaultText(
          SizeSetting({"limits.transaction",
                       "What one command, script or MULTI may write at once: keys, values and 64 "
                       "bytes each time that a row is written. Past it nothing of it is done."},
                      &Config::limit_transaction_bytes, 64ULL << 20, 2ULL << 30),
          "a quarter of `memory`, 64MiB to 1GiB"),
      WithDefaultText(
          SizeSetting({"limits.buffers",
                       "What the requests and replies of all connections may take together, beside "
                       "memory. Beyond it, the connection that holds the most is closed."},
                      &Config::limit_buffers_bytes, 16ULL << 20, 4ULL << 40),
          "as much as memory"),
      WithDefaultText(
          SizeSetting({"limits.reply",
                       "The largest reply to one Redis-protocol request, a whole EXEC included. A "
                       "request whose reply would be larger fails, and nothing of it remains."},
                      &Config::limit_reply_bytes, 1ULL << 20, 4ULL << 40),
          "a quarter of limits.buffers"),
      NameSetting(
          {"postgres.schema", "The schema that holds Cairn's tables, made if it is missing."},
          &Config::postgres_schema),
      CountSetting({"postgres.connections",
                    "Sessions for transactions; snapshots and notifications have their own."},
                   &Config::postgres_connections, 1, 1'000),
      ChoiceSetting<store::postgres::Mode>(
          {"postgres.mode",
           "What makes requests for the same key take turns: advisory locks, serializable "
           "transactions alone, or the first if the server has them."},
          &Config::postgres_mode,
          {{"auto", store::postgres::Mode::kAuto},
           {"advisory", store::postgres::Mode::kAdvisory},
           {"portable", store::postgres::Mode::kPortable}}),
      DurationSetting(
          {"postgres.statement_timeout", "How long one statement, or a wait for a lock, may take."},
          &Config::postgres_statement_timeout, milliseconds(100), hours(1)),
      NameSetting({"seats.key_prefix", "What the keys of seat reservations begin with."},
                  &Config::seats_key_prefix),
      WithDefaultText(
          PathSetting({"view.file",
                       "The SQLite file of the search view over jobs, one per server. Lost, it is "
                       "built anew."},
                      "FILE", &Config::view_file),
          "view.sqlite in the data directory"),
      TargetsSetting({"webhooks.allow",
                      "Where webhooks may be sent beside public addresses: public for nowhere "
                      "else, or a list of loopback, private and networks."}),
      PathSetting({"tls.cert", "Certificate (PEM, with its chain); with tls.key it turns TLS on."},
                  "FILE", &Config::tls_cert),
      PathSetting({"tls.key", "Private key of the certificate (PEM, not encrypted)."}, "FILE",
                  &Config::tls_key),
      PathSetting(
          {"tls.client_ca",
           "Certificate authorities (PEM): clients must then present a certificate of one."},
          "FILE", &Config::tls_client_ca),
      ChoiceSetting<TlsDoors>(
          {"tls.doors", "Which listeners speak TLS once a certificate is set."}, &Config::tls_doors,
          {{"both", TlsDoors::kBoth}, {"resp", TlsDoors::kResp}, {"http", TlsDoors::kHttp}}),
      ChoiceSetting<LogLevel>({"log.level", "The least severe messages that are logged."},
                              &Config::log_level,
                              {{"debug", LogLevel::kDebug},
                               {"info", LogLevel::kInfo},
                               {"warn", LogLevel::kWarn},
                               {"error", LogLevel::kError}}),
      WithDefaultText(
          ChoiceSetting<LogFormat>(
              {"log.format", "Log lines for people or one JSON object per line."},
              &Config::log_format, {{"text", LogFormat::kText}, {"json", LogFormat::kJson}}),
          "text on a terminal, else json"),
  };
}

// The setting's name with every separator as `separator`, in the given case.
std::string Spell(std::string_view name, char separator, int (*change_case)(int)) {
  std::string spelled;
  for (const char c : name) {
    const bool is_separator = c == '.' || c == '_';
    spelled +=
        is_separator ? separator : static_cast<char>(change_case(static_cast<unsigned char>(c)));
  }
  return spelled;
}

// How many letters have to be inserted, removed or replaced to turn one word into the other.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

const net::CorsPolicy& CorsOf(const Config& config, bool needs_password) {
  static const net::CorsPolicy every_page{.any = true};
  static const net::CorsPolicy pages_of_this_machine{.local = true};
  if (config.cors_origins) return *config.cors_origins;
  return needs_password ? every_page : pages_of_this_machine;
}

std::string BackupDirectory(const Config& config) {
  const std::string directory =
      config.backup_directory.empty() ? config.data + "/backups" : config.backup_directory;
  return std::filesystem::absolute(directory).lexically_normal().string();
}

jobs::WebhookTargets WebhookTargetsOf(const Config& config) {
  if (config.webhooks_allow) return *config.webhooks_allow;
  return {.loopback = net::IsLoopback(config.resp) && net::IsLoopback(config.http)};
}

std::string ViewFile(const Config& config) {
  if (!config.view_file.empty()) return config.view_file;
  if (config.store_url.empty()) return config.data + "/view.sqlite";
  const int own = config.http.port != 0 ? config.http.port : getpid();
  return fmt::format("{}/view-{}.sqlite", config.data, own);
}

std::string StoreName(const Config& config) {
  return config.store_url.empty() ? config.data : store::postgres::PublicUrl(config.store_url);
}

std::string Setting::flag() const { return "--" + Spell(name, '-', std::tolower); }

std::string Setting::environment() const { return "CAIRN_" + Spell(name, '_', std::toupper); }

const std::vector<Setting>& Settings() {
  static const std::vector<Setting> settings = MakeSettings();
  return settings;
}

const Setting* FindSetting(std::string_view name) {
  const auto found = std::ranges::find(Settings(), name, &Setting::name);
  return found == Settings().end() ? nullptr : &*found;
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

std::optional<std::string> Nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  // A third of the letters may be wrong; beyond that a suggestion is a guess.
  size_t best = std::max<size_t>(2, word.size() / 3) + 1;
  std::optional<std::string> nearest;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(word, candidate);
    if (distance < best && distance < candidate.size()) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::optional<std::string> nearest = Nearest(word, candidates);
  return nearest ? fmt::format(" (did you mean '{}'?)", *nearest) : "";
}

}  // namespace cairn::app
