#include "doors/access/grants.h"

#include <fmt/format.h>

#include <utility>

namespace cairn::doors {

void Grants::Add(std::string kind, NamePatterns names) {
  names_.insert_or_assign(std::move(kind), std::move(names));
}

const NamePatterns* Grants::Find(std::string_view kind) const {
  const auto found = names_.find(kind);
  return found == names_.end() ? nullptr : &found->second;
}

std::string Grants::Describe() const {
  std::string text;
  for (const auto& [kind, names] : names_) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{} {}", kind, names.Describe());
  }
  return text;
}

const NamePatterns* NamesOf(const Grants* grants, std::string_view kind) {
  static const NamePatterns kNone;
  if (grants == nullptr) return nullptr;
  const NamePatterns* const names = grants->Find(kind);
  return names == nullptr ? &kNone : names;
}

bool Touches::OpenTo(const Grants* grants) const {
  if (grants == nullptr || kind_.empty()) return true;
  return grants->Find(kind_) != nullptr;
}

}  // namespace cairn::doors
