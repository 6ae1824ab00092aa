#include "jobs/model/chain.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_text.h"
#include "jobs/model/json_members.h"
#include "jobs/model/limits.h"
#include "jobs/model/refusal.h"

namespace cairn::jobs {
namespace {

Error Bad(std::string_view text) { return Refuse(Reason::kChain, text); }

Result<ChainStep> ParseStep(std::string_view json) {
  const auto members = MembersOf(json);
  if (!members) return Bad("each step must be an object with queue and payload");
  ChainStep step;
  for (const RawMember& member : *members) {
    if (member.name == "payload") {
      step.payload = member.json;
    } else if (member.name == "queue") {
      step.queue = StringOf(member.json).value_or("");
    } else {
      return Bad(fmt::format("a step cannot have {}", Printable(member.name, 32)));
    }
  }
  if (!IsName(step.queue, kMaxQueueNameBytes)) return Bad("a step needs the name of its queue");
  if (step.payload.size() > kMaxPayloadBytes) {
    return Refuse(Reason::kPayloadTooLarge,
                  fmt::format("the payload of a step is above {} bytes", kMaxPayloadBytes));
  }
  return step;
}

Result<void> ParseSteps(std::string_view json, Chain& chain) {
  const auto items = ItemsOf(json);
  if (!items) return Bad("steps must be an array");
  for (const std::string_view item : *items) {
    CAIRN_ASSIGN_OR_RETURN(chain.steps.emplace_back(), ParseStep(item));
  }
  return {};
}

}  // namespace

Result<Chain> ParseChain(std::string_view json) {
  if (json.size() > kMaxDocumentBytes) {
    return Refuse(Reason::kPayloadTooLarge,
                  fmt::format("the chain is above {} bytes", kMaxDocumentBytes));
  }
  const auto members = MembersOf(json);
  if (!members) return Bad("a chain must be an object with steps");
  Chain chain;
  for (const RawMember& member : *members) {
    if (member.json == "null") continue;
    if (member.name == "steps") {
      CAIRN_RETURN_IF_ERROR(ParseSteps(member.json, chain));
    } else if (member.name == "on_failure") {
      CAIRN_ASSIGN_OR_RETURN(chain.on_failure, ParseStep(member.json));
    } else if (member.name == "on_exit") {
      CAIRN_ASSIGN_OR_RETURN(chain.on_exit, ParseStep(member.json));
    } else {
      return Bad(fmt::format("a chain cannot have {}", Printable(member.name, 32)));
    }
  }
  if (chain.steps.size() < 2 || chain.steps.size() > kMaxChainSteps) {
    return Bad(fmt::format("a chain must have 2 to {} steps", kMaxChainSteps));
  }
  return chain;
}

const ChainStep* NextStep(const Chain& chain, int64_t step) {
  if (step < 0) return nullptr;
  const auto next = static_cast<size_t>(step) + 1;
  if (next < chain.steps.size()) return &chain.steps[next];
  return chain.on_exit ? &*chain.on_exit : nullptr;
}

std::string Overlay(std::string_view base, std::string_view over) {
  const auto members = MembersOf(over);
  if (!members) return std::string(over);
  std::string out = "{";
  const auto base_object = fmt::format("{{{}}}", base);
  const std::vector<RawMember> inherited = MembersOf(base_object).value();
  for (const RawMember& member : inherited) {
    if (std::ranges::find(*members, member.name, &RawMember::name) != members->end()) continue;
    if (out.size() > 1) out.push_back(',');
    AppendJsonString(member.name, out);
    out.append(":").append(member.json);
  }
  for (const RawMember& member : *members) {
    if (out.size() > 1) out.push_back(',');
    AppendJsonString(member.name, out);
    out.append(":").append(member.json);
  }
  out.push_back('}');
  return out;
}

void AddChainLanes(const Job& job, std::vector<Lane>& lanes) {
  const Result<Chain> chain = ParseChain(job.chain_config);
  if (!chain.ok() || job.chain_step < 0) return;
  const auto add = [&](const ChainStep* step) {
    if (step != nullptr) lanes.push_back(LaneOfQueue(step->queue));
  };
  add(NextStep(*chain, job.chain_step));
  if (chain->on_failure) add(&*chain->on_failure);
  if (chain->on_exit) add(&*chain->on_exit);
}

}  // namespace cairn::jobs
