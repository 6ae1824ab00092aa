#include "functions/protocol/code_header.h"

#include <gtest/gtest.h>

#include <string>

#include "base/bytes.h"

namespace cairn::functions {
namespace {

std::string Header(std::string_view magic, std::string_view id) {
  std::string header;
  for (const std::string_view part : {magic, id}) {
    AppendBig32(header, static_cast<uint32_t>(part.size()));
    header += part;
  }
  return header;
}

TEST(CodeHeaderTest, CodeSaysWhichEngineHasMadeIt) {
  EXPECT_TRUE(IsCodeOfThisEngine(Header(kCodeMagic, kEngineBuildId) + "the rest"));
  EXPECT_FALSE(IsCodeOfThisEngine(Header(kCodeMagic, "mozjs-91-cairn-1")));
  EXPECT_FALSE(IsCodeOfThisEngine(Header("cairn-js-0", kEngineBuildId)));
  const std::string whole = Header(kCodeMagic, kEngineBuildId);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(IsCodeOfThisEngine(whole.substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace cairn::functions
