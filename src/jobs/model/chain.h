#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jobs/model/ids.h"
#include "jobs/model/job.h"

// A chain: jobs that follow one another, each step enqueued when the one before has completed.
//
//   {"steps":[{"queue":"resize","payload":{…}},{"queue":"publish"}],
//    "on_failure":{"queue":"alerts"},"on_exit":{"queue":"cleanup"}}
namespace cairn::jobs {

inline constexpr int64_t kExitStep = -1;
inline constexpr int64_t kFailureStep = -2;

struct ChainStep {
  std::string queue;
  std::string payload = "{}";  // JSON, as given
};
struct Chain {
  std::vector<ChainStep> steps;
  std::optional<ChainStep> on_failure;
  std::optional<ChainStep> on_exit;
};

// Refuses (CHAIN_ERROR) what is no chain of 2 steps or more.
Result<Chain> ParseChain(std::string_view json);

// What a step of the chain is followed by when it has completed; nullptr: nothing.
const ChainStep* NextStep(const Chain& chain, int64_t step);

// An object with the members of `base` and of `over`, whose own win. `base` is the inside of an
// object ("\"a\":1,\"b\":2"); an `over` that is no object is the result.
std::string Overlay(std::string_view base, std::string_view over);

// The lanes that the end of this step may touch.
void AddChainLanes(const Job& job, std::vector<Lane>& lanes);

}  // namespace cairn::jobs
