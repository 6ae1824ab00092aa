#include "net/resp/reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <ostream>

#include "base/bytes.h"

namespace cairn::net {
namespace {

using Type = RespValue::Type;

// A length line longer than this is no RESP.
constexpr size_t kMaxLengthLine = 64;

Error Malformed(std::string message) {
  return {ErrorCode::kInvalid, "malformed reply: " + std::move(message)};
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> ParseDouble(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (failure == std::errc::result_out_of_range) return std::numeric_limits<double>::infinity();
  if (failure != std::errc{}) return std::nullopt;
  return value;
}

bool IsAggregate(char type) { return std::strchr("*%~>|", type) != nullptr && type != '\0'; }

Type AggregateType(char type) {
  switch (type) {
    case '%':
      return Type::kMap;
    case '~':
      return Type::kSet;
    case '>':
      return Type::kPush;
    case '|':
      return Type::kAttribute;
    default:
      return Type::kArray;
  }
}

std::string Joined(const std::vector<RespValue>& items) {
  std::string text;
  for (const RespValue& item : items) {
    if (!text.empty()) text += ", ";
    text += item.ToString();
  }
  return text;
}

}  // namespace

std::string RespValue::ToString() const {
  switch (type) {
    case Type::kNull:
      return "(nil)";
    case Type::kSimple:
    case Type::kBigNumber:
    case Type::kDouble:
    case Type::kVerbatim:
      return text;
    case Type::kError:
      return "(error) " + text;
    case Type::kInteger:
      return fmt::format("(integer) {}", integer);
    case Type::kBoolean:
      return integer != 0 ? "(true)" : "(false)";
    case Type::kBulk:
      return "\"" + Printable(text, 256) + "\"";
    case Type::kArray:
      return "[" + Joined(items) + "]";
    case Type::kMap:
      return "{" + Joined(items) + "}";
    case Type::kSet:
      return "set[" + Joined(items) + "]";
    case Type::kPush:
      return "push[" + Joined(items) + "]";
    case Type::kAttribute:
      return "attribute{" + Joined(items) + "}";
  }
  return {};
}

std::ostream& operator<<(std::ostream& out, const RespValue& value) {
  return out << value.ToString();
}

void RespReplyParser::Feed(std::string_view bytes) {
  Compact();
  buffer_.append(bytes);
}

// Drops what was read, once it is most of the buffer, so that each byte is moved a bounded number
// of times.
void RespReplyParser::Compact() {
  if (position_ == buffer_.size()) {
    buffer_.clear();
  } else if (position_ > buffer_.size() / 2) {
    buffer_.erase(0, position_);
  } else {
    return;
  }
  scanned_ -= std::min(scanned_, position_);
  position_ = 0;
}

std::optional<std::string_view> RespReplyParser::TakeLine() {
  scanned_ = std::max(scanned_, position_);
  const size_t end = buffer_.find('\n', scanned_);
  if (end == std::string::npos) {
    scanned_ = buffer_.size();
    return std::nullopt;
  }
  std::string_view line(buffer_.data() + position_, end - position_);
  if (line.ends_with('\r')) line.remove_suffix(1);
  position_ = end + 1;
  return line;
}

Result<std::optional<RespValue>> RespReplyParser::Next() {
  while (true) {
    auto taken = TakeScalar();
    if (!taken.ok()) return taken.error();
    if (!taken->has_value()) return std::optional<RespValue>();

    // The value completes the innermost open aggregate, which may complete the one around it.
    RespValue value = *std::move(*taken);
    while (true) {
      if (open_.empty()) return std::optional<RespValue>(std::move(value));
      Open& parent = open_.back();
      parent.value.items.push_back(std::move(value));
      if (--parent.missing > 0) break;
      value = std::move(parent.value);
      open_.pop_back();
    }
  }
}

// Reads up to the next value that is complete in itself: aggregates with elements are opened on the
// way.
Result<std::optional<RespValue>> RespReplyParser::TakeScalar() {
  while (true) {
    if (bulk_bytes_.has_value()) return TakeBulk();

    const auto line = TakeLine();
    if (!line.has_value()) return std::optional<RespValue>();
    if (line->empty()) return Malformed("an empty line");
    const char type = line->front();
    const std::string_view rest = line->substr(1);

    if (IsAggregate(type)) {
      CAIRN_ASSIGN_OR_RETURN(const auto empty, OpenAggregate(type, rest));
      if (empty.has_value()) return empty;
      continue;
    }
    if (type == '$' || type == '!' || type == '=') {
      const auto length = rest.size() > kMaxLengthLine ? std::nullopt : ParseInteger(rest);
      if (!length || *length < -1) return Malformed("a length of " + Printable(rest));
      if (*length == -1) return std::optional<RespValue>(RespValue{});
      bulk_bytes_ = static_cast<uint64_t>(*length);
      bulk_type_ = type;
      continue;
    }
    return LineValue(type, rest);
  }
}

// Pushes an aggregate that has elements; one without is complete, and returned.
Result<std::optional<RespValue>> RespReplyParser::OpenAggregate(char type, std::string_view count) {
  const auto length = count.size() > kMaxLengthLine ? std::nullopt : ParseInteger(count);
  if (!length || *length < -1 || *length > std::numeric_limits<int64_t>::max() / 2) {
    return Malformed("a count of " + Printable(count));
  }
  if (*length == -1) return std::optional<RespValue>(RespValue{});
  RespValue value;
  value.type = AggregateType(type);
  if (*length == 0) return std::optional<RespValue>(std::move(value));
  if (open_.size() >= kMaxDepth) return Malformed("nested too deeply");
  const uint64_t per_element = type == '%' || type == '|' ? 2 : 1;
  open_.push_back({std::move(value), static_cast<uint64_t>(*length) * per_element});
  return std::optional<RespValue>();
}

Result<std::optional<RespValue>> RespReplyParser::TakeBulk() {
  const uint64_t available = buffer_.size() - position_;
  if (available < 2 || available - 2 < *bulk_bytes_) return std::optional<RespValue>();
  const auto size = static_cast<size_t>(*bulk_bytes_);
  RespValue value;
  value.text = buffer_.substr(position_, size);
  if (buffer_.compare(position_ + size, 2, "\r\n") != 0) {
    return Malformed("a string that does not end where its length says");
  }
  position_ += size + 2;
  bulk_bytes_.reset();
  if (bulk_type_ == '!') {
    value.type = Type::kError;
  } else if (bulk_type_ == '=') {
    if (size < 4 || value.text[3] != ':') return Malformed("a verbatim string without a format");
    value.type = Type::kVerbatim;
    value.text.erase(0, 4);
  } else {
    value.type = Type::kBulk;
  }
  return std::optional<RespValue>(std::move(value));
}

Result<std::optional<RespValue>> RespReplyParser::LineValue(char type, std::string_view rest) {
  RespValue value;
  switch (type) {
    case '+':
      value.type = Type::kSimple;
      value.text = rest;
      break;
    case '-':
      value.type = Type::kError;
      value.text = rest;
      break;
    case '(':
      value.type = Type::kBigNumber;
      value.text = rest;
      break;
    case ':': {
      const auto integer = ParseInteger(rest);
      if (!integer) return Malformed("an integer " + Printable(rest));
      value.type = Type::kInteger;
      value.integer = *integer;
      break;
    }
    case ',': {
      const auto number = ParseDouble(rest);
      if (!number) return Malformed("a double " + Printable(rest));
      value.type = Type::kDouble;
      value.text = rest;
      value.number = *number;
      break;
    }
    case '#':
      if (rest != "t" && rest != "f") return Malformed("a boolean " + Printable(rest));
      value.type = Type::kBoolean;
      value.integer = rest == "t" ? 1 : 0;
      break;
    case '_':
      if (!rest.empty()) return Malformed("a null with " + Printable(rest));
      break;
    default:
      return Malformed("a type of " + Printable(std::string_view(&type, 1)));
  }
  return std::optional<RespValue>(std::move(value));
}

}  // namespace cairn::net
