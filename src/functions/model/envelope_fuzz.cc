// Any bytes may be published to a topic: what is read as a message can be written and read again.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "functions/model/message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cairn;
  using namespace cairn::functions;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<Envelope> envelope = ParseEnvelope(text);
  if (envelope.ok()) CAIRN_CHECK(*ParseEnvelope(EnvelopeText(*envelope)) == *envelope);
  const std::string_view body = envelope.ok() ? std::string_view(envelope->body) : text;
  const Result<InvocationRequest> request = ParseInvocationRequest(body);
  if (request.ok()) {
    CAIRN_CHECK(*ParseInvocationRequest(InvocationRequestText(*request)) == *request);
  }
  const Result<InvocationResult> result = ParseInvocationResult(body);
  if (result.ok()) {
    CAIRN_CHECK(*ParseInvocationResult(InvocationResultText(*result)) == *result);
  }
  return 0;
}
