#include "actors/model/refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cairn::actors {
namespace {

using enum ErrorCode;

constexpr std::array kRows = {
    ReasonRow{Reason::kBadRequest, "BAD_REQUEST", kInvalid, 400,
              "an argument is missing, unknown or out of its bounds"},
    ReasonRow{Reason::kBadName, "BAD_NAME", kInvalid, 400, "a namespace or a name is not one"},
    ReasonRow{Reason::kBadKey, "BAD_KEY", kInvalid, 400,
              "an actor's key is too long or not written as one; limit"},
    ReasonRow{Reason::kBadId, "BAD_ID", kInvalid, 400, "an actor's id is not one"},
    ReasonRow{Reason::kNoSuchActor, "NO_SUCH_ACTOR", kNotFound, 404,
              "there is no such actor, or it was destroyed"},
    ReasonRow{Reason::kDuplicateKey, "DUPLICATE_KEY", kConflict, 409,
              "an actor with this name and key exists; existing_actor_id"},
    ReasonRow{Reason::kStaleGeneration, "STALE_GENERATION", kConflict, 409,
              "the actor has been started since; generation, the one it has now"},
    ReasonRow{Reason::kKeyTooLong, "KEY_TOO_LONG", kTooLarge, 413,
              "the key of an entry is too long; limit, size"},
    ReasonRow{Reason::kValueTooLarge, "VALUE_TOO_LARGE", kTooLarge, 413,
              "a value is too large; limit, size"},
    ReasonRow{Reason::kTooManyKeys, "TOO_MANY_KEYS", kTooLarge, 413,
              "an operation names too many keys; limit, size"},
    ReasonRow{Reason::kPayloadTooLarge, "PAYLOAD_TOO_LARGE", kTooLarge, 413,
              "keys and values of an operation are too large together; limit, size"},
    ReasonRow{Reason::kQuotaExceeded, "QUOTA_EXCEEDED", kTooLarge, 413,
              "the actor would have more bytes than it may; limit, size"},
    ReasonRow{Reason::kPreconditionFailed, "PRECONDITION_FAILED", kConflict, 409,
              "a precondition of a batch does not hold; condition, the first of them counted from "
              "0, and revision, what the entry has, 0 if it is absent"},
    ReasonRow{Reason::kIdempotencyConflict, "IDEMPOTENCY_CONFLICT", kConflict, 409,
              "the idempotency id was used for another batch; revision, that one's"},
    ReasonRow{Reason::kNoSuchEntry, "NO_SUCH_ENTRY", kNotFound, 404,
              "the actor has no entry with this key"},
    ReasonRow{Reason::kForbidden, "FORBIDDEN", kForbidden, 403,
              "the caller may not use actors of this name"},
};

constexpr RefusalTable<Reason> kTable{kRows};

}  // namespace

std::span<const ReasonRow> ReasonRows() { return kRows; }
const ReasonRow* FindReason(const Error& error) { return kTable.Find(error); }
std::optional<Refusal> ReadRefusal(const Error& error) { return kTable.Read(error); }
Error Refuse(Reason reason, std::string_view text) { return kTable.Refuse(reason, text); }

Error Refuse(Reason reason, const Fields& fields, std::string_view text) {
  std::string message = "[";
  for (const auto& [name, value] : fields) {
    if (message.size() > 1) message.push_back(',');
    message += fmt::format("{}={}", name, value);
  }
  return kTable.Refuse(reason, message + "] " + std::string(text));
}

Error Refuse(Reason reason, const TooLarge& what) {
  return Refuse(reason,
                {{"limit", fmt::to_string(what.limit)}, {"size", fmt::to_string(what.size)}},
                fmt::format("{} has {} {}; at most {} are allowed", what.subject, what.size,
                            what.unit, what.limit));
}

FieldsAndText SplitFields(std::string_view text) {
  FieldsAndText split{.fields = {}, .text = text};
  const size_t end = text.find("] ");
  if (!text.starts_with('[') || end == std::string_view::npos) return split;
  std::string_view fields = text.substr(1, end - 1);
  split.text = text.substr(end + 2);
  while (!fields.empty()) {
    const std::string_view field = fields.substr(0, fields.find(','));
    const size_t equals = field.find('=');
    if (equals == std::string_view::npos) return {.fields = {}, .text = text};
    split.fields.emplace_back(field.substr(0, equals), field.substr(equals + 1));
    fields.remove_prefix(std::min(field.size() + 1, fields.size()));
  }
  return split;
}

}  // namespace cairn::actors
