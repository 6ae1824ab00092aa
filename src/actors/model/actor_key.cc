#include "actors/model/actor_key.h"

#include <fmt/format.h>

#include <algorithm>

#include "actors/model/limits.h"
#include "actors/model/refusal.h"
#include "base/bytes.h"
#include "base/utf8.h"

namespace cairn::actors {
namespace {

constexpr std::string_view kNoParts = "/";
constexpr std::string_view kEmptyPart = "\\0";

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

}  // namespace

std::string ActorKeyText(std::span<const std::string> parts) {
  if (parts.empty()) return std::string(kNoParts);
  std::string text;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) text.push_back('/');
    if (part.empty()) text += kEmptyPart;
    for (const char c : part) {
      if (c == '/' || c == '\\') text.push_back('\\');
      text.push_back(c);
    }
  }
  return text;
}

std::optional<std::vector<std::string>> ParseActorKey(std::string_view text) {
  std::vector<std::string> parts;
  if (text == kNoParts) return parts;
  parts.emplace_back();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/') {
      parts.emplace_back();
    } else if (text[i] != '\\') {
      parts.back().push_back(text[i]);
    } else if (i + 1 < text.size() && (text[i + 1] == '/' || text[i + 1] == '\\')) {
      parts.back().push_back(text[++i]);
    } else if (text.substr(i, kEmptyPart.size()) == kEmptyPart) {
      ++i;
    } else {
      return std::nullopt;
    }
  }
  if (ActorKeyText(parts) != text) return std::nullopt;
  return parts;
}

Result<void> CheckActorKey(std::string_view text) {
  if (text.size() > kMaxActorKeyBytes) {
    return Refuse(Reason::kBadKey, {{"limit", fmt::to_string(kMaxActorKeyBytes)}},
                  fmt::format("an actor's key has at most {} bytes", kMaxActorKeyBytes));
  }
  const auto parts = ParseActorKey(text);
  if (!parts || !IsUtf8(text)) {
    return Refuse(Reason::kBadKey,
                  fmt::format("'{}' is not an actor's key: parts with / between them, \\/ and \\\\ "
                              "for / and \\ in a part, \\0 for an empty part, / for no parts",
                              Printable(text)));
  }
  if (std::ranges::any_of(*parts,
                          [](const auto& part) { return part.size() > kMaxKeyPartBytes; })) {
    return Refuse(Reason::kBadKey, {{"limit", fmt::to_string(kMaxKeyPartBytes)}},
                  fmt::format("a part of an actor's key has at most {} bytes", kMaxKeyPartBytes));
  }
  return {};
}

Result<void> CheckName(std::string_view what, std::string_view name) {
  if (!name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, IsNameCharacter)) {
    return {};
  }
  return Refuse(Reason::kBadName,
                fmt::format("{} is 1 to {} letters, digits, '_', '.' or '-', not '{}'", what,
                            kMaxNameBytes, Printable(name)));
}

}  // namespace cairn::actors
