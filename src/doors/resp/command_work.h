#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "doors/resp/client_work.h"
#include "doors/resp/command.h"
#include "doors/resp/instance.h"
#include "net/buffer_budget.h"
#include "net/resp/reply_meter.h"

namespace cairn::doors {

// One call of a command with a `run` handler, with copies of what it needs: it may run after the
// bytes of its arguments are gone, on any thread.
class CommandWork final : public ClientWork {
 public:
  CommandWork(const Call& call, Caller caller, Instance& instance);

  Result<void> Run(store::Transaction& transaction) override;
  // Not if it has found nothing and wants to wait.
  bool found() const override { return !blocking_; }
  void Finish(Dispatcher& dispatcher, Session& session) override;
  void GiveUp(Session& session) override;

 private:
  const OwnedCall owned_;
  const Call& call_;  // the same
  const Caller caller_;
  Instance& instance_;
  std::string reply_;
  net::ReplyMeter meter_;
  const net::BufferCharge args_charge_;
  bool failed_ = false;
  KeyLookups lookups_;
  std::optional<Blocking> blocking_;
  uint64_t ns_ = 0;
};

}  // namespace cairn::doors
