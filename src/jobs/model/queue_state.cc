#include "jobs/model/queue_state.h"

#include "jobs/model/message_pack.h"

namespace cairn::jobs {
namespace {

// Every number of a state, in its stored order; a new one goes to the end.
template <typename State, typename Visitor>
void VisitQueue(State& state, Visitor&& visit) {
  visit(state.last_ns);
  visit(state.created_ns);
  visit(state.enqueued);
  for (auto& count : state.counts) visit(count);
  for (auto& count : state.line) visit(count);
  visit(state.parked);
  for (auto& cursor : state.cursor_ns) visit(cursor);
  visit(state.retention_due_ns);
  visit(state.throttle_due_ns);
  visit(state.window_count);
  visit(state.window_oldest_ns);
}
constexpr uint32_t kQueueNumbers = 3 + kStates + 3 + 1 + 2 + 4;

template <typename State, typename Visitor>
void VisitGate(State& state, Visitor&& visit) {
  visit(state.used);
  visit(state.parked);
  visit(state.cursor_ns);
  visit(state.oldest_ns);
  visit(state.due_ns);
}
constexpr uint32_t kGateNumbers = 5;

struct PackNumbers {
  PackWriter& pack;
  void operator()(uint64_t value) const { pack.Unsigned(value); }
  void operator()(int64_t value) const { pack.Signed(value); }
};
struct UnpackNumbers {
  PackReader& pack;
  void operator()(uint64_t& value) const { value = pack.Unsigned(); }
  void operator()(int64_t& value) const { value = pack.Signed(); }
};

}  // namespace

Bytes EncodeQueueState(const QueueState& state) {
  Bytes out;
  out.reserve(128);
  PackWriter pack(out);
  pack.ArrayHeader(kQueueNumbers + 1);
  VisitQueue(state, PackNumbers{pack});
  pack.Bool(state.wakes_on_end);
  return out;
}

std::optional<QueueState> DecodeQueueState(BytesView value) {
  PackReader pack(value);
  QueueState state;
  if (pack.ArrayHeader() != kQueueNumbers + 1) return std::nullopt;
  VisitQueue(state, UnpackNumbers{pack});
  state.wakes_on_end = pack.Bool();
  if (!pack.AtEnd()) return std::nullopt;
  return state;
}

Result<std::optional<QueueState>> LoadQueueState(store::Reader& reader, std::string_view queue) {
  const Bytes key = QueueStateKey(queue);
  CAIRN_ASSIGN_OR_RETURN(const auto row, reader.Get(InJobs(key)));
  if (!row) return std::optional<QueueState>();
  std::optional<QueueState> state = DecodeQueueState(*row);
  if (!state) {
    return Error{ErrorCode::kCorruption,
                 "the state of queue " + Printable(queue) + " cannot be decoded"};
  }
  return state;
}

Bytes EncodeGateState(const GateState& state) {
  Bytes out;
  PackWriter pack(out);
  pack.ArrayHeader(kGateNumbers);
  VisitGate(state, PackNumbers{pack});
  return out;
}

std::optional<GateState> DecodeGateState(BytesView value) {
  PackReader pack(value);
  GateState state;
  if (pack.ArrayHeader() != kGateNumbers) return std::nullopt;
  VisitGate(state, UnpackNumbers{pack});
  if (!pack.AtEnd()) return std::nullopt;
  return state;
}

}  // namespace cairn::jobs
