#include "net/resp/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <optional>

namespace cairn::net {
namespace {

// A decimal integer as Redis reads lengths: an optional minus, no plus, no leading zero, nothing
// else.
std::optional<int64_t> ParseLength(std::string_view text) {
  // Most lengths are one digit.
  if (text.size() == 1 && text[0] >= '0' && text[0] <= '9') return text[0] - '0';
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  if (text.size() > 1 && text[0] == '-' && text[1] == '0') return std::nullopt;
  int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char Unescape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return c;
  }
}

// Reads what follows an opening double quote into `out`. Returns how many characters were read, the
// closing quote included, or nullopt if there is none.
std::optional<size_t> ReadDoubleQuoted(std::string_view text, std::string& out) {
  size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    if (c == '"') return i + 1;
    if (c != '\\' || i + 1 == text.size()) {
      out.push_back(c);
      ++i;
      continue;
    }
    if (text[i + 1] == 'x' && i + 3 < text.size() && HexDigit(text[i + 2]) >= 0 &&
        HexDigit(text[i + 3]) >= 0) {
      out.push_back(static_cast<char>(HexDigit(text[i + 2]) * 16 + HexDigit(text[i + 3])));
      i += 4;
      continue;
    }
    out.push_back(Unescape(text[i + 1]));
    i += 2;
  }
  return std::nullopt;
}

// The same after an opening single quote, where only \' is an escape.
std::optional<size_t> ReadSingleQuoted(std::string_view text, std::string& out) {
  size_t i = 0;
  while (i < text.size()) {
    if (text[i] == '\'') return i + 1;
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '\'') ++i;
    out.push_back(text[i]);
    ++i;
  }
  return std::nullopt;
}

}  // namespace

RespParser::Status RespParser::Parse(std::string_view input) {
  if (input.empty()) return NeedMore(1);
  return input[0] == '*' ? ParseArray(input) : ParseInline(input);
}

RespParser::Status RespParser::ParseArray(std::string_view input) {
  if (missing_args_ < 0) {
    const Line line = FindLine(input, '\r');
    if (line == Line::kTooLong) return Fail("Protocol error: too big mbulk count string");
    if (line == Line::kNeedMore) return Status::kNeedMore;
    const auto count = ParseLength(input.substr(1, scanned_ - 1));
    if (!count || *count > limits_.arguments)
      return Fail("Protocol error: invalid multibulk length");
    if (*count > limits_.unauthenticated_arguments && !authenticated_) {
      return Fail("Protocol error: unauthenticated multibulk length");
    }
    position_ = scanned_ = scanned_ + 2;
    missing_args_ = std::max<int64_t>(*count, 0);
  }

  while (missing_args_ > 0) {
    if (bulk_bytes_ < 0) {
      const Line line = FindLine(input, '\r');
      if (line == Line::kTooLong) return Fail("Protocol error: too big bulk count string");
      if (line == Line::kNeedMore) return Status::kNeedMore;
      const char type = input[position_];
      if (type != '$') {
        const char shown = type == '\r' || type == '\n' ? ' ' : type;
        return Fail(fmt::format("Protocol error: expected '$', got '{}'", shown));
      }
      const auto length = ParseLength(input.substr(position_ + 1, scanned_ - position_ - 1));
      if (!length || *length < 0 || *length > limits_.bulk_bytes) {
        return Fail("Protocol error: invalid bulk length");
      }
      if (*length > limits_.unauthenticated_bulk_bytes && !authenticated_) {
        return Fail("Protocol error: unauthenticated bulk length");
      }
      position_ = scanned_ = scanned_ + 2;
      bulk_bytes_ = *length;
    }
    const auto size = static_cast<size_t>(bulk_bytes_);
    const size_t end = position_ + size + 2;  // the line end after it, which nobody checks
    if (input.size() < end) return NeedMore(end);
    slices_.push_back({position_, size});
    position_ = scanned_ = end;
    bulk_bytes_ = -1;
    --missing_args_;
  }
  args_.clear();
  for (const Slice& slice : slices_) args_.push_back(input.substr(slice.offset, slice.size));
  return Finish(position_);
}

RespParser::Status RespParser::ParseInline(std::string_view input) {
  const Line found = FindLine(input, '\n');
  if (found == Line::kTooLong) return Fail("Protocol error: too big inline request");
  if (found == Line::kNeedMore) return Status::kNeedMore;
  std::string_view line = input.substr(0, scanned_);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!SplitInline(line)) return Fail("Protocol error: unbalanced quotes in request");
  return Finish(scanned_ + 1);
}

// Looks for `end` from scanned_ on and leaves scanned_ at it, or at where to look next.
RespParser::Line RespParser::FindLine(std::string_view input, char end) {
  // A line counts as too long by where it ends, not by how much has arrived, so that the verdict
  // does not depend on how the input was split.
  const size_t stop = std::min(input.size(), position_ + limits_.line_bytes + 1);
  const void* found =
      stop > scanned_ ? std::memchr(input.data() + scanned_, end, stop - scanned_) : nullptr;
  if (found == nullptr) {
    if (stop < input.size() || stop - position_ > limits_.line_bytes) return Line::kTooLong;
    scanned_ = std::max(scanned_, stop);
    NeedMore(input.size() + 1);
    return Line::kNeedMore;
  }
  scanned_ = static_cast<size_t>(static_cast<const char*>(found) - input.data());
  // After '\r' the line is complete only with the byte that follows.
  if (end == '\r' && scanned_ + 2 > input.size()) {
    NeedMore(scanned_ + 2);
    return Line::kNeedMore;
  }
  return Line::kFound;
}

bool RespParser::SplitInline(std::string_view line) {
  unquoted_.clear();
  slices_.clear();
  // Unquoting never makes text longer: the views that are taken below stay where they are.
  unquoted_.reserve(line.size());
  size_t i = 0;
  while (true) {
    while (i < line.size() && IsSpace(line[i])) ++i;
    if (i == line.size()) break;
    const size_t start = unquoted_.size();
    while (i < line.size() && line[i] != ' ' && line[i] != '\r' && line[i] != '\t') {
      const char c = line[i++];
      if (c != '"' && c != '\'') {
        unquoted_.push_back(c);
        continue;
      }
      const std::string_view rest = line.substr(i);
      const auto read =
          c == '"' ? ReadDoubleQuoted(rest, unquoted_) : ReadSingleQuoted(rest, unquoted_);
      if (!read) return false;
      i += *read;
      // A closing quote ends the argument: what follows must be a space or the end.
      if (i < line.size() && !IsSpace(line[i])) return false;
      break;
    }
    slices_.push_back({start, unquoted_.size() - start});
    if (i < line.size()) ++i;
  }
  args_.clear();
  for (const Slice& slice : slices_) {
    args_.push_back(std::string_view(unquoted_).substr(slice.offset, slice.size));
  }
  return true;
}

void RespParser::ReleaseMemory() {
  slices_ = {};
  args_ = {};
  unquoted_ = {};
}

void RespParser::Restart() {
  needed_ = 0;
  position_ = scanned_ = 0;
  missing_args_ = -1;
  bulk_bytes_ = -1;
  slices_.clear();
}

RespParser::Status RespParser::Finish(size_t consumed) {
  consumed_ = consumed;
  Restart();
  return Status::kRequest;
}

RespParser::Status RespParser::NeedMore(size_t length) {
  needed_ = length;
  return Status::kNeedMore;
}

RespParser::Status RespParser::Fail(std::string message) {
  error_ = std::move(message);
  return Status::kError;
}

}  // namespace cairn::net
