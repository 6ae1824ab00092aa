#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cairn::doors {

// The queues that somebody may touch, as text: names with commas between them, where a `*` at the
// end stands for anything that begins so.
//
//   emails,reports.*     the queue emails, and every queue whose name begins with "reports."
//
// Who may touch all queues has no scope: a null pointer wherever one is asked for. An immutable
// value; safe to use from any thread.
class QueueScope {
 public:
  struct Pattern {
    std::string text;  // the name, or what names begin with
    bool prefix = false;
  };

  // Blanks around the names do not count. kInvalid if it names no queue at all, or one that cannot
  // be.
  static Result<QueueScope> Parse(std::string_view text);

  bool Allows(std::string_view queue) const;
  std::span<const Pattern> patterns() const { return patterns_; }
  // As given, but for the blanks.
  std::string Describe() const;

 private:
  std::vector<Pattern> patterns_;
};

// Whether `scope`, which may be null, has room for the queue.
inline bool Allows(const QueueScope* scope, std::string_view queue) {
  return scope == nullptr || scope->Allows(queue);
}

}  // namespace cairn::doors
