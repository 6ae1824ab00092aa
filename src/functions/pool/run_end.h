#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
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

// The result that a child has sent, which may be anything.
Result<FunctionResult> ParseFunctionResult(std::string_view text);

// What a child says of a run, checked and cut to the limits, with the secrets taken out of errors.
RunEnd EndOf(const RunOutcome& outcome, const Redactor& redactor);

}  // namespace cairn::functions
