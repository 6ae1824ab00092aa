#include "functions/control/requests.h"

#include <fmt/format.h>

#include <utility>

#include "base/base64.h"
#include "base/bytes.h"
#include "functions/model/json_writer.h"
#include "functions/model/limits.h"

namespace cairn::functions {
namespace {

constexpr int64_t kAnyVersion = 999'999'999'999'999'999;
// Longer ones are no names: the operation says so.
constexpr size_t kAnyName = 1024;

uint64_t VersionOf(ObjectReader& object, std::string_view name) {
  return static_cast<uint64_t>(object.Integer(name, 1, kAnyVersion));
}

Files ReadFiles(ObjectReader files) {
  Files decoded;
  for (const std::string& path : files.Names()) {
    std::optional<Bytes> content = Base64Decode(files.Text(path, {0, kMaxRequestBytes}));
    if (!content) files.Fail(path, "is not base64");
    decoded.emplace(path, std::move(content).value_or(Bytes()));
  }
  return decoded;
}

Target ReadTarget(ObjectReader& object) {
  Target target{.version = VersionOf(object, "version")};
  for (ObjectReader& weight : object.Objects("weights", 1)) {
    target.second = Target::Weighted{VersionOf(weight, "version"), weight.Integer("weight", 1, 99)};
    weight.RefuseOthers();
  }
  return target;
}

// What a publish asks for, before its parts are understood.
struct PublishParts {
  std::string draft_id;
  std::optional<Files> files;
  std::string config;
  std::string alias;
};

PublishParts ReadPublish(ObjectReader& object) {
  PublishParts parts;
  parts.draft_id = object.OptionalText("draft_id", {1, kAnyName}).value_or("");
  if (auto files = object.OptionalObject("files")) parts.files = ReadFiles(*std::move(files));
  parts.config = object.RawObject("config").value_or("");
  parts.alias = object.OptionalText("alias", {1, kAnyName}).value_or("");
  if (parts.draft_id.empty() == !parts.files.has_value()) {
    object.Fail("draft_id", "or files must be there, and only one of them");
  }
  object.RefuseOthers();
  return parts;
}

// A message about a part of a request, with the part's name in front of it.
Error Within(std::string_view part, const Error& error) {
  return Refuse(CodeRowOf(error).code, fmt::format("{}.{}", part, RefusalText(error)));
}

}  // namespace

Result<FunctionName> ParseFunctionName(std::string_view text) {
  const size_t first = text.find('/');
  const size_t second = first == std::string_view::npos ? first : text.find('/', first + 1);
  if (second == std::string_view::npos) {
    return Refuse(Code::kNameInvalid,
                  fmt::format("\"{}\" is not TENANT/NAMESPACE/FUNCTION", Printable(text)));
  }
  return FunctionName{std::string(text.substr(0, first)),
                      std::string(text.substr(first + 1, second - first - 1)),
                      std::string(text.substr(second + 1))};
}

Result<NamespaceName> ParseNamespaceName(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return Refuse(Code::kNameInvalid,
                  fmt::format("\"{}\" is not TENANT/NAMESPACE", Printable(text)));
  }
  return NamespaceName{std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

Result<NewFunction> ParseNewFunction(const NamespaceName& ns, std::string_view text) {
  return ReadObject(text, Code::kValidation, [&](ObjectReader& object) {
    NewFunction function{.name = {ns.tenant, ns.name, object.Text("name", {1, kAnyName})}};
    const auto text_or = [&](std::string_view name, std::string otherwise) {
      return object.OptionalText(name, {1, kAnyName}).value_or(std::move(otherwise));
    };
    function.runtime = text_or("runtime", function.runtime);
    function.entry = text_or("entry", function.entry);
    function.handler = text_or("handler", function.handler);
    object.RefuseOthers();
    return function;
  });
}

Result<Package> ParseFiles(std::string_view text) {
  CAIRN_ASSIGN_OR_RETURN(Files files, ReadObject(text, Code::kValidation, [](ObjectReader& object) {
                           Files read = ReadFiles(object.Object("files"));
                           object.RefuseOthers();
                           return read;
                         }));
  return MakePackage(std::move(files));
}

Result<PublishRequest> ParsePublish(std::string_view text) {
  CAIRN_ASSIGN_OR_RETURN(PublishParts parts, ReadObject(text, Code::kValidation, ReadPublish));
  PublishRequest request{.draft_id = std::move(parts.draft_id), .alias = std::move(parts.alias)};
  Result<ConfigOverrides> config = ParseOverrides(parts.config);
  if (!config.ok()) return Within("config", config.error());
  request.config = *std::move(config);
  if (parts.files) {
    CAIRN_ASSIGN_OR_RETURN(request.package, MakePackage(*std::move(parts.files)));
  }
  return request;
}

Result<AliasUpdate> ParseAliasUpdate(std::string_view alias, std::string_view text) {
  return ReadObject(text, Code::kValidation, [&](ObjectReader& object) {
    AliasUpdate update{.alias = std::string(alias),
                       .target = ReadTarget(object),
                       .min_warm = object.OptionalInteger("min_warm", 0, kMaxWarm)};
    object.RefuseOthers();
    return update;
  });
}

Result<ShiftRequest> ParseShift(std::string_view alias, std::string id, std::string_view text) {
  return ReadObject(text, Code::kValidation, [&](ObjectReader& object) {
    ShiftRequest request{
        .alias = std::string(alias),
        .id = std::move(id),
        .to = VersionOf(object, "to"),
        .step_percent = object.Integer("step_percent", 1, 99),
        .interval_seconds =
            object.Integer("interval_seconds", kMinShiftIntervalSeconds, kMaxShiftIntervalSeconds)};
    const std::optional<double> rate = object.OptionalNumber("max_error_rate", 0, 1);
    if (!rate) object.Fail("max_error_rate", "is missing");
    request.max_error_rate = rate.value_or(0);
    object.RefuseOthers();
    return request;
  });
}

std::string DetailText(const FunctionDetail& detail) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Raw("function", Encode(detail.function));
  json.BeginArray("aliases");
  for (const Alias& alias : detail.aliases) json.Raw("", Encode(alias));
  json.EndArray();
  json.Raw("latest_version", detail.latest ? Encode(*detail.latest) : "null");
  json.EndObject();
  return text;
}

std::string PageText(const FunctionPage& page) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.BeginArray("functions");
  for (const Function& function : page.functions) json.Raw("", Encode(function));
  json.EndArray();
  if (page.cursor.empty()) {
    json.Null("cursor");
  } else {
    json.Text("cursor", page.cursor);
  }
  json.EndObject();
  return text;
}

std::string PageText(const VersionPage& page) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.BeginArray("versions");
  for (const VersionMeta& version : page.versions) json.Raw("", Encode(version));
  json.EndArray();
  if (page.cursor == 0) {
    json.Null("cursor");
  } else {
    json.Text("cursor", fmt::to_string(page.cursor));
  }
  json.EndObject();
  return text;
}

std::string AliasesText(const std::vector<Alias>& aliases) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.BeginArray("aliases");
  for (const Alias& alias : aliases) json.Raw("", Encode(alias));
  json.EndArray();
  json.EndObject();
  return text;
}

std::string DraftText(const UploadedDraft& draft) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("draft_id", draft.draft_id);
  json.Text("sha256", draft.sha256);
  json.Integer("size_bytes", draft.size_bytes);
  json.Integer("expires_at_ms", draft.expires_at_ms);
  json.EndObject();
  return text;
}

std::string PublishedText(const Published& published) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Integer("version", published.version);
  json.Text("sha256", published.sha256);
  json.Integer("published_at_ms", published.published_at_ms);
  json.EndObject();
  return text;
}

}  // namespace cairn::functions
