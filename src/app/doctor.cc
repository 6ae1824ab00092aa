#include "app/doctor.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "app/layers.h"
#include "app/machine.h"
#include "app/open_store.h"
#include "app/tls.h"
#include "house/declarations.h"
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

class Examination {
 public:
  Examination(const LoadedConfig& loaded, const DoctorOptions& options, const Clock& clock)
      : loaded_(loaded), config_(loaded.config), options_(options), clock_(clock) {}

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
    CheckFiles();
    CheckLayers();
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
      return Ok("data directory", directory + " does not exist yet and can be made");
    }
    if (report_.format_version == 0 && report_.bytes == 0) {
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
    const Result<void> checked = store::rocks::CheckStart(RocksOptions(config_));
    if (checked.ok()) return Ok("log", "everything that was durable is there");
    Problem("log", checked.error().message,
            "the server would not start: restore the newest backup into an empty directory");
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

  // What layers need of the machine.
  void CheckLayers() {
    const house::Layers layers = MakeLayers();
    const house::Declarations declarations(layers);
    for (const house::ExamineFunction& examine : declarations.examinations()) {
      findings_.push_back(examine());
    }
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
    if (config_.password.empty()) {
      return Warn("exposure",
                  "other machines can connect and no password is set: a server starts so only if "
                  "its store has an enabled key",
                  "set password_file, or make a key while bound to 127.0.0.1");
    }
    if (!in_the_clear)
      return Ok("exposure", "other machines can connect, by TLS and with the password");
    Warn("exposure",
         "other machines can connect, and the password crosses the network in the clear",
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
  const DoctorOptions& options_;
  const Clock& clock_;
  store::rocks::DirectoryReport report_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> Examine(const LoadedConfig& loaded, const DoctorOptions& options,
                             const Clock& clock) {
  return Examination(loaded, options, clock).Run();
}

bool HasProblem(const std::vector<Finding>& findings) {
  return std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.level == Level::kProblem; });
}

}  // namespace cairn::app
