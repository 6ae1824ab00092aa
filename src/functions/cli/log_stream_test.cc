#include "functions/cli/log_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn::functions::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Read(const std::vector<std::string>& pieces) {
  std::vector<std::string> events;
  EventReader reader([&](const EventReader::Event& event) {
    events.push_back(event.id + "|" + event.event + "|" + event.data);
  });
  for (const std::string& piece : pieces) EXPECT_TRUE(reader.Append(piece));
  return events;
}

TEST(EventReaderTest, EventsComeInAnyPieces) {
  const std::string text =
      ": comment\n\nid: 1\nevent: log\ndata: one\ndata: two\n\nid: 2\r\nevent: end\r\ndata: "
      "\r\n\r\n";
  EXPECT_THAT(Read({text}), ElementsAre("1|log|one\ntwo", "2|end|"));
  std::vector<std::string> letters;
  for (const char letter : text) letters.emplace_back(1, letter);
  EXPECT_THAT(Read(letters), ElementsAre("1|log|one\ntwo", "2|end|"));
}

TEST(EventReaderTest, AnEventThatDoesNotEndIsNone) {
  EXPECT_THAT(Read({"event: log\ndata: one\n"}), IsEmpty());
  EXPECT_THAT(Read({"data\n\n", "odd: field\n\n"}), ElementsAre("||"));
}

TEST(EventReaderTest, ALineWithoutAnEndIsRefused) {
  EventReader reader([](const EventReader::Event&) {});
  const std::string piece(1024UL * 1024, 'x');
  bool taken = true;
  for (size_t i = 0; i <= EventReader::kMaxLineBytes / piece.size(); ++i) {
    taken = reader.Append(piece);
  }
  EXPECT_FALSE(taken);
}

}  // namespace
}  // namespace cairn::functions::cli
