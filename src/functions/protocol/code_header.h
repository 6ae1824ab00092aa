#pragma once

#include <string_view>

// How compiled code begins (docs/keyspace.md draws all of it), so that who stores it can tell whose
// it is without reading it: that is for the processes of the sandbox.
namespace cairn::functions {

inline constexpr std::string_view kCodeMagic = "cairn-js-1";
// Changes with everything that makes code of use to one engine only.
inline constexpr std::string_view kEngineBuildId = "mozjs-102-cairn-1";

// Whether `code` says that this engine has made it. That it really did, nobody has checked.
bool IsCodeOfThisEngine(std::string_view code);

}  // namespace cairn::functions
