#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {

// A private PostgreSQL 15 in a temporary directory, run as user postgres when this process is root,
// since PostgreSQL refuses to. It is gone when the object is, whatever the test did.
//
// Logins through its socket need no password, those over TCP do. Writes are not synced unless asked
// for: what is tested is not the disk.
//
// Started and destroyed by the same thread; everything else from any.
class PostgresCluster {
 public:
  struct Options {
    bool sync = false;
    std::vector<std::string> settings = {};  // name=value, as in postgresql.conf
    // Begins as a copy of this one and follows it, until Promote. It outlives this one's start.
    const PostgresCluster* primary = nullptr;
    std::string data = {};  // an empty directory on a file system of the test's own; empty: none
  };
  explicit PostgresCluster(const Options& options);
  ~PostgresCluster();
  PostgresCluster(const PostgresCluster&) = delete;
  PostgresCluster& operator=(const PostgresCluster&) = delete;

  // The one that all tests of a program share, started when it is first asked for.
  static PostgresCluster& Shared();

  static constexpr std::string_view kPassword = "correct horse";

  // The owner, through the socket.
  std::string url() const;
  // Any user, over TCP.
  std::string TcpUrl(std::string_view user, std::string_view password) const;

  // The one of these that takes writes, through their sockets.
  static std::string UrlOfEither(const PostgresCluster& a, const PostgresCluster& b);
  // The directory that holds certificates and other files for it.
  const std::string& directory() const { return directory_.path(); }

  // Runs SQL as the owner; the test ends if it fails.
  void Execute(const std::string& sql) const;
  // How many rows `sql` gives.
  size_t Count(const std::string& sql) const;

  void Start();
  // Ends it at once, as a crash would.
  void Kill();
  // kill -9. Sessions that are left notice by themselves and end.
  void KillNow();
  // A standby becomes a server of its own.
  void Promote();
  // Gives a file that this process has made to the user that the server runs as.
  void GiveToServer(const std::string& path) const;

 private:
  void MakeDirectory();
  std::vector<std::string> MakeCommand(const std::string& password) const;
  std::vector<std::string> AsUser(std::vector<std::string> command) const;

  const Options options_;
  TempDirectory directory_;
  const std::string data_;
  int port_ = 0;
  std::unique_ptr<Process> process_;
};

}  // namespace cairn::testing
