#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/refusal.h"
#include "base/result.h"

// Why an operation on actors was refused (base/refusal.h). Behind the reason's name come fields for
// programs, if it has some, in brackets:
//
//   DUPLICATE_KEY [existing_actor_id=0dvi…] the key is taken
//
//   RESP   -DUPLICATE_KEY [existing_actor_id=0dvi…] the key is taken
//   HTTP   409 {"error":{"group":"actor","code":"duplicate_key","message":"the key is taken",
//                        "fields":{"existing_actor_id":"0dvi…"},"request_id":…}}
namespace cairn::actors {

enum class Reason : uint8_t {
  kBadRequest,
  kBadName,
  kBadKey,
  kBadId,
  kNoSuchActor,
  kDuplicateKey,
  kStaleGeneration,
  kKeyTooLong,
  kValueTooLarge,
  kTooManyKeys,
  kPayloadTooLarge,
  kQuotaExceeded,
  kPreconditionFailed,
  kIdempotencyConflict,
  kNoSuchEntry,
  kForbidden,
};

using ReasonRow = cairn::ReasonRow<Reason>;
// Names and values have no blanks, brackets, commas or equals signs.
using Fields = std::vector<std::pair<std::string, std::string>>;

std::span<const ReasonRow> ReasonRows();
// The row of a refusal; null for an error that is none.
const ReasonRow* FindReason(const Error& error);
// What a door tells of a refusal; nullopt for an error that is none.
std::optional<Refusal> ReadRefusal(const Error& error);

Error Refuse(Reason reason, std::string_view text);
Error Refuse(Reason reason, const Fields& fields, std::string_view text);

// What is too large: "the key of an entry has 2047 bytes; at most 2046 are allowed", with the
// fields limit and size.
struct TooLarge {
  std::string_view subject;
  std::string_view unit;
  size_t size = 0;
  size_t limit = 0;
};
Error Refuse(Reason reason, const TooLarge& what);

// A refusal's text taken apart: its fields, and what is left for people.
struct FieldsAndText {
  Fields fields;
  std::string_view text;
};
FieldsAndText SplitFields(std::string_view text);

}  // namespace cairn::actors
