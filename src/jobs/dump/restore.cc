// Taking a dump back (dump.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "jobs/dump/dump.h"
#include "jobs/dump/dump_line.h"
#include "jobs/ledger/due.h"
#include "jobs/ledger/ledger.h"
#include "jobs/model/queue_config.h"
#include "jobs/model/refusal.h"
#include "jobs/schedule/schedule.h"

namespace cairn::jobs {
namespace {

using store::Space;

constexpr std::string_view kLineFamily = "rs|";
constexpr std::string_view kStateKey = "rsp|";
// Of one transaction.
constexpr size_t kLinesAtOnce = 500;
constexpr size_t kBytesAtOnce = 1024 * 1024;
constexpr uint64_t kNsPerMs = 1'000'000;

// What a restore does with the lines. Stored.
enum class Pass : uint8_t { kTake = 0, kRows = 1, kDue = 2, kOpen = 3, kClean = 4 };

// The row rsp|: pass:1 kind:1 lines:8 jobs:8 next:8
struct RestoreState {
  Pass pass = Pass::kTake;
  uint8_t kind = 0;   // of the last line, as DumpLine::index has it
  int64_t lines = 0;  // put aside
  int64_t jobs = 0;   // among them
  int64_t next = 1;   // the line that the pass has come to
};

Bytes LineKey(int64_t number) {
  Bytes key(kLineFamily);
  AppendBig64(key, static_cast<uint64_t>(number));
  return key;
}

Bytes EncodeState(const RestoreState& state) {
  Bytes out;
  out.push_back(static_cast<char>(state.pass));
  out.push_back(static_cast<char>(state.kind));
  for (const int64_t number : {state.lines, state.jobs, state.next}) {
    AppendBig64(out, static_cast<uint64_t>(number));
  }
  return out;
}

Result<std::optional<RestoreState>> LoadState(store::Reader& reader) {
  CAIRN_ASSIGN_OR_RETURN(const auto row, reader.Get(InJobs(kStateKey)));
  if (!row) return std::optional<RestoreState>();
  BytesReader bytes(*row);
  RestoreState state{.pass = static_cast<Pass>(bytes.Byte()), .kind = bytes.Byte()};
  for (int64_t* number : {&state.lines, &state.jobs, &state.next}) {
    *number = static_cast<int64_t>(bytes.Big64());
  }
  if (!bytes.AtEnd() || state.pass > Pass::kClean) {
    return Error{ErrorCode::kCorruption, "the state of the restore cannot be decoded"};
  }
  return std::optional(state);
}

void PutState(store::Transaction& transaction, const RestoreState& state) {
  transaction.Put(InJobs(kStateKey), EncodeState(state));
}

Error AtLine(int64_t number, const Error& error) {
  return Refuse(Reason::kValidation, fmt::format("line {}: {}", number, RefusalText(error)));
}

// --- Taking lines --------------------------------------------------------------------------------

// Refuses a store that has anything of what a dump has.
Result<void> CheckEmpty(store::Reader& reader) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kFamilies = {{
      {family::kJob, "jobs"},
      {family::kQueueName, "queues"},
      {family::kBatch, "batches"},
      {family::kSchedule, "schedules"},
      {family::kUnique, "unique keys"},
      {family::kIdempotency, "idempotency keys"},
  }};
  std::string_view found;
  for (const auto& [family, name] : kFamilies) {
    CAIRN_RETURN_IF_ERROR(reader.Scan(store::Range::Prefix(Space::kJobs, family), {.limit = 1},
                                      [&, name = name](BytesView, BytesView) {
                                        if (found.empty()) found = name;
                                        return false;
                                      }));
  }
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Webhook> webhooks, LoadWebhooks(reader));
  if (!webhooks.empty() && found.empty()) found = "webhooks";
  if (found.empty()) return {};
  return Error{
      ErrorCode::kConflict,
      fmt::format("there are {} already: a dump can only be restored into an empty job queue",
                  found)};
}

std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Counts a line, or refuses it: it is wrong, or not in its place.
Result<void> Accept(std::string_view text, RestoreState& state) {
  const int64_t number = state.lines + 1;
  constexpr size_t kEnd = std::variant_size_v<DumpLine> - 1;
  const auto wrong = [&](std::string_view why) {
    return AtLine(number, Refuse(Reason::kValidation, why));
  };
  const Result<DumpLine> line = ParseLine(text);
  if (!line.ok()) return AtLine(number, line.error());
  if (number == 1 && line->index() != 0) return wrong("a dump begins with its header");
  if (number > 1 && line->index() == 0) return wrong("the header is the first line alone");
  if (number > 1 && state.kind == kEnd) return wrong("the dump was at its end");
  if (line->index() < state.kind) return wrong("this kind of line comes earlier in a dump");
  if (const auto* end = std::get_if<EndLine>(&*line)) {
    if (end->lines != state.lines || end->jobs != state.jobs) {
      return wrong(fmt::format("end: lines and jobs are {} and {}, but there were {} and {}",
                               end->lines, end->jobs, state.lines, state.jobs));
    }
  }
  state.kind = static_cast<uint8_t>(line->index());
  state.lines = number;
  if (std::holds_alternative<JobLine>(*line)) ++state.jobs;
  return {};
}

bool IsComplete(const RestoreState& state) {
  return state.lines > 0 && state.kind == std::variant_size_v<DumpLine> - 1;
}

// --- Carrying out --------------------------------------------------------------------------------

class Applier {
 public:
  Applier(Context& context, Pass pass)
      : transaction_(context.transaction), ledger_(context), pass_(pass) {}

  Result<void> Apply(const DumpLine& line) {
    return std::visit([&](const auto& its) { return ApplyLine(its); }, line);
  }
  Result<void> Finish() { return ledger_.Save(); }

 private:
  void PutInRows(const Bytes& key, BytesView value) {
    if (pass_ == Pass::kRows) transaction_.Put(InJobs(key), value);
  }

  Result<void> ApplyLine(const HeaderLine& /*line*/) { return {}; }
  Result<void> ApplyLine(const EndLine& /*line*/) { return {}; }

  Result<void> ApplyLine(const QueueLine& line) {
    if (pass_ == Pass::kRows) return PutQueue(line);
    CAIRN_ASSIGN_OR_RETURN(const auto state, LoadQueueState(transaction_, line.name));
    if (!state) return {};  // it was deleted meanwhile
    if (pass_ == Pass::kDue) {
      SetDueOfQueue(line, *state);
    } else {
      OpenQueue(line, *state);
    }
    return {};
  }

  // Closed to workers.
  Result<void> PutQueue(const QueueLine& line) {
    CAIRN_ASSIGN_OR_RETURN(QueueConfig config,
                           ParseQueueConfig(line.config.empty() ? "{}" : line.config));
    config.paused = true;
    transaction_.Put(InJobs(QueueNameKey(line.name)), {});
    transaction_.Put(InJobs(QueueConfigKey(line.name)), QueueConfigJson(config));
    transaction_.Put(InJobs(QueueStateKey(line.name)), EncodeQueueState(line.state));
    return {};
  }

  // What an operation has changed meanwhile, it has seen to.
  void SetDueOfQueue(const QueueLine& line, const QueueState& state) {
    if (state.retention_due_ns == line.state.retention_due_ns) {
      Due(state.retention_due_ns, DueKind::kRetention, line.name, {});
    }
    if (state.throttle_due_ns == line.state.throttle_due_ns) {
      Due(state.throttle_due_ns, DueKind::kThrottle, line.name, {});
    }
  }

  void OpenQueue(const QueueLine& line, QueueState state) {
    // A worker that somebody let in too early has moved the cursors past what came later.
    transaction_.Delete(InJobs(QueueCursorKey(line.name)));
    state.cursor_ns = {};
    transaction_.Put(InJobs(QueueStateKey(line.name)), EncodeQueueState(state));
    if (line.config.empty()) {
      transaction_.Delete(InJobs(QueueConfigKey(line.name)));
    } else {
      transaction_.Put(InJobs(QueueConfigKey(line.name)), line.config);
    }
    ledger_.WakeQueue(line.name);
  }

  Result<void> ApplyLine(const BatchLine& line) {
    PutInRows(BatchKey(line.id), line.document);
    if (pass_ != Pass::kDue) return {};
    CAIRN_ASSIGN_OR_RETURN(const auto batch, LoadBatch(transaction_, line.id));
    if (batch && batch->done) {
      const uint64_t kept_ns = static_cast<uint64_t>(kDefaultRetentionMs) * kNsPerMs;
      Due(batch->completed_ns + kept_ns, DueKind::kBatch, {}, line.id);
    }
    return {};
  }

  Result<void> ApplyLine(const GateLine& line) {
    PutInRows(GateKey(line.queue, line.gate, line.key), EncodeGateState(line.state));
    if (pass_ == Pass::kDue) Due(line.state.due_ns, DueKind::kKeyRate, line.queue, line.key);
    return {};
  }

  Result<void> ApplyLine(const StartLine& line) {
    PutInRows(line.key.empty() ? RateKey(line.queue, line.ns, line.serial)
                               : KeyRateKey(line.queue, line.key, line.ns, line.serial),
              {});
    return {};
  }

  Result<void> ApplyLine(const UniqueLockLine& line) {
    PutInRows(UniqueKey(line.queue, line.key), EncodeUniqueLock(line.job_id, line.expires_ns));
    return {};
  }

  Result<void> ApplyLine(const IdempotencyKeyLine& line) {
    PutInRows(IdempotencyKey(line.queue, line.key),
              EncodeIdempotencyRow({.job = line.job_id, .until_ns = line.until_ns}));
    if (pass_ == Pass::kDue) Due(line.until_ns, DueKind::kIdempotency, line.queue, line.key);
    return {};
  }

  Result<void> ApplyLine(const DependantLine& line) {
    PutInRows(DependentKey(line.job_id, line.waiting_id), {});
    return {};
  }

  Result<void> ApplyLine(const JobErrorLine& line) {
    PutInRows(JobErrorKey(line.job_id, static_cast<uint32_t>(line.attempt)), line.document);
    return {};
  }

  Result<void> ApplyLine(const JobLine& line) {
    if (pass_ == Pass::kRows) {
      Bytes value;
      if (line.job.state == State::kActive) AppendBig64(value, line.job.lease_expires_ns);
      transaction_.Put(InJobs(IndexKeyOf(line.job)), value);
      ledger_.Store(line.job);
    }
    if (pass_ != Pass::kDue) return {};
    CAIRN_ASSIGN_OR_RETURN(auto job, LoadJob(transaction_, line.job.id));
    if (!job) return {};  // it was deleted meanwhile
    ledger_.Tell(EventType::kUpdated, *job, R"({"restored":true})");
    // What an operation has changed meanwhile, it has seen to.
    const bool same = job->state == line.job.state && job->index_ns == line.job.index_ns &&
                      job->lease_expires_ns == line.job.lease_expires_ns &&
                      job->expire_ns == line.job.expire_ns && job->queue == line.job.queue;
    if (same) SetDueRows(*job);
    return {};
  }

  Result<void> ApplyLine(const ScheduleLine& line) {
    if (pass_ != Pass::kOpen) return {};
    CAIRN_ASSIGN_OR_RETURN(const Schedule schedule, ParseSchedule(line.id, line.document));
    transaction_.Put(InJobs(ScheduleKey(line.id)), line.document);
    Due(schedule.next_run_ns, DueKind::kSchedule, schedule.queue, schedule.id);
    return {};
  }

  Result<void> ApplyLine(const WebhookLine& line) {
    if (pass_ != Pass::kOpen) return {};
    return PutWebhook(transaction_, line.webhook);
  }

  void SetDueRows(Job& job) {
    if (job.state == State::kActive) {
      ledger_.Relet(job, job.lease_expires_ns);
      return;
    }
    if (IsFinished(job.state)) return;
    if (job.state == State::kScheduled || job.state == State::kRetrying) {
      Due(job.index_ns, DueKind::kPromote, job.queue, job.id);
    }
    Due(job.expire_ns, DueKind::kExpire, job.queue, job.id);
  }

  void Due(uint64_t due_ns, DueKind kind, std::string_view queue, std::string_view name) {
    if (due_ns != 0) SetDue(transaction_, due_ns, kind, queue, name);
  }

  store::Transaction& transaction_;
  Ledger ledger_;
  const Pass pass_;
};

// --- All of it -----------------------------------------------------------------------------------

class Restorer {
 public:
  explicit Restorer(store::Store& store) : store_(store) {}

  Result<RestoreReport> Run(int64_t first_line, std::string_view text) {
    CAIRN_ASSIGN_OR_RETURN(const auto before, CurrentState());
    if (!before || before->pass == Pass::kTake) {
      CAIRN_ASSIGN_OR_RETURN(const RestoreState taken, Take(first_line, text, before));
      if (!IsComplete(taken)) {
        CAIRN_RETURN_IF_ERROR(store_.Durable(commit_));
        return RestoreReport{.lines = taken.lines, .jobs = taken.jobs};
      }
      CAIRN_RETURN_IF_ERROR(CheckCounts(taken));
      CAIRN_RETURN_IF_ERROR(BeginApplying());
    }
    return Apply();
  }

 private:
  Result<std::optional<RestoreState>> CurrentState() {
    CAIRN_ASSIGN_OR_RETURN(const auto snapshot, store_.Read());
    return LoadState(*snapshot);
  }

  template <typename Body>
  Result<void> Change(const store::Scopes& scopes, const Body& body) {
    CAIRN_ASSIGN_OR_RETURN(commit_, store_.Run(scopes, body));
    return {};
  }

  static store::Scopes TakingScopes() {
    store::Scopes scopes;
    scopes.Add(Space::kJobs, kLineFamily);
    return scopes;
  }

  // Drops the lines that were put aside, and says `error`.
  Error GiveUp(const Error& error) {
    (void)Change(TakingScopes(), [](store::Transaction& transaction) -> Result<void> {
      transaction.DeleteRange(store::Range::Prefix(Space::kJobs, kLineFamily));
      transaction.Delete(InJobs(kStateKey));
      return {};
    });
    return error;
  }

  Result<RestoreState> Take(int64_t first_line, std::string_view text,
                            const std::optional<RestoreState>& before) {
    RestoreState state;
    if (first_line == 1) {
      if (text.empty()) return Refuse(Reason::kValidation, "line 1: the dump is empty");
      CAIRN_ASSIGN_OR_RETURN(const auto snapshot, store_.Read());
      CAIRN_RETURN_IF_ERROR(CheckEmpty(*snapshot));
      CAIRN_RETURN_IF_ERROR(Change(TakingScopes(), [](store::Transaction& transaction) {
        transaction.DeleteRange(store::Range::Prefix(Space::kJobs, kLineFamily));
        PutState(transaction, RestoreState());
        return Result<void>();
      }));
    } else if (before) {
      state = *before;
    }
    if (first_line > state.lines + 1) {
      return Error{ErrorCode::kConflict, fmt::format("expected line {} next", state.lines + 1)};
    }
    std::vector<std::string_view> lines = SplitLines(text);
    const auto known = static_cast<size_t>(state.lines + 1 - first_line);
    lines.erase(lines.begin(),
                lines.begin() + static_cast<ptrdiff_t>(std::min(known, lines.size())));
    // All are looked at before any is put aside.
    std::vector<RestoreState> states = {state};  // before each line, and behind the last
    for (const std::string_view line : lines) {
      RestoreState after = states.back();
      const Result<void> accepted = Accept(line, after);
      if (!accepted.ok()) return GiveUp(accepted.error());
      states.push_back(after);
    }
    CAIRN_RETURN_IF_ERROR(PutAside(lines, states));
    return states.back();
  }

  Result<void> PutAside(std::span<const std::string_view> lines,
                        std::span<const RestoreState> states) {
    for (size_t at = 0; at < lines.size();) {
      size_t end = at;
      for (size_t bytes = 0; end < lines.size() && end - at < kLinesAtOnce && bytes < kBytesAtOnce;
           ++end) {
        bytes += lines[end].size();
      }
      CAIRN_RETURN_IF_ERROR(Change(TakingScopes(), [&](store::Transaction& transaction) {
        return PutChunk(transaction, states[at], states[end], lines.subspan(at, end - at));
      }));
      at = end;
    }
    return {};
  }

  static Result<void> PutChunk(store::Transaction& transaction, const RestoreState& before,
                               const RestoreState& after, std::span<const std::string_view> lines) {
    CAIRN_ASSIGN_OR_RETURN(const auto current, LoadState(transaction));
    if (!current || current->pass != Pass::kTake || current->lines != before.lines) {
      return Error{ErrorCode::kConflict, "another restore is running"};
    }
    int64_t number = before.lines;
    for (const std::string_view line : lines) transaction.Put(InJobs(LineKey(++number)), line);
    PutState(transaction, after);
    return {};
  }

  // Calls `visit` with the lines from `next` on, as many as fit one transaction; gives the line
  // behind them.
  template <typename Visit>
  static Result<int64_t> VisitLines(store::Reader& reader, int64_t next, const Visit& visit) {
    store::Range range = store::Range::Prefix(Space::kJobs, kLineFamily);
    range.begin = LineKey(next);
    std::vector<Bytes> lines;
    size_t bytes = 0;
    CAIRN_RETURN_IF_ERROR(
        reader.Scan(range, {.limit = kLinesAtOnce}, [&](BytesView /*key*/, BytesView value) {
          lines.emplace_back(value);
          bytes += value.size();
          return bytes < kBytesAtOnce;
        }));
    for (const Bytes& text : lines) {
      const Result<DumpLine> line = ParseLine(text);
      if (!line.ok()) return AtLine(next, line.error());
      CAIRN_RETURN_IF_ERROR(visit(*line));
      ++next;
    }
    return next;
  }

  // The counts of each queue are those of its jobs: else somebody has changed the dump, and what
  // came of it would not be sound.
  Result<void> CheckCounts(const RestoreState& state) {
    std::map<std::string, std::array<int64_t, kStates>, std::less<>> missing;
    const auto count = [&](const DumpLine& line) -> Result<void> {
      if (const auto* queue = std::get_if<QueueLine>(&line)) {
        missing[queue->name] = queue->state.counts;
      }
      if (const auto* job = std::get_if<JobLine>(&line)) {
        --missing[job->job.queue][static_cast<size_t>(job->job.state)];
      }
      return {};
    };
    CAIRN_ASSIGN_OR_RETURN(const auto snapshot, store_.Read());
    for (int64_t next = 1; next <= state.lines;) {
      CAIRN_ASSIGN_OR_RETURN(next, VisitLines(*snapshot, next, count));
    }
    for (const auto& [name, counts] : missing) {
      for (size_t i = 0; i < kStates; ++i) {
        if (counts[i] == 0) continue;
        return GiveUp(Refuse(Reason::kValidation,
                             fmt::format("queue {}: counts has {} {} jobs more than the dump", name,
                                         counts[i], StateName(static_cast<State>(i)))));
      }
    }
    return {};
  }

  Result<void> BeginApplying() {
    const auto begin = [](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(auto state, LoadState(transaction));
      if (!state || !IsComplete(*state)) {
        return Error{ErrorCode::kConflict, "another restore is running"};
      }
      if (state->pass != Pass::kTake) return {};
      CAIRN_RETURN_IF_ERROR(CheckEmpty(transaction));
      state->pass = Pass::kRows;
      PutState(transaction, *state);
      return {};
    };
    const Result<void> begun = Change(store::Scopes::Exclusive(), begin);
    return begun.ok() || begun.error().code != ErrorCode::kConflict ? begun : GiveUp(begun.error());
  }

  Result<RestoreReport> Apply() {
    RestoreReport report{.finished = true};
    for (bool more = true; more;) {
      CAIRN_RETURN_IF_ERROR(
          Change(store::Scopes::Exclusive(), [&](store::Transaction& transaction) -> Result<void> {
            CAIRN_ASSIGN_OR_RETURN(more, Step(transaction, report));
            return {};
          }));
    }
    CAIRN_RETURN_IF_ERROR(store_.Durable(commit_));
    CAIRN_ASSIGN_OR_RETURN(const auto snapshot, store_.Read());
    CAIRN_ASSIGN_OR_RETURN(report.verify, Verify(*snapshot));
    return report;
  }

  // One transaction of the restore; whether there is more to do.
  static Result<bool> Step(store::Transaction& transaction, RestoreReport& report) {
    CAIRN_ASSIGN_OR_RETURN(auto state, LoadState(transaction));
    if (!state) return false;  // somebody else has finished it
    report.lines = state->lines;
    report.jobs = state->jobs;
    if (state->pass == Pass::kClean) {
      const int64_t end = std::min<int64_t>(state->next + kLinesAtOnce, state->lines + 1);
      transaction.DeleteRange({Space::kJobs, LineKey(state->next), LineKey(end)});
      state->next = end;
    } else {
      Held held = Held::Everything();
      Context context{transaction, held};
      Applier applier(context, state->pass);
      const auto apply = [&](const DumpLine& line) { return applier.Apply(line); };
      CAIRN_ASSIGN_OR_RETURN(state->next, VisitLines(transaction, state->next, apply));
      CAIRN_RETURN_IF_ERROR(applier.Finish());
    }
    if (state->next <= state->lines) {
      PutState(transaction, *state);
      return true;
    }
    if (state->pass == Pass::kClean) {
      transaction.Delete(InJobs(kStateKey));
      return false;
    }
    state->pass = static_cast<Pass>(static_cast<uint8_t>(state->pass) + 1);
    state->next = 1;
    PutState(transaction, *state);
    return true;
  }

  store::Store& store_;
  store::Commit commit_;  // the last
};

}  // namespace

Result<bool> IsRestoring(store::Reader& reader) {
  CAIRN_ASSIGN_OR_RETURN(const auto state, LoadState(reader));
  return state && state->pass != Pass::kTake;
}

Result<RestoreReport> Restore(store::Store& store, int64_t first_line, std::string_view text) {
  return Restorer(store).Run(first_line, text);
}

}  // namespace cairn::jobs
