#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "data/json/select.h"
#include "data/json/value.h"
#include "data/value/elements.h"
#include "data/value/entry.h"
#include "doors/resp/command.h"
#include "store/transaction.h"

// A JSON document as it is stored: a tree of rows.
//
// What is small is kept in one piece: a value whose encoding (encoding.h) has at most
// kMaxInlineJsonBytes, and every string, stands inside the row of its parent. A container that is
// larger is split: it has a node number and one row per child, and its parent's row refers to it.
// So a change to one counter of a large document reads and writes the rows on the way to it.
//
//   record payload   00 value…                   the whole document, without elements
//                    01 next_node:8 value        next_node: the first number never used; value
//                                                refers to the root's node
//
//   element suffix                  value
//   ──────────────                  ─────
//   6E ('n') node:8                 count:8 place:8    object: the place of the next new member
//                                                      array: the place of its first element
//   63 ('c') node:8 place:8         value…             of an array
//                                   size:v name… value…   of an object
//   6B ('k') node:8 name…           place:8            of an object
//
//   {"a":{…large…},"b":1}   record  01 …02 09 …00
//                           n 0  →  2, 2            k 0 a → 0       c 0 0 → a 09 …01
//                           n 1  →  …               k 0 b → 1       c 0 1 → b 03 02
//
// Members of an object have rising places with gaps where some were removed: their order is that
// of insertion. Elements of an array have places without gaps: the index is the distance to the
// first, so an element is found and appended at once, and an insertion moves the elements on the
// shorter side. The first place of a new array is in the middle of the numbers, so that both ends
// can grow.
//
// A container that shrinks stays split until it is replaced. A reference stands only where a row's
// whole value, or the root, is one: values in one piece are in one piece all through.
namespace cairn::data {

// The encoded document that a record's payload has in one piece; nullopt if it is in rows.
std::optional<BytesView> JsonInOnePiece(BytesView payload);

// A document as a transaction found it, and the way to change it. Changes count only together with
// Save. Cursors are for looking: none survives a change. Lives inside the transaction's body, and
// does not move once root() was called.
class JsonDocument final : public JsonContainers {
 public:
  static Result<JsonDocument> Load(store::Transaction& transaction, uint8_t db, BytesView key);
  static Result<JsonDocument> Load(doors::CommandContext& context, BytesView key) {
    Result<JsonDocument> document = Load(context.transaction, context.db(), key);
    if (!document.ok()) return document;
    document->entry_.ServeFor(context);
    NoteLookup(context, key, document->exists());
    return document;
  }

  // The key holds something else. Then nothing more may be asked.
  bool wrong_type() const { return wrong_type_; }
  bool exists() const { return exists_; }

  // Of a document that exists.
  JsonCursor root();

  // Puts a whole new document there; the expiry of one that was there stays.
  void SetRoot(const JsonValue& value);
  // Replaces what is there, or adds a member to an object that is there. An empty location is the
  // root.
  Result<void> Set(const JsonLocation& location, const JsonValue& value);
  // Takes away what is there; not the root.
  Result<void> Remove(const JsonLocation& location);
  // Puts values into an array, in front of the element `index` or behind the last.
  Result<void> Insert(const JsonLocation& array, uint64_t index, std::span<const JsonValue> values);
  // Takes elements from an array that has as many.
  Result<void> Erase(const JsonLocation& array, uint64_t index, uint64_t count);

  void Save();
  // Takes the key away.
  void RemoveKey();

  Result<uint64_t> Count(const JsonSplit& container) override;
  Result<std::optional<JsonValue>> Member(const JsonSplit& object, std::string_view name) override;
  Result<std::optional<JsonValue>> Element(const JsonSplit& array, uint64_t index) override;
  Result<JsonValue::Object> Children(const JsonSplit& container) override;

 private:
  // A row of a container, or the root, with what is in it.
  struct Slot {
    std::optional<JsonSplit> container;  // none: the root
    uint64_t place = 0;
    Bytes name;  // of a member
    JsonValue value;
    size_t depth = 0;  // how many steps lead to it
  };
  struct Header {
    uint64_t count = 0;
    uint64_t place = 0;
  };
  struct Row {
    uint64_t place = 0;
    Bytes value;
  };

  JsonDocument(Entry entry, Elements elements)
      : entry_(std::move(entry)), elements_(std::move(elements)) {}

  Result<void> DecodePayload();
  Result<Header> ReadHeader(uint64_t node);
  void WriteHeader(uint64_t node, const Header& header);
  Result<std::optional<uint64_t>> PlaceOf(uint64_t node, std::string_view name);
  Result<Slot> ReadSlot(const JsonSplit& container, uint64_t place);
  Result<std::optional<Slot>> FindSlot(const JsonSplit& container, const JsonStep& step);
  Result<std::vector<Row>> ReadRows(uint64_t node, uint64_t first, uint64_t count);

  // The slot that holds what is at the location: its own, or the one of a container in one piece
  // that it is in.
  Result<Slot> Resolve(std::span<const JsonStep> location);
  void Store(const Slot& slot, JsonValue value);
  // The value as a row may hold it: itself, or a reference to rows that were written.
  JsonValue Split(JsonValue value);
  // Removes the rows behind a reference; of anything else nothing.
  Result<void> Free(const JsonValue& value);

  Result<void> SetChild(const JsonSplit& container, const JsonStep& step, const JsonValue& value);
  Result<void> RemoveMember(const JsonSplit& object, const std::string& name);
  Result<void> InsertElements(const JsonSplit& array, uint64_t index,
                              std::span<const JsonValue> values);
  Result<void> EraseElements(const JsonSplit& array, uint64_t index, uint64_t count);
  // Gives rows other places, `offset` further on.
  void MoveRows(uint64_t node, const std::vector<Row>& rows, int64_t offset);

  Entry entry_;
  Elements elements_;
  bool wrong_type_ = false;
  bool exists_ = false;
  std::optional<int64_t> expire_ms_;
  uint64_t next_node_ = 0;
  std::shared_ptr<const JsonValue> root_;  // shared with cursors, so a change makes another
};

}  // namespace cairn::data
