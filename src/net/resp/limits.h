#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn::net {

// What one RESP request may be, as Redis bounds it. Past a bound the connection gets a protocol
// error and is closed; past `query_buffer_bytes` it is closed without a word, as Redis does.
struct RespLimits {
  int64_t bulk_bytes = 512LL * 1024 * 1024;  // one argument
  int64_t arguments = 1024 * 1024;           // of one request
  size_t line_bytes = 64 * 1024;             // an inline request, or a length line
  size_t query_buffer_bytes = 1024UL * 1024 * 1024;

  // Before a connection has authenticated it needs to send little more than AUTH or HELLO.
  int64_t unauthenticated_bulk_bytes = 16 * 1024;
  int64_t unauthenticated_arguments = 10;
  size_t unauthenticated_output_bytes = 64 * 1024;  // unsent; past it the connection is closed
};

}  // namespace cairn::net
