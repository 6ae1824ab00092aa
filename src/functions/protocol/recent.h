#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include "functions/protocol/limits.h"

namespace cairn::functions {

// Which programs a child remembers: those it ran last. The server and the child both go by it, from
// the same Run messages, so the server knows without asking.
class RecentPrograms {
 public:
  bool Has(const std::string& sha256) const {
    return std::ranges::find(all_, sha256) != all_.end();
  }
  // Makes it the latest. Returns the one that is forgotten for it, if there is one.
  std::optional<std::string> Use(const std::string& sha256) {
    std::erase(all_, sha256);
    all_.push_back(sha256);
    if (all_.size() <= wire::kMaxChildPrograms) return std::nullopt;
    std::string oldest = std::move(all_.front());
    all_.pop_front();
    return oldest;
  }

 private:
  std::deque<std::string> all_;
};

}  // namespace cairn::functions
