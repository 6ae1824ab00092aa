#pragma once

#include <vector>

#include "store/rocks/engine.h"
#include "store/rocks/rocks_transaction.h"
#include "store/rocks/sequencer.h"
#include "store/rocks/syncer.h"
#include "store/store.h"
#include "store/write_set.h"

namespace cairn::store::rocks {

// Bodies of one thread that share a commit; see store::Group. With Waiting::kAllowed it waits for
// stripes and disk instead of failing, which is what Store::Run needs.
class RocksGroup final : public Group {
 public:
  RocksGroup(Engine& engine, Sequencer& sequencer, Syncer& syncer, Waiting waiting);
  ~RocksGroup() override;  // gives up what was not finished

  Result<Dependency> Run(const Scopes& scopes, Access access, Body body) override;
  void Expect(std::span<const Key> keys) override;
  std::span<const Topic> woken() const override { return writes_.wakes(); }
  Result<Commit> Finish() override;

 private:
  // Takes wanted_ on top of what the group holds; false if it would have to wait and must not.
  Result<bool> AcquireWanted();
  bool TryAcquireWanted();
  // Whether a body with these scopes could read what the group has not committed.
  bool SeesUncommitted(const Scopes& scopes) const;
  Result<Dependency> RunRead(const Scopes& scopes, Body body);
  void ReleaseFrom(size_t first);
  Result<void> RunBody(Access access, Body body);
  Result<Commit> Submit();
  // Commits what the group has so far; a failure is also told by the next Finish.
  Result<void> SubmitEarly();
  Dependency DependencyOf(const Scopes& scopes, bool wrote, bool shares_held) const;

  Engine& engine_;
  Sequencer& sequencer_;
  Syncer& syncer_;
  const Waiting waiting_;
  WriteSet writes_;
  RocksTransaction transaction_;
  std::vector<Stripes::Index> wanted_;  // of the body being run
  std::vector<Stripes::Index> held_;
  std::optional<Error> failed_;  // an early commit failed; the next Finish says so
};

}  // namespace cairn::store::rocks
