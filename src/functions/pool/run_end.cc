#include "functions/pool/run_end.h"

#include <string>
#include <utility>

#include "functions/model/errors.h"
#include "functions/model/json_object.h"

namespace cairn::functions {

Result<FunctionResult> ParseFunctionResult(std::string_view text) {
  return ReadObject(text, Code::kValidation,
                    [](ObjectReader& object) { return ReadFunctionResult(object); });
}

RunEnd EndOf(const RunOutcome& outcome, const Redactor& redactor) {
  RunEnd end{.result_truncated = outcome.result_truncated,
             .usage = {.cpu_us = outcome.usage.cpu_us,
                       .peak_memory_bytes = static_cast<int64_t>(outcome.usage.peak_memory_bytes),
                       .cold = outcome.usage.cold}};
  if (outcome.status == RunStatus::kSuccess) {
    Result<FunctionResult> result = ParseFunctionResult(outcome.result);
    if (result.ok()) {
      end.status = Status::kSuccess;
      end.result = *std::move(result);
      end.result_truncated |= Truncate(*end.result);
      return end;
    }
    end.error = FunctionError{.type = "ValidationError",
                              .message = std::string(RefusalText(result.error())),
                              .stack = {}};
    return end;
  }
  end.status = outcome.status == RunStatus::kTimeout ? Status::kTimeout : Status::kError;
  end.error = FunctionError{.type = outcome.error.type,
                            .message = redactor.Redact(outcome.error.message),
                            .stack = redactor.Redact(outcome.error.stack)};
  Truncate(*end.error);
  return end;
}

}  // namespace cairn::functions
