#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/random.h"
#include "store/postgres/listener.h"
#include "store/postgres/node.h"
#include "store/postgres/open.h"
#include "store/postgres/postgres_transaction.h"
#include "store/postgres/readiness.h"
#include "store/store.h"

namespace cairn::store::postgres {

// store::Store on a PostgreSQL database that any number of processes share.
//
// A body that lost against another transaction, or whose session broke before its commit was sent,
// is run again. When the session breaks while the commit is on its way, the commit's marker row
// tells whether it happened; only if the database cannot be asked in time the caller is told
// kOutcomeUnknown.
//
// A commit that was answered is durable as the server's synchronous_commit has it.
class PostgresStore final : public Store {
 public:
  static Result<std::unique_ptr<PostgresStore>> Open(const Options& options, const Clock& clock,
                                                     const Log& log);
  ~PostgresStore() override;

  Result<Commit> Run(const Scopes& scopes, Body body) override;
  Result<Commit> RunRead(const Scopes& scopes, Body body) override;
  // One transaction for all, run again as a whole.
  void RunParts(const Scopes& scopes, Access access, std::span<Part> parts) override;
  bool shares_transactions() const override { return true; }
  // Its bodies all fail with kWouldBlock: the answer is always beyond the network.
  std::unique_ptr<Group> NewGroup() override;
  Result<std::unique_ptr<Snapshot>> Read() override;

  bool IsDurable(Commit) const override { return true; }
  Result<void> Durable(Commit) override { return {}; }
  Subscription OnDurable(std::function<void(Result<Commit>)> listener) override;
  Subscription OnWake(Topic topic, std::function<void()> waiter) override;
  Subscription OnEarlierTimer(std::function<void(Timestamp due)> listener) override;

  // A database that is away comes back: writes never stop for good.
  std::optional<Error> write_failure() const override { return readiness_.failure(); }
  bool shared() const override { return true; }
  Result<void> Backup(const std::string& directory) override;
  Result<void> Verify() override;
  Durability durability() const override { return Durability::kSync; }
  StoreStats stats() const override;

 private:
  struct Attempt;

  PostgresStore(const Options& options, const Clock& clock, const Log& log);

  Result<void> Prepare();
  Result<Commit> RunIn(View view, const Scopes& scopes, Body body);
  PostgresTransaction::Ending Try(Attempt& attempt, Body body);
  // Whether the transaction with this marker was committed; when it was not, it never will be.
  Result<bool> WasCommitted(BytesView marker);
  Commit Committed(const WriteSet& writes);
  void Backoff(int conflicts);

  Node node_;
  SystemRandom random_;
  Listener listener_;
  Readiness readiness_;
};

}  // namespace cairn::store::postgres
