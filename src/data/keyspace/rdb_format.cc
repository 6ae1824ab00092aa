#include "data/keyspace/rdb_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/utf8.h"
#include "data/json/encoding.h"
#include "data/json/text.h"
#include "data/keyspace/listpack.h"
#include "data/keyspace/rdb_reader.h"
#include "data/value/limits.h"
#include "doors/resp/arg_parser.h"

namespace cairn::data {
namespace {

constexpr uint64_t kVersion = 10;
constexpr uint64_t kMaxReadVersion = 11;
constexpr size_t kVersionBytes = 2;
constexpr size_t kChecksumBytes = 8;
constexpr size_t kFooterBytes = kVersionBytes + kChecksumBytes;

void AppendLittle(Bytes& out, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) out += static_cast<char>(value >> i * 8);
}

// Shorter integers are written as such, as Redis does it.
bool AppendInteger(Bytes& out, BytesView text) {
  constexpr size_t kMaxDigits = 11;
  if (text.empty() || text.size() > kMaxDigits) return false;
  const std::optional<int64_t> value = doors::ParseInteger(text);
  if (!value) return false;
  constexpr std::array<size_t, 3> kWidths = {1, 2, 4};
  for (size_t i = 0; i < kWidths.size(); ++i) {
    const int64_t limit = int64_t{1} << (kWidths[i] * 8 - 1);
    if (*value < -limit || *value >= limit) continue;
    out += static_cast<char>(0xc0 + i);
    AppendLittle(out, static_cast<uint64_t>(*value), kWidths[i]);
    return true;
  }
  return false;
}

using Strings = std::optional<std::vector<Bytes>>;

Strings ReadStrings(RdbReader& reader) {
  const uint64_t count = reader.Length();
  std::vector<Bytes> strings;
  for (uint64_t i = 0; i < count && reader.ok(); ++i) strings.push_back(reader.String());
  if (!reader.ok()) return std::nullopt;
  return strings;
}

void Append(std::vector<Bytes>& all, std::vector<Bytes> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// A list in pieces. Those of the newer form say whether they are an element or a listpack.
Strings ReadQuicklist(RdbReader& reader, RdbType type) {
  constexpr uint64_t kPlain = 1;
  constexpr uint64_t kPacked = 2;
  const uint64_t count = reader.Length();
  std::vector<Bytes> elements;
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    const uint64_t container = type == RdbType::kListQuicklist ? kPacked : reader.Length();
    Bytes node = reader.String();
    if (container == kPlain) {
      elements.push_back(std::move(node));
      continue;
    }
    if (container != kPacked) return std::nullopt;
    Strings packed = type == RdbType::kListQuicklist ? DecodeZiplist(node) : DecodeListpack(node);
    if (!packed) return std::nullopt;
    Append(elements, *std::move(packed));
  }
  if (!reader.ok()) return std::nullopt;
  return elements;
}

// The strings that a value of any type but a string and a sorted set with doubles consists of.
Strings ReadMembers(RdbReader& reader, RdbType type) {
  switch (type) {
    case RdbType::kList:
    case RdbType::kSet:
      return ReadStrings(reader);
    case RdbType::kListQuicklist:
    case RdbType::kListQuicklist2:
      return ReadQuicklist(reader, type);
    case RdbType::kSetIntset:
      return DecodeIntset(reader.String());
    case RdbType::kListZiplist:
    case RdbType::kSortedSetZiplist:
    case RdbType::kHashZiplist:
      return DecodeZiplist(reader.String());
    case RdbType::kHashListpack:
    case RdbType::kSortedSetListpack:
    case RdbType::kSetListpack:
      return DecodeListpack(reader.String());
    default:
      return std::nullopt;
  }
}

std::optional<ValueType> TypeOf(RdbType type) {
  switch (type) {
    case RdbType::kString:
      return ValueType::kString;
    case RdbType::kList:
    case RdbType::kListZiplist:
    case RdbType::kListQuicklist:
    case RdbType::kListQuicklist2:
      return ValueType::kList;
    case RdbType::kSet:
    case RdbType::kSetIntset:
    case RdbType::kSetListpack:
      return ValueType::kSet;
    case RdbType::kHash:
    case RdbType::kHashZiplist:
    case RdbType::kHashListpack:
      return ValueType::kHash;
    case RdbType::kSortedSet:
    case RdbType::kSortedSet2:
    case RdbType::kSortedSetZiplist:
    case RdbType::kSortedSetListpack:
      return ValueType::kSortedSet;
    case RdbType::kStream:
    case RdbType::kStream2:
    case RdbType::kStream3:
      return ValueType::kStream;
    case RdbType::kJson:
      return ValueType::kJson;
  }
  return std::nullopt;
}

bool ReadFields(RdbReader& reader, RdbType type, RdbValue& value) {
  if (type == RdbType::kHash) {
    const uint64_t count = reader.Length();
    for (uint64_t i = 0; i < count && reader.ok(); ++i) {
      Bytes field = reader.String();
      value.fields.emplace_back(std::move(field), reader.String());
    }
    return reader.ok();
  }
  Strings strings = ReadMembers(reader, type);
  if (!strings || strings->size() % 2 != 0) return false;
  for (size_t i = 0; i < strings->size(); i += 2) {
    value.fields.emplace_back(std::move((*strings)[i]), std::move((*strings)[i + 1]));
  }
  return true;
}

bool ReadScores(RdbReader& reader, RdbType type, RdbValue& value) {
  if (type == RdbType::kSortedSet || type == RdbType::kSortedSet2) {
    const uint64_t count = reader.Length();
    for (uint64_t i = 0; i < count && reader.ok(); ++i) {
      Bytes member = reader.String();
      const double score =
          type == RdbType::kSortedSet ? reader.TextDouble() : reader.BinaryDouble();
      if (std::isnan(score)) return false;
      value.scores.emplace_back(std::move(member), score);
    }
    return reader.ok();
  }
  Strings strings = ReadMembers(reader, type);
  if (!strings || strings->size() % 2 != 0) return false;
  for (size_t i = 0; i < strings->size(); i += 2) {
    const std::optional<double> score = ParseScoreText((*strings)[i + 1]);
    if (!score) return false;
    value.scores.emplace_back(std::move((*strings)[i]), *score);
  }
  return true;
}

bool ReadStream(RdbReader& reader, RdbType type, RdbValue& value) {
  const int version = type == RdbType::kStream ? 1 : type == RdbType::kStream2 ? 2 : 3;
  std::optional<RdbStream> stream = ReadRdbStream(reader, version);
  if (!stream) return false;
  value.stream = *std::move(stream);
  return true;
}

// Whether the value is all there, and can be written as text.
bool IsPrintable(const JsonValue& value) {
  if (value.split() != nullptr) return false;
  if (const double* number = value.floating()) return std::isfinite(*number);
  if (value.string() != nullptr) return IsUtf8(*value.string());
  if (const JsonValue::Array* array = value.array()) {
    return std::ranges::all_of(*array, IsPrintable);
  }
  if (const JsonValue::Object* object = value.object()) {
    return std::ranges::all_of(*object, [](const JsonMember& member) {
      return IsUtf8(member.name) && IsPrintable(member.value);
    });
  }
  return true;
}

// What may be stored is what could have come as text: its way over that checks it in full.
bool ReadJson(RdbReader& reader, RdbValue& value) {
  const std::optional<JsonValue> decoded = DecodeJson(reader.String());
  if (!decoded || !IsPrintable(*decoded)) return false;
  Result<JsonValue> parsed = ParseJson(PrintJson(*decoded));
  if (!parsed.ok()) return false;
  value.json = *std::move(parsed);
  return true;
}

bool AreDistinct(std::vector<BytesView> names) {
  std::ranges::sort(names);
  return std::ranges::adjacent_find(names) == names.end();
}

// A collection has members, and all but lists have each of them once.
bool IsSound(const RdbValue& value) {
  std::vector<BytesView> names;
  switch (value.type) {
    case ValueType::kString:
    case ValueType::kStream:
    case ValueType::kJson:
      return true;
    case ValueType::kList:
      return !value.members.empty();
    case ValueType::kSet:
      names.assign(value.members.begin(), value.members.end());
      break;
    case ValueType::kHash:
      for (const auto& field : value.fields) names.emplace_back(field.first);
      break;
    case ValueType::kSortedSet:
      for (const auto& scored : value.scores) names.emplace_back(scored.first);
      break;
  }
  return !names.empty() && AreDistinct(std::move(names));
}

std::array<uint64_t, 256> MakeCrcTable() {
  constexpr uint64_t kReflectedPolynomial = 0x95ac9329ac4bc9b5;
  std::array<uint64_t, 256> table{};
  for (uint64_t i = 0; i < table.size(); ++i) {
    uint64_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? kReflectedPolynomial : 0);
    table[i] = crc;
  }
  return table;
}

}  // namespace

uint64_t Crc64(BytesView bytes) {
  static const std::array<uint64_t, 256> kTable = MakeCrcTable();
  uint64_t crc = 0;
  for (const char byte : bytes) {
    crc = kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff] ^ crc >> 8;
  }
  return crc;
}

void RdbWriter::Length(uint64_t length) {
  if (length < 0x40) {
    bytes_ += static_cast<char>(length);
  } else if (length < 0x4000) {
    AppendBig16(bytes_, static_cast<uint16_t>(0x4000 | length));
  } else if (length <= std::numeric_limits<uint32_t>::max()) {
    bytes_ += '\x80';
    AppendBig32(bytes_, static_cast<uint32_t>(length));
  } else {
    bytes_ += '\x81';
    AppendBig64(bytes_, length);
  }
}

void RdbWriter::String(BytesView text) {
  if (AppendInteger(bytes_, text)) return;
  Length(text.size());
  bytes_ += text;
}

void RdbWriter::Double(double value) { AppendLittle(bytes_, std::bit_cast<uint64_t>(value), 8); }

void RdbWriter::Little64(uint64_t value) { AppendLittle(bytes_, value, 8); }

Bytes RdbWriter::Finish() && {
  AppendLittle(bytes_, kVersion, kVersionBytes);
  AppendLittle(bytes_, Crc64(bytes_), kChecksumBytes);
  return std::move(bytes_);
}

bool HasValidFooter(BytesView dump) {
  if (dump.size() < kFooterBytes) return false;
  RdbReader footer(dump.substr(dump.size() - kFooterBytes));
  if (footer.Little(kVersionBytes) > kMaxReadVersion) return false;
  return footer.Little(kChecksumBytes) == Crc64(dump.substr(0, dump.size() - kChecksumBytes));
}

std::optional<RdbValue> DecodeRdbValue(BytesView dump) {
  if (dump.size() < kFooterBytes) return std::nullopt;
  RdbReader reader(dump.substr(0, dump.size() - kFooterBytes));
  const auto rdb_type = static_cast<RdbType>(reader.Byte());
  const std::optional<ValueType> type = TypeOf(rdb_type);
  if (!reader.ok() || !type) return std::nullopt;
  RdbValue value{.type = *type};
  bool readable = true;
  if (*type == ValueType::kString) {
    value.text = reader.String();
    readable = value.text.size() <= kMaxStringBytes;
  } else if (*type == ValueType::kHash) {
    readable = ReadFields(reader, rdb_type, value);
  } else if (*type == ValueType::kSortedSet) {
    readable = ReadScores(reader, rdb_type, value);
  } else if (*type == ValueType::kStream) {
    readable = ReadStream(reader, rdb_type, value);
  } else if (*type == ValueType::kJson) {
    readable = ReadJson(reader, value);
  } else {
    Strings members = ReadMembers(reader, rdb_type);
    readable = members.has_value();
    value.members = std::move(members).value_or(std::vector<Bytes>());
  }
  if (!readable || !reader.ok() || !IsSound(value)) return std::nullopt;
  return value;
}

std::optional<double> ParseScoreText(std::string_view text) {
  const std::string copy(text);
  if (copy.empty() || std::isspace(static_cast<unsigned char>(copy[0])) != 0) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || std::isnan(value)) return std::nullopt;
  return value;
}

}  // namespace cairn::data
