#include "jobs/ledger/lease_rows.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "base/check.h"

namespace cairn::jobs {
namespace {

constexpr auto kKind = static_cast<uint8_t>(DueKind::kLease);

Bytes EncodeLeaseRow(std::span<const std::string> jobs) {
  Bytes out;
  out.reserve(jobs.size() * 40);
  for (const std::string& job : jobs) {
    CAIRN_CHECK(!job.empty() && job.size() <= std::numeric_limits<uint16_t>::max(), "{} bytes",
                job.size());
    AppendBig16(out, static_cast<uint16_t>(job.size()));
    out.append(job);
  }
  return out;
}

}  // namespace

Bytes LeaseRowKey(const Job& job) {
  return DueKey(job.lease_expires_ns, kKind, job.queue,
                job.lease_sharers == 0 ? job.id : FormatToken(job.lease_token));
}

std::vector<std::string> DecodeLeaseRow(BytesView value) {
  std::vector<std::string> jobs;
  BytesReader reader(value);
  while (reader.ok() && !reader.AtEnd()) {
    const uint16_t size = reader.Big16();
    jobs.emplace_back(reader.Take(size));
  }
  return jobs;
}

LeaseRows::Shared& LeaseRows::SharedOf(const Job& job) {
  CAIRN_CHECK(job.lease_sharers > 0 && job.lease_token != 0, "{} shares its lease with nobody",
              job.id);
  // Jobs come as they were given out: most often it is the last one.
  const auto found = std::find_if(shared_.rbegin(), shared_.rend(), [&](const Shared& shared) {
    return shared.token == job.lease_token && shared.due_ns == job.lease_expires_ns &&
           shared.queue == job.queue;
  });
  if (found != shared_.rend()) return *found;
  return shared_.emplace_back(
      Shared{job.lease_token, job.lease_expires_ns, job.queue, job.lease_sharers, {}, {}});
}

void LeaseRows::Set(const Job& job) {
  if (job.lease_sharers == 0) {
    due_.Set(job.lease_expires_ns, DueKind::kLease, job.queue, job.id);
  } else {
    SharedOf(job).added.push_back(job.id);
  }
}

void LeaseRows::Release(Job& job) {
  if (job.lease_sharers == 0) {
    due_.Cancel(job.lease_expires_ns, DueKind::kLease, job.queue, job.id);
  } else {
    SharedOf(job).released.push_back(job.id);
    job.lease_sharers = 0;
  }
}

Result<void> LeaseRows::Save() {
  for (Shared& shared : std::exchange(shared_, {})) {
    const std::string name = FormatToken(shared.token);
    std::vector<std::string> jobs = std::move(shared.added);
    CAIRN_CHECK(static_cast<int64_t>(shared.released.size()) <= shared.sharers, "{} of {}",
                shared.released.size(), shared.sharers);
    const bool all_released = static_cast<int64_t>(shared.released.size()) == shared.sharers;
    if (jobs.empty() && !all_released) {
      const Bytes key = DueKey(shared.due_ns, kKind, shared.queue, name);
      CAIRN_ASSIGN_OR_RETURN(const auto row, transaction_.Get(InJobs(key)));
      if (row) jobs = DecodeLeaseRow(*row);
    }
    std::erase_if(jobs, [&](const std::string& job) {
      return std::ranges::find(shared.released, job) != shared.released.end();
    });
    if (jobs.empty()) {
      due_.Cancel(shared.due_ns, DueKind::kLease, shared.queue, name);
    } else {
      due_.Set(shared.due_ns, DueKind::kLease, shared.queue, name, EncodeLeaseRow(jobs));
    }
  }
  return {};
}

}  // namespace cairn::jobs
