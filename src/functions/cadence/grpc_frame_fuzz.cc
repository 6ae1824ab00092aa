// Any bytes as what a frontend of Cadence has sent: framed, as trailers, as messages of protobuf
// and as JSON. Whatever comes of it is a task within its bounds, or an error.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "functions/cadence/grpc_frame.h"
#include "functions/cadence/grpc_wire.h"
#include "functions/cadence/json_wire.h"
#include "functions/cadence/limits.h"
#include "functions/cadence/wire.h"

namespace {

using namespace cairn;             // NOLINT(google-build-using-namespace): a fuzzer
using namespace cairn::functions;  // NOLINT(google-build-using-namespace)

outside::HttpAnswer AnswerOf(std::string_view body) {
  return {.status = 200,
          .headers = {{"content-type", "application/grpc"}},
          .trailers = {{"grpc-status", "0"}},
          .body = std::string(body)};
}

void CheckPoll(const Wire& wire, const outside::HttpAnswer& answer) {
  const auto task = wire.ReadPoll(answer);
  if (!task.ok() || !*task) return;
  CAIRN_CHECK(!(*task)->token.empty() && (*task)->token.size() <= kMaxTaskTokenBytes);
  CAIRN_CHECK((*task)->workflow_id.size() <= kMaxTaskTextBytes);
  CAIRN_CHECK((*task)->timeout_ms >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::unique_ptr<Wire> grpc_wire = MakeGrpcWire("http://h:1");
  static const std::unique_ptr<Wire> json_wire = MakeJsonWire("http://h:1");
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);

  const Result<Bytes> message = grpc::Unframe(bytes);
  if (message.ok()) CAIRN_CHECK(grpc::Frame(*message) == bytes);
  CAIRN_CHECK(*grpc::Unframe(grpc::Frame(bytes)) == bytes);

  outside::HttpAnswer trailers = AnswerOf("");
  trailers.trailers = {{"grpc-status", std::string(bytes.substr(0, 8))},
                       {"grpc-message", std::string(bytes)}};
  static_cast<void>(grpc::ReadAnswer(trailers));

  for (const outside::HttpAnswer& answer : {AnswerOf(bytes), AnswerOf(grpc::Frame(bytes))}) {
    CheckPoll(*grpc_wire, answer);
    CheckPoll(*json_wire, answer);
    static_cast<void>(grpc_wire->ReadHeartbeat(answer));
    static_cast<void>(json_wire->ReadHeartbeat(answer));
    static_cast<void>(grpc_wire->ReadRespond(answer));
  }
  return 0;
}
