#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "functions/control/aliases.h"
#include "functions/control/functions.h"
#include "functions/control/versions.h"

// The JSON that both doors take and give. Objects are closed: a member that is not named here is
// refused, by name (CS_VALIDATION_FAILED).
namespace cairn::functions {

// "TENANT/NAMESPACE/FUNCTION", and "TENANT/NAMESPACE", as commands name them. The operations check
// the names.
Result<FunctionName> ParseFunctionName(std::string_view text);
Result<NamespaceName> ParseNamespaceName(std::string_view text);

// {"name","runtime","entry","handler"}
Result<NewFunction> ParseNewFunction(const NamespaceName& ns, std::string_view text);
// {"files":{path:base64}}: decoded, checked and packed.
Result<Package> ParseFiles(std::string_view text);
// {"draft_id" or "files","config","alias"}
Result<PublishRequest> ParsePublish(std::string_view text);
// {"version","weights":[{"version","weight"}],"min_warm"}
Result<AliasUpdate> ParseAliasUpdate(std::string_view alias, std::string_view text);
// {"to","step_percent","interval_seconds","max_error_rate"}; `id` is the new shift's.
Result<ShiftRequest> ParseShift(std::string_view alias, std::string id, std::string_view text);

// {"function":{…},"aliases":[…],"latest_version":{…} or null}
std::string DetailText(const FunctionDetail& detail);
// {"functions":[…],"cursor":"…" or null}
std::string PageText(const FunctionPage& page);
// {"versions":[…],"cursor":"…" or null}
std::string PageText(const VersionPage& page);
// {"aliases":[…]}
std::string AliasesText(const std::vector<Alias>& aliases);
// {"draft_id","sha256","size_bytes","expires_at_ms"}
std::string DraftText(const UploadedDraft& draft);
// {"version","sha256","published_at_ms"}
std::string PublishedText(const Published& published);

}  // namespace cairn::functions
