#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/base64.h"
#include "base/bytes.h"
#include "functions/cli/call.h"
#include "functions/cli/fn_actions.h"
#include "functions/cli/fn_options.h"
#include "functions/cli/folder.h"
#include "functions/cli/target.h"
#include "functions/model/errors.h"
#include "functions/model/names.h"
#include "functions/model/source_map.h"

namespace cairn::functions::cli {
namespace {

namespace json = boost::json;
using house::ApiClient;
using house::VerbCall;

// The function that is meant: the one that is named, or else what the folder is called.
Result<FunctionName> FunctionOf(const VerbCall& call, const Target& target) {
  if (target.function) return ParseFunction(call, *target.function);
  std::error_code failure;
  const std::filesystem::path whole =
      std::filesystem::absolute(target.folder, failure).lexically_normal();
  const std::string name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
  if (!IsName(NameKind::kFunction, name)) {
    return UsageError(fmt::format(
        "the folder's name '{}' cannot be a function's; say --name FUNCTION", Printable(name)));
  }
  return ParseFunction(call, name);
}

json::object FilesOf(const Packed& packed) {
  json::object files;
  for (const auto& [path, text] : packed.files) files[path] = Base64Encode(text);
  return files;
}

std::string Summary(const Packed& packed) {
  size_t bytes = 0;
  for (const auto& [path, text] : packed.files) bytes += text.size();
  return fmt::format("{} files, {} bytes{}{}", packed.files.size(), bytes,
                     packed.how.empty() ? "" : ", ", packed.how);
}

Result<void> CreateIfMissing(ApiClient& client, const FunctionName& function,
                             const VerbCall& call) {
  const Result<json::value> found = client.Get(FunctionPath(function));
  if (found.ok()) return {};
  if (found.error().code != ErrorCode::kNotFound) return found.error();
  const Result<json::value> made =
      client.Post(NamespacePath(function.in(), "/functions"),
                  json::serialize(json::object{{"name", function.name}}));
  if (!made.ok()) return made.error();
  if (!call.json) call.terminal.Print(fmt::format("{}  created", ResourceName(function)));
  return {};
}

}  // namespace

Result<int> UploadDraft(const VerbCall& call) {
  std::vector<std::string> words = call.arguments;
  if (!words.empty() && words.front() == "upload") words.erase(words.begin());
  if (words.size() > 1) {
    return UsageError("usage: cairn fn draft [upload] [DIR], or [upload] FUNCTION --path DIR");
  }
  CAIRN_ASSIGN_OR_RETURN(const Target target, TargetOf(call, words));
  CAIRN_ASSIGN_OR_RETURN(const FunctionName function, FunctionOf(call, target));
  CAIRN_ASSIGN_OR_RETURN(const Packed packed, PackOf(call, target.folder));
  CAIRN_ASSIGN_OR_RETURN(ApiClient client, ClientOf(call));
  CAIRN_ASSIGN_OR_RETURN(const json::value draft,
                         client.Request("PUT", FunctionPath(function, "/draft"),
                                        json::serialize(json::object{{"files", FilesOf(packed)}})));
  if (call.json) {
    call.terminal.Print(draft);
    return house::kExitOk;
  }
  call.terminal.Print(fmt::format("{}  draft {}  ({})", ResourceName(function),
                                  TextOf(draft, "draft_id"), Summary(packed)));
  call.terminal.Print(fmt::format("until {}; publish it with: cairn fn publish {} --draft {}",
                                  TimeOf(draft, "expires_at_ms"), function.name,
                                  TextOf(draft, "draft_id")));
  return house::kExitOk;
}

Result<int> Publish(const VerbCall& call) {
  json::object body;
  const bool of_draft = !call.Text("draft").empty();
  Target target;
  if (of_draft) {
    const std::string& name = call.Text("name");
    if (call.arguments.empty() == name.empty() || !call.Text("path").empty()) {
      return UsageError("usage: cairn fn publish FUNCTION --draft DRAFT, without a folder");
    }
    target.function = name.empty() ? call.arguments.front() : name;
  } else {
    CAIRN_ASSIGN_OR_RETURN(target, TargetOf(call, call.arguments));
  }
  CAIRN_ASSIGN_OR_RETURN(const FunctionName function, FunctionOf(call, target));
  std::string summary = "the draft";
  if (of_draft) {
    body["draft_id"] = call.Text("draft");
  } else {
    CAIRN_ASSIGN_OR_RETURN(const Packed packed, PackOf(call, target.folder));
    body["files"] = FilesOf(packed);
    summary = Summary(packed);
  }
  CAIRN_ASSIGN_OR_RETURN(json::object config, ConfigOf(call));
  if (!config.empty()) body["config"] = std::move(config);
  if (const std::string& alias = call.Text("alias"); !alias.empty()) {
    const Result<void> named = CheckName(NameKind::kAlias, alias);
    if (!named.ok()) {
      return UsageError(fmt::format("--alias: {}", RefusalText(named.error())));
    }
    body["alias"] = alias;
  }
  CAIRN_ASSIGN_OR_RETURN(ApiClient client, ClientOf(call));
  if (call.Switch("create")) CAIRN_RETURN_IF_ERROR(CreateIfMissing(client, function, call));
  CAIRN_ASSIGN_OR_RETURN(const json::value published,
                         client.Post(FunctionPath(function, "/versions"), json::serialize(body)));
  if (call.json) {
    call.terminal.Print(published);
    return house::kExitOk;
  }
  const std::string& alias = call.Text("alias");
  call.terminal.Print(fmt::format("{}  version {}{}  ({})", ResourceName(function),
                                  TextOf(published, "version"),
                                  alias.empty() ? "" : "  alias " + alias, summary));
  return house::kExitOk;
}

}  // namespace cairn::functions::cli
