#include "functions/control/store_access.h"

#include <utility>

#include "doors/turn/work.h"

namespace cairn::functions {
namespace {

using boost::asio::awaitable;

Context ContextOf(const StoreAccess& access, store::Transaction& transaction,
                  doors::HeldScopes* held) {
  const doors::Grants* const grants =
      access.principal == nullptr ? nullptr : access.principal->grants();
  return {.transaction = transaction,
          .names = FunctionsOf(access.principal.get()),
          .queues = doors::NamesOf(grants, kQueueKind),
          .reads_all_keys = grants == nullptr,
          .has_everything = grants == nullptr,
          .held = held,
          .secrets = access.secrets,
          .random = access.random};
}

class OperationWork final : public doors::Work {
 public:
  OperationWork(StoreAccess access_of, store::Scopes first, const OperationBody& body)
      : caller_(std::move(access_of)), body_(body) {
    scopes = std::move(first);
    access = store::Access::kWrite;
  }
  Result<void> Run(store::Transaction& transaction) override {
    held.wanted.Clear();
    Context context = ContextOf(caller_, transaction, &held);
    return body_(context);
  }

 private:
  const StoreAccess caller_;
  const OperationBody& body_;
};

Result<void> CheckKey(const StoreAccess& access) {
  if (access.principal == nullptr || !access.principal->ended()) return {};
  return Refuse(Code::kInvalidToken, "the key is not valid any more");
}

}  // namespace

awaitable<Result<void>> Change(StoreAccess access, store::Scopes scopes, Where where,
                               const OperationBody& body) {
  const Result<void> valid = CheckKey(access);
  if (!valid.ok()) co_return valid;
  doors::RouteStore& store = access.store;
  OperationWork work(std::move(access), std::move(scopes), body);
  if (where == Where::kPool) co_return co_await store.RunOnPool(work);
  co_return co_await store.Run(work);
}

awaitable<Result<void>> Look(StoreAccess access, Where where, const OperationBody& body) {
  const Result<void> valid = CheckKey(access);
  if (!valid.ok()) co_return valid;
  const doors::RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
    Context context = ContextOf(access, transaction, nullptr);
    return body(context);
  };
  // Takes no lock; the answer waits for all that it may have seen.
  const store::Scopes everything = store::Scopes::Exclusive();
  if (where == Where::kPool) co_return co_await access.store.ReadOnPool(everything, task);
  co_return co_await access.store.Read(everything, task);
}

}  // namespace cairn::functions
