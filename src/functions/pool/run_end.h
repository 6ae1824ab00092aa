#pragma once

#include <optional>

#include "functions/model/message.h"
#include "functions/model/records.h"
#include "functions/model/secrets.h"
#include "functions/pool/run.h"

namespace cairn::functions {

// How a run ended, as its caller and its record are told.
struct RunEnd {
  Status status = Status::kError;
  std::optional<FunctionResult> result = {};
  bool result_truncated = false;
  std::optional<FunctionError> error = {};
  Usage usage = {};
};

// What a child says of a run, checked and cut to the limits, with the secrets taken out of errors.
RunEnd EndOf(const RunOutcome& outcome, const Redactor& redactor);

}  // namespace cairn::functions
