#pragma once

#include "base/result.h"
#include "functions/codeq/names.h"
#include "functions/model/records.h"
#include "jobs/ledger/context.h"

namespace cairn::functions {

// What else the end of an activation writes, in the same transaction, for whoever has begun it.
// Safe to use from any thread.
class ActivationEnding {
 public:
  virtual ~ActivationEnding() = default;

  // Whether it has anything to do with the activation.
  virtual bool Concerns(const Activation& activation) const = 0;
  virtual void AddScopes(const Activation& activation, codeq::Locks& locks) const = 0;
  // The activation has ended, with its final status, and its message is acknowledged. May run more
  // than once (store::Body). What can be refused is no error here: that would keep the end from
  // being written.
  virtual Result<void> End(jobs::Context& context, const Activation& activation) const = 0;
};

}  // namespace cairn::functions
