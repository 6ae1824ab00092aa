#pragma once

#include <boost/json/value.hpp>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "doors/testing/test_server.h"
#include "jobs/operations/due_timers.h"
#include "jobs/operations/operations.h"
#include "store/timers.h"

namespace cairn::jobs::testing {

// A server with the commands of this layer. Time stands still unless the test moves it.
class JobServer final : public doors::testing::TestServer {
 public:
  JobServer();

  // The reply on a connection that is kept for it.
  net::RespValue Value(const std::vector<std::string>& args);

  // What GET /jobs/{id} would say; null if there is no such job.
  boost::json::value Job(std::string_view id);
  std::string State(std::string_view id);
  // The id of a new job. `options` are words behind the payload.
  std::string Enqueue(std::string_view queue, std::string_view payload = "{}",
                      const std::vector<std::string>& options = {});
  struct Leased {
    std::string id;
    std::string token;
    std::string payload;
  };
  // Jobs of the queue, as a worker gets them.
  std::vector<Leased> Fetch(std::string_view queue, int count = 1,
                            std::string_view lease = "60000");
  std::string Ack(const Leased& job, std::string_view result = "{}");
  std::string Fail(const Leased& job, const std::vector<std::string>& options = {});
  // A number of QUEUE.GET.
  int64_t Count(std::string_view queue, std::string_view of);

  // Moves time and fires what is due, also what that leads to.
  void Advance(int64_t ms);
  void FireTimers();
  // Fails the test if JOB.VERIFY finds something.
  void ExpectSound();

 private:
  DueTimers due_;
  std::unique_ptr<doors::testing::TestClient> client_;  // of Value; made again after a restart
};

}  // namespace cairn::jobs::testing
