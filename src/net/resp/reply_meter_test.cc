#include "net/resp/reply_meter.h"

#include <gtest/gtest.h>

#include <string>

#include "net/resp/writer.h"

namespace cairn::net {
namespace {

constexpr size_t kMegabyte = 1024 * 1024;

TEST(ReplyMeterTest, AReplyPastItsLimitIsNotWritten) {
  const ReplyBounds bounds{.limit = 10'000};
  std::string out = "before";
  ReplyMeter meter(bounds, out.size());
  RespWriter writer(out, 2, &meter);
  writer.ArrayHeader(100);
  for (int i = 0; i < 100 && !writer.full(); ++i) writer.Bulk(std::string(1000, 'x'));
  EXPECT_TRUE(writer.full());
  EXPECT_LE(out.size(), 10'006U);
  const size_t written = out.size();
  writer.Integer(1);
  writer.Null();
  writer.Simple("OK");
  writer.Error("ERR");
  writer.Double(1.5);
  writer.Raw("x");
  EXPECT_EQ(out.size(), written);
  EXPECT_EQ(meter.error().code, ErrorCode::kTooLarge);
  EXPECT_NE(meter.error().message.find("limits.reply"), std::string::npos);
}

TEST(ReplyMeterTest, OnlyLargeRepliesAreCharged) {
  BufferBudget budget(100 * kMegabyte);
  const ReplyBounds bounds{.budget = &budget};
  {
    std::string out;
    ReplyMeter meter(bounds);
    RespWriter writer(out, 2, &meter);
    writer.Bulk(std::string(kMegabyte / 2, 'x'));
    EXPECT_EQ(budget.used(), 0U);
    writer.Bulk(std::string(20 * kMegabyte, 'x'));
    EXPECT_GE(budget.used(), 40 * kMegabyte) << "it is there twice while it grows";
  }
  EXPECT_EQ(budget.used(), 0U);
}

TEST(ReplyMeterTest, WhereThereIsNoRoomTheReplyFails) {
  BufferBudget budget(10 * kMegabyte);
  const ReplyBounds bounds{.budget = &budget};
  ReplyMeter meter(bounds);
  EXPECT_TRUE(meter.Allows(4 * kMegabyte));
  EXPECT_FALSE(meter.Allows(30 * kMegabyte));
  EXPECT_FALSE(meter.Allows(1)) << "it stays so";
  EXPECT_EQ(meter.error().code, ErrorCode::kTooMany);
  EXPECT_NE(meter.error().message.find("limits.buffers"), std::string::npos);
  meter.Restart();
  EXPECT_TRUE(meter.Allows(1));
  EXPECT_EQ(budget.used(), 0U);
}

TEST(ReplyMeterTest, WhatACommandTakesBesideItsReplyCounts) {
  BufferBudget budget(10 * kMegabyte);
  const ReplyBounds bounds{.budget = &budget};
  ReplyMeter meter(bounds);
  EXPECT_TRUE(meter.Reserve(9 * kMegabyte));
  EXPECT_EQ(budget.used(), 9 * kMegabyte);
  EXPECT_FALSE(meter.Reserve(9 * kMegabyte));
  EXPECT_TRUE(meter.overrun());
  meter.Restart();
  EXPECT_EQ(budget.used(), 0U);
  EXPECT_TRUE(meter.Reserve(9 * kMegabyte));
}

}  // namespace
}  // namespace cairn::net
