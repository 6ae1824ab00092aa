#include "doors/turn/serving.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace cairn::doors {
namespace {

bool Covers(const store::Scopes& scopes, const HeldScopes& held, const store::Scopes& needed) {
  if (scopes.exclusive() || held.only_order) return true;
  if (needed.exclusive()) return false;
  return std::ranges::all_of(needed.hashes(), [&](uint64_t hash) {
    return std::ranges::find(scopes.hashes(), hash) != scopes.hashes().end();
  });
}

// Passes everything on, and remembers what was woken.
class WakeRecorder final : public store::Transaction {
 public:
  explicit WakeRecorder(store::Transaction& inner) : inner_(inner) {}

  std::span<const store::Topic> woken() const { return woken_; }

  Result<std::optional<Bytes>> Get(store::Key key) override { return inner_.Get(key); }
  Result<std::vector<std::optional<Bytes>>> GetMany(std::span<const store::Key> keys) override {
    return inner_.GetMany(keys);
  }
  Result<void> Scan(const store::Range& range, const store::ScanOptions& options,
                    store::RowVisitor visit) override {
    return inner_.Scan(range, options, visit);
  }
  Result<void> Expect(std::span<const store::Key> keys) override { return inner_.Expect(keys); }
  Timestamp now() const override { return inner_.now(); }
  void Put(store::Key key, BytesView value) override { inner_.Put(key, value); }
  void Delete(store::Key key) override { inner_.Delete(key); }
  void DeleteRange(const store::Range& range) override { inner_.DeleteRange(range); }
  void Add(store::Key counter, int64_t delta) override { inner_.Add(counter, delta); }
  void AppendEvents(store::Key prefix, BytesView value, uint32_t count) override {
    inner_.AppendEvents(prefix, value, count);
  }
  void Wake(store::Topic topic) override {
    woken_.push_back(topic);
    inner_.Wake(topic);
  }
  void AfterCommit(std::function<void(store::Commit)> function) override {
    inner_.AfterCommit(std::move(function));
  }
  void SetTimer(Timestamp due, uint8_t kind, BytesView owner, BytesView payload) override {
    inner_.SetTimer(due, kind, owner, payload);
  }
  void CancelTimer(Timestamp due, uint8_t kind, BytesView owner) override {
    inner_.CancelTimer(due, kind, owner);
  }
  void set_origin(uint32_t origin) override { inner_.set_origin(origin); }
  uint64_t stamp() override { return inner_.stamp(); }
  uint64_t NewStamp() override { return inner_.NewStamp(); }

 private:
  store::Transaction& inner_;
  std::vector<store::Topic> woken_;
};

}  // namespace

void Serving::Begin() {
  for (const Claimed& claimed : std::exchange(claimed_, {})) waiters_.Release(claimed.place);
  if (own_ != 0) waiters_.Release(std::exchange(own_, 0));
  busy_ = 0;
}

void Serving::AwaitBusy() {
  const uint64_t place = busy_;
  Begin();
  waiters_.AwaitRelease(place);
}

bool Serving::IsMine(uint64_t place) const {
  return place == own_ || std::ranges::find(claimed_, place, &Claimed::place) != claimed_.end();
}

Error Serving::Busy(uint64_t place) {
  busy_ = place;
  return {ErrorCode::kWouldBlock, "a blocked client is being served by another transaction"};
}

Result<bool> Serving::ClaimOwn(uint64_t place) {
  switch (waiters_.ClaimOwn(place)) {
    case Waiters::Claimed::kYes:
      own_ = place;
      return true;
    case Waiters::Claimed::kBusy:
      return Busy(place);
    default:
      return false;
  }
}

Result<void> Serving::Serve(store::Transaction& transaction, const store::Scopes& scopes,
                            HeldScopes& held, Woken woken, size_t from) {
  for (size_t i = from; i < woken().size(); ++i) {
    CAIRN_RETURN_IF_ERROR(ServeLine(woken()[i], transaction, scopes, held));
  }
  return {};
}

Result<void> Serving::ServeLine(store::Topic topic, store::Transaction& transaction,
                                const store::Scopes& scopes, HeldScopes& held) {
  std::set<std::string_view> done;  // kinds for which there is nothing left
  uint64_t after = 0;
  for (;;) {
    Waiters::Claim claim = waiters_.ClaimNext(topic, after, done);
    if (claim.claimed == Waiters::Claimed::kBusy) {
      if (!IsMine(claim.place)) return Busy(claim.place);
      after = claim.place;  // served already: what it took has woken the topic again
      continue;
    }
    if (claim.claimed != Waiters::Claimed::kYes) return {};
    after = claim.place;
    claimed_.push_back({claim.place, {std::move(claim.tell), claim.make_work()}});
    Work& work = *claimed_.back().served.work;
    if (work.access == store::Access::kWrite && !Covers(scopes, held, work.scopes)) {
      held.wanted.AddAll(work.scopes);
      return Error{ErrorCode::kWouldBlock, "a blocked client needs more scopes"};
    }
    work.held = {.exclusive = held.exclusive,
                 .only_order = held.only_order,
                 .may_take_long = held.may_take_long,
                 .granted = scopes};
    if (Result<void> ran = work.Run(transaction); !ran.ok()) {
      held.wanted.AddAll(work.held.wanted);
      return ran;
    }
    if (work.found()) continue;
    waiters_.Release(claim.place);
    claimed_.pop_back();
    if (claim.speaks_for_its_kind) done.insert(claim.kind);
  }
}

std::vector<Serving::Served> Serving::Take(bool own_found) {
  if (own_ != 0 && own_found) waiters_.SetServed(std::exchange(own_, 0));
  std::vector<Served> served;
  for (Claimed& claimed : std::exchange(claimed_, {})) {
    waiters_.Settle(claimed.place);
    served.push_back(std::move(claimed.served));
  }
  return served;
}

Result<void> RunServing(Work& work, Serving& serving, store::Transaction& transaction,
                        Serving::Woken woken, size_t from) {
  serving.Begin();
  work.gone = false;
  if (work.place != 0) {
    CAIRN_ASSIGN_OR_RETURN(const bool waits, serving.ClaimOwn(work.place));
    work.gone = !waits;
    if (work.gone) return {};
  }
  CAIRN_RETURN_IF_ERROR(work.Run(transaction));
  return serving.Serve(transaction, work.scopes, work.held, woken, from);
}

Result<void> RunServing(Work& work, Serving& serving, store::Transaction& transaction) {
  WakeRecorder recorder(transaction);
  const auto woken = [&] { return recorder.woken(); };
  return RunServing(work, serving, recorder, woken, 0);
}

Result<store::Commit> RunWaiting(store::Store& store, Waiters& waiters, Work& work) {
  work.held.may_take_long = true;
  Serving serving(waiters);
  const auto body = [&](store::Transaction& transaction) {
    return RunServing(work, serving, transaction);
  };
  for (;;) {
    Result<store::Commit> result = work.access == store::Access::kRead
                                       ? store.RunRead(work.scopes, body)
                                       : store.Run(work.scopes, body);
    if (result.ok()) {
      TellServed(serving, work, *result);
      return result;
    }
    const bool busy = serving.busy();
    if (busy) serving.AwaitBusy();
    if (!work.Widen() && !busy) return result;
  }
}

void TellServed(Serving& serving, const Work& work, store::Commit commit) {
  for (const Serving::Served& served : serving.Take(work.found())) {
    served.tell(served.work, commit);
  }
}

}  // namespace cairn::doors
