#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cairn::net {

// One reply as a client sees it.
struct RespValue {
  enum class Type {
    kNull,
    kSimple,
    kError,
    kInteger,
    kBulk,
    kArray,
    kMap,  // items: key, value, key, value, …
    kSet,
    kPush,
    kAttribute,  // like a map; the reply that it describes follows as a value of its own
    kDouble,
    kBoolean,
    kBigNumber,
    kVerbatim,  // text: without the format and its colon
  };

  Type type = Type::kNull;
  std::string text;     // kSimple, kError, kBulk, kBigNumber, kVerbatim; kDouble as it was sent
  int64_t integer = 0;  // kInteger; kBoolean as 0 or 1
  double number = 0;    // kDouble
  std::vector<RespValue> items;

  bool is_null() const { return type == Type::kNull; }
  bool is_error() const { return type == Type::kError; }

  // As redis-cli would show it on one line: OK, (integer) 1, "bytes", (nil), (error) ERR …, [a, b].
  std::string ToString() const;

  friend bool operator==(const RespValue&, const RespValue&) = default;
};

std::ostream& operator<<(std::ostream& out, const RespValue& value);

// Reads RESP2 and RESP3 replies out of bytes that arrive in any pieces. Used by one thread at a
// time.
class RespReplyParser {
 public:
  void Feed(std::string_view bytes);

  // The next complete reply, nullopt if more bytes are needed, an error if the bytes are no RESP;
  // after an error the parser is spent.
  Result<std::optional<RespValue>> Next();

  size_t buffered() const { return buffer_.size() - position_; }

  static constexpr size_t kMaxDepth = 128;

 private:
  struct Open {
    RespValue value;
    uint64_t missing;  // items still to come
  };

  std::optional<std::string_view> TakeLine();
  Result<std::optional<RespValue>> TakeScalar();
  Result<std::optional<RespValue>> TakeBulk();
  Result<std::optional<RespValue>> OpenAggregate(char type, std::string_view count);
  static Result<std::optional<RespValue>> LineValue(char type, std::string_view rest);
  void Compact();

  std::string buffer_;
  size_t position_ = 0;
  size_t scanned_ = 0;
  std::optional<uint64_t> bulk_bytes_;  // set while the payload of a bulk string is awaited
  char bulk_type_ = '$';
  std::vector<Open> open_;  // aggregates around the value being read, outermost first
};

}  // namespace cairn::net
