#pragma once

#include <cstdint>

namespace cairn::testing {

// What a C program does with hiredis, against the server at this address, which is emptied first:
// commands, binary values, pipelines, transactions, scripts, pub/sub, errors. Failures are failures
// of the current test.
void RunHiredis(const char* host, uint16_t port);

}  // namespace cairn::testing
