#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doors/access/grants.h"

namespace cairn::doors {

// Who asks, and what they may: the one of an HTTP request, and of the RESP sessions that
// authenticate with the same key. Its rights do not change: when somebody is given other rights,
// this principal ends and another takes its place. Safe to use from any thread.
class Principal {
 public:
  // `grants`: null for everything.
  Principal(std::string name, std::string role, std::vector<std::string_view> permissions,
            std::shared_ptr<const Grants> grants)
      : name_(std::move(name)),
        role_(std::move(role)),
        permissions_(std::move(permissions)),
        grants_(std::move(grants)) {}

  const std::string& name() const { return name_; }
  const std::string& role() const { return role_; }
  // Every authenticated caller has the empty permission.
  bool Allows(std::string_view permission) const {
    return permission.empty() || std::ranges::find(permissions_, permission) != permissions_.end();
  }
  // Null: everything.
  const Grants* grants() const { return grants_.get(); }

  // Its key was withdrawn or changed, or has expired: what goes on for it stops.
  bool ended() const { return ended_.load(std::memory_order_relaxed); }
  void End() { ended_.store(true, std::memory_order_relaxed); }

 private:
  const std::string name_;
  const std::string role_;
  const std::vector<std::string_view> permissions_;
  const std::shared_ptr<const Grants> grants_;
  std::atomic<bool> ended_{false};
};

}  // namespace cairn::doors
