#include "data/json/document.h"

#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "data/json/encoding.h"
#include "data/value/limits.h"
#include "data/value/varint.h"

namespace cairn::data {
namespace {

constexpr char kInOnePiece = 0;
constexpr char kInRows = 1;

constexpr uint64_t kFirstElementPlace = uint64_t{1} << 63;

Bytes NodeSuffix(char family, uint64_t node) {
  Bytes suffix(1, family);
  AppendBig64(suffix, node);
  return suffix;
}
Bytes HeaderSuffix(uint64_t node) { return NodeSuffix('n', node); }
Bytes ChildSuffix(uint64_t node, uint64_t place) {
  Bytes suffix = NodeSuffix('c', node);
  AppendBig64(suffix, place);
  return suffix;
}
Bytes NameSuffix(uint64_t node, BytesView name) { return NodeSuffix('k', node) + Bytes(name); }

Bytes EncodeRow(const JsonSplit& container, BytesView name, const JsonValue& value) {
  Bytes row;
  if (container.type == JsonType::kObject) {
    AppendVarint(name.size(), row);
    row += name;
  }
  AppendEncodedJson(value, row);
  return row;
}

// At most: a number of one byte, or two, becomes a JsonValue.
constexpr size_t kMemoryPerRowByte = 8;

Error Unreadable(std::string_view what) {
  return {ErrorCode::kCorruption, "a JSON document's " + std::string(what) + " cannot be read"};
}

// A child's row, taken apart.
std::optional<JsonMember> DecodeRow(const JsonSplit& container, BytesView row) {
  JsonMember member;
  if (container.type == JsonType::kObject) {
    const std::optional<uint64_t> size = TakeVarint(row);
    if (!size || *size > row.size()) return std::nullopt;
    member.name = row.substr(0, *size);
    row.remove_prefix(*size);
  }
  std::optional<JsonValue> value = DecodeJson(row);
  if (!value) return std::nullopt;
  member.value = *std::move(value);
  return member;
}

// What is at the end of the steps in a value in one piece; the steps exist.
JsonValue* Descend(JsonValue& value, std::span<const JsonStep> steps) {
  JsonValue* at = &value;
  for (const JsonStep& step : steps) {
    if (const auto* name = std::get_if<std::string>(&step)) {
      at = at->Find(*name);
    } else {
      const uint64_t index = std::get<uint64_t>(step);
      CAIRN_CHECK(at->array() != nullptr && index < at->array()->size());
      at = &(*at->array())[index];
    }
    CAIRN_CHECK(at != nullptr);
  }
  return at;
}

}  // namespace

std::optional<BytesView> JsonInOnePiece(BytesView payload) {
  if (!payload.starts_with(kInOnePiece)) return std::nullopt;
  return payload.substr(1);
}

// --- Reading -------------------------------------------------------------------------------------

Result<JsonDocument> JsonDocument::Load(store::Transaction& transaction, uint8_t db,
                                        BytesView key) {
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(transaction, db, key));
  Elements elements(transaction, db, entry.generation());
  JsonDocument document(std::move(entry), std::move(elements));
  if (!document.entry_.exists()) return document;
  document.wrong_type_ = !document.entry_.Is(ValueType::kJson);
  if (document.wrong_type_) return document;
  document.exists_ = true;
  document.expire_ms_ = document.entry_.expire_ms();
  CAIRN_RETURN_IF_ERROR(document.DecodePayload());
  return document;
}

Result<void> JsonDocument::DecodePayload() {
  BytesReader reader(entry_.payload());
  const uint8_t form = reader.Byte();
  if (form == kInRows) next_node_ = reader.Big64();
  std::optional<JsonValue> root = DecodeJson(reader.Rest());
  if (!reader.ok() || !root || form > kInRows) return Unreadable("record");
  root_ = std::make_shared<const JsonValue>(*std::move(root));
  return {};
}

JsonCursor JsonDocument::root() {
  CAIRN_CHECK(exists_);
  return {root_, this};
}

Result<JsonDocument::Header> JsonDocument::ReadHeader(uint64_t node) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> row, elements_.Get(HeaderSuffix(node)));
  BytesReader reader(row ? BytesView(*row) : BytesView());
  Header header;
  header.count = reader.Big64();
  header.place = reader.Big64();
  if (!reader.AtEnd()) return Unreadable("node");
  return header;
}

void JsonDocument::WriteHeader(uint64_t node, const Header& header) {
  Bytes row;
  AppendBig64(row, header.count);
  AppendBig64(row, header.place);
  elements_.Put(HeaderSuffix(node), row);
}

Result<std::optional<uint64_t>> JsonDocument::PlaceOf(uint64_t node, std::string_view name) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> row, elements_.Get(NameSuffix(node, name)));
  if (!row) return std::optional<uint64_t>();
  BytesReader reader(*row);
  const uint64_t place = reader.Big64();
  if (!reader.AtEnd()) return Unreadable("member name");
  return std::optional(place);
}

Result<JsonDocument::Slot> JsonDocument::ReadSlot(const JsonSplit& container, uint64_t place) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> row,
                         elements_.Get(ChildSuffix(container.node, place)));
  if (!row) return Unreadable("child");
  std::optional<JsonMember> member = DecodeRow(container, *row);
  if (!member) return Unreadable("child");
  return Slot{.container = container,
              .place = place,
              .name = std::move(member->name),
              .value = std::move(member->value)};
}

Result<std::optional<JsonDocument::Slot>> JsonDocument::FindSlot(const JsonSplit& container,
                                                                 const JsonStep& step) {
  uint64_t place = 0;
  if (const auto* name = std::get_if<std::string>(&step)) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<uint64_t> found, PlaceOf(container.node, *name));
    if (!found) return std::optional<Slot>();
    place = *found;
  } else {
    CAIRN_ASSIGN_OR_RETURN(const Header header, ReadHeader(container.node));
    if (std::get<uint64_t>(step) >= header.count) return std::optional<Slot>();
    place = header.place + std::get<uint64_t>(step);
  }
  CAIRN_ASSIGN_OR_RETURN(Slot slot, ReadSlot(container, place));
  return std::optional(std::move(slot));
}

Result<uint64_t> JsonDocument::Count(const JsonSplit& container) {
  CAIRN_ASSIGN_OR_RETURN(const Header header, ReadHeader(container.node));
  return header.count;
}

Result<std::optional<JsonValue>> JsonDocument::Member(const JsonSplit& object,
                                                      std::string_view name) {
  CAIRN_ASSIGN_OR_RETURN(std::optional<Slot> slot, FindSlot(object, std::string(name)));
  if (!slot) return std::optional<JsonValue>();
  return std::optional(std::move(slot->value));
}

Result<std::optional<JsonValue>> JsonDocument::Element(const JsonSplit& array, uint64_t index) {
  CAIRN_ASSIGN_OR_RETURN(std::optional<Slot> slot, FindSlot(array, index));
  if (!slot) return std::optional<JsonValue>();
  return std::optional(std::move(slot->value));
}

Result<JsonValue::Object> JsonDocument::Children(const JsonSplit& container) {
  JsonValue::Object children;
  bool readable = true;
  Result<void> room;
  const auto visit = [&](BytesView, BytesView row) {
    std::optional<JsonMember> child = DecodeRow(container, row);
    readable = child.has_value();
    if (!child) return false;
    children.push_back(*std::move(child));
    // In memory a value takes a multiple of what it takes in a row.
    room = entry_.Gather(kMemoryPerRowByte * row.size() + sizeof(JsonMember));
    return room.ok();
  };
  CAIRN_RETURN_IF_ERROR(
      elements_.Scan(SuffixRange::Prefix(NodeSuffix('c', container.node)), {}, visit));
  if (!room.ok()) return room.error();
  if (!readable) return Unreadable("child");
  return children;
}

Result<std::vector<JsonDocument::Row>> JsonDocument::ReadRows(uint64_t node, uint64_t first,
                                                              uint64_t count) {
  std::vector<Row> rows;
  if (count == 0) return rows;
  const SuffixRange range{ChildSuffix(node, first), ChildSuffix(node, first + count)};
  CAIRN_RETURN_IF_ERROR(elements_.Scan(range, {}, [&](BytesView, BytesView row) {
    rows.push_back({first + rows.size(), Bytes(row)});
    return true;
  }));
  if (rows.size() != count) return Unreadable("array");
  return rows;
}

// --- Changing ------------------------------------------------------------------------------------

Result<JsonDocument::Slot> JsonDocument::Resolve(std::span<const JsonStep> location) {
  Slot slot{.value = *root_};
  while (slot.depth < location.size() && slot.value.split() != nullptr) {
    const JsonSplit container = *slot.value.split();
    const size_t depth = slot.depth;
    CAIRN_ASSIGN_OR_RETURN(std::optional<Slot> child, FindSlot(container, location[depth]));
    CAIRN_CHECK(child.has_value());
    slot = *std::move(child);
    slot.depth = depth + 1;
  }
  return slot;
}

void JsonDocument::Store(const Slot& slot, JsonValue value) {
  JsonValue stored = Split(std::move(value));
  if (!slot.container) {
    root_ = std::make_shared<const JsonValue>(std::move(stored));
  } else {
    elements_.Put(ChildSuffix(slot.container->node, slot.place),
                  EncodeRow(*slot.container, slot.name, stored));
  }
}

JsonValue JsonDocument::Split(JsonValue value) {
  if (!value.IsContainer() || value.split() != nullptr ||
      EncodedJsonSize(value, kMaxInlineJsonBytes) <= kMaxInlineJsonBytes) {
    return value;
  }
  const JsonSplit container{value.type(), next_node_++};
  if (value.array() != nullptr) {
    uint64_t place = kFirstElementPlace;
    for (JsonValue& element : *value.array()) {
      Store({.container = container, .place = place++}, std::move(element));
    }
    WriteHeader(container.node, {value.array()->size(), kFirstElementPlace});
  } else {
    Bytes place_row;
    uint64_t place = 0;
    for (JsonMember& member : *value.object()) {
      Store({.container = container, .place = place, .name = member.name}, std::move(member.value));
      place_row.clear();
      AppendBig64(place_row, place++);
      elements_.Put(NameSuffix(container.node, member.name), place_row);
    }
    WriteHeader(container.node, {place, place});
  }
  return JsonValue(container);
}

Result<void> JsonDocument::Free(const JsonValue& value) {
  const JsonSplit* container = value.split();
  if (container == nullptr) return {};
  std::vector<Bytes> suffixes{HeaderSuffix(container->node)};
  std::vector<JsonValue> below;
  bool readable = true;
  const auto visit = [&](BytesView suffix, BytesView row) {
    std::optional<JsonMember> child = DecodeRow(*container, row);
    readable = child.has_value();
    if (!child) return false;
    suffixes.emplace_back(suffix);
    if (container->type == JsonType::kObject) {
      suffixes.push_back(NameSuffix(container->node, child->name));
    }
    if (child->value.split() != nullptr) below.push_back(std::move(child->value));
    return true;
  };
  CAIRN_RETURN_IF_ERROR(
      elements_.Scan(SuffixRange::Prefix(NodeSuffix('c', container->node)), {}, visit));
  if (!readable) return Unreadable("child");
  for (const Bytes& suffix : suffixes) elements_.Delete(suffix);
  for (const JsonValue& child : below) CAIRN_RETURN_IF_ERROR(Free(child));
  return {};
}

void JsonDocument::SetRoot(const JsonValue& value) {
  // What was there goes with its generation.
  elements_ = Elements(entry_.transaction(), entry_.db(), 0);
  next_node_ = 0;
  root_ = std::make_shared<const JsonValue>(Split(value));
  exists_ = true;
}

Result<void> JsonDocument::Set(const JsonLocation& location, const JsonValue& value) {
  if (location.empty()) {
    SetRoot(value);
    return {};
  }
  const std::span parent = std::span(location).first(location.size() - 1);
  CAIRN_ASSIGN_OR_RETURN(Slot slot, Resolve(parent));
  if (slot.value.split() != nullptr) {
    return SetChild(*slot.value.split(), location.back(), value);
  }
  JsonValue* container = Descend(slot.value, parent.subspan(slot.depth));
  if (const auto* name = std::get_if<std::string>(&location.back())) {
    container->Set(*name, value);
  } else {
    *Descend(*container, std::span(&location.back(), 1)) = value;
  }
  Store(slot, std::move(slot.value));
  return {};
}

Result<void> JsonDocument::SetChild(const JsonSplit& container, const JsonStep& step,
                                    const JsonValue& value) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Slot> slot, FindSlot(container, step));
  if (slot) {
    CAIRN_RETURN_IF_ERROR(Free(slot->value));
    Store(*slot, value);
    return {};
  }
  CAIRN_CHECK(container.type == JsonType::kObject);
  CAIRN_ASSIGN_OR_RETURN(Header header, ReadHeader(container.node));
  const std::string& name = std::get<std::string>(step);
  Store({.container = container, .place = header.place, .name = name}, value);
  Bytes place_row;
  AppendBig64(place_row, header.place);
  elements_.Put(NameSuffix(container.node, name), place_row);
  WriteHeader(container.node, {header.count + 1, header.place + 1});
  return {};
}

Result<void> JsonDocument::Remove(const JsonLocation& location) {
  CAIRN_CHECK(!location.empty());
  JsonLocation parent = location;
  parent.pop_back();
  if (const auto* index = std::get_if<uint64_t>(&location.back())) return Erase(parent, *index, 1);
  const std::string& name = std::get<std::string>(location.back());
  CAIRN_ASSIGN_OR_RETURN(Slot slot, Resolve(parent));
  if (slot.value.split() != nullptr) return RemoveMember(*slot.value.split(), name);
  Descend(slot.value, std::span(parent).subspan(slot.depth))->Erase(name);
  Store(slot, std::move(slot.value));
  return {};
}

Result<void> JsonDocument::RemoveMember(const JsonSplit& object, const std::string& name) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Slot> slot, FindSlot(object, name));
  if (!slot) return {};
  CAIRN_RETURN_IF_ERROR(Free(slot->value));
  CAIRN_ASSIGN_OR_RETURN(const Header header, ReadHeader(object.node));
  elements_.Delete(ChildSuffix(object.node, slot->place));
  elements_.Delete(NameSuffix(object.node, name));
  WriteHeader(object.node, {header.count - 1, header.place});
  return {};
}

Result<void> JsonDocument::Insert(const JsonLocation& array, uint64_t index,
                                  std::span<const JsonValue> values) {
  CAIRN_ASSIGN_OR_RETURN(Slot slot, Resolve(array));
  if (slot.value.split() != nullptr) return InsertElements(*slot.value.split(), index, values);
  JsonValue::Array* elements = Descend(slot.value, std::span(array).subspan(slot.depth))->array();
  CAIRN_CHECK(elements != nullptr && index <= elements->size());
  elements->insert(elements->begin() + static_cast<ptrdiff_t>(index), values.begin(), values.end());
  Store(slot, std::move(slot.value));
  return {};
}

Result<void> JsonDocument::InsertElements(const JsonSplit& array, uint64_t index,
                                          std::span<const JsonValue> values) {
  CAIRN_ASSIGN_OR_RETURN(Header header, ReadHeader(array.node));
  const auto added = static_cast<int64_t>(values.size());
  if (index < header.count - index) {
    CAIRN_ASSIGN_OR_RETURN(const auto rows, ReadRows(array.node, header.place, index));
    MoveRows(array.node, rows, -added);
    header.place -= values.size();
  } else {
    CAIRN_ASSIGN_OR_RETURN(const auto rows,
                           ReadRows(array.node, header.place + index, header.count - index));
    MoveRows(array.node, rows, added);
  }
  uint64_t place = header.place + index;
  for (const JsonValue& value : values) Store({.container = array, .place = place++}, value);
  WriteHeader(array.node, {header.count + values.size(), header.place});
  return {};
}

Result<void> JsonDocument::Erase(const JsonLocation& array, uint64_t index, uint64_t count) {
  CAIRN_ASSIGN_OR_RETURN(Slot slot, Resolve(array));
  if (slot.value.split() != nullptr) return EraseElements(*slot.value.split(), index, count);
  JsonValue::Array* elements = Descend(slot.value, std::span(array).subspan(slot.depth))->array();
  CAIRN_CHECK(elements != nullptr && index + count <= elements->size());
  const auto first = elements->begin() + static_cast<ptrdiff_t>(index);
  elements->erase(first, first + static_cast<ptrdiff_t>(count));
  Store(slot, std::move(slot.value));
  return {};
}

Result<void> JsonDocument::EraseElements(const JsonSplit& array, uint64_t index, uint64_t count) {
  CAIRN_ASSIGN_OR_RETURN(Header header, ReadHeader(array.node));
  CAIRN_CHECK(index + count <= header.count);
  CAIRN_ASSIGN_OR_RETURN(const auto gone, ReadRows(array.node, header.place + index, count));
  for (const Row& row : gone) {
    const std::optional<JsonMember> element = DecodeRow(array, row.value);
    if (!element) return Unreadable("child");
    CAIRN_RETURN_IF_ERROR(Free(element->value));
    elements_.Delete(ChildSuffix(array.node, row.place));
  }
  const uint64_t behind = header.count - index - count;
  if (index < behind) {
    CAIRN_ASSIGN_OR_RETURN(const auto rows, ReadRows(array.node, header.place, index));
    MoveRows(array.node, rows, static_cast<int64_t>(count));
    header.place += count;
  } else {
    CAIRN_ASSIGN_OR_RETURN(const auto rows,
                           ReadRows(array.node, header.place + index + count, behind));
    MoveRows(array.node, rows, -static_cast<int64_t>(count));
  }
  WriteHeader(array.node, {header.count - count, header.place});
  return {};
}

void JsonDocument::MoveRows(uint64_t node, const std::vector<Row>& rows, int64_t offset) {
  for (const Row& row : rows) elements_.Delete(ChildSuffix(node, row.place));
  for (const Row& row : rows) {
    elements_.Put(ChildSuffix(node, row.place + static_cast<uint64_t>(offset)), row.value);
  }
}

void JsonDocument::Save() {
  const bool in_rows = root_->split() != nullptr;
  Bytes payload(1, in_rows ? kInRows : kInOnePiece);
  if (in_rows) AppendBig64(payload, next_node_);
  AppendEncodedJson(*root_, payload);
  entry_.Put({.type = ValueType::kJson,
              .payload = payload,
              .expire_ms = expire_ms_,
              .generation = in_rows ? elements_.generation() : 0});
}

void JsonDocument::RemoveKey() {
  entry_.Remove();
  exists_ = false;
}

}  // namespace cairn::data
