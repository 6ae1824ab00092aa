#include "data/script/script_cache.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/bytes.h"
#include "data/lua/lua_state.h"
#include "data/value/limits.h"

namespace cairn::data {
namespace {

constexpr std::string_view kFlagsOption = "flags=";

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

Result<uint8_t> ParseFlags(std::string_view names) {
  uint8_t flags = 0;
  if (names.empty()) return flags;
  for (bool more = true; more;) {
    const size_t end = std::min(names.find(','), names.size());
    const std::string_view name = names.substr(0, end);
    more = end < names.size();
    names.remove_prefix(more ? end + 1 : end);
    const uint8_t flag = ScriptFlagByName(name);
    if (flag == 0) {
      return Error{ErrorCode::kInvalid,
                   fmt::format("ERR Unexpected flag in script shebang: {}", name)};
    }
    flags |= flag;
  }
  return flags;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

}  // namespace

bool Script::never_writes() const { return (flags & ScriptFunction::kNoWrites) != 0; }

std::string Sha1Hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  return HexEncode({reinterpret_cast<const char*>(digest.data()), static_cast<size_t>(size)});
}

Result<Script> ParseScript(std::string sha, std::string_view source) {
  Script script{.sha = std::move(sha), .source = std::string(source)};
  if (!source.starts_with("#!")) return script;
  script.declares_flags = true;
  script.body_at = source.find('\n');
  if (script.body_at == std::string_view::npos) {
    return Error{ErrorCode::kInvalid, "ERR Invalid script shebang"};
  }
  const std::vector<std::string_view> words = Split(source.substr(0, script.body_at), ' ');
  if (words.front() != "#!lua") {
    return Error{ErrorCode::kInvalid,
                 fmt::format("ERR Unexpected engine in script shebang: {}", words.front())};
  }
  for (size_t i = 1; i < words.size(); ++i) {
    if (!words[i].starts_with(kFlagsOption)) {
      return Error{ErrorCode::kInvalid,
                   fmt::format("ERR Unknown lua shebang option: {}", words[i])};
    }
    CAIRN_ASSIGN_OR_RETURN(script.flags, ParseFlags(words[i].substr(kFlagsOption.size())));
  }
  return script;
}

ScriptCache::Entry ScriptCache::Find(std::string_view sha) const {
  const std::lock_guard lock(mutex_);
  auto found = scripts_.find(sha);
  if (found == scripts_.end()) found = scripts_.find(Lower(sha));
  return found == scripts_.end() ? nullptr : found->second;
}

void ScriptCache::Add(Entry script) {
  const std::lock_guard lock(mutex_);
  if (scripts_.contains(script->sha)) return;
  if (bytes_ + script->source.size() > kMaxScriptCacheBytes) {
    scripts_.clear();
    bytes_ = 0;
  }
  bytes_ += script->source.size();
  scripts_.emplace(script->sha, std::move(script));
}

size_t ScriptCache::count() const {
  const std::lock_guard lock(mutex_);
  return scripts_.size();
}

size_t ScriptCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void ScriptCache::Clear() {
  const std::lock_guard lock(mutex_);
  scripts_.clear();
  bytes_ = 0;
}

}  // namespace cairn::data
