#include <cstddef>
#include <cstdint>
#include <variant>

#include "base/check.h"
#include "functions/protocol/messages.h"

namespace {

using cairn::BytesView;
using cairn::functions::MessageReader;

// Whatever bytes say, and in whatever pieces: what decodes is encoded to the same message again.
template <typename Message>
void ReadAll(BytesView bytes) {
  MessageReader<Message> reader;
  const size_t half = bytes.size() / 2;
  for (const BytesView piece : {bytes.substr(0, half), bytes.substr(half)}) {
    reader.Append(piece);
    while (true) {
      const auto message = reader.Next();
      if (!message.ok()) return;
      if (!*message) break;
      MessageReader<Message> again;
      again.Append(std::visit([](const auto& one) { return Encode(one); }, **message));
      const auto second = again.Next();
      CAIRN_CHECK(second.ok() && *second && **second == **message);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const BytesView bytes(reinterpret_cast<const char*>(data), size);
  ReadAll<cairn::functions::ToChild>(bytes);
  ReadAll<cairn::functions::ToServer>(bytes);
  ReadAll<cairn::functions::ToZygote>(bytes);
  return 0;
}
