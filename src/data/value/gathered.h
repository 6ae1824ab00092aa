#pragma once

#include <cstddef>
#include <utility>

#include "base/result.h"
#include "doors/resp/command.h"

namespace cairn::data {

// What a command keeps until it can reply, or write, all of it: memory that is reserved as it
// grows, however many keys it comes from. (Of one key alone, Entry::Gather does the same.)
//
//   Gathered gathered(context);
//   CAIRN_RETURN_IF_ERROR(gathered.Add(member.size()));
//   members.emplace_back(member);
//
// Given back when the command is done. Lives inside the transaction's body.
class Gathered {
 public:
  explicit Gathered(doors::CommandContext& context) : context_(&context) {}

  // Fails when there is no room for so many bytes more: the command fails with it.
  Result<void> Add(size_t bytes) {
    bytes_ += bytes + kOverhead;
    if (bytes_ < kStep || context_->reply.Reserve(std::exchange(bytes_, 0))) return {};
    return Error{ErrorCode::kTooLarge,
                 "the values are too large for what is asked of them at once"};
  }

 private:
  static constexpr size_t kStep = 64 * 1024;
  // Each piece is a string in a container.
  static constexpr size_t kOverhead = 64;

  doors::CommandContext* context_;
  size_t bytes_ = 0;
};

}  // namespace cairn::data
