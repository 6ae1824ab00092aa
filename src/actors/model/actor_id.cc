#include "actors/model/actor_id.h"

#include <algorithm>

#include "base/id.h"

namespace cairn::actors {
namespace {

constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
constexpr uint8_t kForm = 1;

using Number = std::array<uint8_t, ActorId::kBytes + 1>;  // big-endian

// Divides in place and returns the remainder.
uint32_t Divide(Number& number, uint32_t by) {
  uint32_t rest = 0;
  for (uint8_t& byte : number) {
    const uint32_t value = rest << 8 | byte;
    byte = static_cast<uint8_t>(value / by);
    rest = value % by;
  }
  return rest;
}

// number * by + add, in place; false if that is too large.
bool MultiplyAdd(Number& number, uint32_t by, uint32_t add) {
  uint32_t carry = add;
  for (size_t i = number.size(); i > 0; --i) {
    const uint32_t value = number[i - 1] * by + carry;
    number[i - 1] = static_cast<uint8_t>(value);
    carry = value >> 8;
  }
  return carry == 0;
}

}  // namespace

ActorId ActorId::New(Random& random) {
  ActorId id;
  std::ranges::copy(Uuid::V4(random).bytes(), id.bytes_.begin());
  id.bytes_[kBytes - 2] = static_cast<char>(kLabel >> 8);
  id.bytes_[kBytes - 1] = static_cast<char>(kLabel & 0xFF);
  return id;
}

std::optional<ActorId> ActorId::Parse(std::string_view text) {
  if (text.size() != kTextBytes) return std::nullopt;
  Number number{};
  for (const char digit : text) {
    const size_t value = kDigits.find(digit);
    if (value == std::string_view::npos) return std::nullopt;
    if (!MultiplyAdd(number, kDigits.size(), static_cast<uint32_t>(value))) return std::nullopt;
  }
  if (number[0] != kForm) return std::nullopt;
  ActorId id;
  std::copy(number.begin() + 1, number.end(), id.bytes_.begin());
  return id;
}

std::optional<ActorId> ActorId::FromBytes(BytesView bytes) {
  if (bytes.size() != kBytes) return std::nullopt;
  ActorId id;
  std::ranges::copy(bytes, id.bytes_.begin());
  return id;
}

std::string ActorId::ToString() const {
  Number number;
  number[0] = kForm;
  std::ranges::copy(bytes_, number.begin() + 1);
  std::string text(kTextBytes, '0');
  for (size_t i = kTextBytes; i > 0; --i) text[i - 1] = kDigits[Divide(number, kDigits.size())];
  return text;
}

}  // namespace cairn::actors
