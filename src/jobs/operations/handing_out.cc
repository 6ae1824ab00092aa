#include "jobs/operations/handing_out.h"

#include <utility>

#include "doors/turn/line_wait.h"
#include "doors/turn/work.h"
#include "jobs/model/refusal.h"
#include "jobs/operations/actions.h"
#include "jobs/operations/lease.h"

namespace cairn::jobs {

using boost::asio::awaitable;

namespace {

// One fetch, by whoever runs it: the waiting worker, or a commit that has jobs for it.
class FetchWork final : public doors::Work {
 public:
  FetchWork(std::shared_ptr<const doors::Principal> principal, const FetchRequest& request)
      : principal_(std::move(principal)), request_(request) {
    AddFetchScopes(request_, lanes_);
    lanes_.AddTo(scopes);
    access = store::Access::kWrite;
  }

  Result<void> Run(store::Transaction& transaction) override {
    jobs_.clear();
    if (principal_ != nullptr && principal_->ended()) return KeyEnded();
    const auto fetch = [this](Context& context) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(jobs_, Fetch(context, request_));
      return {};
    };
    return RunUnder(lanes_, held, transaction, QueuesOf(principal_.get()), fetch);
  }
  bool found() const override { return !jobs_.empty(); }

  std::vector<Job> TakeJobs() { return std::move(jobs_); }

 private:
  const std::shared_ptr<const doors::Principal> principal_;
  const FetchRequest request_;
  Held lanes_;
  std::vector<Job> jobs_;
};

}  // namespace

awaitable<Result<std::vector<Job>>> TakeJobs(const Fetcher& fetcher, const FetchRequest& request) {
  FetchWork work(fetcher.principal, request);
  const Result<void> done = co_await fetcher.store.Run(work);
  if (!done.ok()) co_return done.error();
  co_return work.TakeJobs();
}

awaitable<Result<std::vector<Job>>> AwaitJobs(const Fetcher& fetcher, const FetchRequest& request,
                                              std::chrono::steady_clock::time_point deadline) {
  const auto make_work = [principal = fetcher.principal,
                          request]() -> std::unique_ptr<doors::Work> {
    return std::make_unique<FetchWork>(principal, request);
  };
  doors::LineWait line(fetcher.store, FetchTopics(request.queues), {.name = "jobs", .takes = true},
                       make_work);
  const Result<std::shared_ptr<doors::Work>> served = co_await line.Served(deadline);
  if (!served.ok()) co_return served.error();
  if (*served == nullptr) co_return std::vector<Job>();
  co_return static_cast<FetchWork&>(**served).TakeJobs();
}

awaitable<void> GiveBack(StoreAccess access, const std::vector<Job>& jobs) {
  if (jobs.empty()) co_return;
  Held held;
  for (const Job& job : jobs) AddJobScopes(job.id, held);
  const ChangeBody body = [&](Context& context) -> Result<void> {
    for (const Job& job : jobs) {
      const Result<uint64_t> back =
          Snooze(context, {.id = job.id, .token = job.lease_token}, /*delay_ms=*/0);
      // Cancelled or deleted meanwhile, say: then there is nothing to put back.
      if (!back.ok() && FindReason(back.error()) == nullptr) return back.error();
    }
    return {};
  };
  const Result<void> done = co_await Change(access, std::move(held), body);
  if (!done.ok()) co_return;  // their leases will lapse
}

}  // namespace cairn::jobs
