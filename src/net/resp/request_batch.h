#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "net/resp/server.h"

namespace cairn::net {

// A few requests of one connection that were parsed before the first of them is executed, so that
// the handler can see what comes. Keeps its memory from batch to batch.
class RequestBatch {
 public:
  void Clear() {
    if (args_.capacity() > kKeptArguments) args_ = {};
    args_.clear();
    ends_.clear();
    bytes_.clear();
  }

  // `args` are views that stay valid as long as the batch is used; `bytes` is what the request took
  // of the input.
  void Add(RespHandler::Request args, size_t bytes) {
    args_.insert(args_.end(), args.begin(), args.end());
    ends_.push_back(args_.size());
    bytes_.push_back(bytes);
  }

  size_t size() const { return ends_.size(); }
  size_t bytes(size_t index) const { return bytes_[index]; }

  // All of them, in order; valid until the next change.
  std::span<const RespHandler::Request> requests() {
    requests_.clear();
    size_t begin = 0;
    for (const size_t end : ends_) {
      requests_.emplace_back(args_.data() + begin, end - begin);
      begin = end;
    }
    return requests_;
  }

 private:
  static constexpr size_t kKeptArguments = 64 * 1024;

  std::vector<std::string_view> args_;
  std::vector<size_t> ends_;   // of each request's arguments
  std::vector<size_t> bytes_;  // of each request
  std::vector<RespHandler::Request> requests_;
};

}  // namespace cairn::net
