#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/check.h"
#include "net/resp/client.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {

// Several Cairn processes on one database. Started, killed and destroyed by one thread; connected
// to from any.
class Nodes {
 public:
  Nodes(std::string url, size_t count) : url_(std::move(url)), addresses_(count) {
    for (size_t i = 0; i < count; ++i) servers_.push_back(nullptr);
    for (size_t i = 0; i < count; ++i) Start(i);
  }

  size_t size() const { return servers_.size(); }
  Server& operator[](size_t node) { return *servers_[node]; }

  void Start(size_t node) {
    servers_[node] = std::make_unique<Server>(Server::MustStart(
        {.data = directory_ / "unused", .flags = {"--store", url_, "--pool-threads", "16"}}));
    const std::lock_guard lock(mutex_);
    addresses_[node] = servers_[node]->resp();
  }
  void Kill(size_t node) { servers_[node]->process().Kill(); }

  Result<net::RespClient> Connect(size_t node) const {
    net::Address address;
    {
      const std::lock_guard lock(mutex_);
      address = addresses_[node];
    }
    return net::RespClient::Connect(address, std::chrono::seconds(60));
  }

 private:
  const std::string url_;
  TempDirectory directory_;
  std::vector<std::unique_ptr<Server>> servers_;
  mutable std::mutex mutex_;
  std::vector<net::Address> addresses_;
};

}  // namespace cairn::testing
