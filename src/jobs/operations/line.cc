#include "jobs/operations/line.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "jobs/ledger/ledger.h"

namespace cairn::jobs {
namespace {

using store::Space;

constexpr std::array kPriorities = {Priority::kCritical, Priority::kHigh, Priority::kNormal};

// The keys of a line behind what was taken before.
Result<store::Range> LineFrom(store::Reader& reader, std::string_view queue,
                              const QueueState& state, Priority priority) {
  if (priority == Priority::kNormal) {
    store::Range range = store::Range::Prefix(Space::kJobs, NamedPrefix(family::kAppend, queue));
    CAIRN_ASSIGN_OR_RETURN(auto cursor, reader.Get(InJobs(QueueCursorKey(queue))));
    if (cursor) {
      cursor->push_back('\0');
      range.begin = std::move(*cursor);
    }
    return range;
  }
  Bytes prefix = NamedPrefix(family::kPending, queue);
  prefix.push_back(static_cast<char>(priority));
  store::Range range = store::Range::Prefix(Space::kJobs, prefix);
  AppendBig64(range.begin, state.cursor_ns[static_cast<size_t>(priority)] + 1);
  return range;
}

}  // namespace

Result<LineHead> PeekLine(store::Reader& reader, std::string_view queue, const QueueState& state,
                          Priority priority, size_t count) {
  CAIRN_ASSIGN_OR_RETURN(const store::Range range, LineFrom(reader, queue, state, priority));
  LineHead taken;
  taken.jobs.reserve(count);
  const auto add = [&](BytesView key, uint64_t ns, std::string_view job) {
    taken.jobs.emplace_back(job);
    taken.last_key.assign(key);
    taken.last_ns = ns;
  };
  CAIRN_RETURN_IF_ERROR(reader.Scan(range, {.limit = count}, [&](BytesView key, BytesView) {
    if (priority == Priority::kNormal) {
      if (const auto row = DecodeTimedKey(family::kAppend, key)) add(key, row->ns, row->job);
    } else if (const auto row = DecodePendingKey(key)) {
      add(key, row->ns, row->job);
    }
    return true;
  }));
  return taken;
}

Result<LineLook> LookAtLine(Context& context, const std::string& queue) {
  Ledger ledger(context);
  LineLook look;
  CAIRN_ASSIGN_OR_RETURN(Ledger::Queue* const found, ledger.QueueOf(queue));
  if (!found->exists) return look;
  CAIRN_ASSIGN_OR_RETURN(const QueueConfig* const config, ledger.ConfigOf(*found));
  if (config->paused) return look;
  for (const int64_t in_line : found->state.line) look.ready += in_line;
  CAIRN_ASSIGN_OR_RETURN(look.oldest_ns, OldestInLine(context.transaction, queue, found->state));
  return look;
}

Result<uint64_t> OldestInLine(store::Reader& reader, std::string_view queue,
                              const QueueState& state) {
  uint64_t oldest_ns = 0;
  for (const Priority priority : kPriorities) {
    if (state.line[static_cast<size_t>(priority)] == 0) continue;
    CAIRN_ASSIGN_OR_RETURN(const LineHead first, PeekLine(reader, queue, state, priority, 1));
    if (first.jobs.empty()) continue;
    oldest_ns = oldest_ns == 0 ? first.last_ns : std::min(oldest_ns, first.last_ns);
  }
  return oldest_ns;
}

}  // namespace cairn::jobs
