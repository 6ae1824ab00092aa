// Any bytes may be given as a tar: what is read as a bundle is what WriteBundle makes of its files.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "functions/model/bundle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cairn;
  using namespace cairn::functions;
  const BytesView tar(reinterpret_cast<const char*>(data), size);
  const Result<Bundle> bundle = Bundle::Read(tar);
  if (!bundle.ok()) return 0;
  Files files;
  for (const auto& [path, content] : bundle->files()) {
    CAIRN_CHECK(bundle->Find(path) == content);
    files.emplace(path, content);
  }
  CAIRN_CHECK(*WriteBundle(files) == tar);
  return 0;
}
