// A server that is no root runs functions with the parts of the sandbox that it is allowed, and
// doctor says which these are.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "net/http/client.h"
#include "tests/functions/functions_server.h"
#include "tests/support/await.h"
#include "tests/support/process.h"
#include "tests/support/temp_directory.h"
#include "tests/support/test_store.h"

namespace cairn::testing {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using ::testing::HasSubstr;

constexpr uid_t kNobody = 65'534;

// `cairn ARGS` as nobody, or as we are if we are no root ourselves.
class AsNobody {
 public:
  AsNobody() {
    binary_ = directory_ / "cairn";
    fs::copy_file(CairnBinary(), binary_);  // where nobody can reach it
    if (geteuid() != 0) return;
    EXPECT_EQ(chown(directory_.path().c_str(), kNobody, kNobody), 0);
    before_ = {"/usr/bin/setpriv", "--reuid=65534",   "--regid=65534",      "--clear-groups",
               "--no-new-privs",   "--inh-caps=-all", "--bounding-set=-all"};
  }
  ProcessOptions Command(std::vector<std::string> args) const {
    ProcessOptions options{.args = before_};
    options.args.push_back(binary_);
    options.args.insert(options.args.end(), args.begin(), args.end());
    return options;
  }
  std::string Path(std::string_view name) const { return directory_ / name; }

 private:
  TempDirectory directory_;
  std::string binary_;
  std::vector<std::string> before_;
};

json::value FindingOf(const Finished& doctor) {
  const json::value told = json::parse(doctor.out);
  for (const json::value& finding : told.at("findings").as_array()) {
    if (finding.at("check").as_string() == "sandbox") return finding;
  }
  return nullptr;
}

TEST(UnprivilegedFunctionsTest, DoctorSaysWhatIsInForce) {
  const AsNobody nobody;
  const Finished doctor =
      RunToEnd(nobody.Command({"doctor", "--json", "--data", nobody.Path("data"), "--resp",
                               "127.0.0.1:0", "--http", "127.0.0.1:0"}));
  const json::value finding = FindingOf(doctor);
  ASSERT_TRUE(finding.is_object()) << doctor.out << doctor.err;
  const std::string text(finding.at("text").as_string());
  for (const char* const part : {"system call filter", "resource limits", "no privileges"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  // Nobody cannot become another user, whatever a namespace pretends.
  EXPECT_EQ(finding.at("level").as_string(), "warning") << text;
  EXPECT_THAT(text.substr(text.find("not in force")), HasSubstr("own user"));
  EXPECT_THAT(std::string(finding.at("advice").as_string()), HasSubstr("as root"));

  const Finished ours = RunCairn({"doctor", "--json", "--data", nobody.Path("data"), "--resp",
                                  "127.0.0.1:0", "--http", "127.0.0.1:0"});
  const json::value of_ours = FindingOf(ours);
  ASSERT_TRUE(of_ours.is_object()) << ours.out << ours.err;
  if (geteuid() == 0) {
    EXPECT_THAT(std::string(of_ours.at("text").as_string()),
                HasSubstr("system call filter, resource limits, no privileges, own user, empty "
                          "root directory"));
  }
}

TEST(UnprivilegedFunctionsTest, FunctionsRunAndAreContained) {
  CAIRN_TEST_ROCKS_ONLY("a server that the test starts by itself");
  const AsNobody nobody;
  Result<Process> server = Process::Start(
      nobody.Command({"serve", "--data", nobody.Path("data"), "--resp", "127.0.0.1:0", "--http",
                      "127.0.0.1:0", "--ready-file", nobody.Path("ready")}));
  ASSERT_TRUE(server.ok()) << server.error().message;
  Await("the server to be ready", [&] {
    EXPECT_TRUE(server->running()) << server->err();
    return !ReadWholeFile(nobody.Path("ready")).empty() || !server->running();
  });
  const Result<net::Address> address = net::ParseAddress(
      std::string(json::parse(ReadWholeFile(nobody.Path("ready"))).at("http").as_string()));
  ASSERT_TRUE(address.ok());
  net::HttpClient client(*address);
  const auto ask = [&](const std::string& target, const std::string& body) {
    const Result<net::HttpResponse> answer = client.Request("POST", target, body, {});
    EXPECT_TRUE(answer.ok());
    return answer.ok() ? answer->body : "";
  };
  const std::string functions = "/v1/tenants/t_test01/namespaces/shop/functions";
  const auto run = [&](std::string_view source) {
    constexpr std::string_view kManifest =
        R"({"schema":"cs.function.script.v1","runtime":"cs-js","entry":"function.js",)"
        R"("handler":"default","limits":{"timeoutMs":1000,"memoryMb":32,"maxConcurrency":10},)"
        R"("capabilities":{"kv":{},"codeq":{},"http":{}}})";
    const json::object request{{"files", json::object{{"function.js", Base64(source)},
                                                      {"manifest.json", Base64(kManifest)}}},
                               {"alias", "live"}};
    EXPECT_THAT(ask(functions + "/fn1/versions", json::serialize(request)), HasSubstr("version"));
    return ask(functions + "/fn1:invoke", R"({"ref":{"alias":"live"},"event":{}})");
  };
  ask(functions, R"({"name":"fn1"})");
  EXPECT_THAT(run("export default () => 'well'"), HasSubstr("well"));
  EXPECT_THAT(run("export default () => { for (;;); }"), HasSubstr("timeout"));
  EXPECT_THAT(
      run("export default () => { const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1)) }"),
      HasSubstr("MemoryLimit"));
  EXPECT_THAT(run("export default async () => (await import('/etc/passwd')).x"),
              HasSubstr("\"error\""));
  EXPECT_THAT(run("export default () => 'still well'"), HasSubstr("still well"));
  server->Signal(SIGTERM);
  EXPECT_TRUE(server->Wait(kAwaitLimit).has_value());
}

}  // namespace
}  // namespace cairn::testing
