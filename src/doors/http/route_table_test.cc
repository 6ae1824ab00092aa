#include "doors/http/route_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "net/http/client.h"
#include "net/http/server.h"
#include "net/loop.h"

namespace cairn::doors {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;
using net::HttpReply;
using net::HttpResponse;
using ::testing::HasSubstr;

constexpr std::string_view kThing = R"({
  "type": "object", "required": ["id"], "additionalProperties": false, "properties": {
    "id": {"type": "string"}, "size": {"type": "integer", "minimum": 1}}})";

constexpr std::string_view kThings = R"({
  "type": "array", "items": {
    "type": "object", "required": ["id"], "additionalProperties": false, "properties": {
      "id": {"type": "string"}, "size": {"type": "integer", "minimum": 1}}}})";

awaitable<Result<HttpReply>> GetThing(const RouteCall& call) {
  const std::string& id = call.PathValue("id");
  if (id == "none") co_return Error{ErrorCode::kNotFound, "there is no such thing"};
  co_return HttpReply(HttpResponse::Json(200, json::serialize(json::object{{"id", id}})));
}

awaitable<Result<HttpReply>> PutThing(const RouteCall& call) {
  co_return HttpReply(HttpResponse::Json(201, json::serialize(call.body)));
}

awaitable<Result<HttpReply>> ListThings(const RouteCall& call) {
  const std::string limit(call.request.Query("limit").value_or("10"));
  co_return HttpReply(HttpResponse::Json(200, R"([{"id":"a","size":)" + limit + "}]"));
}

// Answers something else than its row says.
awaitable<Result<HttpReply>> Liar(const RouteCall&) {
  co_return HttpReply(HttpResponse::Json(200, R"({"name":"x"})"));
}

// Tells whether the table has looked at the body.
awaitable<Result<HttpReply>> Unread(const RouteCall& call) {
  co_return HttpReply(
      HttpResponse::Json(201, call.body.is_null() ? R"({"id":"unread"})" : R"({"id":"read"})"));
}

awaitable<Result<HttpReply>> Echo(const RouteCall& call) {
  co_return HttpReply(
      HttpResponse::Text(200, call.PathValue("disk") + " " + call.PathValue("path")));
}

class RouteTableTest : public ::testing::Test {
 protected:
  RouteTableTest() : table_({.title = "Test", .version = "1.2.3"}) {
    table_.Add({.method = "GET",
                .path = "/v1/things/{id}",
                .permission = "things.read",
                .summary = "One thing.",
                .responses = {{200, "The thing.", kThing}},
                .handler = GetThing});
    table_.Add({.method = "PUT",
                .path = "/v1/things/{id}",
                .permission = "things.write",
                .summary = "Makes a thing.",
                .request_schema = kThing,
                .responses = {{201, "The thing.", kThing}},
                .body_limit = 100,
                .handler = PutThing});
    table_.Add({.method = "GET",
                .path = "/v1/things",
                .summary = "All things.",
                .query = {{"limit", "How many.", "integer"}, {"after", "Where to go on."}},
                .responses = {{200, "The things.", kThings}},
                .handler = ListThings});
    table_.Add({.method = "GET",
                .path = "/v1/things/liar",
                .summary = "A route that does not do what it says.",
                .responses = {{200, "A thing.", kThing}},
                .handler = Liar});
    table_.Add({.method = "POST",
                .path = "/other/things",
                .summary = "A thing, if there is one.",
                .request_schema = kThing,
                .optional_body = true,
                .responses = {{201, "The thing.", kThing}},
                .handler = PutThing});
    table_.Add({.method = "POST",
                .path = "/other/texts",
                .summary = "Anything.",
                .request_schema = kThing,
                .checks_body_itself = true,
                .responses = {{201, "The thing.", kThing}},
                .handler = Unread});
    table_.Add({.method = "GET",
                .path = "/files/{disk}:read/{path...}",
                .summary = "What the path and the query say.",
                .any_query = true,
                .responses = {{200, "Text."}},
                .handler = Echo});
    table_.SetErrorForm({.prefix = "/other",
                         .body =
                             [](const ToldError& error) {
                               return json::serialize(json::array{error.code, error.message});
                             },
                         .schema = R"({"type":"array","items":{"type":"string"}})"});
    loops_.Start();
    const Result<uint16_t> port = server_.Listen({"127.0.0.1", 0});
    EXPECT_TRUE(port.ok());
    client_ = std::make_unique<net::HttpClient>(net::Address{"127.0.0.1", *port});
  }
  ~RouteTableTest() override { loops_.Stop(); }

  HttpResponse Request(std::string_view method, std::string_view target, std::string body = "") {
    Result<HttpResponse> response =
        client_->Request(method, target, std::move(body), {{"X-Request-Id", "r-1"}});
    EXPECT_TRUE(response.ok());
    return response.ok() ? *std::move(response) : HttpResponse();
  }
  static std::string ErrorBody(std::string_view code, std::string_view message) {
    return json::serialize(
        json::object{{"error", {{"code", code}, {"message", message}, {"request_id", "r-1"}}}});
  }
  // What the answer has that its row does not say; "" if nothing.
  std::string FaultOf(size_t row, const HttpResponse& response) const {
    const JsonSchema* schema = table_.ResponseSchema(row, response.status);
    if (schema == nullptr) return "the row does not know status " + std::to_string(response.status);
    return schema->FindFault(json::parse(response.body)).value_or("");
  }

  RouteTable table_;
  net::LoopGroup loops_;
  SystemClock clock_;
  SeededRandom random_{7};
  net::HttpServer server_{net::HttpServerOptions(),
                          loops_,
                          [this](net::Loop& loop) { return table_.MakeHandler(loop); },
                          clock_,
                          random_,
                          Log::Silent()};
  std::unique_ptr<net::HttpClient> client_;
};

TEST_F(RouteTableTest, FindsTheRowAndItsPathValues) {
  EXPECT_EQ(Request("GET", "/v1/things/a%2Fb").body, R"({"id":"a/b"})");
  EXPECT_EQ(Request("GET", "/v1/things/liar").body, R"({"name":"x"})");  // before {id}
  EXPECT_EQ(Request("HEAD", "/v1/things/a").status, 200);
}

TEST_F(RouteTableTest, UnknownPathsAndMethodsAreTold) {
  const HttpResponse missing = Request("GET", "/v1/nosuch");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body, ErrorBody("not_found", "there is no /v1/nosuch"));
  const HttpResponse method = Request("DELETE", "/v1/things/a");
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(method.headers.Get("Allow"), "GET, PUT");
}

TEST_F(RouteTableTest, ErrorsOfHandlersBecomeStatusAndBody) {
  const HttpResponse response = Request("GET", "/v1/things/none");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body, ErrorBody("not_found", "there is no such thing"));
  EXPECT_EQ(response.headers.Get("X-Request-Id"), "r-1");
}

TEST_F(RouteTableTest, BodiesAreCheckedBeforeTheHandlerRuns) {
  EXPECT_EQ(Request("PUT", "/v1/things/a", R"({"id":"a","size":2})").status, 201);
  EXPECT_EQ(Request("PUT", "/v1/things/a", R"({"id":"a","szie":2})").body,
            ErrorBody("invalid", "body: szie: unknown field"));
  EXPECT_EQ(Request("PUT", "/v1/things/a", R"({"id":"a","size":0})").body,
            ErrorBody("invalid", "body: size: the value must be at least 1"));
  EXPECT_THAT(Request("PUT", "/v1/things/a", "{").body, HasSubstr("the body is not JSON"));
  EXPECT_EQ(Request("PUT", "/v1/things/a", std::string(101, ' ')).status, 413);
}

TEST_F(RouteTableTest, APathCanEndInAnyNumberOfSegments) {
  EXPECT_EQ(Request("GET", "/files/c:read/a/b%20c/d").body, "c a/b c/d");
  EXPECT_EQ(Request("GET", "/files/c:read").body, "c ");
  EXPECT_EQ(Request("GET", "/files/c:write/a").status, 404);
}

TEST_F(RouteTableTest, ARouteCanReadAnyQueryItself) {
  EXPECT_EQ(Request("GET", "/files/c:read/a?x=1").status, 200);
}

TEST_F(RouteTableTest, QueriesAreCheckedToo) {
  EXPECT_EQ(Request("GET", "/v1/things?limit=3").body, R"([{"id":"a","size":3}])");
  EXPECT_EQ(Request("GET", "/v1/things?limt=3").body,
            ErrorBody("invalid", "unknown query parameter 'limt'"));
  EXPECT_EQ(Request("GET", "/v1/things?limit=x").body,
            ErrorBody("invalid", "query parameter 'limit' must be of type integer"));
}

TEST_F(RouteTableTest, AnswersCanBeCheckedAgainstTheirRows) {
  for (size_t row = 0; row < table_.size(); ++row) {
    const Route& route = table_.row(row);
    std::string target(route.path);
    if (target.starts_with("/files/")) continue;  // answers no JSON
    if (const size_t open = target.find("{id}"); open != std::string::npos) {
      target.replace(open, 4, "a");
    }
    const HttpResponse response = Request(route.method, target, R"({"id":"a"})");
    EXPECT_EQ(FaultOf(row, response), target == "/v1/things/liar" ? "id: is missing" : "")
        << target;
  }
}

TEST_F(RouteTableTest, TheOpenApiDocumentComesFromTheRows) {
  const HttpResponse response = Request("GET", "/openapi.json");
  EXPECT_EQ(response.status, 200);
  const json::value document = json::parse(response.body);
  EXPECT_EQ(document.at("openapi").as_string(), "3.0.3");
  EXPECT_EQ(document.at("info").at("version").as_string(), "1.2.3");
  const json::object& paths = document.at("paths").as_object();
  EXPECT_EQ(paths.size(), 7U);
  EXPECT_EQ(paths.count("/files/{disk}:read/{path}"), 1U);
  const json::value& get = paths.at("/v1/things/{id}").at("get");
  EXPECT_EQ(get.at("x-permission").as_string(), "things.read");
  EXPECT_EQ(get.at("parameters").as_array()[0].at("in").as_string(), "path");
  const json::value& schema =
      get.at("responses").at("200").at("content").at("application/json").at("schema");
  EXPECT_EQ(schema, json::parse(kThing));
  EXPECT_TRUE(paths.at("/v1/things/{id}").at("put").as_object().contains("requestBody"));
  EXPECT_EQ(paths.at("/v1/things").at("get").at("parameters").as_array().size(), 2U);
}

TEST(RouteTableDeathTest, RefusesRowsThatContradictThemselves) {
  RouteTable table;
  Route route{.method = "GET",
              .path = "/x",
              .summary = "X.",
              .responses = {{200, "X.", R"({"type":"string"})"}},
              .handler = GetThing};
  table.Add(route);
  EXPECT_DEATH(table.Add(route), "twice");
  route.path = "/y";
  route.responses = {{200, "X.", R"({"typ":"string"})"}};
  EXPECT_DEATH(table.Add(route), "keyword typ");
}

TEST_F(RouteTableTest, ErrorsOfAPrefixHaveItsForm) {
  EXPECT_EQ(Request("POST", "/other/things", "{").body,
            R"(["not_json","the body is not JSON: incomplete JSON"])");
  EXPECT_EQ(Request("POST", "/other/things", "{}").body, R"(["invalid","body: id: is missing"])");
  EXPECT_EQ(Request("POST", "/other/things?x=1").body,
            R"(["invalid","unknown query parameter 'x'"])");
  EXPECT_EQ(Request("GET", "/other/none").body, R"(["not_found","there is no /other/none"])");
  EXPECT_EQ(Request("GET", "/other/things").body,
            R"(["invalid","/other/things does not take GET"])");
  EXPECT_EQ(Request("POST", "/other/things", std::string(2'000'000, ' ')).body,
            R"(["too_large","the body is larger than this route accepts"])");
  // A name that only begins so is another.
  EXPECT_EQ(Request("GET", "/otherwise").body, ErrorBody("not_found", "there is no /otherwise"));
  const json::value responses =
      json::parse(table_.OpenApi()).at("paths").at("/other/things").at("post").at("responses");
  EXPECT_TRUE(responses.at("default").as_object().contains("content"));
}

TEST_F(RouteTableTest, ABodyMayBeLeftOutOrBeTheHandlersConcern) {
  EXPECT_EQ(Request("POST", "/other/things").body, "null");
  EXPECT_EQ(Request("POST", "/other/things", R"({"id":"a"})").body, R"({"id":"a"})");
  EXPECT_EQ(Request("POST", "/other/texts", "not JSON").body, R"({"id":"unread"})");
}

TEST_F(RouteTableTest, AMemberThatIsThereTwiceIsRefusedByName) {
  for (const char* path : {"/other/things", "/other/texts"}) {
    const HttpResponse response = Request("POST", path, R"({"id":"a","size":1,"id":"b"})");
    EXPECT_EQ(response.status, 400) << path;
    EXPECT_EQ(response.body, R"(["invalid","body: the member 'id' is there twice"])") << path;
  }
}

}  // namespace
}  // namespace cairn::doors
