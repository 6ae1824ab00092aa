#include "functions/cli/local_folder.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "functions/cli/call.h"
#include "functions/cli/fn_options.h"
#include "functions/model/errors.h"
#include "functions/model/names.h"

namespace cairn::functions::cli {
namespace {

using house::VerbCall;

// What a function is called where nobody has named it.
constexpr std::string_view kTenant = "t_local00";
constexpr std::string_view kNamespace = "local";
constexpr std::string_view kFunction = "function";

FunctionName NameOf(const VerbCall& call, const Target& target) {
  std::error_code failure;
  const std::filesystem::path whole =
      std::filesystem::absolute(target.folder, failure).lexically_normal();
  std::string name = target.function.value_or("");
  if (name.empty()) name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
  if (!IsName(NameKind::kFunction, name)) name = kFunction;
  const Result<NamespaceName> ns = NamespaceOf(call);
  if (ns.ok()) return {ns->tenant, ns->name, std::move(name)};
  return {std::string(kTenant), std::string(kNamespace), std::move(name)};
}

}  // namespace

Result<LocalOptions> LocalOptionsOf(const VerbCall& call) {
  const std::string& typed = call.Text("allow");
  const std::optional<outside::AddressPolicy> policy =
      outside::AddressPolicy::Parse(typed.empty() ? "public" : typed);
  if (!policy) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("--allow '{}': expected public, or a list such as "
                             "loopback,private,10.1.0.0/16",
                             Printable(typed))};
  }
  return LocalOptions{.policy = *policy};
}

Result<LocalFunction> LoadFolder(const VerbCall& call, const Target& target,
                                 LocalRuntime& runtime) {
  CAIRN_ASSIGN_OR_RETURN(const boost::json::object typed, ConfigOf(call));
  CAIRN_ASSIGN_OR_RETURN(ConfigOverrides overrides, ParseOverrides(boost::json::serialize(typed)));
  CAIRN_ASSIGN_OR_RETURN(const Packed packed, PackOf(call, target.folder));
  const VersionConfig config = EffectiveConfig(packed.manifest, overrides);
  return runtime.Load(packed, NameOf(call, target), config, std::move(overrides.env));
}

}  // namespace cairn::functions::cli
