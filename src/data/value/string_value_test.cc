#include "data/value/string_value.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/testing/script.h"

namespace cairn::data {
namespace {

using testing::DataServer;

class StringValueTest : public ::testing::Test {
 protected:
  ~StringValueTest() override { server_.CheckConsistency(); }

  // All rows with elements of database 0: key and value.
  std::vector<std::pair<Bytes, Bytes>> ElementRows() {
    std::vector<std::pair<Bytes, Bytes>> rows;
    const auto snapshot = server_.store().Read();
    const auto scanned =
        (*snapshot)->Scan(ElementRange(0), {}, [&](BytesView key, BytesView value) {
          rows.emplace_back(key, value);
          return true;
        });
    EXPECT_TRUE(scanned.ok());
    return rows;
  }
  Record RecordOf(std::string_view key) {
    const auto snapshot = server_.store().Read();
    const Bytes record_key = EncodeRecordKey({0, key});
    const auto value = (*snapshot)->Get({store::Space::kData, record_key});
    record_ = value->value_or("");
    return DecodeRecord(record_).value_or(Record{});
  }

  DataServer server_;
  Bytes record_;
};

TEST_F(StringValueTest, GoldenBytes) {
  server_.Run({"SET", "short", std::string(8192, 's')});
  EXPECT_EQ(RecordOf("short").generation, 0U);
  EXPECT_TRUE(ElementRows().empty());

  server_.Run({"SET", "k", std::string(8193, 'x')});
  const Record record = RecordOf("k");
  EXPECT_NE(record.generation, 0U);
  EXPECT_EQ(HexEncode(record.payload), "0000000000002001");
  const auto rows = ElementRows();
  ASSERT_EQ(rows.size(), 3U);
  const Bytes prefix = EncodeElementPrefix(0, record.generation);
  EXPECT_EQ(HexEncode(rows[0].first), HexEncode(prefix) + "00000000");
  EXPECT_EQ(HexEncode(rows[2].first), HexEncode(prefix) + "00000002");
  EXPECT_EQ(rows[0].second, std::string(4096, 'x'));
  EXPECT_EQ(rows[2].second, "x");
}

TEST_F(StringValueTest, AFarBitTakesOneSegment) {
  server_.Run({"SETBIT", "k", "4294967295", "1"});
  const auto rows = ElementRows();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_TRUE(rows[0].first.ends_with(std::string_view("\x00\x01\xff\xff", 4)));
  EXPECT_EQ(rows[0].second.size(), 4096U);
}

TEST_F(StringValueTest, ReplacedAndRemovedSegmentsAreReclaimed) {
  server_.Run({"SET", "k", std::string(100'000, 'x')});
  server_.Run({"SET", "k", std::string(20'000, 'y')});
  server_.FireTimers();
  EXPECT_EQ(ElementRows().size(), 5U);
  server_.Run({"SET", "k", "short"});
  server_.Run({"SET", "gone", std::string(20'000, 'y')});
  server_.Run({"GETDEL", "gone"});
  server_.FireTimers();
  EXPECT_TRUE(ElementRows().empty());
}

TEST_F(StringValueTest, ShortStringsGrowIntoSegments) {
  auto client = server_.Connect();
  std::string expected(8190, 'a');
  client.Run({"SET", "k", expected, "EX", "100"});
  for (const char* part : {"b", "c", "d", "e"}) {
    client.Run({"APPEND", "k", part});
    expected += part;
  }
  EXPECT_EQ(client.RunValue({"GET", "k"}).text, expected);
  EXPECT_EQ(client.Run({"TTL", "k"}), "(integer) 100");
  EXPECT_EQ(client.Run({"STRLEN", "k"}), "(integer) 8194");
  EXPECT_EQ(client.Run({"SETRANGE", "k", "20000", "z"}), "(integer) 20001");
  EXPECT_EQ(client.Run({"GETRANGE", "k", "8192", "8194"}), R"("de\x00")");
  EXPECT_EQ(client.RunValue({"GET", "k"}).text, expected + std::string(20000 - 8194, '\0') + "z");
}

TEST_F(StringValueTest, EveryCommandSeesALargeString) {
  const std::string large(10'000, '7');
  auto client = server_.Connect();
  client.Run({"SET", "k", large});
  EXPECT_EQ(client.Run({"INCR", "k"}), "(error) ERR value is not an integer or out of range");
  EXPECT_EQ(client.Run({"INCRBYFLOAT", "k", "1"}), "(error) ERR value is not a valid float");
  EXPECT_EQ(client.RunValue({"MGET", "k"}).items[0].text, large);
  EXPECT_EQ(client.RunValue({"GETEX", "k", "EX", "10"}).text, large);
  EXPECT_EQ(client.RunValue({"SET", "k", "new", "GET"}).text, large);
  client.Run({"SET", "k", large});
  client.Run({"SET", "few", "777"});
  EXPECT_EQ(client.Run({"LCS", "k", "few", "LEN"}), "(integer) 3");
  EXPECT_EQ(client.RunValue({"GETSET", "k", large}).text, large);
  EXPECT_EQ(client.Run({"RENAME", "k", "r"}), "OK");
  EXPECT_EQ(client.RunValue({"GETDEL", "r"}).text, large);
  EXPECT_EQ(client.Run({"EXISTS", "k", "r"}), "(integer) 0");
}

TEST_F(StringValueTest, AnUnreadableLengthIsCorruption) {
  const auto written = server_.store().Run({}, [](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(transaction, 0, "k"));
    entry.Put({.type = ValueType::kString, .payload = "xyz", .generation = 1});
    return {};
  });
  ASSERT_TRUE(written.ok());
  EXPECT_TRUE(server_.Run({"GET", "k"}).starts_with("(error)"));
  server_.Run({"FLUSHALL"});  // the check at the end would find it
}

// Random parts of one string, written and read, against a std::string.
class StringModelTest : public StringValueTest, public ::testing::WithParamInterface<uint64_t> {};

TEST_P(StringModelTest, AgreesWithAString) {
  SeededRandom random(GetParam());
  std::optional<std::string> model;
  auto text = [&](size_t limit) {
    return std::string(1 + random.Below(limit), static_cast<char>('a' + random.Below(26)));
  };
  for (int step = 0; step < 300 && !HasFailure(); ++step) {
    auto client = server_.Connect();
    switch (random.Below(8)) {
      case 0:
      case 1: {
        const std::string part = text(3000);
        model = model.value_or("") + part;
        EXPECT_EQ(client.Run({"APPEND", "k", part}), "(integer) " + std::to_string(model->size()));
        break;
      }
      case 2:
      case 3: {
        const std::string part = text(6000);
        const size_t at = random.Below(30'000);
        if (!model) model = "";
        if (model->size() < at + part.size()) model->resize(at + part.size(), '\0');
        model->replace(at, part.size(), part);
        EXPECT_EQ(client.Run({"SETRANGE", "k", std::to_string(at), part}),
                  "(integer) " + std::to_string(model->size()));
        break;
      }
      case 4:
        if (random.Below(5) == 0) {
          model = text(20'000);
          EXPECT_EQ(client.Run({"SET", "k", *model}), "OK");
        } else if (random.Below(5) == 0) {
          client.Run({"DEL", "k"});
          model.reset();
          server_.FireTimers();
        }
        break;
      case 5: {
        const size_t at = random.Below(40'000);
        const size_t end = at + random.Below(50'000);
        const std::string expected =
            model && at < model->size() ? model->substr(at, end - at + 1) : "";
        EXPECT_EQ(client.RunValue({"GETRANGE", "k", std::to_string(at), std::to_string(end)}).text,
                  expected);
        break;
      }
      case 6:
        EXPECT_EQ(client.RunValue({"GET", "k"}).text, model.value_or(""));
        break;
      default:
        if (random.Below(20) == 0) server_.Restart();
        break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, StringModelTest, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace cairn::data
