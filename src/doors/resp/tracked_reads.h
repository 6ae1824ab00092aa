#pragma once

#include "doors/resp/command.h"
#include "doors/resp/session.h"
#include "doors/resp/tracking.h"

// What a session with CLIENT TRACKING reads. On its loop.
namespace cairn::doors {

// The session, which tracks, reads what the command names: remembered if it tracks its reads.
void RememberReads(Tracking& tracking, Session& session, const Command& command, Args args);
// It has read it already, without anybody remembering: told by `post` that it may have changed.
void DisownReads(const Tracking::Post& post, const Session& session, const Command& command,
                 Args args);

}  // namespace cairn::doors
