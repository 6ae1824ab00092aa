#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "functions/model/message.h"

// What codeQ wants to know of a message (functions/model/message.h has all of it).
namespace cairn::functions::codeq {

struct CheckedMessage {
  std::string id;
  std::string tenant;
  std::string type;
  int64_t ts_ms = 0;
  std::string body = {};  // JSON, as it was given; of cs.results, which keep it, else empty
  // Of cs.invoke and cs.results.
  std::string activation_id = {};
  std::string request_id = {};
};

// Checks an envelope, and its body by what the topic carries. An error names the member.
Result<CheckedMessage> CheckMessage(std::string_view topic, std::string_view text);
// Whether the text is meant to be an envelope, right or wrong: its schema is one of envelopes.
bool LooksLikeEnvelope(std::string_view text);

// An envelope around any JSON value: an object is its body, what else `body.payload`.
std::string Wrap(Envelope envelope, std::string_view payload);
// What was wrapped so, or the body of any other envelope that was checked.
std::string_view PayloadOf(std::string_view text);

// What is said about who sends where nobody says it.
inline constexpr std::string_view kNoTenant = "t_default";

}  // namespace cairn::functions::codeq
