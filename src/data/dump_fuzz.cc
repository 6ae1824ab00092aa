// Whatever a dump says, reading it must end, and what was read must be sound.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "data/listpack.h"
#include "data/lzf.h"
#include "data/rdb_format.h"

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
  CAIRN_CHECK(value->type == ValueType::kString || !value->members.empty() ||
              !value->fields.empty() || !value->scores.empty());
  return 0;
}
