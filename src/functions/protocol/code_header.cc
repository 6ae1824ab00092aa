#include "functions/protocol/code_header.h"

#include "base/bytes.h"

namespace cairn::functions {

bool IsCodeOfThisEngine(std::string_view code) {
  BytesReader in(code);
  return in.Take(in.Big32()) == kCodeMagic && in.Take(in.Big32()) == kEngineBuildId;
}

}  // namespace cairn::functions
