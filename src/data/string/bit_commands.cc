#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "data/string/bit_field.h"
#include "data/string/commands.h"
#include "data/value/entry.h"
#include "data/value/limits.h"
#include "data/value/string_value.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/loop_work.h"

namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::Command;
using doors::CommandContext;
using doors::ParseInteger;

constexpr std::string_view kBadBitOffset = "ERR bit offset is not an integer or out of range";
constexpr std::string_view kBadBit = "ERR bit is not an integer or out of range";

// The number of a bit that a string may have.
std::optional<size_t> ParseBitOffset(std::string_view text) {
  const std::optional<int64_t> offset = ParseInteger(text);
  if (!offset || *offset < 0 || static_cast<size_t>(*offset) / 8 >= kMaxStringBytes) {
    return std::nullopt;
  }
  return static_cast<size_t>(*offset);
}

// --- Single bits --------------------------------------------------------------------------------

Result<void> SetBit(CommandContext& context) {
  const std::optional<size_t> offset = ParseBitOffset(context.args[2]);
  if (!offset) return context.Fail(kBadBitOffset);
  const std::optional<int64_t> bit = ParseInteger(context.args[3]);
  if (!bit || (*bit & ~int64_t{1}) != 0) return context.Fail(kBadBit);
  CAIRN_ASSIGN_OR_RETURN(StringValue string, StringValue::Load(context, context.args[1]));
  if (string.wrong_type()) return context.Fail(kWrongType);
  const size_t at = *offset / 8;
  CAIRN_ASSIGN_OR_RETURN(Bytes byte, string.Read(at, 1));
  byte.resize(1, '\0');
  const uint64_t old = ReadBits(byte, *offset % 8, 1);
  // As in Redis, a bit that is what it was changes nothing unless the string grows.
  if (old != static_cast<uint64_t>(*bit) || string.size() <= at) {
    WriteBits(byte, *offset % 8, 1, static_cast<uint64_t>(*bit));
    CAIRN_RETURN_IF_ERROR(string.Write(at, byte));
    string.Save();
    context.Notify(doors::kEventString, "setbit", context.args[1]);
  }
  context.reply.Integer(static_cast<int64_t>(old));
  return {};
}

Result<void> GetBit(CommandContext& context) {
  const std::optional<size_t> offset = ParseBitOffset(context.args[2]);
  if (!offset) return context.Fail(kBadBitOffset);
  CAIRN_ASSIGN_OR_RETURN(StringValue string, StringValue::Load(context, context.args[1]));
  if (string.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const Bytes byte, string.Read(*offset / 8, 1));
  context.reply.Integer(static_cast<int64_t>(ReadBits(byte, *offset % 8, 1)));
  return {};
}

// --- Ranges of bits -----------------------------------------------------------------------------

// The bits from `begin` to before `end`.
struct BitRange {
  size_t begin = 0;
  size_t end = 0;

  size_t first_byte() const { return begin / 8; }
  size_t end_byte() const { return (end + 7) / 8; }
};

// What a command says about the range: both ends included, negative ones counted from the end of
// the string.
struct RangeArgument {
  int64_t first = 0;
  int64_t last = -1;
  bool in_bits = false;

  // Empty for BITCOUNT, whatever the size of the string is. (BITPOS, of two places before the
  // beginning, makes the first byte.)
  bool IsReversed() const { return first < 0 && last < 0 && first > last; }

  // nullopt if the range is empty.
  std::optional<BitRange> Resolve(size_t string_size) const {
    const auto size = static_cast<int64_t>(string_size) * (in_bits ? 8 : 1);
    const auto from_front = [size](int64_t index) {
      return std::max<int64_t>(index < 0 ? size + index : index, 0);
    };
    const int64_t begin = from_front(first);
    const int64_t end = std::min(from_front(last), size - 1) + 1;
    if (begin >= end) return std::nullopt;
    const size_t scale = in_bits ? 1 : 8;
    return BitRange{static_cast<size_t>(begin) * scale, static_cast<size_t>(end) * scale};
  }
};

bool ParseRangeUnit(ArgParser& parser) {
  const std::optional<bool> in_bits = parser.OneOf<bool>({{"BIT", true}, {"BYTE", false}});
  if (!in_bits) parser.Fail(doors::kSyntaxError);
  return in_bits.value_or(false);
}

// A piece of a string without those bits of its first and last byte that are not in the range,
// which become `filler`.
BytesView CutToRange(size_t offset, BytesView piece, BitRange range, bool filler, Bytes& scratch) {
  const bool cuts_front = range.begin % 8 != 0 && offset == range.first_byte();
  const bool cuts_back = range.end % 8 != 0 && offset + piece.size() == range.end_byte();
  if (!cuts_front && !cuts_back) return piece;
  scratch = piece;
  const uint64_t fill = filler ? 0xff : 0;
  if (cuts_front) WriteBits(scratch, 0, range.begin % 8, fill);
  if (cuts_back) {
    WriteBits(scratch, (piece.size() - 1) * 8 + range.end % 8, 8 - range.end % 8, fill);
  }
  return scratch;
}

Result<void> BitCount(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(StringValue string, StringValue::Load(context, context.args[1]));
  if (string.wrong_type()) return context.Fail(kWrongType);
  if (!string.exists()) {
    context.reply.Integer(0);
    return {};
  }
  RangeArgument argument;
  ArgParser parser(context.args, 2);
  if (parser.HasNext()) {
    if (parser.remaining() == 1 || parser.remaining() > 3) parser.Fail(doors::kSyntaxError);
    argument.first = parser.Integer();
    argument.last = parser.Integer();
    // Redis looks at the unit only after it has seen that such a range is empty.
    if (parser.ok() && argument.IsReversed()) parser.Rest();
    if (parser.HasNext()) argument.in_bits = ParseRangeUnit(parser);
  }
  if (!parser.Finish()) return context.Fail(parser.error());
  const std::optional<BitRange> range = argument.Resolve(string.size());
  size_t count = 0;
  if (range && !argument.IsReversed()) {
    Bytes scratch;
    CAIRN_RETURN_IF_ERROR(
        string.Visit(range->first_byte(), range->end_byte(), [&](size_t at, BytesView piece) {
          count += CountBits(CutToRange(at, piece, *range, false, scratch));
          return true;
        }));
  }
  context.reply.Integer(static_cast<int64_t>(count));
  return {};
}

// Where the first such bit of the range is.
Result<std::optional<size_t>> FindBitIn(StringValue& string, BitRange range, bool bit) {
  std::optional<size_t> found;
  size_t reached = range.first_byte();  // everything before is no match
  Bytes scratch;
  CAIRN_RETURN_IF_ERROR(
      string.Visit(range.first_byte(), range.end_byte(), [&](size_t at, BytesView piece) {
        if (!bit && at > reached) return false;  // the zeros between the pieces
        const auto in_piece = FindBit(CutToRange(at, piece, range, !bit, scratch), bit);
        if (in_piece) found = at * 8 + *in_piece;
        reached = at + piece.size();
        return !found;
      }));
  if (!found && !bit) {
    const size_t zero = std::max(reached * 8, range.begin);
    if (zero < range.end) found = zero;
  }
  return found;
}

struct BitPosArguments {
  int64_t bit = 0;
  RangeArgument range;
  bool has_end = false;
};

void ParseBitPosRange(ArgParser& parser, BitPosArguments& arguments) {
  if (!parser.HasNext()) return;
  if (parser.remaining() > 3) parser.Fail(doors::kSyntaxError);
  arguments.range.first = parser.Integer();
  if (!parser.HasNext()) return;
  const std::string_view end = parser.Next();
  arguments.has_end = true;
  // Redis looks at the unit before it looks at the end.
  if (parser.HasNext()) arguments.range.in_bits = ParseRangeUnit(parser);
  if (!parser.Finish()) return;
  const std::optional<int64_t> last = ParseInteger(end);
  if (!last) parser.Fail(doors::kNotAnInteger);
  arguments.range.last = last.value_or(-1);
}

Result<void> BitPos(CommandContext& context) {
  const std::optional<int64_t> bit = ParseInteger(context.args[2]);
  if (!bit) return context.Fail(doors::kNotAnInteger);
  if (*bit != 0 && *bit != 1) return context.Fail("ERR The bit argument must be 1 or 0.");
  CAIRN_ASSIGN_OR_RETURN(StringValue string, StringValue::Load(context, context.args[1]));
  if (string.wrong_type()) return context.Fail(kWrongType);
  if (!string.exists()) {
    context.reply.Integer(*bit == 1 ? -1 : 0);
    return {};
  }
  ArgParser parser(context.args, 3);
  BitPosArguments arguments;
  ParseBitPosRange(parser, arguments);
  if (!parser.Finish()) return context.Fail(parser.error());
  const std::optional<BitRange> range = arguments.range.Resolve(string.size());
  std::optional<size_t> found;
  if (range) {
    CAIRN_ASSIGN_OR_RETURN(found, FindBitIn(string, *range, *bit == 1));
    // Where no end was given, the string counts as going on with zeros.
    if (!found && *bit == 0 && !arguments.has_end) found = string.size() * 8;
  }
  context.reply.Integer(found ? static_cast<int64_t>(*found) : -1);
  return {};
}

// --- BITOP --------------------------------------------------------------------------------------

enum class BitOperation { kAnd, kOr, kXor, kNot };

void Combine(BitOperation operation, Bytes& into, BytesView other) {
  for (size_t i = 0; i < into.size(); ++i) {
    const auto a = static_cast<uint8_t>(into[i]);
    const auto b = static_cast<uint8_t>(i < other.size() ? other[i] : '\0');
    switch (operation) {
      case BitOperation::kAnd:
        into[i] = static_cast<char>(a & b);
        break;
      case BitOperation::kOr:
        into[i] = static_cast<char>(a | b);
        break;
      case BitOperation::kXor:
        into[i] = static_cast<char>(a ^ b);
        break;
      case BitOperation::kNot:
        into[i] = static_cast<char>(~a);
        break;
    }
  }
}

// Writes the result piece by piece, so that no more than a piece of each string is in memory.
Result<void> WriteCombination(BitOperation operation, std::vector<StringValue>& sources,
                              size_t size, StringValue& target) {
  constexpr size_t kPieceBytes = 64 * kSegmentBytes;
  target.Extend(size);
  for (size_t at = 0; at < size; at += kPieceBytes) {
    const size_t length = std::min(kPieceBytes, size - at);
    CAIRN_ASSIGN_OR_RETURN(Bytes piece, sources[0].Read(at, length));
    piece.resize(length, '\0');
    if (operation == BitOperation::kNot) Combine(operation, piece, {});
    for (size_t i = 1; i < sources.size(); ++i) {
      CAIRN_ASSIGN_OR_RETURN(const Bytes other, sources[i].Read(at, length));
      Combine(operation, piece, other);
    }
    CAIRN_RETURN_IF_ERROR(target.Write(at, piece));
  }
  target.Save();
  return {};
}

Result<void> BitOp(CommandContext& context) {
  ArgParser parser(context.args);
  const auto operation = parser.OneOf<BitOperation>({{"AND", BitOperation::kAnd},
                                                     {"OR", BitOperation::kOr},
                                                     {"XOR", BitOperation::kXor},
                                                     {"NOT", BitOperation::kNot}});
  if (!operation) return context.Fail(doors::kSyntaxError);
  const std::string_view target_key = parser.Next();
  const Args keys = parser.Rest();
  if (*operation == BitOperation::kNot && keys.size() != 1) {
    return context.Fail("ERR BITOP NOT must be called with a single source key.");
  }
  std::vector<StringValue> sources;
  size_t size = 0;
  for (const std::string_view key : keys) {
    CAIRN_ASSIGN_OR_RETURN(StringValue source, StringValue::Load(context, key));
    if (source.wrong_type()) return context.Fail(kWrongType);
    size = std::max(size, source.size());
    sources.push_back(std::move(source));
  }
  // Also what is not stored of a string, its zeros, is gone through.
  CAIRN_RETURN_IF_ERROR(doors::LeaveLoopIfLong(context, size * keys.size()));
  CAIRN_ASSIGN_OR_RETURN(Entry target, Entry::Load(context, target_key));
  if (size > 0) {
    StringValue result = StringValue::Replacing(std::move(target));
    CAIRN_RETURN_IF_ERROR(WriteCombination(*operation, sources, size, result));
    context.Notify(doors::kEventString, "set", target_key);
  } else if (target.exists()) {
    target.Remove();
    context.Notify(doors::kEventGeneric, "del", target_key);
  }
  context.reply.Integer(static_cast<int64_t>(size));
  return {};
}

// --- BITFIELD -----------------------------------------------------------------------------------

struct FieldOperation {
  enum class Kind { kGet, kSet, kIncrement };
  Kind kind = Kind::kGet;
  FieldType type;
  size_t offset = 0;  // in bits
  int64_t operand = 0;
  Overflow overflow = Overflow::kWrap;
};

// An offset with # in front counts fields of the type.
std::optional<size_t> ParseFieldOffset(std::string_view text, FieldType type) {
  if (!text.starts_with('#')) return ParseBitOffset(text);
  const std::optional<int64_t> index = ParseInteger(text.substr(1));
  if (!index || *index < 0) return std::nullopt;
  size_t offset = 0;
  if (__builtin_mul_overflow(static_cast<size_t>(*index), type.width, &offset) ||
      offset / 8 >= kMaxStringBytes) {
    return std::nullopt;
  }
  return offset;
}

Overflow ParseOverflow(ArgParser& parser) {
  const auto overflow = parser.OneOf<Overflow>(
      {{"WRAP", Overflow::kWrap}, {"SAT", Overflow::kSaturate}, {"FAIL", Overflow::kFail}});
  if (!overflow) parser.Fail("ERR Invalid OVERFLOW type specified");
  return overflow.value_or(Overflow::kWrap);
}

std::vector<FieldOperation> ParseFieldOperations(ArgParser& parser) {
  using Kind = FieldOperation::Kind;
  std::vector<FieldOperation> operations;
  Overflow overflow = Overflow::kWrap;
  while (parser.HasNext()) {
    if (parser.remaining() > 1 && parser.Keyword("OVERFLOW")) {
      overflow = ParseOverflow(parser);
      continue;
    }
    std::optional<Kind> kind;
    if (parser.remaining() > 2 && parser.Keyword("GET")) kind = Kind::kGet;
    if (!kind && parser.remaining() > 3) {
      kind = parser.OneOf<Kind>({{"SET", Kind::kSet}, {"INCRBY", Kind::kIncrement}});
    }
    if (!kind) {
      parser.Fail(doors::kSyntaxError);
      break;
    }
    const std::optional<FieldType> type = ParseFieldType(parser.Next());
    if (!type) {
      parser.Fail(
          "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported "
          "but "
          "i64 is.");
      break;
    }
    const std::optional<size_t> offset = ParseFieldOffset(parser.Next(), *type);
    if (!offset) parser.Fail(kBadBitOffset);
    const int64_t operand = *kind == Kind::kGet ? 0 : parser.Integer();
    operations.push_back({*kind, *type, offset.value_or(0), operand, overflow});
  }
  return operations;
}

// Runs one operation and writes its reply. Returns whether it has written to the string.
Result<bool> RunFieldOperation(CommandContext& context, StringValue& string,
                               const FieldOperation& operation) {
  using Kind = FieldOperation::Kind;
  const FieldType type = operation.type;
  const size_t first_byte = operation.offset / 8;
  const size_t first_bit = operation.offset % 8;
  const size_t length = (first_bit + type.width + 7) / 8;
  CAIRN_ASSIGN_OR_RETURN(Bytes bytes, string.Read(first_byte, length));
  const int64_t old = FieldFromBits(type, ReadBits(bytes, first_bit, type.width));
  if (operation.kind == Kind::kGet) {
    context.reply.Integer(old);
    return false;
  }
  const bool sets = operation.kind == Kind::kSet;
  const std::optional<int64_t> value = FitField(type, sets ? operation.operand : old,
                                                sets ? 0 : operation.operand, operation.overflow);
  if (!value) {
    context.reply.Null();
    return false;
  }
  context.reply.Integer(sets ? old : *value);
  bytes.resize(length, '\0');
  WriteBits(bytes, first_bit, type.width, static_cast<uint64_t>(*value));
  CAIRN_RETURN_IF_ERROR(string.Write(first_byte, bytes));
  return true;
}

// How long the string is after the operations: as in Redis also if all of them fail.
size_t WrittenSize(const std::vector<FieldOperation>& operations) {
  size_t size = 0;
  for (const FieldOperation& operation : operations) {
    if (operation.kind == FieldOperation::Kind::kGet) continue;
    size = std::max(size, (operation.offset + operation.type.width + 7) / 8);
  }
  return size;
}

template <bool read_only>
Result<void> BitField(CommandContext& context) {
  ArgParser parser(context.args, 2);
  const std::vector<FieldOperation> operations = ParseFieldOperations(parser);
  if (!parser.Finish()) return context.Fail(parser.error());
  const size_t written_size = WrittenSize(operations);
  if (read_only && written_size > 0) {
    return context.Fail("ERR BITFIELD_RO only supports the GET subcommand");
  }
  CAIRN_ASSIGN_OR_RETURN(StringValue string, StringValue::Load(context, context.args[1]));
  if (string.wrong_type()) return context.Fail(kWrongType);
  if (written_size > kMaxStringBytes) return context.Fail(kStringTooLong);
  const bool grows = written_size > string.size();
  if (grows) string.Extend(written_size);
  bool changed = false;
  context.reply.ArrayHeader(operations.size());
  for (const FieldOperation& operation : operations) {
    CAIRN_ASSIGN_OR_RETURN(const bool wrote, RunFieldOperation(context, string, operation));
    changed |= wrote;
  }
  if (changed || grows) string.Save();
  if (changed) context.Notify(doors::kEventString, "setbit", context.args[1]);
  return {};
}

}  // namespace

void AddBitCommands(doors::Instance& instance) {
  struct Row {
    std::string_view name;
    int arity;
    uint32_t flags;
    std::vector<doors::KeySpec> keys;
    std::string_view since;
    std::string_view complexity;
    std::string_view summary;
    std::string_view syntax;
    doors::RunHandler run;
  };
  using doors::kFast;
  using doors::kReadOnly;
  constexpr uint32_t kPut = doors::kWrite | doors::kDenyOom;
  const std::vector<doors::KeySpec> read = {{1, 1, 1, "RO access"}};
  const Row kRows[] = {
      {"setbit",
       4,
       kPut,
       {{1, 1, 1, "RW access update"}},
       "2.2.0",
       "O(1)",
       "Sets or clears a bit of a string and returns the old.",
       "key:key offset:integer value:integer",
       SetBit},
      {"getbit", 3, kReadOnly | kFast, read, "2.2.0", "O(1)", "Reads a bit of a string.",
       "key:key offset:integer", GetBit},
      {"bitcount", -2, kReadOnly, read, "2.6.0", "O(N) for N bytes",
       "Counts the bits that are set.", "key:key [start:integer end:integer [BYTE | BIT]]",
       BitCount},
      {"bitpos", -3, kReadOnly, read, "2.8.7", "O(N) for N bytes",
       "Finds the first bit that is set, or is not.",
       "key:key bit:integer [start:integer [end:integer [BYTE | BIT]]]", BitPos},
      {"bitop",
       -4,
       kPut,
       {{2, 2, 1, "OW update"}, {3, -1, 1, "RO access"}},
       "2.6.0",
       "O(N) for N bytes",
       "Combines strings bit by bit.",
       "operation destkey:key key:key ...",
       BitOp},
      {"bitfield",
       -2,
       kPut,
       {{1, 1, 1, "RW access update variable_flags"}},
       "3.2.0",
       "O(N) for N operations",
       "Reads and writes integers of any width inside a string.",
       "key:key [GET (encoding offset:integer) | ([OVERFLOW (WRAP | SAT | FAIL)] (SET (encoding "
       "offset:integer value:integer) | INCRBY (encoding offset:integer increment:integer)))] ...",
       BitField<false>},
      {"bitfield_ro", -2, kReadOnly | kFast, read, "6.0.0", "O(N) for N operations",
       "Reads integers of any width inside a string.",
       "key:key [GET (encoding offset:integer)] ...", BitField<true>},
  };
  for (const Row& row : kRows) {
    instance.commands().Add(Command{.name = row.name,
                                    .arity = row.arity,
                                    .flags = row.flags,
                                    .categories = doors::kCategoryBitmap,
                                    .keys = row.keys,
                                    .group = "bitmap",
                                    .since = row.since,
                                    .complexity = row.complexity,
                                    .summary = row.summary,
                                    .syntax = row.syntax,
                                    .run = row.run});
  }
}

}  // namespace cairn::data
