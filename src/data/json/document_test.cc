#include "data/json/document.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/json/encoding.h"
#include "data/testing/script.h"
#include "data/value/keys.h"
#include "data/value/limits.h"

namespace cairn::data {
namespace {

using testing::DataServer;

using Rows = std::map<Bytes, Bytes>;

class JsonDocumentTest : public ::testing::Test {
 protected:
  ~JsonDocumentTest() override { server_.CheckConsistency(); }

  // Every row of the store's data.
  Rows AllRows() {
    Rows rows;
    const auto snapshot = server_.store().Read();
    EXPECT_TRUE(snapshot.ok());
    const auto keep = [&](BytesView key, BytesView value) {
      rows.emplace(key, value);
      return true;
    };
    const auto scanned = (*snapshot)->Scan(store::Range::All(store::Space::kData), {}, keep);
    EXPECT_TRUE(scanned.ok());
    return rows;
  }

  // The suffixes and values of the elements, in hexadecimal.
  std::map<std::string, std::string> Elements() {
    std::map<std::string, std::string> elements;
    for (const auto& [key, value] : AllRows()) {
      if (key.front() != 2) continue;
      elements.emplace(HexEncode(BytesView(key).substr(kElementPrefixBytes)), HexEncode(value));
    }
    return elements;
  }

  struct Written {
    size_t rows = 0;
    size_t bytes = 0;
  };
  // What a command changes in the store.
  Written WrittenBy(const std::vector<std::string>& command, const std::string& reply) {
    const Rows before = AllRows();
    EXPECT_EQ(server_.Run(command), reply);
    Written written;
    const Rows after = AllRows();
    for (const auto& [key, value] : after) {
      const auto old = before.find(key);
      if (old != before.end() && old->second == value) continue;
      ++written.rows;
      written.bytes += key.size() + value.size();
    }
    for (const auto& [key, value] : before) written.rows += after.contains(key) ? 0 : 1;
    return written;
  }

  std::string Text(std::string_view key) {
    return server_.Connect().RunValue({"JSON.GET", key}).text;
  }

  DataServer server_;
};

TEST_F(JsonDocumentTest, SmallDocumentsAreOneRecord) {
  server_.Play(R"(
    JSON.SET k $ {"a":1,"b":[true]} => OK
  )");
  const Rows rows = AllRows();
  const auto record = DecodeRecord(rows.at(EncodeRecordKey({0, "k"})));
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->type, ValueType::kJson);
  EXPECT_EQ(record->generation, 0U);
  EXPECT_EQ(HexEncode(record->payload), "000702016103020162060102");
  EXPECT_TRUE(Elements().empty());
}

TEST_F(JsonDocumentTest, LargeContainersAreRowsOfTheirChildren) {
  const std::string text(kMaxInlineJsonBytes, 'x');
  ASSERT_EQ(server_.Run({"JSON.SET", "k", "$", R"({"a":1,"b":[2,")" + text + R"("]})"}), "OK");
  const Rows rows = AllRows();
  const auto record = DecodeRecord(rows.at(EncodeRecordKey({0, "k"})));
  ASSERT_TRUE(record.has_value());
  EXPECT_NE(record->generation, 0U);
  EXPECT_EQ(HexEncode(record->payload), "010000000000000002090000000000000000");
  const std::string root = "0000000000000000";
  const std::string array = "0000000000000001";
  const std::map<std::string, std::string> expected{
      {"6e" + root, "00000000000000020000000000000002"},
      {"6b" + root + "61", "0000000000000000"},
      {"6b" + root + "62", "0000000000000001"},
      {"63" + root + "0000000000000000", "01610302"},
      {"63" + root + "0000000000000001", "0162080000000000000001"},
      {"6e" + array, "00000000000000028000000000000000"},
      {"63" + array + "8000000000000000", "0304"},
      {"63" + array + "8000000000000001", HexEncode(EncodeJson(JsonValue(text)))},
  };
  EXPECT_EQ(Elements(), expected);
}

TEST_F(JsonDocumentTest, WhatIsReplacedLeavesNoRowsBehind) {
  const std::string large = R"({"a":[")" + std::string(2000, 'x') + R"("],"b":{"c":")" +
                            std::string(2000, 'y') + R"("}})";
  for (const char* path : {"$", "$.in"}) {
    ASSERT_EQ(server_.Run({"JSON.SET", "k", "$", R"({"in":1})"}), "OK");
    ASSERT_EQ(server_.Run({"JSON.SET", "k", path, large}), "OK");
    EXPECT_FALSE(Elements().empty());
    ASSERT_EQ(server_.Run({"JSON.SET", "k", path, "1"}), "OK");
    server_.FireTimers();
    // The root stays split; nothing but its own rows is left.
    EXPECT_EQ(Elements().size(), std::string_view(path) == "$" ? 0U : 3U);
    EXPECT_EQ(server_.Run({"DEL", "k"}), "(integer) 1");
    server_.FireTimers();
    EXPECT_TRUE(Elements().empty());
  }
}

// A document of 1 MB: 2,000 sections of some 500 bytes.
std::string LargeDocument() {
  std::string text = R"({"stats":{"available":800,"sold":0},"sections":{)";
  for (int i = 0; i < 2000; ++i) {
    if (i > 0) text += ',';
    text += "\"S-" + std::to_string(i) + R"(":{"name":")" + std::string(450, 'n') +
            R"(","stats":{"available":500,"reserved":0}})";
  }
  return text + R"(},"list":[0,1,2]})";
}

TEST_F(JsonDocumentTest, OneCounterOfALargeDocumentIsChangedAlone) {
  const std::string text = LargeDocument();
  ASSERT_GT(text.size(), 1'000'000U);
  ASSERT_EQ(server_.Run({"JSON.SET", "k", "$", text}), "OK");
  EXPECT_EQ(Text("k"), text);

  const Written deep =
      WrittenBy({"JSON.NUMINCRBY", "k", "$.sections['S-1234'].stats.available", "-1"}, "\"[499]\"");
  EXPECT_LE(deep.rows, 2U);  // the section, and the record for its version
  EXPECT_LT(deep.bytes, 2 * kMaxInlineJsonBytes);
  const Written shallow = WrittenBy({"JSON.NUMINCRBY", "k", "$.stats.sold", "1"}, "\"[1]\"");
  EXPECT_LE(shallow.rows, 2U);
  EXPECT_LT(shallow.bytes, 256U);
  const Written added = WrittenBy({"JSON.SET", "k", "$.sections.new", "{}"}, "OK");
  EXPECT_LE(added.rows, 4U);
  const Written removed = WrittenBy({"JSON.DEL", "k", "$.sections['S-7']"}, "(integer) 1");
  EXPECT_LE(removed.rows, 4U);
  EXPECT_EQ(server_.Run({"JSON.OBJLEN", "k", "$.sections"}), "[(integer) 2000]");
}

TEST_F(JsonDocumentTest, ALargeArrayGrowsAndShrinksAtBothEnds) {
  std::string text = "[0";
  for (int i = 1; i < 3000; ++i) text += "," + std::to_string(i);
  ASSERT_EQ(server_.Run({"JSON.SET", "k", "$", text + "]"}), "OK");
  EXPECT_LE(WrittenBy({"JSON.ARRAPPEND", "k", "$", "3000"}, "[(integer) 3001]").rows, 3U);
  EXPECT_LE(WrittenBy({"JSON.ARRINSERT", "k", "$", "0", "-1"}, "[(integer) 3002]").rows, 3U);
  EXPECT_LE(WrittenBy({"JSON.ARRPOP", "k", "$", "0"}, "[\"-1\"]").rows, 3U);
  EXPECT_LE(WrittenBy({"JSON.ARRPOP", "k", "$"}, "[\"3000\"]").rows, 3U);
  EXPECT_LE(WrittenBy({"JSON.SET", "k", "$[1500]", "null"}, "OK").rows, 2U);
  EXPECT_LE(WrittenBy({"JSON.ARRPOP", "k", "$", "2990"}, "[\"2990\"]").rows, 12U);
  EXPECT_EQ(server_.Run({"JSON.GET", "k", "$[1499:1502]"}), "\"[1499,null,1501]\"");
  EXPECT_EQ(server_.Run({"JSON.GET", "k", "$[-2,2990]"}), "\"[2998,2991]\"");
  EXPECT_EQ(server_.Run({"JSON.ARRTRIM", "k", "$", "10", "12"}), "[(integer) 3]");
  EXPECT_EQ(server_.Run({"JSON.GET", "k"}), "\"[10,11,12]\"");
}

TEST_F(JsonDocumentTest, DamagedRowsAreReportedAndNothingCrashes) {
  ASSERT_EQ(server_.Run({"JSON.SET", "k", "$", LargeDocument()}), "OK");
  const Rows rows = AllRows();
  const auto damage = [&](store::Transaction& transaction) -> Result<void> {
    for (const auto& [key, value] : rows) {
      if (key.front() == 2) transaction.Put({store::Space::kData, key}, "\xff");
    }
    return {};
  };
  const auto run = server_.store().Run(store::Scopes::Exclusive(), damage);
  ASSERT_TRUE(run.ok());
  for (const char* path : {"$", "$.stats", "$..available"}) {
    EXPECT_TRUE(server_.Run({"JSON.GET", "k", path}).starts_with("(error)")) << path;
  }
  EXPECT_TRUE(server_.Run({"JSON.DEL", "k", "$.stats"}).starts_with("(error)"));
  EXPECT_EQ(server_.Run({"JSON.SET", "k", "$", "1"}), "OK");
}

}  // namespace
}  // namespace cairn::data
