#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "functions/model/host_calls.h"
#include "functions/model/step_record.h"

namespace cairn::functions::cli {

// The steps of one local run. There is no history and no other run: sleeps take their time in the
// process, no event ever comes, and other functions cannot be invoked. What steps write is kept
// until they are done, as a server does.
//
// Used on one loop.
class LocalSteps {
 public:
  explicit LocalSteps(const Clock& clock) : clock_(clock) {}

  // "steps.…", with the JSON that a server replies.
  boost::asio::awaitable<Result<std::string>> Call(std::string_view operation,
                                                   std::string arguments);
  // Keeps `write` until the step is done.
  Result<void> Keep(int64_t step, std::function<Result<void>()> write);
  // What the step has written under a key; null: nothing.
  const KvCall* LastWrite(int64_t step, std::string_view key) const;
  Result<void> KeepKv(int64_t step, KvCall call, std::function<Result<void>()> write);

 private:
  struct Write {
    std::function<Result<void>()> run;
    KvCall kv = {};
  };

  Result<std::string> Done(std::string_view arguments);
  Result<std::string> Start(std::string_view arguments);
  boost::asio::awaitable<Result<std::string>> Wait();

  const Clock& clock_;
  std::map<uint32_t, StepRecord> waiting_;
  std::map<int64_t, std::vector<Write>> writes_;
  uint32_t seq_ = 0;
};

}  // namespace cairn::functions::cli
