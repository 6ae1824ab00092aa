// Whatever unpacks packs to the same bytes, and so does each of its elements alone.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "actors/model/tuple.h"
#include "base/check.h"

namespace cairn::actors {
namespace {

void CheckTuple(BytesView bytes) {
  const std::optional<Tuple> tuple = UnpackTuple(bytes);
  if (!tuple) return;
  CAIRN_CHECK(PackTuple(*tuple) == bytes, "{}", HexEncode(bytes));
  for (const TupleElement& element : *tuple) {
    const Tuple one = {element};
    CAIRN_CHECK(UnpackTuple(PackTuple(one)) == one, "{}", HexEncode(PackTuple(one)));
  }
}

}  // namespace
}  // namespace cairn::actors

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cairn::actors::CheckTuple({reinterpret_cast<const char*>(data), size});
  return 0;
}
