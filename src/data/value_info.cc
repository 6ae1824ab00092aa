#include "data/value_info.h"

#include "doors/arg_parser.h"

namespace cairn::data {

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

std::string_view EncodingName(ValueType type, BytesView payload) {
  constexpr size_t kMaxIntegerDigits = 20;
  constexpr size_t kMaxEmbedded = 44;
  switch (type) {
    case ValueType::kString:
      if (payload.size() <= kMaxIntegerDigits && doors::ParseInteger(payload)) return "int";
      return payload.size() <= kMaxEmbedded ? "embstr" : "raw";
    case ValueType::kHash:
    case ValueType::kSet:
      return "hashtable";
    case ValueType::kSortedSet:
      return "skiplist";
    case ValueType::kList:
      return "quicklist";
    case ValueType::kStream:
      return "stream";
    case ValueType::kJson:
      return "raw";
  }
  return "raw";
}

}  // namespace cairn::data
