#include "functions/codeq/access.h"

#include <memory>
#include <utility>

#include "doors/turn/line_wait.h"
#include "doors/turn/work.h"
#include "jobs/operations/fetch.h"

namespace cairn::functions::codeq {
namespace {

using boost::asio::awaitable;

class LockedWork final : public doors::Work {
 public:
  LockedWork(jobs::StoreAccess access_of, Locks locks, const jobs::ChangeBody& body)
      : caller_(access_of), locks_(std::move(locks)), body_(body) {
    scopes = locks_.ToScopes();
    access = store::Access::kWrite;
    held.exclusive = locks_.lanes.everything();
  }
  Result<void> Run(store::Transaction& transaction) override {
    return jobs::RunUnder(locks_.lanes, held, transaction, caller_.queues(), body_);
  }

 private:
  const jobs::StoreAccess caller_;
  const Locks locks_;
  const jobs::ChangeBody& body_;
};

// One claim, by whoever runs it: the waiting consumer, or a commit that has messages for it.
class ClaimWork final : public doors::Work {
 public:
  ClaimWork(std::shared_ptr<const doors::Principal> principal, const ClaimRequest& request)
      : principal_(std::move(principal)), request_(request) {
    AddClaimScopes(request_, locks_);
    scopes = locks_.ToScopes();
    access = store::Access::kWrite;
  }

  Result<void> Run(store::Transaction& transaction) override {
    messages_.clear();
    if (principal_ != nullptr && principal_->ended()) return InOurWords(jobs::KeyEnded());
    const auto claim = [this](jobs::Context& context) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(messages_, Claim(context, request_));
      return {};
    };
    return jobs::RunUnder(locks_.lanes, held, transaction, jobs::QueuesOf(principal_.get()), claim);
  }
  bool found() const override { return !messages_.empty(); }

  std::vector<Message> TakeMessages() { return std::move(messages_); }

 private:
  const std::shared_ptr<const doors::Principal> principal_;
  const ClaimRequest request_;
  Locks locks_;
  std::vector<Message> messages_;
};

}  // namespace

awaitable<Result<void>> Change(jobs::StoreAccess access, Locks locks,
                               const jobs::ChangeBody& body) {
  if (access.ended()) co_return InOurWords(jobs::KeyEnded());
  LockedWork work(access, std::move(locks), body);
  const Result<void> done = co_await access.store.Run(work);
  co_return InOurWords(done);
}

awaitable<Result<std::vector<Message>>> TakeMessages(const jobs::Fetcher& fetcher,
                                                     const ClaimRequest& request) {
  ClaimWork work(fetcher.principal, request);
  const Result<void> done = co_await fetcher.store.Run(work);
  if (!done.ok()) co_return InOurWords(done.error());
  co_return work.TakeMessages();
}

awaitable<Result<std::vector<Message>>> AwaitMessages(
    const jobs::Fetcher& fetcher, const ClaimRequest& request,
    std::chrono::steady_clock::time_point deadline) {
  const auto make_work = [principal = fetcher.principal,
                          request]() -> std::unique_ptr<doors::Work> {
    return std::make_unique<ClaimWork>(principal, request);
  };
  // The same kind as a worker's fetch: both take the next job of the line.
  doors::LineWait line(fetcher.store, jobs::FetchTopics(request.topics),
                       {.name = "jobs", .takes = true}, make_work);
  const Result<std::shared_ptr<doors::Work>> served = co_await line.Served(deadline);
  if (!served.ok()) co_return InOurWords(served.error());
  if (*served == nullptr) co_return std::vector<Message>();
  co_return static_cast<ClaimWork&>(**served).TakeMessages();
}

awaitable<void> GiveBack(jobs::StoreAccess access, const std::vector<Message>& messages) {
  std::vector<jobs::Job> jobs;
  jobs.reserve(messages.size());
  for (const Message& message : messages) jobs.push_back(message.job);
  co_await jobs::GiveBack(access, jobs);
}

}  // namespace cairn::functions::codeq
