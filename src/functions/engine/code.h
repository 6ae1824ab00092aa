#pragma once

#include <js/experimental/JSStencil.h>
#include <jsapi.h>
#include <mozilla/RefPtr.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "functions/protocol/program.h"

namespace cairn::functions {

// The modules of a bundle, parsed: by path. Globals are given instances of them.
using Code = std::map<std::string, RefPtr<JS::Stencil>, std::less<>>;

// Parses every .js, .mjs and .json file of the bundle. kInvalid, "file:line: what is wrong".
Result<Code> ParseBundle(JSContext* cx, const std::vector<SourceFile>& files);

// A script whose completion value matters; null with an exception pending if it does not parse.
RefPtr<JS::Stencil> ParseScript(JSContext* cx, std::string_view name, std::string_view text);

// `code` as bytes, for DecodeCode of the same engine and the same files. Empty if that fails.
std::string EncodeCode(JSContext* cx, const Code& code, const std::vector<SourceFile>& files);

// What EncodeCode has made for these files; nullopt if it is of another engine, of other files, or
// damaged in a way that shows. The bytes are not checked beyond that, because the engine does not:
// whoever calls this is inside the sandbox of the tenant whose function it is.
std::optional<Code> DecodeCode(JSContext* cx, std::string_view bytes,
                               const std::vector<SourceFile>& files);

// Where an import of `specifier` from the module `importer` leads: "lib/a.js" and "./b.js" is
// "lib/b.js". nullopt if it does not name a file of the bundle by a relative path.
std::optional<std::string> ResolveImport(std::string_view importer, std::string_view specifier);

}  // namespace cairn::functions
