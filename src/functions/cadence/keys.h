#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "functions/model/keys.h"

// Keys of worker bindings and tasks (functions/model/keys.h), taken apart.
namespace cairn::functions {

inline constexpr std::string_view kCadencePrefix = "cs:cadence:";

// What a key that begins with kCadencePrefix is about; nullopt for a key that is drawn nowhere in
// keys.h. An index key has no name.
struct CadenceKeyParts {
  NamespaceName ns;
  enum class Kind : uint8_t { kIndex, kMeta, kTask } kind = Kind::kMeta;
  std::string name;  // of the binding; the hash of a task
  friend bool operator==(const CadenceKeyParts&, const CadenceKeyParts&) = default;
};
std::optional<CadenceKeyParts> ParseCadenceKey(std::string_view key);

}  // namespace cairn::functions
