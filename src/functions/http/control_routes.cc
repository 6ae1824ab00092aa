#include "functions/http/control_routes.h"

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/id.h"
#include "doors/http/request_values.h"
#include "doors/turn/on_pool.h"
#include "functions/control/aliases.h"
#include "functions/control/functions.h"
#include "functions/control/requests.h"
#include "functions/control/store_access.h"
#include "functions/control/values.h"
#include "functions/control/versions.h"
#include "functions/http/control_schemas.h"
#include "functions/http/control_support.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"

namespace cairn::functions {
namespace {

using boost::asio::awaitable;
using doors::RouteCall;
using net::HttpReply;

constexpr std::string_view kRead = "functions.read";
constexpr std::string_view kManage = "functions.manage";
constexpr std::string_view kPublish = "functions.publish";

// --- What a request names -----------------------------------------------------------------------

FunctionName FunctionOf(const RouteCall& call) {
  return {call.PathValue("tenant"), call.PathValue("namespace"), call.PathValue("name")};
}

Deleted DeletedOf(const RouteCall& call) {
  return call.request.Query("include_deleted") == "true" ? Deleted::kShown : Deleted::kHidden;
}

Result<uint64_t> VersionOf(std::string_view text, std::string_view what) {
  const std::optional<uint64_t> version = ParseVersion(text);
  if (!version) return Refuse(Code::kValidation, std::string(what) + " must be a version's number");
  return *version;
}

store::Scopes ScopesOf(const FunctionName& function) {
  store::Scopes scopes;
  AddFunctionScopes(function, scopes);
  return scopes;
}

store::Scopes AliasScopes(const FunctionName& function, std::string_view alias) {
  store::Scopes scopes = ScopesOf(function);
  AddAliasScopes(function, alias, scopes);
  return scopes;
}

// --- Functions ----------------------------------------------------------------------------------

awaitable<Result<HttpReply>> PostFunction(SharedControl parts, const RouteCall& call) {
  Result<NewFunction> function = ParseNewFunction(NamespaceOf(call), call.request.body);
  if (!function.ok()) return Refused(function.error(), call);
  call.audit_detail = function->name.name;
  ChangeOptions options{.scopes = ScopesOf(function->name), .status = 201};
  return Apply(std::move(parts), call, std::move(options),
               [function = *std::move(function)](Context& context) {
                 return Encoded(CreateFunction(context, function));
               });
}

awaitable<Result<HttpReply>> GetFunctions(SharedControl parts, const RouteCall& call) {
  const Result<size_t> limit = LimitOf(call);
  if (!limit.ok()) return Refused(limit.error(), call);
  Page page{.after = std::string(call.request.Query("cursor").value_or("")), .limit = *limit};
  return Answer(std::move(parts), call, Where::kPool,
                [ns = NamespaceOf(call), page = std::move(page),
                 deleted = DeletedOf(call)](Context& context) -> Result<std::string> {
                  CAIRN_ASSIGN_OR_RETURN(const FunctionPage listed,
                                         ListFunctions(context, ns, page, deleted));
                  return PageText(listed);
                });
}

awaitable<Result<HttpReply>> GetFunction(SharedControl parts, const RouteCall& call) {
  return Answer(std::move(parts), call, Where::kLoop,
                [function = FunctionOf(call),
                 deleted = DeletedOf(call)](Context& context) -> Result<std::string> {
                  CAIRN_ASSIGN_OR_RETURN(const FunctionDetail detail,
                                         DescribeFunction(context, function, deleted));
                  return DetailText(detail);
                });
}

awaitable<Result<HttpReply>> RemoveFunction(SharedControl parts, const RouteCall& call) {
  const FunctionName function = FunctionOf(call);
  return Apply(std::move(parts), call, {.scopes = ScopesOf(function)},
               [function](Context& context) {
                 return StatusText(DeleteFunction(context, function), "deleted");
               });
}

awaitable<Result<HttpReply>> PostPurge(SharedControl parts, const RouteCall& call) {
  const FunctionName function = FunctionOf(call);
  return Apply(std::move(parts), call, {.scopes = ScopesOf(function), .where = Where::kPool},
               [function](Context& context) {
                 return StatusText(PurgeFunction(context, function), "purged");
               });
}

awaitable<Result<HttpReply>> PostEnable(SharedControl parts, const RouteCall& call) {
  const FunctionName function = FunctionOf(call);
  return Apply(
      std::move(parts), call, {.scopes = ScopesOf(function)},
      [function](Context& context) { return Encoded(SetEnabled(context, function, true)); });
}

awaitable<Result<HttpReply>> PostDisable(SharedControl parts, const RouteCall& call) {
  const FunctionName function = FunctionOf(call);
  return Apply(
      std::move(parts), call, {.scopes = ScopesOf(function)},
      [function](Context& context) { return Encoded(SetEnabled(context, function, false)); });
}

// --- Drafts and versions ------------------------------------------------------------------------

awaitable<Result<HttpReply>> PutDraft(SharedControl parts, const RouteCall& call) {
  const auto pack = [&call] { return ParseFiles(call.request.body); };
  const Result<Package> package = co_await doors::OnPool(parts->pool, pack);
  if (!package.ok()) co_return ErrorReply(package.error(), call);
  const FunctionName function = FunctionOf(call);
  const std::string draft = NewDraftId(parts->clock.Now(), parts->random);
  call.audit_detail = draft;
  ChangeOptions options{.where = Where::kPool};
  AddDraftScopes(function, draft, options.scopes);
  const Maker upload = [&](Context& context) -> Result<std::string> {
    CAIRN_ASSIGN_OR_RETURN(const UploadedDraft uploaded,
                           UploadDraft(context, function, draft, *package));
    return DraftText(uploaded);
  };
  co_return co_await Apply(parts, call, std::move(options), upload);
}

// Null if nobody compiles here. Who may not publish this has nothing compiled.
awaitable<Result<SharedCode>> CompileFirst(const SharedControl& parts, const RouteCall& call,
                                           const FunctionName& function,
                                           const PublishRequest& request) {
  if (parts->compiler == nullptr) co_return SharedCode();
  Package found;
  const OperationBody body = [&](Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(found, PackageToPublish(context, function, request));
    return {};
  };
  StoreAccess access{.store = parts->store, .principal = call.principal};
  const Result<void> looked = co_await Look(std::move(access), Where::kPool, body);
  if (!looked.ok()) co_return looked.error();
  const auto package = std::make_shared<const Package>(std::move(found));
  Result<SharedCode> compiled = co_await parts->compiler->Compile(package);
  co_return compiled;
}

awaitable<Result<HttpReply>> PostVersion(SharedControl parts, const RouteCall& call) {
  const auto parse = [&call] { return ParsePublish(call.request.body); };
  Result<PublishRequest> request = co_await doors::OnPool(parts->pool, parse);
  if (!request.ok()) co_return ErrorReply(request.error(), call);
  const FunctionName function = FunctionOf(call);
  Result<SharedCode> compiled = co_await CompileFirst(parts, call, function, *request);
  if (!compiled.ok()) co_return ErrorReply(compiled.error(), call);
  request->compiled = *std::move(compiled);
  ChangeOptions options{.status = 201, .where = Where::kPool};
  if (request->compiled) AddScope(CodeKey(function, request->compiled->sha256), options.scopes);
  AddDraftScopes(function, request->draft_id, options.scopes);
  if (!request->alias.empty()) AddAliasScopes(function, request->alias, options.scopes);
  const Maker publish = [&](Context& context) -> Result<std::string> {
    CAIRN_ASSIGN_OR_RETURN(const Published published, Publish(context, function, *request));
    return PublishedText(published);
  };
  co_return co_await Apply(parts, call, std::move(options), publish);
}

awaitable<Result<HttpReply>> GetVersions(SharedControl parts, const RouteCall& call) {
  const Result<size_t> limit = LimitOf(call);
  if (!limit.ok()) return Refused(limit.error(), call);
  uint64_t before = 0;
  if (const auto cursor = call.request.Query("cursor")) {
    const Result<uint64_t> version = VersionOf(*cursor, "cursor");
    if (!version.ok()) return Refused(version.error(), call);
    before = *version;
  }
  return Answer(std::move(parts), call, Where::kPool,
                [function = FunctionOf(call), before,
                 limit = *limit](Context& context) -> Result<std::string> {
                  CAIRN_ASSIGN_OR_RETURN(const VersionPage page,
                                         ListVersions(context, function, before, limit));
                  return PageText(page);
                });
}

awaitable<Result<HttpReply>> GetOneVersion(SharedControl parts, const RouteCall& call) {
  const Result<uint64_t> version = VersionOf(call.PathValue("version"), "the path's last part");
  if (!version.ok()) return Refused(version.error(), call);
  return Answer(std::move(parts), call, Where::kLoop,
                [function = FunctionOf(call), version = *version](Context& context) {
                  return Encoded(GetVersion(context, function, version));
                });
}

// --- Aliases ------------------------------------------------------------------------------------

awaitable<Result<HttpReply>> PutAlias(SharedControl parts, const RouteCall& call) {
  const std::string& alias = call.PathValue("alias");
  Result<AliasUpdate> update = ParseAliasUpdate(alias, call.request.body);
  if (!update.ok()) return Refused(update.error(), call);
  const FunctionName function = FunctionOf(call);
  return Apply(std::move(parts), call, {.scopes = AliasScopes(function, alias)},
               [function, update = *std::move(update)](Context& context) {
                 return Encoded(SetAlias(context, function, update));
               });
}

awaitable<Result<HttpReply>> GetAliases(SharedControl parts, const RouteCall& call) {
  return Answer(std::move(parts), call, Where::kLoop,
                [function = FunctionOf(call)](Context& context) -> Result<std::string> {
                  CAIRN_ASSIGN_OR_RETURN(const std::vector<Alias> aliases,
                                         ListAliases(context, function));
                  return AliasesText(aliases);
                });
}

awaitable<Result<HttpReply>> GetOneAlias(SharedControl parts, const RouteCall& call) {
  return Answer(std::move(parts), call, Where::kLoop,
                [function = FunctionOf(call), alias = call.PathValue("alias")](Context& context) {
                  return Encoded(GetAlias(context, function, alias));
                });
}

awaitable<Result<HttpReply>> RemoveAlias(SharedControl parts, const RouteCall& call) {
  const FunctionName function = FunctionOf(call);
  const std::string& alias = call.PathValue("alias");
  return Apply(std::move(parts), call, {.scopes = AliasScopes(function, alias)},
               [function, alias](Context& context) {
                 return StatusText(DeleteAlias(context, function, alias), "deleted");
               });
}

awaitable<Result<HttpReply>> PostRollback(SharedControl parts, const RouteCall& call) {
  const FunctionName function = FunctionOf(call);
  const std::string& alias = call.PathValue("alias");
  return Apply(std::move(parts), call, {.scopes = AliasScopes(function, alias)},
               [function, alias](Context& context) {
                 return Encoded(RollBackAlias(context, function, alias));
               });
}

awaitable<Result<HttpReply>> PostShift(SharedControl parts, const RouteCall& call) {
  const std::string& alias = call.PathValue("alias");
  Result<ShiftRequest> request =
      ParseShift(alias, Uuid::V4(parts->random).ToString(), call.request.body);
  if (!request.ok()) return Refused(request.error(), call);
  const FunctionName function = FunctionOf(call);
  return Apply(std::move(parts), call, {.scopes = AliasScopes(function, alias)},
               [function, request = *std::move(request)](Context& context) {
                 return Encoded(StartShift(context, function, request));
               });
}

// --- The rows -----------------------------------------------------------------------------------

#define CAIRN_FUNCTIONS_PATH "/v1/tenants/{tenant}/namespaces/{namespace}/functions"

constexpr std::string_view kFunctionsPath = CAIRN_FUNCTIONS_PATH;
constexpr std::string_view kFunctionPath = CAIRN_FUNCTIONS_PATH "/{name}";
constexpr std::string_view kPurgePath = CAIRN_FUNCTIONS_PATH "/{name}/purge";
constexpr std::string_view kEnablePath = CAIRN_FUNCTIONS_PATH "/{name}/enable";
constexpr std::string_view kDisablePath = CAIRN_FUNCTIONS_PATH "/{name}/disable";
constexpr std::string_view kDraftPath = CAIRN_FUNCTIONS_PATH "/{name}/draft";
constexpr std::string_view kVersionsPath = CAIRN_FUNCTIONS_PATH "/{name}/versions";
constexpr std::string_view kVersionPath = CAIRN_FUNCTIONS_PATH "/{name}/versions/{version}";
constexpr std::string_view kAliasesPath = CAIRN_FUNCTIONS_PATH "/{name}/aliases";
constexpr std::string_view kAliasPath = CAIRN_FUNCTIONS_PATH "/{name}/aliases/{alias}";
constexpr std::string_view kRollbackPath = CAIRN_FUNCTIONS_PATH "/{name}/aliases/{alias}/rollback";
constexpr std::string_view kShiftPath = CAIRN_FUNCTIONS_PATH "/{name}/aliases/{alias}/shift";

#undef CAIRN_FUNCTIONS_PATH

void AddFunctionRows(ControlRows& rows) {
  rows.Add({.method = "POST",
            .path = kFunctionsPath,
            .permission = kManage,
            .summary = "Creates a function.",
            .request_schema = kNewFunctionSchema,
            .responses = {{201, "The function.", kFunctionSchema}}},
           PostFunction);
  rows.Add({.method = "GET",
            .path = kFunctionsPath,
            .permission = kRead,
            .summary = "The functions of a namespace, by name.",
            .query = {kLimitParameter, kCursorParameter, kDeletedParameter},
            .responses = {{200, "A page of them.", kFunctionPageSchema}}},
           GetFunctions);
  rows.Add({.method = "GET",
            .path = kFunctionPath,
            .permission = kRead,
            .summary = "One function, its aliases and its latest version.",
            .query = {kDeletedParameter},
            .responses = {{200, "The function.", kDetailSchema}}},
           GetFunction);
  rows.Add({.method = "DELETE",
            .path = kFunctionPath,
            .permission = kManage,
            .summary = "Deletes a function; its versions are kept until it is purged.",
            .responses = {{200, "It is deleted.", kFunctionStatusSchema}}},
           RemoveFunction);
  rows.Add({.method = "POST",
            .path = kPurgePath,
            .permission = kManage,
            .summary = "Removes a deleted function with all it has; its name is free again.",
            .responses = {{200, "It is gone.", kFunctionStatusSchema}}},
           PostPurge);
  rows.Add({.method = "POST",
            .path = kEnablePath,
            .permission = kManage,
            .summary = "Lets a disabled function be invoked again.",
            .responses = {{200, "The function.", kFunctionSchema}}},
           PostEnable);
  rows.Add({.method = "POST",
            .path = kDisablePath,
            .permission = kManage,
            .summary = "Refuses invocations of a function until it is enabled.",
            .responses = {{200, "The function.", kFunctionSchema}}},
           PostDisable);
}

void AddVersionRows(ControlRows& rows) {
  rows.Add({.method = "PUT",
            .path = kDraftPath,
            .permission = kPublish,
            .summary = "Uploads files; they wait 24 hours to be published.",
            .request_schema = kFilesSchema,
            .responses = {{200, "The draft.", kDraftSchema}}},
           PutDraft);
  rows.Add({.method = "POST",
            .path = kVersionsPath,
            .permission = kPublish,
            .summary = "Publishes a draft, or files, as the next version.",
            .request_schema = kPublishSchema,
            .responses = {{201, "The version.", kPublishedSchema}}},
           PostVersion);
  rows.Add({.method = "GET",
            .path = kVersionsPath,
            .permission = kRead,
            .summary = "The versions of a function, the newest first.",
            .query = {kLimitParameter, kCursorParameter},
            .responses = {{200, "A page of them.", kVersionPageSchema}}},
           GetVersions);
  rows.Add({.method = "GET",
            .path = kVersionPath,
            .permission = kRead,
            .summary = "One version and its config.",
            .responses = {{200, "The version.", kVersionSchema}}},
           GetOneVersion);
}

void AddAliasRows(ControlRows& rows) {
  rows.Add({.method = "PUT",
            .path = kAliasPath,
            .permission = kPublish,
            .summary = "Points an alias to a version, or to two by weight.",
            .request_schema = kAliasUpdateSchema,
            .responses = {{200, "The alias.", kAliasSchema}}},
           PutAlias);
  rows.Add({.method = "GET",
            .path = kAliasesPath,
            .permission = kRead,
            .summary = "The aliases of a function.",
            .responses = {{200, "All of them, by name.", kAliasesSchema}}},
           GetAliases);
  rows.Add({.method = "GET",
            .path = kAliasPath,
            .permission = kRead,
            .summary = "One alias, its history and its shift.",
            .responses = {{200, "The alias.", kAliasSchema}}},
           GetOneAlias);
  rows.Add({.method = "DELETE",
            .path = kAliasPath,
            .permission = kPublish,
            .summary = "Deletes an alias.",
            .responses = {{200, "It is deleted.", kFunctionStatusSchema}}},
           RemoveAlias);
  rows.Add({.method = "POST",
            .path = kRollbackPath,
            .permission = kPublish,
            .summary = "Points an alias to where it pointed before.",
            .responses = {{200, "The alias.", kAliasSchema}}},
           PostRollback);
  rows.Add({.method = "POST",
            .path = kShiftPath,
            .permission = kPublish,
            .summary = "Moves an alias to another version step by step, and back if it fails.",
            .request_schema = kShiftSchema,
            .responses = {{200, "The alias with its shift.", kAliasSchema}}},
           PostShift);
}

}  // namespace

void AddControlRoutes(const ControlParts& parts, doors::RouteTable& table) {
  ControlRows rows(std::make_shared<const ControlParts>(parts), table);
  AddFunctionRows(rows);
  AddVersionRows(rows);
  AddAliasRows(rows);
}

}  // namespace cairn::functions
