#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"

// What things of the functions layer may be called. Names stand in keys between colons, so none of
// them has one.
//
//   tenant      t_[a-z0-9]{6,32}              t_abc123
//   namespace   [a-z][a-z0-9_-]{2,63}         payments
//   function    [a-z][a-z0-9_-]{2,63}         reconcile
//   alias       [a-z][a-z0-9_-]{1,31}         prod
//   schedule    [a-zA-Z0-9][a-zA-Z0-9._-]{2,63}   reconcile_30s
//   trigger     as schedule                   mail-batches
//   binding     as schedule                   payments-activities
//   draft       drf_ and a ULID               drf_01JCZ5W2M8Q0S3B4X6V7K9T1RA
//   activation  a UUID in small letters       2f0c5d0e-…
//   request     [a-zA-Z0-9._-]{8,64}          req_2f0c5d0e-…
//   environment [a-zA-Z_][a-zA-Z0-9_]{0,127}  DATABASE_URL
//
// An alias begins with a letter, so no alias is a version: "prod" and "17" can share a place.
namespace cairn::functions {

enum class NameKind : uint8_t {
  kTenant,
  kNamespace,
  kFunction,
  kAlias,
  kSchedule,
  kTrigger,
  kBinding,
  kDraft,
  kActivation,
  kRequest,
  kEnvironment,
};

bool IsName(NameKind kind, std::string_view text);
// CS_VALIDATION_NAME_INVALID, saying what such a name looks like.
Result<void> CheckName(NameKind kind, std::string_view text);

// "drf_" and a ULID: says when it was made.
std::string NewDraftId(Timestamp now, Random& random);
// When a draft of this id was made; nullopt for what is no draft's id.
std::optional<Timestamp> DraftTime(std::string_view id);
// "req_" and a UUID.
std::string NewRequestId(Random& random);
// "msg_" and a ULID.
std::string NewMessageId(Timestamp now, Random& random);
std::string NewActivationId(Random& random);
// The same id for the same text: a UUID of version 8 (RFC 9562), made of its SHA-256.
std::string DerivedActivationId(std::string_view text);

// 1 and up, in decimal without a leading zero; nullopt for anything else.
std::optional<uint64_t> ParseVersion(std::string_view text);

}  // namespace cairn::functions
