#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/result.h"
#include "functions/pool/run.h"
#include "functions/protocol/messages.h"
#include "functions/protocol/recent.h"
#include "net/loop.h"

namespace cairn::functions {

struct ChildTimes {
  // After the wall time limit, until the child is killed: it may have something to say.
  std::chrono::milliseconds grace = std::chrono::milliseconds(500);
  // Until a child that was asked for is there.
  std::chrono::milliseconds start = std::chrono::seconds(10);
};

// One child of the sandbox, as its loop sees it: a socket, and what was said over it. Everything it
// says is checked; a child that lies, floods, or says nothing in time is killed.
//
// Concurrency: one loop; one run or compilation at a time.
class ChildLink : public std::enable_shared_from_this<ChildLink> {
 public:
  // `loop` and `clock` outlive it. `socket` is our end; the zygote has been given the other one.
  ChildLink(net::Loop& loop, const Clock& clock, const ChildTimes& times, FileDescriptor socket,
            std::string tenant);
  ~ChildLink();  // kills
  ChildLink(const ChildLink&) = delete;
  ChildLink& operator=(const ChildLink&) = delete;

  const std::string& tenant() const { return tenant_; }
  bool Remembers(const std::string& sha256) const { return recent_.Has(sha256); }
  // Whether it can be given work.
  bool usable() const { return ready_ && !ended_; }
  // Whether it has nothing to say: one that has been idle and says something, or has hung up, has
  // ended or is up to no good.
  bool Silent();
  int64_t runs() const { return runs_; }
  uint32_t sandbox() const { return sandbox_; }

  // Waits until the child is there. kUnavailable if it does not come.
  boost::asio::awaitable<Result<void>> AwaitReady();
  // `host` outlives the call. Calls that it still runs when the child has ended are cancelled;
  // those of a run that has succeeded are waited for.
  boost::asio::awaitable<RunOutcome> Run(RunRequest request, RunHost& host);
  boost::asio::awaitable<Result<std::string>> Compile(CompileMessage compile);
  // SIGKILL.
  void Kill();

 private:
  struct HostCalls;

  boost::asio::awaitable<std::optional<ToServer>> Next();
  boost::asio::awaitable<bool> Fill();
  void Queue(Bytes frame);
  boost::asio::awaitable<void> Write();
  void End();

  boost::asio::awaitable<RunOutcome> Converse(const RunMessage& run, RunHost& host);
  // False if the child may not say this.
  bool StartCall(HostCallMessage call, RunHost& host, const std::shared_ptr<HostCalls>& calls);
  RunMessage MessageOf(RunRequest& request);
  RunOutcome Died(bool timed_out) const;

  net::Loop& loop_;
  const Clock& clock_;
  const ChildTimes times_;
  const std::string tenant_;
  boost::asio::local::stream_protocol::socket socket_;
  FileDescriptor process_;  // to kill it by; from the zygote
  MessageReader<ToServer> reader_;
  RecentPrograms recent_;
  Bytes out_;
  bool writing_ = false;
  bool ready_ = false;
  bool ended_ = false;
  std::string broken_;  // what it said that it may not say
  std::optional<ExitedMessage> exit_;
  uint32_t sandbox_ = 0;
  int64_t runs_ = 0;
  bool warm_ = false;  // a program was loaded before the first run
  uint64_t last_number_ = 0;
};

}  // namespace cairn::functions
