// A client and a run that meet at an answer, without loops: each thread could be either.
#include "functions/invoker/live_response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cairn::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Stage = LiveResponse::Stage;
using End = LiveResponse::End;

class LiveResponseTest : public ::testing::Test {
 protected:
  LiveResponseTest() {
    live_.SetWaker([this] { ++wakes_; });
  }

  std::optional<uint64_t> Attach() {
    return live_.Attach({.took = [this](uint64_t bytes) { took_.push_back(bytes); },
                         .left = [this](bool others) { left_.push_back(others); }});
  }
  static FunctionResult Head(int status) { return {.status_code = status}; }

  LiveResponse live_{AnswerMode::kChunks};
  int wakes_ = 0;
  std::vector<uint64_t> took_;
  std::vector<bool> left_;
};

TEST_F(LiveResponseTest, ABodyComesPieceByPieceAndItsEndAfterThem) {
  const uint64_t run = *Attach();
  EXPECT_EQ(live_.Look(), Stage::kWaiting);
  live_.Begin(run, Head(201));
  EXPECT_EQ(live_.Look(), Stage::kStreaming);
  EXPECT_EQ(live_.TakeResult().status_code, 201);
  live_.Piece(run, "one");
  live_.Piece(run, "two");
  live_.Finish(run, true, "");
  EXPECT_EQ(wakes_, 4);
  EXPECT_EQ(live_.Take().bytes, "one");
  const LiveResponse::Next second = live_.Take();
  EXPECT_EQ(second.bytes, "two");
  EXPECT_EQ(second.end, End::kOpen);
  EXPECT_EQ(live_.Take().end, End::kComplete);
  live_.Leave(false);
  EXPECT_THAT(left_, IsEmpty());
}

TEST_F(LiveResponseTest, TheRunHearsWhatTheClientTookAndThatItLeft) {
  const uint64_t run = *Attach();
  live_.Begin(run, Head(200));
  live_.Piece(run, "four");
  live_.Took(live_.Take().bytes.size());
  EXPECT_THAT(took_, ElementsAre(4U));
  live_.Leave(true);
  live_.Leave(false);
  EXPECT_THAT(left_, ElementsAre(true));
  live_.Piece(run, "dropped");
  EXPECT_TRUE(live_.Take().bytes.empty());
  EXPECT_FALSE(Attach());
}

TEST_F(LiveResponseTest, ALaterRunTakesOverBeforeAnythingWasTold) {
  const uint64_t first = *Attach();
  const uint64_t second = *Attach();
  live_.Begin(first, Head(500));
  EXPECT_EQ(live_.Look(), Stage::kWaiting);
  live_.Begin(second, Head(200));
  live_.Piece(first, "of the first");
  live_.Finish(first, true, "");
  EXPECT_EQ(live_.TakeResult().status_code, 200);
  EXPECT_TRUE(live_.Take().bytes.empty());
  EXPECT_EQ(live_.Take().end, End::kOpen);
}

TEST_F(LiveResponseTest, ALaterRunBreaksOffWhatAnEarlierOneHasBegun) {
  const uint64_t first = *Attach();
  live_.Begin(first, Head(200));
  live_.Piece(first, "begun");
  EXPECT_FALSE(Attach());
  live_.Piece(first, "more");
  live_.Finish(first, true, "");
  EXPECT_EQ(live_.Take().bytes, "begun");
  EXPECT_EQ(live_.Take().end, End::kBroken);
  EXPECT_EQ(live_.Take().type, "RunAgain");
}

TEST_F(LiveResponseTest, ACompleteAnswerStaysComplete) {
  const uint64_t first = *Attach();
  live_.Begin(first, Head(200));
  live_.Finish(first, true, "");
  EXPECT_FALSE(Attach());
  EXPECT_EQ(live_.Take().end, End::kComplete);
}

TEST_F(LiveResponseTest, WhoHasAWholeAnswerDoesNotLeave) {
  const uint64_t run = *Attach();
  live_.Answer(run, Head(202));
  EXPECT_EQ(live_.Look(), Stage::kAnswered);
  EXPECT_FALSE(live_.Close());
  live_.Leave(false);
  EXPECT_THAT(left_, IsEmpty());
}

TEST_F(LiveResponseTest, WhoeverComesFirstAnswers) {
  const uint64_t run = *Attach();
  EXPECT_TRUE(live_.Close());
  live_.Answer(run, Head(202));
  EXPECT_EQ(live_.Look(), Stage::kWaiting);
}

TEST(LiveResponsesTest, OneClientOfAnActivationHasItsAnswerAsItIsMade) {
  LiveResponses all;
  const std::string key = LiveResponses::KeyOf("t", "act");
  EXPECT_EQ(all.Find(key), nullptr);
  auto first = std::make_unique<LiveResponses::Place>(all, key, AnswerMode::kEvents);
  auto second = std::make_unique<LiveResponses::Place>(all, key, AnswerMode::kChunks);
  EXPECT_EQ(second->response(), nullptr);
  ASSERT_EQ(all.Find(key), first->response());
  EXPECT_EQ(all.Find(key)->mode(), AnswerMode::kEvents);
  std::vector<bool> left;
  ASSERT_TRUE(
      all.Find(key)->Attach({.took = {}, .left = [&](bool others) { left.push_back(others); }}));
  first.reset();
  EXPECT_THAT(left, ElementsAre(true));
  EXPECT_EQ(all.Find(key), nullptr);
  second.reset();
  const LiveResponses::Place again(all, key, AnswerMode::kChunks);
  EXPECT_NE(again.response(), nullptr);
}

}  // namespace
}  // namespace cairn::functions
