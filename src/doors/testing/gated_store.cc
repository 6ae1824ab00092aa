#include "doors/testing/gated_store.h"

namespace cairn::doors::testing {

// Commits through the inner group unless the store says that commits fail.
class GatedGroup final : public store::Group {
 public:
  GatedGroup(GatedStore& store, std::unique_ptr<store::Group> inner)
      : store_(store), inner_(std::move(inner)) {}

  Result<store::Dependency> Run(const store::Scopes& scopes, store::Access access,
                                store::Body body) override {
    return inner_->Run(scopes, access, body);
  }
  std::span<const store::Topic> woken() const override { return inner_->woken(); }
  Result<store::Commit> Finish() override {
    const std::lock_guard lock(store_.mutex_);
    if (store_.commits_fail_) return *store_.failure_;
    return inner_->Finish();
  }

 private:
  GatedStore& store_;
  const std::unique_ptr<store::Group> inner_;
};

GatedStore::GatedStore(std::unique_ptr<store::Store> inner) : inner_(std::move(inner)) {}

void GatedStore::CloseGate() {
  const std::lock_guard lock(mutex_);
  gate_closed_ = true;
  durable_ = inner_->stats().last_commit;
}

void GatedStore::MakeDurable() {
  const std::lock_guard lock(mutex_);
  durable_ = inner_->stats().last_commit;
  Announce(store::Commit{durable_});
}

void GatedStore::FailSync(const std::string& message) {
  const std::lock_guard lock(mutex_);
  failure_ = Error{ErrorCode::kUnavailable, "writes are stopped: " + message};
  Announce(*failure_);
}

void GatedStore::FailCommits(const std::string& message) {
  const std::lock_guard lock(mutex_);
  commits_fail_ = true;
  failure_ = Error{ErrorCode::kUnavailable, "writes are stopped: " + message};
}

void GatedStore::SetRunsFail(bool fail) {
  const std::lock_guard lock(mutex_);
  runs_fail_ = fail;
}

void GatedStore::Announce(const Result<store::Commit>& news) {
  for (const auto& [id, listener] : listeners_) listener(news);
}

Result<store::Commit> GatedStore::Run(const store::Scopes& scopes, store::Body body) {
  {
    const std::lock_guard lock(mutex_);
    ++runs_;
    if (runs_fail_) return Error{ErrorCode::kUnavailable, "the test has stopped writes"};
  }
  return inner_->Run(scopes, body);
}

Result<store::Commit> GatedStore::RunRead(const store::Scopes& scopes, store::Body body) {
  {
    const std::lock_guard lock(mutex_);
    ++runs_;
  }
  return inner_->RunRead(scopes, body);
}

void GatedStore::RunParts(const store::Scopes& scopes, store::Access access,
                          std::span<store::Part> parts) {
  {
    const std::lock_guard lock(mutex_);
    ++runs_;
  }
  inner_->RunParts(scopes, access, parts);
}

std::unique_ptr<store::Group> GatedStore::NewGroup() {
  return std::make_unique<GatedGroup>(*this, inner_->NewGroup());
}

bool GatedStore::IsDurable(store::Commit commit) const {
  const std::lock_guard lock(mutex_);
  return !gate_closed_ || commit.number <= durable_;
}

store::Subscription GatedStore::OnDurable(std::function<void(Result<store::Commit>)> listener) {
  const std::lock_guard lock(mutex_);
  const uint64_t id = next_listener_++;
  if (failure_) listener(*failure_);
  listeners_.emplace(id, std::move(listener));
  return store::Subscription([this, id] {
    const std::lock_guard cancel_lock(mutex_);
    listeners_.erase(id);
  });
}

std::optional<Error> GatedStore::write_failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

int GatedStore::runs_outside_groups() const {
  const std::lock_guard lock(mutex_);
  return runs_;
}

}  // namespace cairn::doors::testing
