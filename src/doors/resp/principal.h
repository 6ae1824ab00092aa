#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doors/resp/acl.h"
#include "doors/resp/queue_scope.h"

namespace cairn::doors {

// Who asks, and what they may: the one of an HTTP request, and of the RESP sessions that
// authenticate with the same key. Does not change; who is given other rights becomes another
// principal, and this one ends. Safe to use from any thread.
class Principal {
 public:
  // `user` is what they are at the RESP door; its queues are the principal's.
  Principal(std::string name, std::string role, std::vector<std::string_view> permissions,
            std::shared_ptr<AclUser> user)
      : name_(std::move(name)),
        role_(std::move(role)),
        permissions_(std::move(permissions)),
        user_(std::move(user)) {}

  const std::string& name() const { return name_; }
  const std::string& role() const { return role_; }
  // An empty permission is what everybody has who was let in.
  bool Allows(std::string_view permission) const {
    return permission.empty() || std::ranges::find(permissions_, permission) != permissions_.end();
  }
  // Null: all of them.
  const QueueScope* queues() const { return user_->queues(); }
  // Its key has been withdrawn, changed or has expired: what goes on for it stops.
  bool ended() const { return user_->deleted(); }
  const std::shared_ptr<AclUser>& user() const { return user_; }

 private:
  const std::string name_;
  const std::string role_;
  const std::vector<std::string_view> permissions_;
  const std::shared_ptr<AclUser> user_;
};

}  // namespace cairn::doors
