#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "functions/model/json_object.h"

// What travels through the topics of codeQ: an envelope, and in it a request to run a function or
// the result of one. Objects are closed: a member that the schema does not name is refused, with an
// error that names it.
//
//   cs.envelope.v1   {"schema":"cs.envelope.v1","id":"msg_…","ts_ms":…,"tenant":"t_abc123",
//                     "type":"InvocationRequest","body":{…}}
//   cs.invoke.v1     {"activation_id":…,"request_id":…,"tenant":…,"namespace":…,
//                     "ref":{"function":…,"alias":…,"version":…},
//                     "trigger":{"type":"http","source":{…}},
//                     "principal":{"sub":…,"roles":[…]},"deadline_ms":…,"event":…}
//   cs.results.v1    {"activation_id":…,"request_id":…,"status":"success","duration_ms":12,
//                     "result":{"statusCode":200,"headers":{},"body":"","isBase64Encoded":false},
//                     "error":{"type":…,"message":…,"stack":…}}
namespace cairn::functions {

class JsonWriter;

inline constexpr std::string_view kEnvelopeSchema = "cs.envelope.v1";
inline constexpr std::string_view kRequestType = "InvocationRequest";
inline constexpr std::string_view kResultType = "InvocationResult";

inline constexpr std::string_view kInvokeTopic = "cs.invoke";
inline constexpr std::string_view kResultsTopic = "cs.results";
inline constexpr std::string_view kInvokeDeadTopic = "cs.dlq.invoke";
inline constexpr std::string_view kResultsDeadTopic = "cs.dlq.results";

struct Envelope {
  std::string id;
  int64_t ts_ms = 0;
  std::string tenant;
  std::string type;
  std::string body = "{}";  // a JSON object, as it was given
  friend bool operator==(const Envelope&, const Envelope&) = default;
};

// Which version is meant. At least one of the two is there; a version wins, an alias has to be
// looked up.
struct Ref {
  std::string function;
  std::string alias;
  std::optional<uint64_t> version;
  friend bool operator==(const Ref&, const Ref&) = default;
};
void WriteRef(const Ref& ref, std::string_view name, JsonWriter& json);
// Notes a fault if it names neither an alias nor a version. `function` absent is a fault unless the
// place has no such member.
enum class NamesFunction : uint8_t { kYes, kNo };
Ref ReadRef(ObjectReader ref, NamesFunction names_function);

enum class TriggerType : uint8_t { kHttp, kSchedule, kCadence, kApi, kQueue, kEvent };
std::string_view TriggerName(TriggerType type);
std::optional<TriggerType> ParseTrigger(std::string_view name);

struct Trigger {
  TriggerType type = TriggerType::kApi;
  std::string source = "{}";  // a JSON object
  friend bool operator==(const Trigger&, const Trigger&) = default;
};

struct Principal {
  std::string sub;
  std::vector<std::string> roles;
  friend bool operator==(const Principal&, const Principal&) = default;
};

struct InvocationRequest {
  std::string activation_id;
  std::string request_id;
  std::string tenant;
  std::string ns;
  Ref ref;
  Trigger trigger;
  Principal principal;
  int64_t deadline_ms = 0;
  std::string event = "{}";  // any JSON value, as it was given
  friend bool operator==(const InvocationRequest&, const InvocationRequest&) = default;
};

// What a function has returned.
struct FunctionResult {
  int status_code = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::string> cookies;  // a Set-Cookie each; only there if there are any
  std::string body;
  bool is_base64 = false;
  friend bool operator==(const FunctionResult&, const FunctionResult&) = default;
};
// Why it has returned nothing.
struct FunctionError {
  std::string type;
  std::string message;
  std::string stack;
  friend bool operator==(const FunctionError&, const FunctionError&) = default;
};

enum class Status : uint8_t { kQueued, kRunning, kSuccess, kError, kTimeout };
std::string_view StatusName(Status status);
std::optional<Status> ParseStatus(std::string_view name);
constexpr bool IsTerminal(Status status) { return status >= Status::kSuccess; }

// Its status is terminal. A success has a result; the others have an error.
struct InvocationResult {
  std::string activation_id;
  std::string request_id;
  Status status = Status::kSuccess;
  int64_t duration_ms = 0;
  std::optional<FunctionResult> result;
  std::optional<FunctionError> error;
  friend bool operator==(const InvocationResult&, const InvocationResult&) = default;
};

// CS_VALIDATION_FAILED names the member ("body.ref.alias must be…" without the "body."). Bounded by
// limits.h, the whole text by kMaxMessageBytes.
Result<Envelope> ParseEnvelope(std::string_view text);
Result<InvocationRequest> ParseInvocationRequest(std::string_view text);
Result<InvocationResult> ParseInvocationResult(std::string_view text);

// What these write of values that keep to the bounds, the parsers read.
std::string EnvelopeText(const Envelope& envelope);
std::string InvocationRequestText(const InvocationRequest& request);
std::string InvocationResultText(const InvocationResult& result);

void WriteFunctionResult(const FunctionResult& result, std::string_view name, JsonWriter& json);
void WriteFunctionError(const FunctionError& error, std::string_view name, JsonWriter& json);
FunctionResult ReadFunctionResult(ObjectReader object);
FunctionError ReadFunctionError(ObjectReader object);

// Cut what is too long, the same way each time, to valid UTF-8 and valid base64. The first says
// whether it had to: a body beyond kMaxResultBytes, headers included.
bool Truncate(FunctionResult& result);
void Truncate(FunctionError& error);

}  // namespace cairn::functions
