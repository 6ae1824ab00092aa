#include "app/doctor.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "app/machine.h"
#include "app/open_store.h"
#include "app/tls.h"
#include "functions/child/sandbox.h"
#include "house/configuration.h"
#include "house/units.h"
#include "net/socket.h"
#include "store/rocks/open.h"

namespace cairn::app {
namespace {

namespace fs = std::filesystem;
using Level = Finding::Level;
using std::chrono::microseconds;

constexpr uint64_t kMiB = 1ULL << 20;
constexpr uint64_t kFreeNeeded = 256 * kMiB;
constexpr uint64_t kFreeWanted = 2048 * kMiB;
constexpr int kSyncProbes = 30;
constexpr microseconds kSlowSync{20'000};
constexpr microseconds kImplausibleSync{15};
constexpr int kCertificateWarningDays = 30;
// The layer that knows whether anybody needs a secret.
constexpr std::string_view kOpenToAll = "admin";

// The directory itself, or the nearest one above it that exists.
fs::path NearestExisting(const fs::path& directory) {
  fs::path path = fs::absolute(directory);
  std::error_code ignored;
  while (!fs::exists(path, ignored) && path != path.parent_path()) path = path.parent_path();
  return path;
}

// Whether a server could listen there now.
Result<void> TryListen(const net::Address& address) {
  CAIRN_ASSIGN_OR_RETURN(const net::SocketAddress target, net::ToSocketAddress(address));
  const FileDescriptor fd(socket(target.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (bind(fd.get(), target.get(), target.size()) != 0 || listen(fd.get(), 1) != 0) {
    return net::LastSystemError("cannot listen on " + net::ToString(address));
  }
  return {};
}

// What a store shows that is yet to be made.
class NothingStored final : public store::Reader {
 public:
  explicit NothingStored(const Clock& clock) : now_(clock.Now()) {}
  Result<std::optional<Bytes>> Get(store::Key /*key*/) override { return std::optional<Bytes>(); }
  Result<void> Scan(const store::Range& /*range*/, const store::ScanOptions& /*options*/,
                    store::RowVisitor /*visit*/) override {
    return {};
  }
  Timestamp now() const override { return now_; }

 private:
  const Timestamp now_;
};

class Examination {
 public:
  Examination(const LoadedConfig& loaded, const house::Layers& layers, const DoctorOptions& options,
              const Clock& clock)
      : loaded_(loaded),
        config_(loaded.config),
        layers_(layers),
        options_(options),
        clock_(clock) {}

  std::vector<Finding> Run() {
    CheckConfiguration();
    if (config_.store_url.empty()) {
      CheckDirectory();
      CheckSpace();
      CheckSync();
      CheckMemory();
    } else {
      CheckDatabase();
    }
    if (!looked_inside_) CheckLayers(nullptr);
    CheckFiles();
    CheckSandbox();
    CheckExposure();
    CheckTls();
    CheckPort("resp", config_.resp);
    CheckPort("http", config_.http);
    if (options_.verify) CheckContent();
    return std::move(findings_);
  }

 private:
  void Ok(std::string check, std::string text) {
    Add(Level::kOk, std::move(check), std::move(text), "");
  }
  void Warn(std::string check, std::string text, std::string advice) {
    Add(Level::kWarning, std::move(check), std::move(text), std::move(advice));
  }
  void Problem(std::string check, std::string text, std::string advice) {
    Add(Level::kProblem, std::move(check), std::move(text), std::move(advice));
  }
  void Add(Level level, std::string check, std::string text, std::string advice) {
    findings_.push_back({level, std::move(check), std::move(text), std::move(advice)});
  }

  void CheckConfiguration() {
    for (const std::string& problem : loaded_.problems) {
      Problem("configuration", problem,
              "correct the setting; `cairn config` shows what is in force");
    }
    if (!loaded_.problems.empty()) return;
    const auto given = loaded_.origins.size() -
                       static_cast<size_t>(std::ranges::count(loaded_.origins, "default"));
    Ok("configuration", fmt::format("{} of {} settings given, the rest are defaults", given,
                                    loaded_.origins.size()));
  }

  void CheckDirectory() {
    const std::string& directory = config_.data;
    std::error_code ignored;
    if (fs::exists(directory, ignored) && !fs::is_directory(directory, ignored)) {
      return Problem("data directory", directory + " is not a directory",
                     "choose another with --data");
    }
    const fs::path existing = NearestExisting(directory);
    if (access(existing.c_str(), W_OK | X_OK) != 0) {
      return Problem("data directory", existing.string() + " cannot be written by this user",
                     "give it to the user that runs cairn, or choose another with --data");
    }
    Result<store::rocks::DirectoryReport> report = store::rocks::Inspect(directory);
    if (!report.ok()) {
      return Problem("data directory", report.error().message,
                     "choose another directory, or restore a backup into an empty one");
    }
    report_ = *report;
    if (!report_.exists) {
      LookInside(nothing_yet_);
      return Ok("data directory", directory + " does not exist yet and can be made");
    }
    if (report_.format_version == 0 && report_.bytes == 0) {
      LookInside(nothing_yet_);
      return Ok("data directory", directory + " is empty");
    }
    if (report_.format_version == 0) {
      return Problem("data directory", directory + " holds files, but no Cairn store",
                     "choose an empty directory with --data");
    }
    Ok("data directory",
       fmt::format("{}, format {}, made by {}, {}{}", directory, report_.format_version,
                   report_.written_by, house::ReadableSize(report_.bytes),
                   report_.in_use ? "; a server is using it now" : ""));
    if (!report_.in_use) CheckStart();
  }

  void CheckStart() {
    const Result<void> checked = store::rocks::CheckStart(
        RocksOptions(config_), [this](store::Reader& reader) { LookInside(reader); });
    if (checked.ok()) return Ok("log", "everything that was durable is there");
    Problem("log", checked.error().message,
            "the server would not start: restore the newest backup into an empty directory");
  }

  // What a start would refuse of a store that can be opened.
  void LookInside(store::Reader& reader) {
    looked_inside_ = true;
    const Result<void> copied = CheckCopied(reader, config_);
    if (!copied.ok()) {
      Problem("copy", copied.error().message, "the server does not start before the copy is whole");
    }
    CheckLayers(&reader);
  }

  // `store` is null if it cannot be read, because a server uses it or because it is damaged.
  void CheckLayers(store::Reader* store) {
    for (const auto& layer : layers_) {
      const Result<void> checked = layer->CheckStart(store);
      if (checked.ok()) continue;
      Problem(std::string(layer->name()), checked.error().message,
              "the server would not start: correct this first");
    }
  }

  void CheckDatabase() {
    const Result<store::postgres::DatabaseReport> report =
        store::postgres::Inspect(PostgresOptions(config_));
    if (!report.ok()) {
      return Problem("database", report.error().message,
                     "check the store URL, PGPASSWORD or PGPASSFILE, and that the server runs");
    }
    Ok("database", fmt::format("{}, PostgreSQL {}, {}", StoreName(config_), report->server,
                               report->schema_version == 0
                                   ? "no schema yet: it will be made"
                                   : fmt::format("schema version {}, made by {}",
                                                 report->schema_version, report->made_by)));
    if (report->schema_version > store::postgres::kSchemaVersion) {
      Problem("database", "the schema was made by a newer Cairn", "use that version or newer");
    }
    if (report->schema_version == 0) LookInside(nothing_yet_);
    if (report->schema_version == store::postgres::kSchemaVersion) LookIntoDatabase();
    if (report->read_only) {
      Problem("database", "the server is read-only", "name the primary in the store URL");
    }
    if (!report->synchronous_commit) {
      Warn("database", "synchronous_commit is off",
           "what was acknowledged may be lost when the server crashes: turn it on");
    }
    if (report->advisory_locks) return Ok("locks", "the server has advisory locks");
    if (config_.postgres_mode == store::postgres::Mode::kAdvisory) {
      return Problem("locks", "the server has no advisory locks", "set postgres.mode to auto");
    }
    Ok("locks", "no advisory locks: requests for one key are run again instead of waiting");
  }

  void LookIntoDatabase() {
    const Result<std::unique_ptr<store::Store>> store = OpenStore(config_, clock_, Log::Silent());
    if (!store.ok())
      return Problem("database", store.error().message, "the server would not start");
    const Result<std::unique_ptr<store::Snapshot>> snapshot = (*store)->Read();
    if (snapshot.ok()) return LookInside(**snapshot);
    Problem("database", snapshot.error().message, "the server would not start");
  }

  void CheckSpace() {
    std::error_code failure;
    const fs::space_info space = fs::space(NearestExisting(config_.data), failure);
    if (failure) return;
    const std::string text =
        fmt::format("{} free where the data directory is, {} in use by it",
                    house::ReadableSize(space.available), house::ReadableSize(report_.bytes));
    // Compaction writes the new files before it removes the old ones.
    const uint64_t wanted = std::max(kFreeWanted, report_.bytes / 2);
    if (space.available < kFreeNeeded) {
      Problem("disk space", text, "writes stop when the disk is full: free some space first");
    } else if (space.available < wanted) {
      Warn("disk space", text,
           fmt::format("keep {} free, so that compaction has room", house::ReadableSize(wanted)));
    } else {
      Ok("disk space", text);
    }
  }

  void CheckSync() {
    const std::string directory = NearestExisting(config_.data).string();
    const Result<SyncSpeed> speed = MeasureSync(directory, kSyncProbes);
    if (!speed.ok()) return Problem("disk sync", speed.error().message, "");
    const double median_ms = static_cast<double>(speed->median.count()) / 1000;
    const std::string text =
        fmt::format("{:.2f} ms to make a write durable, {:.2f} ms at worst of {}", median_ms,
                    static_cast<double>(speed->worst.count()) / 1000, kSyncProbes);
    const std::string doubt = DoubtAboutFileSystem(directory);
    if (!doubt.empty()) {
      Warn("disk sync", fmt::format("{}; {} is on {}", text, directory, doubt),
           "put the data directory on a local disk");
    } else if (speed->median > kSlowSync) {
      Warn("disk sync", text,
           "each acknowledged write waits for this with durability sync: use a faster disk, or "
           "durability interval if a second of writes may be lost");
    } else if (speed->median < kImplausibleSync) {
      Warn("disk sync", text,
           "no disk is that fast: make sure that the disk or the virtual machine does not ignore "
           "flushes");
    } else {
      Ok("disk sync", text);
    }
  }

  void CheckFiles() {
    const FileLimit limit = OpenFileLimit();
    const uint64_t needed = config_.max_clients + config_.max_http_connections + kReservedFiles;
    const std::string text =
        fmt::format("{} open files allowed, {} needed for all connections", limit.hard, needed);
    if (limit.hard >= needed) return Ok("open files", text);
    Warn("open files", text,
         "raise the limit (LimitNOFILE in the systemd unit, ulimit -Hn in a shell) or lower "
         "max_clients and max_http_connections");
  }

  void CheckMemory() {
    const MemoryLimit limit = FindMemoryLimit();
    if (limit.bytes == 0) return;
    const std::string text =
        fmt::format("{} for caches and write buffers, {} allowed by the {}",
                    house::ReadableSize(config_.memory_bytes), house::ReadableSize(limit.bytes),
                    limit.from_control_group ? "control group" : "machine");
    if (config_.memory_bytes > limit.bytes) {
      Problem("memory", text, "lower `memory`: the kernel would kill the process");
    } else if (config_.memory_bytes > limit.bytes / 10 * 6) {
      Warn("memory", text,
           "connections and requests need memory too: more than 60 % leaves little");
    } else {
      Ok("memory", text);
    }
  }

  // What keeps the code of functions from everything else, as this user on this machine gets it.
  void CheckSandbox() {
    const Result<uint32_t> parts = functions::ProbeSandbox();
    if (!parts.ok()) {
      return Warn("sandbox", parts.error().message,
                  "everything but functions works; to run them, allow seccomp filters and "
                  "no_new_privs");
    }
    std::string in_force;
    std::string missing;
    for (const functions::SandboxFinding& finding : functions::DescribeSandbox(*parts)) {
      std::string& list = finding.in_force ? in_force : missing;
      if (!list.empty()) list += finding.in_force ? ", " : "; ";
      list += finding.name;
      if (!finding.in_force) {
        list += fmt::format(" (a function that broke out of the rest could {})", finding.meaning);
      }
    }
    if (missing.empty()) return Ok("sandbox", "of functions, in force: " + in_force);
    Warn("sandbox", fmt::format("of functions, in force: {}; not in force: {}", in_force, missing),
         "functions run with what is in force; start the server as root, or allow user namespaces, "
         "for the rest");
  }

  void CheckExposure() {
    const bool reachable = !net::IsLoopback(config_.resp) || !net::IsLoopback(config_.http);
    const bool in_the_clear = (!net::IsLoopback(config_.resp) && !RespSpeaksTls(config_)) ||
                              (!net::IsLoopback(config_.http) && !HttpSpeaksTls(config_));
    if (!reachable) return Ok("exposure", "only this machine can connect");
    if (config_.password.empty() && config_.insecure) {
      return Warn("exposure", "other machines can connect and need no password",
                  "set password_file");
    }
    if (config_.password.empty() && looked_inside_) {
      const auto is_open = [](const Finding& finding) { return finding.check == kOpenToAll; };
      if (std::ranges::any_of(findings_, is_open)) return;
      return CheckEncryption("a key", in_the_clear);
    }
    if (config_.password.empty()) {
      return Warn("exposure",
                  "other machines can connect and no password is set: a server starts so only if "
                  "its store has an enabled key",
                  "set password_file, or make a key while bound to 127.0.0.1");
    }
    CheckEncryption("the password", in_the_clear);
  }

  void CheckEncryption(std::string_view secret, bool in_the_clear) {
    if (!in_the_clear) {
      return Ok("exposure", fmt::format("other machines can connect, by TLS and with {}", secret));
    }
    Warn("exposure",
         fmt::format("other machines can connect, and {} crosses the network in the clear", secret),
         "set tls.cert and tls.key, or let a proxy on this machine speak TLS");
  }

  void CheckTls() {
    if (config_.tls_cert.empty() || config_.tls_key.empty()) return;
    const Result<std::shared_ptr<net::TlsContext>> context = LoadTls(config_);
    if (!context.ok()) {
      return Problem("TLS", context.error().message, "correct the file; cairn needs PEM");
    }
    const std::optional<int> days = CertificateDaysLeft(config_.tls_cert, clock_.Now());
    if (!days) return Ok("TLS", "certificate and key load and fit");
    const std::string text =
        fmt::format("certificate and key fit; {} days of validity left", *days);
    if (*days < 0) {
      Problem("TLS", config_.tls_cert + " has expired", "renew the certificate");
    } else if (*days < kCertificateWarningDays) {
      Warn("TLS", text, "renew the certificate");
    } else {
      Ok("TLS", text);
    }
  }

  void CheckPort(const std::string& name, const net::Address& address) {
    if (address.port == 0) return Ok("listen", name + ": the system will choose a port");
    const Result<void> free = TryListen(address);
    const std::string text = fmt::format("{} {}", name, net::ToString(address));
    if (free.ok()) return Ok("listen", text + " is free");
    if (report_.in_use)
      return Ok("listen", text + " is taken, as it should be while a server runs");
    Problem(
        "listen", free.error().message,
        fmt::format("stop what uses it (ss -ltnp shows it), or choose another with --{}", name));
  }

  void CheckContent() {
    if (config_.store_url.empty() && !report_.exists)
      return Ok("content", "there is nothing to verify yet");
    if (report_.in_use) {
      return Problem("content", "a server is using the directory, so it cannot be verified",
                     "stop the server first, or make a backup and verify its restored copy");
    }
    const Result<std::unique_ptr<store::Store>> store = OpenStore(config_, clock_, Log::Silent());
    const Result<void> verified = store.ok() ? (*store)->Verify() : Result<void>(store.error());
    if (verified.ok() && !config_.store_url.empty()) return Ok("content", "everything was read");
    if (verified.ok()) return Ok("content", "everything was read and matches its checksums");
    Problem("content", verified.error().message,
            "restore the newest backup into another directory");
  }

  const LoadedConfig& loaded_;
  const Config& config_;
  const house::Layers& layers_;
  const DoctorOptions& options_;
  const Clock& clock_;
  NothingStored nothing_yet_{clock_};
  bool looked_inside_ = false;
  store::rocks::DirectoryReport report_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> Examine(const LoadedConfig& loaded, const house::Layers& layers,
                             const house::Declarations& declarations, const DoctorOptions& options,
                             const Clock& clock) {
  house::ConfigureAll(layers, declarations, ConfigurationOf(loaded.config));
  return Examination(loaded, layers, options, clock).Run();
}

bool HasProblem(const std::vector<Finding>& findings) {
  return std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.level == Level::kProblem; });
}

}  // namespace cairn::app
