#pragma once

#include <memory>
#include <string>
#include <string_view>

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

  // Runs SQL as the owner; the test ends if it fails.
  void Execute(const std::string& sql) const;
  // How many rows `sql` gives.
  size_t Count(const std::string& sql) const;

  void Start();
  // Ends it at once, as a crash would.
  void Kill();

 private:
  void MakeDirectory();
  std::vector<std::string> AsUser(std::vector<std::string> command) const;

  const Options options_;
  TempDirectory directory_;
  int port_ = 0;
  std::unique_ptr<Process> process_;
};

}  // namespace cairn::testing
