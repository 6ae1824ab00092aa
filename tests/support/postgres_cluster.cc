#include "tests/support/postgres_cluster.h"

#include <fmt/format.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "store/postgres/connection.h"

namespace cairn::testing {
namespace {

constexpr std::string_view kPrograms = "/usr/lib/postgresql/15/bin/";
constexpr std::string_view kOwner = "cairn";
constexpr std::chrono::seconds kStartLimit{60};

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  CAIRN_CHECK(bind(fd, generic, size) == 0 && getsockname(fd, generic, &size) == 0);
  close(fd);
  return ntohs(address.sin_port);
}

Result<std::unique_ptr<store::postgres::Connection>> Connect(const std::string& url) {
  return store::postgres::Connection::Open({.url = url}, nullptr);
}

}  // namespace

PostgresCluster::PostgresCluster(const Options& options)
    : options_(options),
      data_(options.data.empty() ? directory_ / "data" : options.data),
      port_(FreePort()) {
  MakeDirectory();
  Start();
}

PostgresCluster::~PostgresCluster() { Kill(); }

PostgresCluster& PostgresCluster::Shared() {
  static PostgresCluster cluster({});
  return cluster;
}

std::vector<std::string> PostgresCluster::AsUser(std::vector<std::string> command) const {
  if (getuid() != 0) return command;
  std::vector<std::string> args = {"/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres",
                                   "--clear-groups",   "--pdeathsig=KILL", "--"};
  args.insert(args.end(), command.begin(), command.end());
  return args;
}

void PostgresCluster::GiveToServer(const std::string& path) const {
  if (getuid() != 0) return;
  const passwd* user = getpwnam("postgres");
  CAIRN_CHECK(user != nullptr, "PostgreSQL is not installed: scripts/setup.sh test");
  CAIRN_CHECK(chown(path.c_str(), user->pw_uid, user->pw_gid) == 0, "{}", path);
}

std::vector<std::string> PostgresCluster::MakeCommand(const std::string& password) const {
  if (const PostgresCluster* primary = options_.primary) {
    return {std::string(kPrograms) + "pg_basebackup",
            "--pgdata",
            data_,
            "--host",
            primary->directory_.path(),
            "--port",
            std::to_string(primary->port_),
            "--username",
            std::string(kOwner),
            "--write-recovery-conf",
            "--checkpoint=fast",
            "--no-sync"};
  }
  return {std::string(kPrograms) + "initdb",
          "--pgdata",
          data_,
          "--username",
          std::string(kOwner),
          "--pwfile",
          password,
          "--no-locale",
          "--encoding",
          "UTF8",
          "--auth-local=trust",
          "--auth-host=scram-sha-256",
          "--no-sync",
          "--no-instructions"};
}

void PostgresCluster::MakeDirectory() {
  const std::string password = directory_.Write("password", kPassword);
  GiveToServer(directory_.path());
  GiveToServer(password);
  ProcessOptions options;
  options.args = AsUser(MakeCommand(password));
  options.directory = directory_.path();
  const Finished made = RunToEnd(options, kStartLimit);
  CAIRN_CHECK(made.status.ok(), "{}", made.err);
}

void PostgresCluster::Start() {
  ProcessOptions options;
  options.args = {std::string(kPrograms) + "postgres", "-D", data_};
  const std::string sync = options_.sync ? "on" : "off";
  for (const std::string& setting :
       {fmt::format("port={}", port_), std::string("listen_addresses=127.0.0.1"),
        "unix_socket_directories=" + directory_.path(), std::string("max_connections=300"),
        std::string("shared_buffers=64MB"), std::string("max_pred_locks_per_transaction=256"),
        "fsync=" + sync, "full_page_writes=" + sync, std::string("log_min_messages=fatal")}) {
    options.args.insert(options.args.end(), {"-c", setting});
  }
  for (const std::string& setting : options_.settings) {
    options.args.insert(options.args.end(), {"-c", setting});
  }
  options.args = AsUser(options.args);
  options.directory = directory_.path();
  Result<Process> process = Process::Start(options);
  CAIRN_CHECK(process.ok(), "{}", process.error().message);
  process_ = std::make_unique<Process>(*std::move(process));
  const auto deadline = std::chrono::steady_clock::now() + kStartLimit;
  while (!Connect(url()).ok()) {
    CAIRN_CHECK(process_->running(), "PostgreSQL ended: {}", process_->err());
    CAIRN_CHECK(std::chrono::steady_clock::now() < deadline, "{}", process_->err());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void PostgresCluster::Kill() {
  if (process_ == nullptr) return;
  process_->Signal(SIGQUIT);  // an immediate shutdown: it recovers at the next start
  if (!process_->Wait(std::chrono::seconds(20))) process_->Kill();
  process_.reset();
}

void PostgresCluster::KillNow() {
  process_->Kill();
  process_.reset();
}

void PostgresCluster::Promote() {
  // Waited for here: it may take longer than a statement may.
  Execute("SELECT pg_promote(wait => false)");
  const auto deadline = std::chrono::steady_clock::now() + kStartLimit;
  while (Count("SELECT 1 WHERE NOT pg_is_in_recovery()") == 0) {
    CAIRN_CHECK(std::chrono::steady_clock::now() < deadline, "the standby was not promoted");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::string PostgresCluster::UrlOfEither(const PostgresCluster& a, const PostgresCluster& b) {
  return fmt::format(
      "postgres:///postgres?host={},{}&port={},{}&user={}&target_session_attrs=read-write",
      a.directory_.path(), b.directory_.path(), a.port_, b.port_, kOwner);
}

std::string PostgresCluster::url() const {
  return fmt::format("postgres:///postgres?host={}&port={}&user={}", directory_.path(), port_,
                     kOwner);
}

std::string PostgresCluster::TcpUrl(std::string_view user, std::string_view password) const {
  std::string encoded;
  for (const char c : password) encoded += c == ' ' ? std::string("%20") : std::string(1, c);
  return fmt::format("postgres://{}:{}@127.0.0.1:{}/postgres", user, encoded, port_);
}

void PostgresCluster::Execute(const std::string& sql) const {
  const auto connection = Connect(url());
  CAIRN_CHECK(connection.ok(), "{}", connection.error().message);
  const store::postgres::Replies replies = (*connection)->Execute(sql);
  CAIRN_CHECK(replies.ok(), "{}: {}", sql, replies.error->message);
}

size_t PostgresCluster::Count(const std::string& sql) const {
  const auto connection = Connect(url());
  CAIRN_CHECK(connection.ok(), "{}", connection.error().message);
  const store::postgres::Replies replies = (*connection)->Execute(sql);
  CAIRN_CHECK(replies.ok(), "{}: {}", sql, replies.error->message);
  return replies.rows[0].size();
}

}  // namespace cairn::testing
