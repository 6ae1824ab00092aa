#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cairn::functions {

// Whose globals an activation sees.
enum class Isolation : uint8_t {
  kActivation,  // its own, fresh ones
  kVersion,     // those of earlier activations of the version in the same process
};
std::string_view IsolationName(Isolation isolation);
std::optional<Isolation> ParseIsolation(std::string_view name);

}  // namespace cairn::functions
