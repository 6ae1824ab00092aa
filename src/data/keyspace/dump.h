#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "data/value/entry.h"
#include "doors/resp/command.h"

namespace cairn::data {

// The value of a key that exists as Redis saves it (rdb_format.h): what DUMP replies with.
Result<Bytes> DumpValue(doors::CommandContext& context, const Entry& entry);

}  // namespace cairn::data
