#include "tests/functions/command.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace cairn::testing {
namespace {

constexpr std::string_view kManifest = R"({
  "schema": "cs.function.script.v1", "runtime": "cs-js",
  "entry": "function.js", "handler": "default",
  "limits": {"timeoutMs": 20000, "memoryMb": 64, "maxConcurrency": 10},
  "capabilities": {"kv": {"prefixes": ["a:"], "ops": ["get", "set", "del"]},
                   "codeq": {"publishTopics": ["orders.*"]},
                   "http": {"allowHosts": ["127.0.0.1"], "timeoutMs": 2000}}
})";

std::string PathOfThisProcess() {
  const char* const path = std::getenv("PATH");
  return path == nullptr ? "/usr/bin:/bin" : path;
}

}  // namespace

Author::Author()
    : environment_({{"HOME", home_.path()},
                    {"XDG_CONFIG_HOME", home_ / "config"},
                    {"PATH", PathOfThisProcess()},
                    {"CS_TENANT", "t_test01"},
                    {"CS_NAMESPACE", "shop"},
                    {"CS_API_URL", "http://127.0.0.1:1"}}) {}

ProcessOptions Author::Options(std::vector<std::string> args) const {
  args.insert(args.begin(), std::filesystem::absolute(CairnBinary()).string());
  return {.args = std::move(args), .environment = environment_, .directory = home_.path()};
}

Finished Author::Cairn(std::vector<std::string> args) const {
  return RunToEnd(Options(std::move(args)), std::chrono::seconds(120));
}

Finished Author::Shell(const std::string& script) const {
  const std::string program = std::filesystem::absolute(CairnBinary()).string();
  return RunToEnd({.args = {"/bin/sh", "-c", "cairn() { " + program + " \"$@\"; }\n" + script},
                   .environment = environment_,
                   .directory = home_.path()},
                  std::chrono::seconds(120));
}

boost::json::value Author::Json(std::vector<std::string> args) const {
  args.emplace_back("--json");
  const Finished finished = Cairn(std::move(args));
  boost::system::error_code failure;
  boost::json::value value = boost::json::parse(finished.out, failure);
  if (!failure) return value;
  ADD_FAILURE() << "not JSON: " << finished.out << "\n" << finished.err;
  return nullptr;
}

Process Author::Start(std::vector<std::string> args) const {
  Result<Process> process = Process::Start(Options(std::move(args)));
  if (!process.ok()) throw std::runtime_error(process.error().message);
  return *std::move(process);
}

std::string Author::Folder(std::string_view name, std::string_view source,
                           std::string_view file) const {
  const std::string folder(name);
  Write(folder + "/manifest.json", kManifest);
  Write(folder + "/" + std::string(file), source);
  return folder;
}

void Author::Write(const std::string& path, std::string_view text) const {
  const std::filesystem::path whole = home_ / path;
  std::filesystem::create_directories(whole.parent_path());
  std::ofstream(whole, std::ios::binary) << text;
}

void Author::InstallEsbuild() {
  const std::filesystem::path programs =
      std::filesystem::absolute("build-npm/node_modules/.bin");  // scripts/npm_test_packages.sh
  environment_["PATH"] = programs.string() + ":" + PathOfThisProcess();
}

}  // namespace cairn::testing
