// Any bytes may stand in manifest.json, or in the config of a publish.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "functions/model/manifest.h"
#include "functions/model/records.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cairn;
  using namespace cairn::functions;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Result<ConfigOverrides> overrides = ParseOverrides(text);
  const Result<Manifest> manifest = ParseManifest(text);
  if (manifest.ok()) CAIRN_CHECK(ParseManifest(ManifestText(*manifest)).ok());
  if (overrides.ok()) {
    // What is in force can always be stored and read.
    const VersionMeta meta{
        .version = 1, .sha256 = "x", .config = EffectiveConfig(Manifest(), *overrides)};
    CAIRN_CHECK(DecodeVersionMeta(Encode(meta)).ok());
  }
  return 0;
}
