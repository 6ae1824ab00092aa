#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cctype>
#include <string>
#include <string_view>

#include "doors/http/route_table.h"
#include "net/http/message.h"

// The OpenAPI document of the route table.
namespace cairn::doors {
namespace {

namespace json = boost::json;

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lowered;
}

json::object Content(std::string_view content_type, const json::value& schema) {
  return {{content_type, {{"schema", schema}}}};
}

// The path as OpenAPI has it, which knows no parameter for several segments: {path...} is {path}.
std::string PathOf(const Route& route) {
  std::string path(route.path);
  const size_t dots = path.find("...}");
  if (dots != std::string::npos) path.erase(dots, 3);
  return path;
}

json::array Parameters(const Route& route) {
  json::array parameters;
  const std::string path = PathOf(route);
  std::string_view rest = path;
  for (size_t open = rest.find('{'); open != std::string_view::npos; open = rest.find('{')) {
    const size_t close = rest.find('}', open);
    parameters.push_back({{"name", rest.substr(open + 1, close - open - 1)},
                          {"in", "path"},
                          {"required", true},
                          {"schema", {{"type", "string"}}}});
    rest.remove_prefix(close);
  }
  for (const QueryParameter& parameter : route.query) {
    parameters.push_back({{"name", parameter.name},
                          {"in", "query"},
                          {"required", parameter.required},
                          {"description", parameter.description},
                          {"schema", {{"type", parameter.type}}}});
  }
  return parameters;
}

json::object ErrorContent(const ErrorForm& form) {
  const Result<JsonSchema> schema = JsonSchema::Parse(form.schema);
  return Content("application/json", schema->json());
}

// What all routes have in common: an error.
json::object DefaultResponse(const ErrorForm& form) {
  if (form.prefix.empty()) return {{"$ref", "#/components/responses/Error"}};
  return {{"description", "What went wrong."}, {"content", ErrorContent(form)}};
}

}  // namespace

std::string RouteTable::OpenApi() const {
  json::object paths;
  for (const Row& row : rows_) {
    const Route& route = row.route;
    json::object responses;
    for (size_t i = 0; i < route.responses.size(); ++i) {
      const RouteResponse& response = route.responses[i];
      json::object described = {{"description", response.description}};
      if (row.response_schemas[i]) {
        described["content"] = Content(response.content_type, row.response_schemas[i]->json());
      } else if (response.content_type != "application/json") {
        described["content"] = Content(response.content_type, {{"type", "string"}});
      } else if (response.status >= 400) {
        described["content"] = ErrorContent(FormOf(route.path));
      }
      responses[fmt::to_string(response.status)] = std::move(described);
    }
    responses["default"] = DefaultResponse(FormOf(route.path));

    json::object operation = {{"summary", route.summary},
                              {"tags", json::array{route.tag}},
                              {"responses", std::move(responses)}};
    if (!route.permission.empty()) {
      operation["x-permission"] = route.permission;
      const std::string_view kind = route.touches.kind();
      operation["x-resource"] = kind.empty() ? "none" : kind;
      operation["security"] = json::array{json::object{{"bearer", json::array{}}},
                                          json::object{{"apiKey", json::array{}}}};
    }
    if (json::array parameters = Parameters(route); !parameters.empty()) {
      operation["parameters"] = std::move(parameters);
    }
    if (row.request_schema) {
      operation["requestBody"] = {
          {"required", !route.optional_body},
          {"content", Content("application/json", row.request_schema->json())}};
    }
    json::value& methods = paths[PathOf(route)];
    if (methods.is_null()) methods.emplace_object();
    methods.get_object()[Lowered(route.method)] = std::move(operation);
  }

  const Result<JsonSchema> error_schema = JsonSchema::Parse(kStandardErrorSchema);
  const json::object document = {
      {"openapi", "3.0.3"},
      {"info", {{"title", info_.title}, {"version", info_.version}}},
      {"paths", std::move(paths)},
      {"components",
       {{"responses",
         {{"Error",
           {{"description", "What went wrong."},
            {"content", Content("application/json", error_schema->json())}}}}},
        {"securitySchemes",
         {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}},
          {"apiKey", {{"type", "apiKey"}, {"in", "header"}, {"name", "X-API-Key"}}}}}}}};
  return json::serialize(document);
}

}  // namespace cairn::doors
