#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doors/access/grants.h"
#include "functions/activation/activations.h"
#include "functions/model/message.h"
#include "functions/model/records.h"
#include "store/transaction.h"

// Activations as both doors show them.
namespace cairn::functions {

// One that a caller who may use the functions `names` (null: all) may see; one of another function
// does not exist for it (CS_NOT_FOUND).
Result<Activation> FindActivation(store::Transaction& transaction, const doors::NamePatterns* names,
                                  std::string_view tenant, std::string_view id);

// A page of an activation's log.
struct LogPage {
  std::vector<LogChunk> chunks;
  uint64_t cursor = 0;  // where the next page begins
  bool ended = false;   // the activation has; behind the last chunk there will be no other
};
Result<LogPage> ReadLog(store::Transaction& transaction, const doors::NamePatterns* names,
                        std::string_view tenant, std::string_view id, uint64_t from, size_t limit);

// {"activation_id","status","result","duration_ms","error"}
std::string AnswerText(const InvocationResult& result);
// {"activation_id","status"}
std::string AcceptedText(std::string_view activation, Status status);
// {"chunks":["[info] …\n",…],"first":15,"cursor":"17"}: `first` is the number of the first chunk,
// the others follow it without holes.
std::string LogText(const LogPage& page);

}  // namespace cairn::functions
