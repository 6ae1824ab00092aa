// Whatever a dump says, reading it must end, and what was read must be sound.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "data/keyspace/listpack.h"
#include "data/keyspace/lzf.h"
#include "data/keyspace/rdb_format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cairn::data;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  HasValidFooter(bytes);
  DecodeListpack(bytes);
  DecodeZiplist(bytes);
  DecodeIntset(bytes);
  if (size > 1) LzfDecompress(bytes.substr(1), size_t{data[0]} * 16);
  // A footer of its own, so that the input is all value.
  const auto value = DecodeRdbValue(std::string(bytes) + std::string(10, '\0'));
  if (!value) return 0;
  if (value->type == ValueType::kStream) {
    // What was read can be written, and is the same when it is read again.
    RdbWriter writer(RdbType::kStream2);
    WriteRdbStream(writer, value->stream);
    const auto again = DecodeRdbValue(std::move(writer).Finish());
    CAIRN_CHECK(again && again->stream.entries.size() == value->stream.entries.size());
    return 0;
  }
  if (value->type == ValueType::kJson) return 0;
  CAIRN_CHECK(value->type == ValueType::kString || !value->members.empty() ||
              !value->fields.empty() || !value->scores.empty());
  return 0;
}
