#include "jobs/operations/store_access.h"

#include <utility>

#include "doors/turn/work.h"
#include "jobs/model/refusal.h"

namespace cairn::jobs {
namespace {

using boost::asio::awaitable;

class ChangeWork final : public doors::Work {
 public:
  ChangeWork(StoreAccess access_of, Held lanes, const ChangeBody& body)
      : caller_(access_of), lanes_(std::move(lanes)), body_(body) {
    lanes_.AddTo(scopes);
    access = store::Access::kWrite;
    held.exclusive = lanes_.everything();
  }
  Result<void> Run(store::Transaction& transaction) override {
    return RunUnder(lanes_, held, transaction, caller_.queues(), body_);
  }

 private:
  const StoreAccess caller_;
  const Held lanes_;
  const ChangeBody& body_;
};

}  // namespace

Result<void> RunUnder(Held lanes, doors::HeldScopes& held, store::Transaction& transaction,
                      const doors::NamePatterns* queues, const ChangeBody& body) {
  held.wanted.Clear();
  if (held.exclusive) lanes = Held::Everything();
  Context context{transaction, lanes, queues};
  Result<void> done = body(context);
  if (!done.ok() && lanes.wants_everything) return held.Require(store::Scopes::Exclusive());
  return done;
}

Error KeyEnded() { return Refuse(Reason::kForbidden, "the key is no longer valid"); }

awaitable<Result<void>> Change(StoreAccess access, Held held, const ChangeBody& body) {
  if (access.ended()) co_return KeyEnded();
  ChangeWork work(access, std::move(held), body);
  co_return co_await access.store.Run(work);
}

awaitable<Result<void>> ChangeOnPool(StoreAccess access, Held held, const ChangeBody& body) {
  if (access.ended()) co_return KeyEnded();
  ChangeWork work(access, std::move(held), body);
  co_return co_await access.store.RunOnPool(work);
}

awaitable<Result<void>> Look(StoreAccess access, const Held& held, const LookBody& body) {
  if (access.ended()) co_return KeyEnded();
  const store::Scopes scopes = held.ToScopes();
  co_return co_await access.store.Read(scopes, body);
}

}  // namespace cairn::jobs
