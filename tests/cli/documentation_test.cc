#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "tests/support/process.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

// Of functions: some are there once something has run (tests/functions/metrics_test.cc).
bool IsOfFunctions(const std::string& name) { return name.starts_with("cs_"); }

// The rows "| `name` | what it is |" of the operations guide that name metrics, as
// name → what it is.
std::map<std::string, std::string> DocumentedMetrics() {
  std::map<std::string, std::string> rows;
  std::istringstream lines(ReadWholeFile("docs/operations.md"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `cairn_") && !line.starts_with("| `cs_") &&
        !line.starts_with("| `process_")) {
      continue;
    }
    const size_t name_end = line.find('`', 3);
    rows[line.substr(3, name_end - 3)] = line.substr(name_end + 4, line.size() - name_end - 6);
  }
  return rows;
}

std::map<std::string, std::string> ServedMetrics(const std::string& text) {
  std::map<std::string, std::string> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("# HELP ")) continue;
    const size_t name_end = line.find(' ', 7);
    rows[line.substr(7, name_end - 7)] = line.substr(name_end + 1);
  }
  return rows;
}

TEST(DocumentationTest, TheSettingsTableIsTheOneTheBinaryPrints) {
  const Finished printed = RunCairn({"config", "--markdown"});
  ASSERT_EQ(printed.status.code, 0) << printed.err;
  const std::string guide = ReadWholeFile("docs/operations.md");
  ASSERT_FALSE(guide.empty()) << "run from the top of the source tree";
  EXPECT_NE(guide.find(printed.out), std::string::npos)
      << "docs/operations.md should hold what `cairn config --markdown` prints:\n"
      << printed.out;
}

TEST(DocumentationTest, TheMetricsTableNamesWhatIsServedAndNothingElse) {
  TempDirectory directory;
  Result<Server> server = Server::Start({.data = directory / "data"});
  ASSERT_TRUE(server.ok()) << server.error().message;
  ASSERT_EQ(server->Command({"PING"}), "PONG");
  server->Command({"JOB.ENQUEUE", "mail", "{}"});  // a queue has metrics once it is there
  const Result<net::HttpResponse> metrics = server->Http().Get("/metrics");
  ASSERT_TRUE(metrics.ok()) << metrics.error().message;
  ASSERT_EQ(metrics->status, 200);
  std::map<std::string, std::string> documented = DocumentedMetrics();
  std::map<std::string, std::string> served = ServedMetrics(metrics->body);
  for (const auto& [name, text] : served) {
    if (IsOfFunctions(name)) {
      EXPECT_EQ(documented[name], text) << name;
    }
  }
  std::erase_if(documented, [](const auto& row) { return IsOfFunctions(row.first); });
  std::erase_if(served, [](const auto& row) { return IsOfFunctions(row.first); });
  EXPECT_EQ(documented, served);
}

}  // namespace
}  // namespace cairn::testing
