#include "functions/model/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/bytes.h"
#include "base/check.h"
#include "base/id.h"
#include "functions/model/digest.h"
#include "functions/model/errors.h"

namespace cairn::functions {
namespace {

constexpr std::string_view kDraftPrefix = "drf_";
constexpr std::string_view kCrockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr size_t kUlidBytes = 26;
constexpr size_t kUlidTimeBytes = 10;
// A ULID has 130 bits for 128.
constexpr char kLargestUlidStart = '7';

using CharTest = bool (*)(char);

bool IsSmall(char c) { return c >= 'a' && c <= 'z'; }
bool IsLetter(char c) { return IsSmall(c) || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsTenantChar(char c) { return IsSmall(c) || IsDigit(c); }
bool IsPlainChar(char c) { return IsTenantChar(c) || c == '_' || c == '-'; }
bool IsWord(char c) { return IsLetter(c) || IsDigit(c); }
bool IsWideChar(char c) { return IsWord(c) || c == '.' || c == '_' || c == '-'; }
bool IsVariableStart(char c) { return IsLetter(c) || c == '_'; }
bool IsVariableChar(char c) { return IsWord(c) || c == '_'; }

struct Grammar {
  NameKind kind;
  std::string_view what;  // "a tenant"
  std::string_view text;  // the grammar, for people
  std::string_view prefix;
  size_t least;  // bytes behind the prefix
  size_t most;
  CharTest first;
  CharTest rest;
};

constexpr std::array kGrammars = {
    Grammar{NameKind::kTenant, "a tenant", "t_[a-z0-9]{6,32}", "t_", 6, 32, IsTenantChar,
            IsTenantChar},
    Grammar{NameKind::kNamespace, "a namespace", "[a-z][a-z0-9_-]{2,63}", "", 3, 64, IsSmall,
            IsPlainChar},
    Grammar{NameKind::kFunction, "a function", "[a-z][a-z0-9_-]{2,63}", "", 3, 64, IsSmall,
            IsPlainChar},
    Grammar{NameKind::kAlias, "an alias", "[a-z][a-z0-9_-]{1,31}", "", 2, 32, IsSmall, IsPlainChar},
    Grammar{NameKind::kSchedule, "a schedule", "[a-zA-Z0-9][a-zA-Z0-9._-]{2,63}", "", 3, 64, IsWord,
            IsWideChar},
    Grammar{NameKind::kTrigger, "a trigger", "[a-zA-Z0-9][a-zA-Z0-9._-]{2,63}", "", 3, 64, IsWord,
            IsWideChar},
    Grammar{NameKind::kBinding, "a worker binding", "[a-zA-Z0-9][a-zA-Z0-9._-]{2,63}", "", 3, 64,
            IsWord, IsWideChar},
    Grammar{NameKind::kRequest, "a request id", "[a-zA-Z0-9._-]{8,64}", "", 8, 64, IsWideChar,
            IsWideChar},
    Grammar{NameKind::kEnvironment, "an environment variable", "[a-zA-Z_][a-zA-Z0-9_]{0,127}", "",
            1, 128, IsVariableStart, IsVariableChar},
    // These two are told by their own tests.
    Grammar{NameKind::kDraft, "a draft id", "drf_ and a ULID", kDraftPrefix, kUlidBytes, kUlidBytes,
            nullptr, nullptr},
    Grammar{NameKind::kActivation, "an activation id", "a UUID in small letters", "", 36, 36,
            nullptr, nullptr},
};

const Grammar& GrammarOf(NameKind kind) {
  const auto* row = std::ranges::find(kGrammars, kind, &Grammar::kind);
  CAIRN_CHECK(row != kGrammars.end(), "name kind {}", static_cast<int>(kind));
  return *row;
}

bool IsActivation(std::string_view text) {
  const std::optional<Uuid> id = Uuid::Parse(text);
  return id && id->ToString() == text;
}

}  // namespace

bool IsName(NameKind kind, std::string_view text) {
  if (kind == NameKind::kDraft) return DraftTime(text).has_value();
  if (kind == NameKind::kActivation) return IsActivation(text);
  const Grammar& grammar = GrammarOf(kind);
  if (!text.starts_with(grammar.prefix)) return false;
  text.remove_prefix(grammar.prefix.size());
  return text.size() >= grammar.least && text.size() <= grammar.most &&
         grammar.first(text.front()) && std::ranges::all_of(text, grammar.rest);
}

Result<void> CheckName(NameKind kind, std::string_view text) {
  if (IsName(kind, text)) return {};
  const Grammar& grammar = GrammarOf(kind);
  return Refuse(Code::kNameInvalid, fmt::format("\"{}\" cannot be the name of {}: it must be {}",
                                                Printable(text), grammar.what, grammar.text));
}

std::string NewDraftId(Timestamp now, Random& random) {
  return std::string(kDraftPrefix) + NewUlid(now, random);
}

std::optional<Timestamp> DraftTime(std::string_view id) {
  if (!id.starts_with(kDraftPrefix)) return std::nullopt;
  id.remove_prefix(kDraftPrefix.size());
  if (id.size() != kUlidBytes || id.front() > kLargestUlidStart) return std::nullopt;
  int64_t ms = 0;
  for (size_t at = 0; at < id.size(); ++at) {
    const size_t digit = kCrockford.find(id[at]);
    if (digit == std::string_view::npos) return std::nullopt;
    if (at < kUlidTimeBytes) ms = ms * 32 + static_cast<int64_t>(digit);
  }
  return Timestamp::FromMillis(ms);
}

std::string NewRequestId(Random& random) { return "req_" + Uuid::V4(random).ToString(); }

std::string NewMessageId(Timestamp now, Random& random) { return "msg_" + NewUlid(now, random); }

std::string NewActivationId(Random& random) { return Uuid::V4(random).ToString(); }

std::string DerivedActivationId(std::string_view text) {
  Bytes digest = Sha256(text);
  // Version 8 leaves the content to who makes it.
  digest[6] = static_cast<char>((static_cast<unsigned char>(digest[6]) & 0x0FU) | 0x80U);
  digest[8] = static_cast<char>((static_cast<unsigned char>(digest[8]) & 0x3FU) | 0x80U);
  std::string id;
  for (size_t i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) id.push_back('-');
    id += fmt::format("{:02x}", static_cast<unsigned char>(digest[i]));
  }
  return id;
}

std::optional<uint64_t> ParseVersion(std::string_view text) {
  // Fits an int64_t, which JSON readers can hold.
  constexpr size_t kMaxDigits = 18;
  if (text.empty() || text.size() > kMaxDigits || text.front() == '0') return std::nullopt;
  uint64_t version = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return version;
}

}  // namespace cairn::functions
