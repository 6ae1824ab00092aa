#include "functions/pool/answer_link.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "functions/protocol/limits.h"

namespace cairn::functions {

AnswerLink::AnswerLink(uint64_t number, AnswerMode mode, RunHost& host,
                       std::function<void(Bytes)> send)
    : number_(number), mode_(mode), host_(host), send_(std::move(send)) {
  host_.SetControl(this);
}

AnswerLink::~AnswerLink() { host_.SetControl(nullptr); }

bool AnswerLink::Knows(const ToServer& message) {
  return std::holds_alternative<AnsweredMessage>(message) ||
         std::holds_alternative<StreamBegunMessage>(message) ||
         std::holds_alternative<StreamPieceMessage>(message) ||
         std::holds_alternative<StreamEndedMessage>(message);
}

bool AnswerLink::Take(ToServer message) {
  if (mode_ == AnswerMode::kAtEnd) return false;
  if (auto* const piece = std::get_if<StreamPieceMessage>(&message)) {
    return Piece(std::move(*piece));
  }
  if (const auto* const ended = std::get_if<StreamEndedMessage>(&message)) {
    if (ended->number != number_ || state_ != State::kBegun) return false;
    state_ = State::kDone;
    host_.StreamEnded();
    return true;
  }
  if (state_ != State::kNothing) return false;
  if (auto* const begun = std::get_if<StreamBegunMessage>(&message)) {
    if (begun->number != number_ || mode_ == AnswerMode::kWhole) return false;
    state_ = State::kBegun;
    host_.StreamBegun(std::move(begun->head));
    return true;
  }
  auto* const answered = std::get_if<AnsweredMessage>(&message);
  if (answered == nullptr || answered->number != number_) return false;
  state_ = State::kDone;
  host_.Answered(std::move(answered->result), answered->result_truncated);
  return true;
}

bool AnswerLink::Piece(StreamPieceMessage piece) {
  if (piece.number != number_ || state_ != State::kBegun || piece.bytes.empty()) return false;
  if (under_way_ >= wire::kStreamWindowBytes) return false;
  under_way_ += piece.bytes.size();
  host_.StreamPiece(std::move(piece.bytes));
  return true;
}

void AnswerLink::Grant(uint64_t bytes) {
  if (aborted_) return;
  under_way_ -= std::min(under_way_, bytes);
  send_(Encode(StreamRoomMessage{.number = number_, .bytes = bytes}));
}

void AnswerLink::Abort(std::string_view reason) {
  if (std::exchange(aborted_, true)) return;
  AbortMessage abort{.number = number_, .reason = {}};
  abort.reason = reason.substr(0, wire::kMaxAbortReasonBytes);
  send_(Encode(abort));
}

}  // namespace cairn::functions
