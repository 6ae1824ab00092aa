// However replies are split, the client's parser must read the same values and fail alike.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "net/resp/reply.h"

namespace cairn::net {
namespace {

// The values in `bytes` as text, fed `step` at a time; a failure is the last one.
std::vector<std::string> ReadAll(std::string_view bytes, size_t step) {
  RespReplyParser parser;
  std::vector<std::string> texts;
  while (true) {
    auto next = parser.Next();
    if (!next.ok()) {
      texts.push_back("failed: " + next.error().message);
      return texts;
    }
    if (next->has_value()) {
      texts.push_back((*next)->ToString());
    } else if (bytes.empty()) {
      return texts;
    } else {
      parser.Feed(bytes.substr(0, step));
      bytes.remove_prefix(std::min(step, bytes.size()));
    }
  }
}

}  // namespace
}  // namespace cairn::net

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = cairn::net::ReadAll(bytes, std::max<size_t>(bytes.size(), 1));
  const auto split = cairn::net::ReadAll(bytes, data[0] % 16 + 1);
  CAIRN_CHECK(whole == split);
  return 0;
}
