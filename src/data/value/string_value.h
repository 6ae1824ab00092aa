#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "data/value/elements.h"
#include "data/value/entry.h"
#include "doors/resp/command.h"

// A string is one of two things:
//
//   short     record without generation:  payload = the bytes
//   segmented record with a generation:   payload = length:8
//             element  segment:4          up to kSegmentBytes bytes: those from
//                                         segment × kSegmentBytes on
//
// All integers are big-endian. A segment that is missing, or shorter than the string goes on,
// stands for zeros: a bit set far out costs one segment. What is written longer than kMaxShortBytes
// is segmented, and a string that was segmented stays so until it is replaced as a whole.
namespace cairn::data {

inline constexpr size_t kMaxShortBytes = 8192;
inline constexpr size_t kSegmentBytes = 4096;

// What a client is told that asks for a string above kMaxStringBytes.
inline constexpr std::string_view kStringTooLong =
    "ERR string exceeds maximum allowed size (proto-max-bulk-len)";

// Makes `value` the value of the key, in place of what is there.
void PutString(Entry& entry, BytesView value, std::optional<int64_t> expire_ms = {});

// Whether the string of a key that exists is all in its record, as payload().
inline bool IsShortString(const Entry& entry) { return entry.generation() == 0; }

// A key's string, as a transaction found it: parts of it are read and written without touching the
// rest.
//
//   CAIRN_ASSIGN_OR_RETURN(StringValue string, StringValue::Load(context, key));
//   if (string.wrong_type()) return context.Fail(kWrongType);
//   CAIRN_RETURN_IF_ERROR(string.Write(offset, bytes));
//   string.Save();
//
// A key that does not exist is an empty string. Changes count only together with Save, which keeps
// the expiry; every change ends with one. Reads see the changes. Lives inside the transaction's
// body.
class StringValue {
 public:
  static Result<StringValue> Load(doors::CommandContext& context, BytesView key);
  // Of a loaded key.
  static Result<StringValue> Open(Entry entry);
  // An empty string without an expiry that takes the place of what `entry` has, of any type, when
  // it is saved.
  static StringValue Replacing(Entry entry);

  // The key holds something else. Then nothing but entry() may be used.
  bool wrong_type() const { return wrong_type_; }
  bool exists() const { return entry_.exists(); }
  size_t size() const { return size_; }

  // The bytes from `offset` on, fewer than `length` where the string ends.
  Result<Bytes> Read(size_t offset, size_t length);
  // The same bytes, into `to`, which is all zeros and ends where the string does or before.
  Result<void> ReadTo(std::span<char> to, size_t offset);
  // The view lasts until the next call.
  Result<BytesView> ReadAll();

  // Visits what is stored of the bytes from `begin` to before `end`, in order; all between the
  // pieces is zeros. Returns whether to go on.
  using PieceVisitor = FunctionRef<bool(size_t offset, BytesView bytes)>;
  Result<void> Visit(size_t begin, size_t end, PieceVisitor visit);

  // Writes over what is there, and beyond its end; up to kMaxStringBytes.
  Result<void> Write(size_t offset, BytesView bytes);
  Result<void> Append(BytesView bytes) { return Write(size_, bytes); }
  // Makes the string at least `size` long, with zeros.
  void Extend(size_t size);
  void Save();

  const Entry& entry() const { return entry_; }
  // To remove the key, or change its expiry.
  Entry& entry() { return entry_; }

 private:
  explicit StringValue(Entry entry) : entry_(std::move(entry)) {}

  bool segmented() const { return elements_.has_value(); }
  void BeginSegments();
  Result<void> WriteSegment(size_t index, size_t at, BytesView bytes);

  Entry entry_;
  bool wrong_type_ = false;
  std::optional<int64_t> expire_ms_;
  size_t size_ = 0;
  Bytes text_;                        // the string if it is short; else scratch of ReadAll
  std::optional<Elements> elements_;  // of a segmented string
};

}  // namespace cairn::data
