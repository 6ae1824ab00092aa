#pragma once

#include <boost/asio/awaitable.hpp>

#include "base/result.h"
#include "store/store.h"

namespace cairn::net {
class Loop;
}

namespace cairn::doors {

// Returns when a reply that depends on `commit` may leave; an error if it never may. A coroutine
// that is cancelled waits too: it has to know what became of what it did. Awaited on `loop`, which
// does not stand still meanwhile.
boost::asio::awaitable<Result<void>> DurableAwait(net::Loop& loop, store::Store& store,
                                                  store::Commit commit);

}  // namespace cairn::doors
