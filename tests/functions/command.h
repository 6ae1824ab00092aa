#pragma once

#include <boost/json/value.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {

// Somebody who writes functions: a home directory of their own, and folders in it.
class Author {
 public:
  // Tenant and namespace are t_test01/shop, and there is no server, until the environment says
  // otherwise.
  Author();

  // `cairn ARGS…` in the home directory.
  Finished Cairn(std::vector<std::string> args) const;
  // A script in which `cairn` is the program: for what is piped into it.
  Finished Shell(const std::string& script) const;
  // The same with --json; what it has printed. Null, and the test fails, if that is no JSON.
  boost::json::value Json(std::vector<std::string> args) const;
  // Started, not waited for.
  Process Start(std::vector<std::string> args) const;

  // A folder with a function of this source, and a manifest that allows some things. `file` is
  // function.js or function.ts.
  std::string Folder(std::string_view name, std::string_view source,
                     std::string_view file = "function.js") const;
  void Write(const std::string& path, std::string_view text) const;  // folders are made

  const TempDirectory& home() const { return home_; }
  std::string Path(std::string_view path) const { return home_ / path; }
  std::string login_file() const { return home_ / "config/cairn/auth.json"; }
  std::map<std::string, std::string>& environment() { return environment_; }
  // Has esbuild found: the one of npm.
  void InstallEsbuild();

 private:
  ProcessOptions Options(std::vector<std::string> args) const;

  TempDirectory home_;
  std::map<std::string, std::string> environment_;
};

}  // namespace cairn::testing
