// What a child may say of an answer before its run has ended, and what it may not.
#include "functions/pool/answer_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "functions/protocol/limits.h"

namespace cairn::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kNumber = 5;

class Recorder final : public RunHost {
 public:
  boost::asio::awaitable<Result<std::string>> Call(std::string_view /*operation*/,
                                                   std::string arguments) override {
    co_return arguments;
  }
  void Log(std::string_view /*level*/, std::string_view /*text*/) override {}
  void SetControl(RunControl* control) override { control_ = control; }
  void Answered(std::string result, bool truncated) override {
    told.push_back("answered " + result + (truncated ? " cut" : ""));
  }
  void StreamBegun(std::string head) override { told.push_back("begun " + head); }
  void StreamPiece(std::string bytes) override { bytes_ += bytes.size(); }
  void StreamEnded() override { told.push_back("ended"); }

  RunControl* control_ = nullptr;
  std::vector<std::string> told;
  size_t bytes_ = 0;
};

class AnswerLinkTest : public ::testing::Test {
 protected:
  static ToServer Begun() { return StreamBegunMessage{.number = kNumber, .head = "{}"}; }
  static ToServer Piece(size_t size = 1) {
    return StreamPieceMessage{.number = kNumber, .bytes = std::string(size, 'x')};
  }
  static ToServer Ended() { return StreamEndedMessage{.number = kNumber}; }
  static ToServer Answered() {
    return AnsweredMessage{.number = kNumber, .result = "{}", .result_truncated = true};
  }
  // Whether the last of what the child says is allowed; all before it is.
  bool Allows(AnswerMode mode, std::vector<ToServer> messages) {
    AnswerLink link(kNumber, mode, host_, [](const Bytes&) {});
    bool allowed = true;
    for (ToServer& message : messages) {
      EXPECT_TRUE(allowed);
      EXPECT_TRUE(AnswerLink::Knows(message));
      allowed = link.Take(std::move(message));
    }
    return allowed;
  }

  Recorder host_;
};

TEST_F(AnswerLinkTest, AnswersArePassedOn) {
  EXPECT_TRUE(Allows(AnswerMode::kChunks, {Begun(), Piece(), Piece(2), Ended()}));
  EXPECT_TRUE(Allows(AnswerMode::kWhole, {Answered()}));
  EXPECT_TRUE(Allows(AnswerMode::kEvents, {Answered()}));
  EXPECT_THAT(host_.told, ElementsAre("begun {}", "ended", "answered {} cut", "answered {} cut"));
  EXPECT_EQ(host_.bytes_, 3U);
  EXPECT_EQ(host_.control_, nullptr);
}

TEST_F(AnswerLinkTest, OnlyWhatWasAskedForIsAllowed) {
  for (const auto& make : {Begun, Ended, Answered}) {
    EXPECT_FALSE(Allows(AnswerMode::kAtEnd, {make()}));
  }
  EXPECT_FALSE(Allows(AnswerMode::kAtEnd, {Piece()}));
  EXPECT_FALSE(Allows(AnswerMode::kWhole, {Begun()}));
  EXPECT_THAT(host_.told, IsEmpty());
}

TEST_F(AnswerLinkTest, PartsInAnyOtherOrderAreNotAllowed) {
  constexpr AnswerMode kMode = AnswerMode::kChunks;
  EXPECT_FALSE(Allows(kMode, {Piece()}));
  EXPECT_FALSE(Allows(kMode, {Ended()}));
  EXPECT_FALSE(Allows(kMode, {Begun(), Begun()}));
  EXPECT_FALSE(Allows(kMode, {Begun(), Answered()}));
  EXPECT_FALSE(Allows(kMode, {Begun(), Ended(), Piece()}));
  EXPECT_FALSE(Allows(kMode, {Begun(), Ended(), Ended()}));
  EXPECT_FALSE(Allows(kMode, {Answered(), Begun()}));
  EXPECT_FALSE(Allows(kMode, {Answered(), Answered()}));
  EXPECT_FALSE(Allows(kMode, {Begun(), Piece(0)}));
  EXPECT_FALSE(Allows(kMode, {StreamBegunMessage{.number = 4, .head = "{}"}}));
  EXPECT_FALSE(Allows(kMode, {Begun(), StreamPieceMessage{.number = 6, .bytes = "x"}}));
  EXPECT_FALSE(Allows(kMode, {Begun(), StreamEndedMessage{.number = 6}}));
  EXPECT_FALSE(Allows(kMode, {AnsweredMessage{.number = 6, .result = "{}"}}));
}

TEST_F(AnswerLinkTest, NoMoreIsUnderWayThanTheWindowAndOnePiece) {
  std::vector<Bytes> sent;
  AnswerLink link(kNumber, AnswerMode::kChunks, host_,
                  [&](Bytes frame) { sent.push_back(std::move(frame)); });
  ASSERT_TRUE(link.Take(Begun()));
  constexpr size_t kPieces = wire::kStreamWindowBytes / wire::kMaxStreamPieceBytes;
  for (size_t i = 1; i < kPieces; ++i) ASSERT_TRUE(link.Take(Piece(wire::kMaxStreamPieceBytes)));
  ASSERT_TRUE(link.Take(Piece(wire::kMaxStreamPieceBytes - 1)));
  ASSERT_TRUE(link.Take(Piece(wire::kMaxStreamPieceBytes)));
  EXPECT_FALSE(link.Take(Piece()));
  host_.control_->Grant(wire::kMaxStreamPieceBytes);
  EXPECT_TRUE(link.Take(Piece()));
  EXPECT_THAT(sent, ElementsAre(Encode(StreamRoomMessage{.number = kNumber,
                                                         .bytes = wire::kMaxStreamPieceBytes})));
}

TEST_F(AnswerLinkTest, AnAbortIsToldOnceWithAReasonThatFits) {
  std::vector<Bytes> sent;
  AnswerLink link(kNumber, AnswerMode::kChunks, host_,
                  [&](Bytes frame) { sent.push_back(std::move(frame)); });
  host_.control_->Abort(std::string(wire::kMaxAbortReasonBytes + 1, 'r'));
  host_.control_->Abort("again");
  host_.control_->Grant(1);
  EXPECT_THAT(sent,
              ElementsAre(Encode(AbortMessage{
                  .number = kNumber, .reason = std::string(wire::kMaxAbortReasonBytes, 'r')})));
}

}  // namespace
}  // namespace cairn::functions
