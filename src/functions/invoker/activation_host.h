#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "doors/turn/route_store.h"
#include "functions/invoker/activity_heart.h"
#include "functions/invoker/kv.h"
#include "functions/model/activation_log.h"
#include "functions/model/records.h"
#include "functions/pool/sandbox_pool.h"
#include "functions/web/fetch.h"

namespace cairn::functions {

// What one running function may ask of the server. Whatever the process that runs it says, each
// call is checked here against what its version may do.
//
//   kv.get {key}, kv.set {key,value,ttl_seconds}, kv.del {key}      kv.h
//   http.fetch {…}                                                  fetch.h
//   codeq.publish {topic,payload}                                   → {id}
//   jobs.enqueue {queue,payload,options}                            → {id,status}
//   cadence.heartbeat {details}                                     → {cancelRequested}
//
// Topics and queues are bounded by the manifest's publishTopics; those of the platform ("cs.…")
// are never open to functions.
//
// Used on one loop; what it is given outlives it.
class ActivationHost final : public RunHost {
 public:
  struct Parts {
    doors::RouteStore& routes;
    const FetchParts& fetch;
    const Clock& clock;
    Random& random;
    const HeartMaker& heart;
  };
  ActivationHost(Parts parts, const Activation& activation, const VersionConfig& config,
                 ActivationLog& log, std::function<void()> logged)
      : parts_(parts),
        activation_(activation),
        config_(config),
        log_(log),
        logged_(std::move(logged)) {}
  ~ActivationHost() override;
  ActivationHost(const ActivationHost&) = delete;
  ActivationHost& operator=(const ActivationHost&) = delete;

  boost::asio::awaitable<Result<std::string>> Call(std::string_view operation,
                                                   std::string arguments) override;
  // `logged` is called after each line.
  void Log(std::string_view level, std::string_view text) override;

 private:
  using Reply = boost::asio::awaitable<Result<std::string>>;

  Reply Answer(std::string_view operation, std::string arguments);
  NamespaceName ns() const { return {activation_.tenant, activation_.ns}; }
  Reply Kv(KvCall call);
  Reply FetchUrl(std::string arguments);
  Reply PublishMessage(std::string arguments);
  Reply EnqueueJob(std::string arguments);
  Reply Heartbeat(std::string arguments);

  const Parts parts_;
  const Activation& activation_;
  const VersionConfig& config_;
  ActivationLog& log_;
  const std::function<void()> logged_;
  std::shared_ptr<ActivityHeart> heart_;  // from the first heartbeat on
};

}  // namespace cairn::functions
