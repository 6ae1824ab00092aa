#include "jobs/dump/dump.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "base/time_text.h"
#include "jobs/dump/dump_line.h"

namespace cairn::jobs {
namespace {

using store::Space;

// What Next gives at a time, and what it reads for it.
constexpr size_t kPieceBytes = 256 * 1024;
constexpr size_t kRowsAtOnce = 500;

struct Row {
  Bytes key;
  Bytes value;
};

Error NoSuchRow(BytesView key) {
  return {ErrorCode::kCorruption, fmt::format("the row {} cannot be read", Printable(key, 160))};
}

// --- A row as a line -----------------------------------------------------------------------------

Result<DumpLine> QueueOf(store::Reader& reader, const Row& row) {
  const auto name = DecodeNameKey(family::kQueueState, row.key);
  auto state = DecodeQueueState(row.value);
  if (!name || !state) return NoSuchRow(row.key);
  state->cursor_ns = {};
  CAIRN_ASSIGN_OR_RETURN(auto config, reader.Get(InJobs(QueueConfigKey(*name))));
  return DumpLine(QueueLine{
      .name = std::string(*name), .config = std::move(config).value_or(Bytes()), .state = *state});
}

Result<DumpLine> BatchOf(store::Reader& /*reader*/, const Row& row) {
  const auto id = DecodeNameKey(family::kBatch, row.key);
  if (!id) return NoSuchRow(row.key);
  return DumpLine(BatchLine{.id = std::string(*id), .document = row.value});
}

Result<DumpLine> GateOf(store::Reader& /*reader*/, const Row& row) {
  const auto name = DecodeGateKey(row.key);
  const auto state = DecodeGateState(row.value);
  if (!name || !state) return NoSuchRow(row.key);
  return DumpLine(GateLine{.queue = std::string(name->queue),
                           .gate = name->gate,
                           .key = std::string(name->key),
                           .state = *state});
}

// queue 00 [key 00] ns:8 serial:8
Result<DumpLine> StartIn(const Row& row, std::string_view family, bool has_key) {
  constexpr size_t kTail = 16;
  const BytesView names = BytesView(row.key).substr(family.size());
  const size_t queue_end = names.find('\0');
  if (names.size() < kTail || queue_end >= names.size() - kTail) return NoSuchRow(row.key);
  StartLine line{.queue = std::string(names.substr(0, queue_end))};
  if (has_key) {
    const BytesView rest = names.substr(queue_end + 1);
    if (rest.size() < kTail + 1) return NoSuchRow(row.key);
    line.key = rest.substr(0, rest.size() - kTail - 1);
  }
  BytesReader tail(names.substr(names.size() - kTail));
  line.ns = tail.Big64();
  line.serial = tail.Big64();
  return DumpLine(std::move(line));
}
Result<DumpLine> StartOf(store::Reader& /*reader*/, const Row& row) {
  return StartIn(row, family::kRate, false);
}
Result<DumpLine> KeyStartOf(store::Reader& /*reader*/, const Row& row) {
  return StartIn(row, family::kKeyRate, true);
}

Result<DumpLine> UniqueLockOf(store::Reader& /*reader*/, const Row& row) {
  const auto names = DecodePairKey(family::kUnique, row.key);
  const auto lock = DecodeUniqueLock(row.value);
  if (!names || !lock) return NoSuchRow(row.key);
  return DumpLine(UniqueLockLine{.queue = std::string(names->first),
                                 .key = std::string(names->second),
                                 .job_id = lock->job,
                                 .expires_ns = lock->expires_ns});
}

Result<DumpLine> IdempotencyOf(store::Reader& /*reader*/, const Row& row) {
  const auto names = DecodePairKey(family::kIdempotency, row.key);
  if (!names) return NoSuchRow(row.key);
  IdempotencyRow value = DecodeIdempotencyRow(row.value);
  return DumpLine(IdempotencyKeyLine{.queue = std::string(names->first),
                                     .key = std::string(names->second),
                                     .job_id = std::move(value.job),
                                     .until_ns = value.until_ns});
}

Result<DumpLine> DependantOf(store::Reader& /*reader*/, const Row& row) {
  const auto names = DecodePairKey(family::kDependent, row.key);
  if (!names) return NoSuchRow(row.key);
  return DumpLine(
      DependantLine{.job_id = std::string(names->first), .waiting_id = std::string(names->second)});
}

Result<DumpLine> JobErrorOf(store::Reader& /*reader*/, const Row& row) {
  const auto attempt = DecodeErrorAttempt(row.key);
  const BytesView name = BytesView(row.key).substr(family::kJobError.size());
  if (!attempt) return NoSuchRow(row.key);
  return DumpLine(JobErrorLine{.job_id = std::string(name.substr(0, name.find('\0'))),
                               .attempt = *attempt,
                               .document = row.value});
}

Result<DumpLine> JobOf(store::Reader& /*reader*/, const Row& row) {
  const auto id = DecodeNameKey(family::kJob, row.key);
  if (!id) return NoSuchRow(row.key);
  CAIRN_ASSIGN_OR_RETURN(Job job, DecodeJob(*id, row.value));
  job.lease_sharers = 0;  // its due row will be its own
  return DumpLine(JobLine{.job = std::move(job)});
}

Result<DumpLine> ScheduleOf(store::Reader& /*reader*/, const Row& row) {
  const auto id = DecodeNameKey(family::kSchedule, row.key);
  if (!id) return NoSuchRow(row.key);
  return DumpLine(ScheduleLine{.id = std::string(*id), .document = row.value});
}

struct Section {
  std::string_view family;
  Result<DumpLine> (*to_line)(store::Reader&, const Row&);
};
// In the order of DumpLine. Jobs come after all that belongs to them.
constexpr std::array kSections = {
    Section{family::kQueueState, QueueOf},
    Section{family::kBatch, BatchOf},
    Section{family::kGate, GateOf},
    Section{family::kRate, StartOf},
    Section{family::kKeyRate, KeyStartOf},
    Section{family::kUnique, UniqueLockOf},
    Section{family::kIdempotency, IdempotencyOf},
    Section{family::kDependent, DependantOf},
    Section{family::kJobError, JobErrorOf},
    Section{family::kJob, JobOf},
    Section{family::kSchedule, ScheduleOf},
};

// Only what comes back as it was goes out.
Result<void> AppendLine(const DumpLine& line, std::string& out) {
  const std::string text = FormatLine(line);
  const Result<DumpLine> back = ParseLine(text);
  if (!back.ok() || *back != line) {
    return Error{ErrorCode::kCorruption,
                 fmt::format("this cannot be restored as it is: {} ({})", Printable(text, 200),
                             back.ok() ? "something is lost" : back.error().message)};
  }
  out.append(text).push_back('\n');
  return {};
}

}  // namespace

Result<Dump> Dump::Begin(std::unique_ptr<store::Snapshot> snapshot) {
  CAIRN_ASSIGN_OR_RETURN(const bool restoring, IsRestoring(*snapshot));
  if (restoring) return Error{ErrorCode::kConflict, "a restore is running"};
  return Dump(std::move(snapshot));
}

Result<std::string> Dump::Next() {
  std::string out;
  if (!std::exchange(begun_, true)) {
    const auto now_ns = static_cast<uint64_t>(snapshot_->now().us) * 1000;
    CAIRN_RETURN_IF_ERROR(AppendLine(HeaderLine{.format = std::string(kDumpFormat),
                                                .version = kDumpVersion,
                                                .exported_at = FormatTime(now_ns)},
                                     out));
    ++lines_;
  }
  while (out.size() < kPieceBytes && section_ < kSections.size()) {
    CAIRN_RETURN_IF_ERROR(AddRows(out));
  }
  if (section_ < kSections.size() || std::exchange(ended_, true)) return out;
  CAIRN_RETURN_IF_ERROR(AddWebhooks(out));
  CAIRN_RETURN_IF_ERROR(AppendLine(EndLine{.lines = lines_, .jobs = jobs_}, out));
  return out;
}

Result<void> Dump::AddRows(std::string& out) {
  const Section& section = kSections[section_];
  store::Range range = store::Range::Prefix(Space::kJobs, section.family);
  if (!after_.empty()) range.begin = after_ + '\0';
  std::vector<Row> rows;
  size_t bytes = out.size();
  bool more = false;
  const store::ScanOptions options{.limit = kRowsAtOnce + 1};
  CAIRN_RETURN_IF_ERROR(snapshot_->Scan(range, options, [&](BytesView key, BytesView value) {
    more = bytes >= kPieceBytes || rows.size() == kRowsAtOnce;
    if (more) return false;
    rows.push_back({Bytes(key), Bytes(value)});
    bytes += key.size() + value.size();
    return true;
  }));
  for (const Row& row : rows) {
    CAIRN_ASSIGN_OR_RETURN(const DumpLine line, section.to_line(*snapshot_, row));
    CAIRN_RETURN_IF_ERROR(AppendLine(line, out));
    ++lines_;
    if (std::holds_alternative<JobLine>(line)) ++jobs_;
  }
  if (more) {
    if (!rows.empty()) after_ = std::move(rows.back().key);
  } else {
    ++section_;
    after_.clear();
  }
  return {};
}

Result<void> Dump::AddWebhooks(std::string& out) {
  CAIRN_ASSIGN_OR_RETURN(std::vector<Webhook> webhooks, LoadWebhooks(*snapshot_));
  for (Webhook& webhook : webhooks) {
    CAIRN_RETURN_IF_ERROR(AppendLine(WebhookLine{.webhook = std::move(webhook)}, out));
    ++lines_;
  }
  return {};
}

}  // namespace cairn::jobs
