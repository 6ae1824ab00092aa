#include "data/value/value_info.h"

#include <cstdint>
#include <limits>

#include "base/function_ref.h"
#include "data/value/collection.h"
#include "data/value/elements.h"
#include "data/value/fields.h"
#include "data/value/list_page.h"
#include "data/value/string_value.h"
#include "doors/resp/arg_parser.h"

namespace cairn::data {

namespace {

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

bool Within(uint64_t size, int64_t limit) { return size <= static_cast<uint64_t>(limit); }

std::string_view StringEncoding(const Entry& entry) {
  constexpr size_t kMaxIntegerDigits = 20;
  constexpr size_t kMaxEmbedded = 44;
  if (!IsShortString(entry)) return "raw";
  const BytesView text = entry.payload();
  if (text.size() <= kMaxIntegerDigits && doors::ParseInteger(text)) return "int";
  return text.size() <= kMaxEmbedded ? "embstr" : "raw";
}

constexpr std::string_view kListpack = "listpack";
constexpr std::string_view kIntset = "intset";

Result<std::string_view> HashEncoding(const Entry& entry, const EncodingLimits& limits) {
  constexpr std::string_view kLarge = "hashtable";
  if (!Within(CountOf(entry), limits.hash_fields)) return kLarge;
  CAIRN_ASSIGN_OR_RETURN(Elements elements, ElementsOf(entry));
  CAIRN_ASSIGN_OR_RETURN(const std::optional<MemberOrder> order, elements.ReadOrder());
  if (elements.packed() == nullptr && !order) return kLarge;
  const int64_t bytes = limits.hash_bytes;
  CAIRN_ASSIGN_OR_RETURN(const bool small,
                         All(entry, SuffixRange::All(), [&](BytesView suffix, BytesView value) {
                           return Within(DecodeField(suffix).value_or("").size(), bytes) &&
                                  Within(value.size(), bytes);
                         }));
  return small ? kListpack : kLarge;
}

Result<std::string_view> SetEncoding(const Entry& entry, const EncodingLimits& limits) {
  constexpr std::string_view kLarge = "hashtable";
  const uint64_t count = CountOf(entry);
  if (!Within(count, limits.set_integers) || count > kMaxSortedIntegers) return kLarge;
  CAIRN_ASSIGN_OR_RETURN(const bool integers,
                         All(entry, SuffixRange::All(), [](BytesView suffix, BytesView) {
                           return doors::ParseInteger(DecodeField(suffix).value_or("")).has_value();
                         }));
  return integers ? kIntset : kLarge;
}

Result<std::string_view> SortedSetEncoding(const Entry& entry, const EncodingLimits& limits) {
  constexpr std::string_view kLarge = "skiplist";
  constexpr std::string_view kMemberPrefix = "m";
  if (!Within(CountOf(entry), limits.sorted_set_members)) return kLarge;
  const int64_t bytes = limits.sorted_set_bytes;
  CAIRN_ASSIGN_OR_RETURN(
      const bool small,
      All(entry, SuffixRange::Prefix(kMemberPrefix), [&](BytesView suffix, BytesView) {
        return Within(suffix.size() - kMemberPrefix.size(), bytes);
      }));
  return small ? kListpack : kLarge;
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

Result<std::string_view> EncodingName(const Entry& entry, const EncodingLimits& limits) {
  switch (entry.type()) {
    case ValueType::kString:
      return StringEncoding(entry);
    case ValueType::kHash:
      return HashEncoding(entry, limits);
    case ValueType::kSet:
      return SetEncoding(entry, limits);
    case ValueType::kSortedSet:
      return SortedSetEncoding(entry, limits);
    case ValueType::kList:
      return std::string_view("quicklist");
    case ValueType::kStream:
      return std::string_view("stream");
    case ValueType::kJson:
      return std::string_view("raw");
  }
  return std::string_view("raw");
}

Result<bool> IsInOnePiece(const Entry& entry, const EncodingLimits& limits) {
  CAIRN_ASSIGN_OR_RETURN(const std::string_view encoding, EncodingName(entry, limits));
  return encoding == kListpack || encoding == kIntset;
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
