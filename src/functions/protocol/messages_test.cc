#include "functions/protocol/messages.h"

#include <gtest/gtest.h>

#include <string>

#include "functions/protocol/limits.h"

namespace cairn::functions {
namespace {

template <typename Message, typename Sent>
void ExpectRoundTrip(const Sent& sent) {
  const Bytes bytes = Encode(sent);
  MessageReader<Message> reader;
  for (size_t i = 0; i < bytes.size(); ++i) {  // one byte at a time
    const auto early = reader.Next();
    ASSERT_TRUE(early.ok());
    ASSERT_FALSE(early->has_value());
    reader.Append(BytesView(bytes).substr(i, 1));
  }
  const auto message = reader.Next();
  ASSERT_TRUE(message.ok()) << message.error().message;
  ASSERT_TRUE(message->has_value());
  EXPECT_EQ(std::get<Sent>(**message), sent);
  EXPECT_EQ(reader.waiting(), 0);
}

TEST(MessagesTest, EveryMessageIsReadAsItWasWritten) {
  const Program program{.sha256 = "abc",
                        .files = {{"function.js", "text"}, {"a.json", std::string("\0x", 2)}},
                        .entry = "function.js",
                        .handler = "other",
                        .isolation = Isolation::kVersion,
                        .compiled = "code"};
  ExpectRoundTrip<ToChild>(RunMessage{.number = UINT64_MAX,
                                      .sha256 = "abc",
                                      .program = program,
                                      .event = "{}",
                                      .context = "{1}",
                                      .env = "{2}",
                                      .limits = {.wall_ms = 1, .cpu_ms = 2, .memory_bytes = 3},
                                      .only_load = true,
                                      .answer = AnswerMode::kEvents});
  ExpectRoundTrip<ToChild>(RunMessage{.number = 1, .sha256 = "abc"});
  ExpectRoundTrip<ToChild>(HostReplyMessage{.number = 1, .call = 2, .ok = false, .text = "no"});
  ExpectRoundTrip<ToChild>(CompileMessage{.number = 1, .files = program.files, .entry = "x"});
  ExpectRoundTrip<ToServer>(
      HostCallMessage{.number = 1, .call = 2, .operation = "kv.get", .arguments = "{}"});
  ExpectRoundTrip<ToServer>(LogMessage{.number = 1, .level = "info", .text = "line"});
  ExpectRoundTrip<ToServer>(RunResultMessage{.number = 1,
                                             .status = RunStatus::kTimeout,
                                             .result = "{}",
                                             .result_truncated = true,
                                             .error = {"T", "m", "s"},
                                             .limit_hit = "wall",
                                             .cpu_us = 5,
                                             .peak_memory_bytes = 6,
                                             .retire = true,
                                             .cold = true});
  ExpectRoundTrip<ToChild>(StreamRoomMessage{.number = 1, .bytes = UINT64_MAX});
  ExpectRoundTrip<ToChild>(AbortMessage{.number = 1, .reason = "the client has left"});
  ExpectRoundTrip<ToServer>(AnsweredMessage{.number = 1, .result = "{}", .result_truncated = true});
  ExpectRoundTrip<ToServer>(StreamBegunMessage{.number = 1, .head = "{}"});
  ExpectRoundTrip<ToServer>(StreamPieceMessage{.number = 1, .bytes = std::string("\0\xff", 2)});
  ExpectRoundTrip<ToServer>(StreamEndedMessage{.number = UINT64_MAX});
  ExpectRoundTrip<ToServer>(CompiledMessage{.number = 1, .ok = false, .text = "a.js:1: bad"});
  ExpectRoundTrip<ToServer>(ForkedMessage{.pid = 7, .sandbox = 3});
  ExpectRoundTrip<ToServer>(ExitedMessage{.status = -1, .cpu_us = 4});
  ExpectRoundTrip<ToZygote>(ForkMessage{.hard_memory_bytes = 9});
}

Bytes Frame(uint32_t length, uint8_t kind, BytesView payload) {
  Bytes frame;
  AppendBig32(frame, length);
  frame.push_back(static_cast<char>(kind));
  frame += payload;
  return frame;
}

template <typename Message>
std::string ErrorOf(BytesView bytes) {
  MessageReader<Message> reader;
  reader.Append(bytes);
  const auto message = reader.Next();
  return message.ok() ? "" : message.error().message;
}

TEST(MessagesTest, WhatIsNoMessageIsRefusedBeforeItHasArrived) {
  EXPECT_EQ(ErrorOf<ToServer>(Frame(1, 99, "")), "a message of unknown kind 99");
  EXPECT_EQ(ErrorOf<ToServer>(Frame(0x7FFFFFFF, 17, "")),
            "a message of kind 17 with 2147483647 bytes is too long");
  // A child cannot speak as the server does.
  EXPECT_EQ(ErrorOf<ToServer>(Encode(RunMessage{.number = 1})), "a message of unknown kind 1");
}

TEST(MessagesTest, FieldsThatDoNotFitAreRefused) {
  EXPECT_EQ(ErrorOf<ToServer>(Frame(4, 33, "abcd")), "a message of kind 33 is malformed");
  Bytes longer = Encode(ForkedMessage{.pid = 7});
  longer[3] = static_cast<char>(longer[3] + 1);
  longer += 'x';
  EXPECT_EQ(ErrorOf<ToServer>(longer), "a message of kind 32 is malformed");
  RunResultMessage result{.number = 1, .result = std::string(wire::kMaxResultBytes + 1, 'x')};
  EXPECT_EQ(ErrorOf<ToServer>(Encode(result)), "a message of kind 18 is malformed");
  EXPECT_EQ(ErrorOf<ToServer>(Encode(ForkedMessage{.pid = -1})),
            "a message of kind 32 is malformed");
  const StreamPieceMessage piece{.number = 1,
                                 .bytes = std::string(wire::kMaxStreamPieceBytes + 1, 'x')};
  EXPECT_EQ(ErrorOf<ToServer>(Encode(piece)), "a message of kind 26 is malformed");
  const StreamBegunMessage begun{.number = 1, .head = std::string(wire::kMaxResultBytes + 1, 'x')};
  EXPECT_EQ(ErrorOf<ToServer>(Encode(begun)), "a message of kind 25 is malformed");
  const AbortMessage abort{.number = 1, .reason = std::string(wire::kMaxAbortReasonBytes + 1, 'x')};
  EXPECT_EQ(ErrorOf<ToChild>(Encode(abort)), "a message of kind 9 is malformed");
  Bytes mode = Encode(RunMessage{.number = 1});
  mode.back() = 4;
  EXPECT_EQ(ErrorOf<ToChild>(mode), "a message of kind 1 is malformed");
  Bytes flag = Encode(CompiledMessage{.number = 1, .ok = true});
  flag[5 + 8] = 2;
  EXPECT_EQ(ErrorOf<ToServer>(flag), "a message of kind 19 is malformed");
}

// What goes into records and must be readable there.
TEST(MessagesTest, FiguresThatNoRunCanHaveAreRefused) {
  const auto accepts = [](const RunResultMessage& message) {
    MessageReader<ToServer> reader;
    reader.Append(Encode(message));
    return reader.Next().ok();
  };
  constexpr int64_t kMost = int64_t{1} << 52U;
  EXPECT_TRUE(accepts({.cpu_us = kMost, .peak_memory_bytes = kMost}));
  EXPECT_FALSE(accepts({.cpu_us = kMost + 1}));
  EXPECT_FALSE(accepts({.cpu_us = -1}));
  EXPECT_FALSE(accepts({.peak_memory_bytes = kMost + 1}));
  EXPECT_FALSE(accepts({.peak_memory_bytes = UINT64_MAX}));
  EXPECT_TRUE(accepts({.limit_hit = "memory"}));
  EXPECT_FALSE(accepts({.limit_hit = "crash"}));  // that is for the server to say
}

TEST(MessagesTest, AMessageThatIsLongerThanExpectedIsNotTakenIn) {
  MessageReader<ToServer> reader;
  reader.set_max_bytes(100);
  const Bytes frame = Encode(CompiledMessage{.number = 1, .text = std::string(1'000, 'x')});
  reader.Append(BytesView(frame).substr(0, 5));
  EXPECT_FALSE(reader.Next().ok());
}

}  // namespace
}  // namespace cairn::functions
