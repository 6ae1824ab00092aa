#pragma once

#include <rocksdb/status.h>

#include <string_view>

#include "base/result.h"

namespace cairn::store::rocks {

// RocksDB's status as our error, said once for the whole engine. `doing` names what failed:
// "cannot read: IO error: …". The status must not be ok or NotFound.
Error ToError(const ::rocksdb::Status& status, std::string_view doing);

// The disk is full, or a quota used up, which RocksDB can go on from (DB::Resume) once there is
// room.
bool IsLackOfRoom(const ::rocksdb::Status& status);

}  // namespace cairn::store::rocks
