#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doors/testing/test_server.h"

namespace cairn::data::testing {

// A server with the commands of this layer.
class DataServer final : public doors::testing::TestServer {
 public:
  explicit DataServer(size_t loops = 1);
  // With bounds on all buffers, and on one reply.
  DataServer(size_t buffer_bytes, size_t reply_bytes);

  // Runs one command per line and compares its reply:
  //
  //   SET k "two words"   => OK
  //   GET k               => "two words"
  //   INCR k              => (error) ERR value is not an integer or out of range
  //
  // A line without => may reply anything but an error. Arguments are separated by spaces, or
  // quoted.
  void Play(std::string_view script);
  static void Play(doors::testing::TestClient& client, std::string_view script);

  // Fires the timers that are due, as the timer service does.
  void FireTimers();

  // Fails the test if an invariant of this layer does not hold (data/verify.h).
  void CheckConsistency();
};

}  // namespace cairn::data::testing
