#include "doors/resp/tracked_reads.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cairn::doors {

void RememberReads(Tracking& tracking, Session& session, const Command& command, Args args) {
  TrackedClient& client = *session.tracking;
  client.reads_since.reset();
  if (!client.remembers()) return;
  client.reads_since = tracking.changes();
  if (NamesReadKeys(command)) tracking.Remember(session.id(), KeysIn(command, args));
}

void DisownReads(const Tracking::Post& post, const Session& session, const Command& command,
                 Args args) {
  if (session.tracking == nullptr || !session.tracking->remembers() || !NamesReadKeys(command)) {
    return;
  }
  Tracking::Invalidations messages;
  for (const std::string_view key : KeysIn(command, args)) {
    messages.push_back(
        {session.id(), std::make_shared<std::vector<std::string>>(1, std::string(key))});
  }
  post(std::move(messages), store::Commit{});
}

}  // namespace cairn::doors
