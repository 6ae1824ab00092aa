#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// The key of an actor: a list of texts, which with its namespace and its name names it. As one
// text, slashes stand between the parts:
//
//   []              /
//   ["a","b"]       a/b
//   ["a/b","c\\d"]  a\/b/c\\d       a slash or a backslash in a part has a backslash before it
//   ["","x"]        \0/x            an empty part
//
// Every list has one text, and every text that ParseActorKey takes is that of one list.
namespace cairn::actors {

std::string ActorKeyText(std::span<const std::string> parts);
// nullopt for a text that ActorKeyText does not give.
std::optional<std::vector<std::string>> ParseActorKey(std::string_view text);

// Refuse what is too long, is not text, or is not written as it must be.
Result<void> CheckActorKey(std::string_view text);
// A namespace or the name of actors: 1 to kMaxNameBytes letters, digits, '_', '.' and '-'. `what`
// begins the complaint.
Result<void> CheckName(std::string_view what, std::string_view name);

}  // namespace cairn::actors
