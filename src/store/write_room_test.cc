#include "store/write_room.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace cairn::store {
namespace {

// Takes room on a thread of its own, and keeps it until it is destroyed.
class Writer {
 public:
  Writer(WriteRoom& room, size_t bytes) : place_(room) {
    grown_ = std::async(std::launch::async, [this, &room, bytes] {
      place_.Grow(bytes);
      used_then_ = room.used();
    });
  }

  void AwaitRoom() { grown_.wait(); }
  // What was in use, with its own, when it got room: no more than the room if it had waited.
  size_t used_then() const { return used_then_; }

 private:
  WriteRoom::Place place_;
  size_t used_then_ = 0;
  std::future<void> grown_;
};

TEST(WriteRoomTest, WritersThatFitTogetherDoNotWait) {
  WriteRoom room(100);
  Writer a(room, 40);
  Writer b(room, 60);
  a.AwaitRoom();
  b.AwaitRoom();
  EXPECT_EQ(room.used(), 100U);
}

TEST(WriteRoomTest, TheOldestMayTakeMoreThanThereIs) {
  WriteRoom room(100);
  WriteRoom::Place oldest(room);
  oldest.Grow(90);
  oldest.Grow(200);
  EXPECT_EQ(room.used(), 290U);
}

TEST(WriteRoomTest, OthersWaitUntilTheOldestIsDone) {
  WriteRoom room(100);
  auto oldest = std::make_unique<Writer>(room, 300);
  oldest->AwaitRoom();
  Writer second(room, 10);
  oldest.reset();
  second.AwaitRoom();
  EXPECT_EQ(second.used_then(), 10U) << "it did not wait";
  EXPECT_EQ(room.used(), 10U);
}

TEST(WriteRoomTest, WritersThatAreTooMuchTogetherAllFinishInTheirOrder) {
  WriteRoom room(100);
  std::vector<std::unique_ptr<Writer>> writers;
  for (int i = 0; i < 5; ++i) writers.push_back(std::make_unique<Writer>(room, 150));
  for (auto& writer : writers) {
    writer->AwaitRoom();
    EXPECT_EQ(writer->used_then(), 150U) << "it did not wait";
    writer.reset();
  }
  EXPECT_EQ(room.used(), 0U);
}

TEST(WriteRoomTest, WritersThatHoldAllRoomBetweenThemGoOn) {
  WriteRoom room(100);
  auto oldest = std::make_unique<WriteRoom::Place>(room);
  WriteRoom::Place second(room);
  oldest->Grow(50);
  second.Grow(50);
  std::jthread waiting([&] { second.Grow(50); });
  oldest->Grow(50);
  EXPECT_EQ(room.used(), 150U);
  oldest.reset();
  waiting.join();
  EXPECT_EQ(room.used(), 100U);
}

}  // namespace
}  // namespace cairn::store
