#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/scopes.h"

// The names of jobs, batches and chains, and the scopes that follow from a name alone.
//
//   job_ ns:16 lane:4 serial:6 [lane:4]…       in hexadecimal
//
// A lane is 16 bits of a queue's name. It is the scope of everything that belongs to the queue: its
// counts, its lines, its jobs. A worker that acknowledges a job names nothing but the job, so the
// name has to say what is locked: its first lane is that of the queue the job was made for, the
// further ones are those of what its end changes besides, its batch and the next step of its chain.
// Queues that share a lane by chance take turns and know nothing of it.
//
// What a name cannot foretell (a job that was moved, one that others wait for) is found out while
// the operation runs; it is then run again under all scopes (Held).
namespace cairn::jobs {

using Lane = uint16_t;

Lane LaneOfQueue(std::string_view queue);

inline constexpr size_t kMaxExtraLanes = 4;

struct IdParts {
  std::string_view prefix = "job_";  // "job_", "batch_", "chn_"
  uint64_t ns = 0;
  Lane lane = 0;
  uint64_t serial = 0;  // the lowest 24 bits count: a stamp
  std::vector<Lane> extra = {};
};
std::string MakeId(const IdParts& parts);

// The lanes of an id, its own first; empty for text that is no id.
std::vector<Lane> LanesOfId(std::string_view id);
std::optional<Lane> FirstLaneOfId(std::string_view id);
inline bool IsId(std::string_view id) { return FirstLaneOfId(id).has_value(); }

// A name is 1 to `limit` bytes of printable UTF-8 without blanks at its ends: no control
// characters, so no zero byte.
bool IsName(std::string_view name, size_t limit);

// What a caller locks, and so what an operation may touch. Made before the transaction from what
// the request names; the operation asks it, and when that is not enough sets `wants_everything`
// and fails: the caller runs it again with Held::Everything().
//
//   Held held;
//   held.AddJob(id);
//   Result<…> done = store.Run(held.ToScopes(), …Ack(context with &held, …)…);
//   if (held.wants_everything) … again, with Held::Everything()
class Held {
 public:
  static Held Everything();

  Held& AddLane(Lane lane);
  Held& AddQueue(std::string_view queue) { return AddLane(LaneOfQueue(queue)); }
  // Also a batch. Text that is no id adds nothing: the operation will not find it.
  Held& AddJob(std::string_view id);

  bool everything() const { return everything_; }
  bool Covers(Lane lane) const;
  std::span<const Lane> lanes() const { return lanes_; }
  // Adds to `scopes` what this is.
  void AddTo(store::Scopes& scopes) const;
  store::Scopes ToScopes() const;

  bool wants_everything = false;

 private:
  bool everything_ = false;
  std::vector<Lane> lanes_;
};

}  // namespace cairn::jobs
