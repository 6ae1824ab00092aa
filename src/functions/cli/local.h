#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "functions/cli/folder.h"
#include "functions/model/config.h"
#include "functions/model/host_calls.h"
#include "functions/model/keys.h"
#include "functions/model/records.h"
#include "functions/model/secrets.h"
#include "functions/pool/run_end.h"
#include "functions/pool/sandbox_pool.h"
#include "functions/web/fetch.h"
#include "net/loop.h"
#include "outside/address_policy.h"
#include "outside/http_service.h"

// Functions on this machine without a server: the same engine in the same sandbox, with the same
// limits and capabilities. What functions keep with cs.kv is in memory, and what they publish goes
// nowhere.
namespace cairn::functions::cli {

// cs.kv of one program. Used on one loop.
class LocalKv {
 public:
  explicit LocalKv(const Clock& clock) : clock_(clock) {}
  // The JSON that a server replies. CS_TOO_LARGE beyond kMaxBytes.
  Result<std::string> Run(const KvCall& call);

  static constexpr size_t kMaxBytes = 64UL * 1024 * 1024;

 private:
  struct Value {
    std::string json;
    std::optional<int64_t> expires_ms;
  };
  void Remove(std::map<std::string, Value, std::less<>>::iterator at);

  const Clock& clock_;
  std::map<std::string, Value, std::less<>> values_;
  size_t bytes_ = 0;
};

// A folder's code, ready to run.
struct LocalFunction {
  std::shared_ptr<const Program> program;
  VersionConfig config;
  FunctionName name;
  uint64_t version = 1;  // counts the reloads of `fn dev`
  EnvMap env;
};

// What a function has sent that a server would have stored.
struct LocalMessage {
  std::string call;  // "cs.codeq.publish" or "cs.jobs.enqueue"
  std::string name;  // of the topic or queue
  std::string payload;
};

struct LocalOutcome {
  std::string activation_id;
  RunEnd end;
  std::string limit_hit;
  int64_t duration_ms = 0;
  std::string log;
  std::vector<LocalMessage> messages;
};
// {"activation_id","status","result","error","logs","duration_ms","usage","limit_hit",
//  "result_truncated","published":[…]}
std::string OutcomeText(const LocalOutcome& outcome);

struct LocalOptions {
  outside::AddressPolicy policy;  // of fetch
};

// Runs them. Made, and its blocking functions called, by a thread that is not a loop's.
class LocalRuntime {
 public:
  explicit LocalRuntime(const LocalOptions& options);
  ~LocalRuntime();  // stops
  LocalRuntime(const LocalRuntime&) = delete;
  LocalRuntime& operator=(const LocalRuntime&) = delete;

  // Compiles it. kInvalid names file and line. Waits.
  Result<LocalFunction> Load(const Packed& packed, FunctionName name, const VersionConfig& config,
                             EnvMap env);

  struct Invocation {
    std::string event = "{}";  // JSON
    Trigger trigger = {};
    // Called for each line, on the loop.
    std::function<void(std::string_view level, std::string_view text)> logged = {};
  };
  // On the loop.
  boost::asio::awaitable<LocalOutcome> Run(std::shared_ptr<const LocalFunction> function,
                                           Invocation invocation);
  // The same, waiting.
  LocalOutcome RunToEnd(const LocalFunction& function, Invocation invocation);

  net::LoopGroup& loops() { return loops_; }
  const Clock& clock() const { return clock_; }
  Random& random() { return random_; }

 private:
  const SystemClock clock_;
  SystemRandom random_;
  net::LoopGroup loops_{1};
  outside::HttpService http_;
  const FetchParts fetch_;
  LocalKv kv_;
  SandboxPool pool_;
};

}  // namespace cairn::functions::cli
