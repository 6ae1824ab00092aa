#include "data/value_info.h"

#include <cstdint>
#include <limits>

#include "base/function_ref.h"
#include "data/collection.h"
#include "data/elements.h"
#include "data/fields.h"
#include "data/list_page.h"
#include "data/string_value.h"
#include "doors/arg_parser.h"

namespace cairn::data {

namespace {

// Redis's defaults for what is kept in one piece.
constexpr size_t kMaxListpackMembers = 128;
constexpr size_t kMaxListpackBytes = 64;
constexpr size_t kMaxIntsetMembers = 512;

// Every value with elements has it in front of its payload.
uint64_t CountOf(const Entry& entry) { return BytesReader(entry.payload()).Big64(); }

// Whether `holds` is true of all elements of the range.
Result<bool> All(const Entry& entry, const SuffixRange& range,
                 FunctionRef<bool(BytesView suffix, BytesView value)> holds) {
  bool all = true;
  CAIRN_ASSIGN_OR_RETURN(Elements elements, ElementsOf(entry));
  CAIRN_RETURN_IF_ERROR(elements.Scan(range, {}, [&](BytesView suffix, BytesView value) {
    all = holds(suffix, value);
    return all;
  }));
  return all;
}

bool IsSmall(BytesView member) { return member.size() <= kMaxListpackBytes; }

std::string_view StringEncoding(const Entry& entry) {
  constexpr size_t kMaxIntegerDigits = 20;
  constexpr size_t kMaxEmbedded = 44;
  if (!IsShortString(entry)) return "raw";
  const BytesView text = entry.payload();
  if (text.size() <= kMaxIntegerDigits && doors::ParseInteger(text)) return "int";
  return text.size() <= kMaxEmbedded ? "embstr" : "raw";
}

Result<std::string_view> HashEncoding(const Entry& entry) {
  constexpr std::string_view kLarge = "hashtable";
  if (CountOf(entry) > kMaxListpackMembers) return kLarge;
  CAIRN_ASSIGN_OR_RETURN(const bool small,
                         All(entry, SuffixRange::All(), [](BytesView suffix, BytesView value) {
                           return IsSmall(DecodeField(suffix).value_or("")) && IsSmall(value);
                         }));
  return small ? "listpack" : kLarge;
}

Result<std::string_view> SetEncoding(const Entry& entry) {
  constexpr std::string_view kLarge = "hashtable";
  if (CountOf(entry) > kMaxIntsetMembers) return kLarge;
  CAIRN_ASSIGN_OR_RETURN(const bool integers,
                         All(entry, SuffixRange::All(), [](BytesView suffix, BytesView) {
                           return doors::ParseInteger(DecodeField(suffix).value_or("")).has_value();
                         }));
  return integers ? "intset" : kLarge;
}

Result<std::string_view> SortedSetEncoding(const Entry& entry) {
  constexpr std::string_view kLarge = "skiplist";
  constexpr std::string_view kMemberPrefix = "m";
  if (CountOf(entry) > kMaxListpackMembers) return kLarge;
  CAIRN_ASSIGN_OR_RETURN(
      const bool small,
      All(entry, SuffixRange::Prefix(kMemberPrefix), [&](BytesView suffix, BytesView) {
        return IsSmall(suffix.substr(kMemberPrefix.size()));
      }));
  return small ? "listpack" : kLarge;
}

}  // namespace

std::string_view TypeName(ValueType type) {
  switch (type) {
    case ValueType::kString:
      return "string";
    case ValueType::kHash:
      return "hash";
    case ValueType::kSet:
      return "set";
    case ValueType::kSortedSet:
      return "zset";
    case ValueType::kList:
      return "list";
    case ValueType::kStream:
      return "stream";
    case ValueType::kJson:
      return "ReJSON-RL";
  }
  return "unknown";
}

Result<std::string_view> EncodingName(const Entry& entry) {
  switch (entry.type()) {
    case ValueType::kString:
      return StringEncoding(entry);
    case ValueType::kHash:
      return HashEncoding(entry);
    case ValueType::kSet:
      return SetEncoding(entry);
    case ValueType::kSortedSet:
      return SortedSetEncoding(entry);
    case ValueType::kList:
      return std::string_view("quicklist");
    case ValueType::kStream:
      return std::string_view("stream");
    case ValueType::kJson:
      return std::string_view("raw");
  }
  return std::string_view("raw");
}

Result<size_t> StoredBytes(const Entry& entry, size_t samples) {
  if (entry.generation() == 0) return entry.stored_bytes();
  const size_t limit = samples == 0 ? std::numeric_limits<size_t>::max() : samples;
  size_t seen = 0;
  size_t bytes = 0;
  CAIRN_ASSIGN_OR_RETURN(Elements elements, ElementsOf(entry));
  CAIRN_RETURN_IF_ERROR(
      elements.Scan(SuffixRange::All(), {.limit = limit}, [&](BytesView suffix, BytesView value) {
        seen +=
            entry.type() == ValueType::kList && suffix.starts_with(kListPageFamily) ? kListPage : 1;
        bytes += kElementPrefixBytes + suffix.size() + value.size();
        return true;
      }));
  if (seen >= limit && entry.type() == ValueType::kString) {
    bytes = CountOf(entry);
  } else if (seen >= limit && CountOf(entry) > seen) {
    bytes = bytes / seen * CountOf(entry);
  }
  return entry.stored_bytes() + bytes;
}

}  // namespace cairn::data
