// Redirects that a function's fetch follows: each step keeps to the manifest and to the addresses
// that the server allows.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <string_view>

#include "tests/functions/functions_server.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A host that is allowed may answer with a redirect to one that is not.
TEST(FunctionsRedirectTest, EachStepOfARedirectIsCheckedAgain) {
  FunctionsServer server({"--functions-allow", "loopback"});
  server.Publish("send", R"(
    export default (event) => {
      const query = new URLSearchParams(event.rawQueryString);
      const to = query.get('to');
      return to ? {statusCode: Number(query.get('status') ?? 302), headers: {location: to}, body: 'go'}
                : {body: 'arrived'};
    })");
  server.Publish("get", R"(
    export default async (event) => {
      const answer = await fetch(event.url, {redirect: event.redirect ?? 'follow'});
      return {body: answer.status + ' ' + await answer.text()};
    })");
  const std::string place = fmt::format("http://127.0.0.1:{}/v1/web/t_test01/shop/send/live",
                                        server.server().http().port);
  const auto get = [&](std::string_view to, std::string_view redirect = "follow") {
    const json::object event{{"url", fmt::format("{}?to={}", place, to)}, {"redirect", redirect}};
    return server.Invoke("get", json::serialize(event)).text;
  };
  EXPECT_THAT(get(""), HasSubstr("200 arrived"));
  EXPECT_THAT(get(place), HasSubstr("200 arrived"));
  EXPECT_THAT(get(place, "manual"), HasSubstr("302 go"));
  EXPECT_THAT(get(place, "error"), HasSubstr("\"status\":\"error\""));
  const std::string other = fmt::format("http://localhost:{}/v1/web/t_test01/shop/send/live",
                                        server.server().http().port);
  EXPECT_THAT(get(other), HasSubstr("allowHosts"));
  EXPECT_THAT(get("http://10.0.0.1/"), HasSubstr("allowHosts"));
  EXPECT_THAT(get("//169.254.169.254/latest/meta-data"), HasSubstr("allowHosts"));
  for (const std::string_view to :
       {"file:///etc/passwd", "gopher://127.0.0.1/", "ftp://127.0.0.1/", "http://[::1]/",
        "http://127.0.0.1@localhost/", "javascript:1", "http://127.0.0.1:1/"}) {
    EXPECT_THAT(get(to), AllOf(HasSubstr("\"status\":\"error\""), Not(HasSubstr("root:")))) << to;
  }
  // One that leads to itself for ever.
  server.Publish("send",
                 fmt::format("export default () => ({{statusCode: 307, headers: {{location: "
                             "'{}'}}}})",
                             place));
  EXPECT_THAT(get(""), HasSubstr("\"status\":\"error\""));
}

}  // namespace
}  // namespace cairn::testing
