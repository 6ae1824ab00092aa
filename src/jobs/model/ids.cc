#include "jobs/model/ids.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace cairn::jobs {
namespace {

constexpr std::array<std::string_view, 3> kPrefixes = {"job_", "batch_", "chn_"};
constexpr size_t kNsDigits = 16;
constexpr size_t kLaneDigits = 4;
constexpr size_t kSerialDigits = 6;

void AppendHex(std::string& out, uint64_t value, size_t digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (size_t i = digits; i > 0; --i) out.push_back(kDigits[(value >> ((i - 1) * 4)) & 15]);
}

std::optional<uint64_t> ParseHex(std::string_view text) {
  uint64_t value = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      value = value << 4 | static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value << 4 | static_cast<uint64_t>(c - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return value;
}

// The digits behind the prefix; empty if the text is no id.
std::string_view DigitsOf(std::string_view id) {
  for (const std::string_view prefix : kPrefixes) {
    if (!id.starts_with(prefix)) continue;
    id.remove_prefix(prefix.size());
    constexpr size_t kBase = kNsDigits + kLaneDigits + kSerialDigits;
    if (id.size() < kBase || (id.size() - kBase) % kLaneDigits != 0) return {};
    if ((id.size() - kBase) / kLaneDigits > kMaxExtraLanes) return {};
    const bool hex = std::ranges::all_of(
        id, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
    return hex ? id : std::string_view();
  }
  return {};
}

Lane LaneAt(std::string_view digits, size_t at) {
  return static_cast<Lane>(*ParseHex(digits.substr(at, kLaneDigits)));
}

void AddScope(Lane lane, store::Scopes& scopes) {
  const std::array<char, 6> name = {
      'l', 'a', 'n', 'e', static_cast<char>(lane >> 8), static_cast<char>(lane & 255)};
  scopes.Add(store::Space::kJobs, {name.data(), name.size()});
}

}  // namespace

// FNV-1a, folded: stored in names, so it never changes.
Lane LaneOfQueue(std::string_view queue) {
  uint32_t hash = 2166136261U;
  for (const char c : queue) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
  return static_cast<Lane>(hash ^ hash >> 16);
}

std::string MakeId(const IdParts& parts) {
  std::string id(parts.prefix);
  id.reserve(id.size() + kNsDigits + kLaneDigits * (1 + parts.extra.size()) + kSerialDigits);
  AppendHex(id, parts.ns, kNsDigits);
  AppendHex(id, parts.lane, kLaneDigits);
  AppendHex(id, parts.serial, kSerialDigits);
  size_t extra = 0;
  for (const Lane lane : parts.extra) {
    if (extra++ < kMaxExtraLanes) AppendHex(id, lane, kLaneDigits);
  }
  return id;
}

std::vector<Lane> LanesOfId(std::string_view id) {
  const std::string_view digits = DigitsOf(id);
  if (digits.empty()) return {};
  std::vector<Lane> lanes = {LaneAt(digits, kNsDigits)};
  for (size_t at = kNsDigits + kLaneDigits + kSerialDigits; at < digits.size(); at += kLaneDigits) {
    lanes.push_back(LaneAt(digits, at));
  }
  return lanes;
}

std::optional<Lane> FirstLaneOfId(std::string_view id) {
  const std::string_view digits = DigitsOf(id);
  if (digits.empty()) return std::nullopt;
  return LaneAt(digits, kNsDigits);
}

bool IsName(std::string_view name, size_t limit) {
  if (name.empty() || name.size() > limit || name.front() == ' ' || name.back() == ' ') {
    return false;
  }
  const bool printable = std::ranges::all_of(name, [](char c) {
    const auto byte = static_cast<uint8_t>(c);
    return byte >= 0x20 && byte != 0x7F;
  });
  return printable && IsUtf8(name);
}

Held Held::Everything() {
  Held held;
  held.everything_ = true;
  return held;
}

Held& Held::AddLane(Lane lane) {
  if (std::ranges::find(lanes_, lane) == lanes_.end()) lanes_.push_back(lane);
  return *this;
}

Held& Held::AddJob(std::string_view id) {
  const std::string_view digits = DigitsOf(id);
  if (digits.empty()) return *this;
  AddLane(LaneAt(digits, kNsDigits));
  for (size_t at = kNsDigits + kLaneDigits + kSerialDigits; at < digits.size(); at += kLaneDigits) {
    AddLane(LaneAt(digits, at));
  }
  return *this;
}

bool Held::Covers(Lane lane) const {
  return everything_ || std::ranges::find(lanes_, lane) != lanes_.end();
}

void Held::AddTo(store::Scopes& scopes) const {
  if (everything_) scopes.AddAll(store::Scopes::Exclusive());
  for (const Lane lane : lanes_) AddScope(lane, scopes);
}

store::Scopes Held::ToScopes() const {
  store::Scopes scopes;
  AddTo(scopes);
  return scopes;
}

}  // namespace cairn::jobs
