#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "store/store.h"

namespace cairn::doors::testing {

// A store whose commits become durable when the test says so, or never. Everything else is the
// inner store's. Safe to use from any thread.
class GatedStore final : public store::Store {
 public:
  // Everything committed so far counts as durable; with the gate open, everything at once.
  explicit GatedStore(std::unique_ptr<store::Store> inner);

  // From now on commits wait for MakeDurable.
  void CloseGate();
  // Lets all commits made so far through.
  void MakeDurable();
  // The disk failed: nothing that is not durable yet ever will be.
  void FailSync(const std::string& message);
  // Groups fail to commit from now on.
  void FailCommits(const std::string& message);
  // Transactions outside groups fail, until they may succeed again.
  void SetRunsFail(bool fail);

  Result<store::Commit> Run(const store::Scopes& scopes, store::Body body) override;
  Result<store::Commit> RunRead(const store::Scopes& scopes, store::Body body) override;
  void RunParts(const store::Scopes& scopes, store::Access access,
                std::span<store::Part> parts) override;
  bool shares_transactions() const override { return inner_->shares_transactions(); }
  bool shared() const override { return inner_->shared(); }
  std::unique_ptr<store::Group> NewGroup() override;
  Result<std::unique_ptr<store::Snapshot>> Read() override { return inner_->Read(); }
  bool IsDurable(store::Commit commit) const override;
  Result<void> Durable(store::Commit commit) override { return inner_->Durable(commit); }
  store::Subscription OnDurable(std::function<void(Result<store::Commit>)> listener) override;
  store::Subscription OnWake(store::Topic topic, std::function<void()> waiter) override {
    return inner_->OnWake(topic, std::move(waiter));
  }
  store::Subscription OnChange(store::Space space, store::ChangeListener listener) override {
    return inner_->OnChange(space, std::move(listener));
  }
  store::Subscription OnEarlierTimer(std::function<void(Timestamp due)> listener) override {
    return inner_->OnEarlierTimer(std::move(listener));
  }
  std::optional<Error> write_failure() const override;
  Result<void> Backup(const std::string& directory) override { return inner_->Backup(directory); }
  Result<void> Verify() override { return inner_->Verify(); }
  store::Durability durability() const override { return store::Durability::kSync; }
  store::StoreStats stats() const override { return inner_->stats(); }

  // How often Run and RunRead were called: what did not run inside a group.
  int runs_outside_groups() const;

 private:
  void Announce(const Result<store::Commit>& news);

  const std::unique_ptr<store::Store> inner_;
  mutable std::mutex mutex_;
  bool gate_closed_ = false;
  uint64_t durable_ = 0;
  std::optional<Error> failure_;
  bool commits_fail_ = false;
  bool runs_fail_ = false;
  int runs_ = 0;
  uint64_t next_listener_ = 1;
  std::map<uint64_t, std::function<void(Result<store::Commit>)>> listeners_;

  friend class GatedGroup;
};

}  // namespace cairn::doors::testing
