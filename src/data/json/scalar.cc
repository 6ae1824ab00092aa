#include "data/json/scalar.h"

#include <variant>

#include "data/json/document.h"
#include "data/json/encoding.h"
#include "data/value/limits.h"

namespace cairn::data {
namespace {

// The name that a segment stands for, if it is nothing else.
const std::string* OnlyName(const JsonSegment& segment) {
  if (segment.descendants || segment.selectors.size() != 1) return nullptr;
  const auto* name = std::get_if<JsonName>(&segment.selectors[0]);
  return name != nullptr ? &name->name : nullptr;
}

std::optional<BytesView> FindEncoded(BytesView value, const JsonPath& path) {
  for (const JsonSegment& segment : path.segments) {
    const std::string* name = OnlyName(segment);
    if (name == nullptr) return std::nullopt;
    const std::optional<BytesView> member = EncodedJsonMember(value, *name);
    if (!member) return std::nullopt;
    value = *member;
  }
  return value;
}

}  // namespace

Result<std::optional<JsonScalar>> JsonScalar::Find(doors::CommandContext& context, BytesView key,
                                                   const JsonPath& path) {
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context.transaction, context.db(), key));
  if (!entry.Is(ValueType::kJson)) return std::optional<JsonScalar>();
  const BytesView payload = entry.payload();
  const std::optional<BytesView> document = JsonInOnePiece(payload);
  const std::optional<BytesView> found = document ? FindEncoded(*document, path) : std::nullopt;
  std::optional<JsonValue> value = found ? DecodeJson(*found) : std::nullopt;
  if (!value || value->IsContainer()) return std::optional<JsonScalar>();
  const auto at = static_cast<size_t>(found->data() - payload.data());
  return std::optional(JsonScalar(std::move(entry), *std::move(value), at, found->size()));
}

bool JsonScalar::Replace(doors::CommandContext& context, const JsonValue& scalar) {
  const BytesView old = entry_.payload();
  Bytes payload;
  payload += old.substr(0, at_);
  AppendEncodedJson(scalar, payload);
  payload += old.substr(at_ + size_);
  const std::optional<BytesView> document = JsonInOnePiece(payload);
  if (!document || document->size() > kMaxInlineJsonBytes) return false;
  NoteLookup(context, entry_.user_key(), /*found=*/true);
  entry_.Put({.type = ValueType::kJson, .payload = payload, .expire_ms = entry_.expire_ms()});
  return true;
}

}  // namespace cairn::data
