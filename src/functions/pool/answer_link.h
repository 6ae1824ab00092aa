#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/bytes.h"
#include "functions/pool/run.h"
#include "functions/protocol/messages.h"

namespace cairn::functions {

// What a child says of an answer before its run has ended, for one run: checks that it may say it
// now, passes it on to the run's host, and carries what the host says back. Used on one loop.
class AnswerLink final : public RunControl {
 public:
  // `send` sends a frame to the child. What it is given outlives it.
  AnswerLink(uint64_t number, AnswerMode mode, RunHost& host, std::function<void(Bytes)> send);
  ~AnswerLink();
  AnswerLink(const AnswerLink&) = delete;
  AnswerLink& operator=(const AnswerLink&) = delete;

  // Whether this is what it looks after.
  static bool Knows(const ToServer& message);
  // False if the child may not say this.
  bool Take(ToServer message);

  void Grant(uint64_t bytes) override;
  void Abort(std::string_view reason) override;

 private:
  enum class State : uint8_t { kNothing, kBegun, kDone };

  bool Piece(StreamPieceMessage piece);

  const uint64_t number_;
  const AnswerMode mode_;
  RunHost& host_;
  const std::function<void(Bytes)> send_;
  State state_ = State::kNothing;
  uint64_t under_way_ = 0;  // bytes that the host has not granted again
  bool aborted_ = false;
};

}  // namespace cairn::functions
