#include "data/keyspace/rdb_format.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "data/keyspace/listpack.h"
#include "data/keyspace/lzf.h"

namespace cairn::data {
namespace {

Bytes FromHex(std::string_view hex) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

// What a Redis 7.0 has dumped.
constexpr std::string_view kInt8 = "00c0fb0a0049c4c6f4d7263f68";
constexpr std::string_view kInt16 = "00c1e8030a0089d1478ebac4b764";
constexpr std::string_view kInt32 = "00c2a08601000a00f12403506f2fa674";
constexpr std::string_view kHello = "000568656c6c6f0a006372df766534200a";
constexpr std::string_view kHundredAs = "00c3094064016161e057000161610a00e8a3b507b06df271";
constexpr std::string_view kList =
    "120102c3274085188500000006008161020101df3802f270110104f400f2052a0120170309e06478e05a000166ff0a"
    "00fb82e00d3e48ec23";
constexpr std::string_view kHash = "1012120000000400816602817602816e020c01ff0a0001369481d35b8974";
constexpr std::string_view kIntset = "0b0e0200000003000000fdff010002000a00d1b78ed9bc07c27f";
constexpr std::string_view kWideIntset = "0b10040000000200000001000000a08601000a00d7b548c007796515";
constexpr std::string_view kSet = "020101610a006296e97e44d21a6d";
constexpr std::string_view kSortedSet =
    "111d1d0000000600816302842d696e6605816102010181620283312e3504ff0a002fa234becaf9c99a";

constexpr std::string_view kEmptyStream = "13000003030000030301000a008959d73b5506015a";
// With an entry deleted, two groups, three consumers.
constexpr std::string_view kStream =
    "13011000000000000000050000000000000001406d6d00000025000401010102018161028162020001020100010001"
    "01"
    "018374776f040501030100010101c12c02817802050100010101dfff020101856f7468657206f27011010406010201"
    "02"
    "01dfff02dffb02f400f2052a0100000009050102010301dfff028001817a020501ff04080005010502050201670700"
    "81"
    "ffffffffffffffff03000000000000000500000000000000016119bae5a10100000100000000000000060000000000"
    "00"
    "00006119bae5a101000001000000000000000700000000000000007319bae5a101000001030263316119bae5a10100"
    "00"
    "0200000000000000050000000000000001000000000000000600000000000000000263327319bae5a1010000010000"
    "00"
    "000000000700000000000000000469646c658219bae5a1010000000168060081ffffffffffffffff00000a00eefba2"
    "f7"
    "49017915";

RdbValue Decoded(std::string_view hex) {
  const Bytes dump = FromHex(hex);
  EXPECT_TRUE(HasValidFooter(dump)) << hex;
  const std::optional<RdbValue> value = DecodeRdbValue(dump);
  EXPECT_TRUE(value.has_value()) << hex;
  return value.value_or(RdbValue{});
}

TEST(RdbFormatTest, ReadsWhatRedisWrites) {
  EXPECT_EQ(Decoded(kInt8).text, "-5");
  EXPECT_EQ(Decoded(kInt16).text, "1000");
  EXPECT_EQ(Decoded(kInt32).text, "100000");
  EXPECT_EQ(Decoded(kHello).text, "hello");
  EXPECT_EQ(Decoded(kHundredAs).text, std::string(100, 'a'));
  EXPECT_EQ(Decoded(kList).members,
            (std::vector<Bytes>{"a", "1", "-200", "70000", "5000000000", std::string(100, 'x')}));
  EXPECT_EQ(Decoded(kHash).fields, (std::vector<std::pair<Bytes, Bytes>>{{"f", "v"}, {"n", "12"}}));
  EXPECT_EQ(Decoded(kIntset).members, (std::vector<Bytes>{"-3", "1", "2"}));
  EXPECT_EQ(Decoded(kWideIntset).members, (std::vector<Bytes>{"1", "100000"}));
  EXPECT_EQ(Decoded(kSet).members, (std::vector<Bytes>{"a"}));
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Decoded(kSortedSet).scores,
            (std::vector<std::pair<Bytes, double>>{{"c", -infinity}, {"a", 1}, {"b", 1.5}}));
}

TEST(RdbFormatTest, ReadsStreamsOfRedis) {
  const RdbStream stream = Decoded(kStream).stream;
  ASSERT_EQ(stream.entries.size(), 4U);
  EXPECT_EQ(stream.entries[0].id, (StreamId{5, 1}));
  EXPECT_EQ(stream.entries[0].fields, (std::vector<Bytes>{"a", "1", "b", "two"}));
  EXPECT_EQ(stream.entries[1].id, (StreamId{6, 0}));
  EXPECT_EQ(stream.entries[1].fields, (std::vector<Bytes>{"other", "70000"}));
  EXPECT_EQ(stream.entries[2].fields, (std::vector<Bytes>{"a", "-5", "b", "5000000000"}));
  EXPECT_EQ(stream.entries[3].fields, (std::vector<Bytes>{"a", "", "b", "z"}));
  EXPECT_EQ(stream.last_id, (StreamId{8, 0}));
  EXPECT_EQ(stream.max_deleted_id, (StreamId{5, 2}));
  EXPECT_EQ(stream.entries_added, 5U);
  ASSERT_EQ(stream.groups.size(), 2U);
  const RdbStream::Group& group = stream.groups[0];
  EXPECT_EQ(group.name, "g");
  EXPECT_EQ(group.last_delivered, (StreamId{7, 0}));
  EXPECT_EQ(group.entries_read, kUnknownEntriesRead);
  ASSERT_EQ(group.consumers.size(), 3U);
  EXPECT_EQ(group.consumers[2].name, "idle");
  EXPECT_EQ(group.consumers[2].seen_ms, 1794855541122);
  ASSERT_EQ(group.pending.size(), 3U);
  EXPECT_EQ(group.pending[2].id, (StreamId{7, 0}));
  EXPECT_EQ(group.pending[2].consumer, "c2");
  EXPECT_EQ(group.pending[2].delivered_ms, 1794855541107);
  EXPECT_EQ(group.pending[2].delivery_count, 1);
  EXPECT_TRUE(Decoded(kEmptyStream).stream.entries.empty());
  EXPECT_EQ(Decoded(kEmptyStream).stream.last_id, (StreamId{3, 3}));
}

// Version 1 has no counts, version 3 one more time per consumer.
TEST(RdbFormatTest, ReadsStreamsOfOtherVersions) {
  const auto read = [](RdbType type) {
    RdbWriter writer(type);
    writer.Length(0);
    for (const uint64_t part : {0, 3, 4}) writer.Length(part);
    if (type == RdbType::kStream3) {
      for (const uint64_t part : {0, 0, 2, 1, 9}) writer.Length(part);
    }
    writer.Length(1);
    writer.String("group");
    for (const uint64_t part : {2, 1}) writer.Length(part);
    if (type == RdbType::kStream3) writer.Length(7);
    writer.Length(0);
    writer.Length(1);
    writer.String("consumer");
    writer.Little64(5);
    if (type == RdbType::kStream3) writer.Little64(6);
    writer.Length(0);
    return DecodeRdbValue(std::move(writer).Finish()).value_or(RdbValue{}).stream;
  };
  const RdbStream first = read(RdbType::kStream);
  EXPECT_EQ(first.last_id, (StreamId{3, 4}));
  EXPECT_EQ(first.entries_added, 0U);
  ASSERT_EQ(first.groups.size(), 1U);
  EXPECT_EQ(first.groups[0].entries_read, std::nullopt);
  const RdbStream third = read(RdbType::kStream3);
  EXPECT_EQ(third.max_deleted_id, (StreamId{2, 1}));
  EXPECT_EQ(third.entries_added, 9U);
  ASSERT_EQ(third.groups.size(), 1U);
  EXPECT_EQ(third.groups[0].entries_read, 7);
  ASSERT_EQ(third.groups[0].consumers.size(), 1U);
  EXPECT_EQ(third.groups[0].consumers[0].seen_ms, 5);
}

TEST(RdbFormatTest, UnsoundStreamsAreRefused) {
  RdbStream good;
  good.entries = {{.id = {1, 0}, .fields = {"a", "b"}}, {.id = {2, 0}, .fields = {"a", "c"}}};
  good.last_id = {2, 0};
  good.groups = {{.name = "g", .consumers = {{"c"}}, .pending = {{.id = {1, 0}, .consumer = "c"}}}};
  const auto is_read = [](const RdbStream& stream) {
    RdbWriter writer(RdbType::kStream2);
    WriteRdbStream(writer, stream);
    return DecodeRdbValue(std::move(writer).Finish()).has_value();
  };
  EXPECT_TRUE(is_read(good));
  RdbStream bad = good;
  std::swap(bad.entries[0], bad.entries[1]);
  EXPECT_FALSE(is_read(bad));
  bad = good;
  bad.last_id = {1, 5};
  EXPECT_FALSE(is_read(bad));
  bad = good;
  bad.groups.push_back(good.groups[0]);
  EXPECT_FALSE(is_read(bad));
  bad = good;
  bad.groups[0].consumers[0].name = "somebody else";
  EXPECT_FALSE(is_read(bad));
  bad = good;
  bad.groups[0].consumers.push_back({"c"});
  EXPECT_FALSE(is_read(bad));
}

TEST(RdbFormatTest, UnsoundJsonIsRefused) {
  const auto is_read = [](std::string_view hex) {
    RdbWriter writer(RdbType::kJson);
    writer.String(FromHex(hex));
    return DecodeRdbValue(std::move(writer).Finish()).has_value();
  };
  EXPECT_TRUE(is_read("0601050161"));
  EXPECT_FALSE(is_read("06010501"));            // ends early
  EXPECT_FALSE(is_read("06010501ff"));          // not UTF-8
  EXPECT_FALSE(is_read("080000000000000000"));  // refers to a node
  EXPECT_FALSE(is_read("047ff0000000000000"));  // infinite
}

TEST(RdbFormatTest, WritesWhatRedisWrites) {
  const std::vector<std::pair<std::string_view, std::string_view>> known = {
      {"-5", kInt8}, {"1000", kInt16}, {"100000", kInt32}, {"hello", kHello}};
  for (const auto& [text, hex] : known) {
    RdbWriter writer(RdbType::kString);
    writer.String(text);
    EXPECT_EQ(HexEncode(std::move(writer).Finish()), hex) << text;
  }
  RdbWriter set(RdbType::kSet);
  set.Length(1);
  set.String("a");
  EXPECT_EQ(HexEncode(std::move(set).Finish()), kSet);
}

TEST(RdbFormatTest, TextsOfAllLengthsRoundTrip) {
  for (const size_t size : {0, 1, 63, 64, 16383, 16384, 70000}) {
    RdbWriter writer(RdbType::kString);
    writer.String(Bytes(size, 'x'));
    const Bytes dump = std::move(writer).Finish();
    ASSERT_TRUE(HasValidFooter(dump));
    EXPECT_EQ(DecodeRdbValue(dump)->text, Bytes(size, 'x'));
  }
  for (const char* text : {"0", "-1", "127", "128", "-128", "-129", "32767", "32768", "2147483647",
                           "2147483648", "-2147483648", "-2147483649", "007", "+1", "-0"}) {
    RdbWriter writer(RdbType::kString);
    writer.String(text);
    EXPECT_EQ(DecodeRdbValue(std::move(writer).Finish())->text, text);
  }
}

TEST(RdbFormatTest, ScoresRoundTrip) {
  const double infinity = std::numeric_limits<double>::infinity();
  RdbWriter writer(RdbType::kSortedSet2);
  writer.Length(2);
  writer.String("a");
  writer.Double(0.1);
  writer.String("b");
  writer.Double(-infinity);
  const std::optional<RdbValue> value = DecodeRdbValue(std::move(writer).Finish());
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->scores, (std::vector<std::pair<Bytes, double>>{{"a", 0.1}, {"b", -infinity}}));
}

TEST(RdbFormatTest, TheChecksumIsTheOneOfJones) {
  EXPECT_EQ(Crc64("123456789"), 0xe9c6d914c4b8d9caU);
  EXPECT_EQ(Crc64(""), 0U);
}

TEST(RdbFormatTest, AFooterIsChecked) {
  Bytes dump = FromHex(kHello);
  for (size_t i = 0; i < dump.size(); ++i) {
    Bytes damaged = dump;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(HasValidFooter(damaged)) << i;
  }
  EXPECT_FALSE(HasValidFooter(""));
  EXPECT_FALSE(HasValidFooter(dump.substr(0, 9)));
}

TEST(RdbFormatTest, TruncatedValuesAreRefused) {
  const Bytes footer(10, '\0');
  for (const std::string_view hex : {kInt32, kHello, kHundredAs, kList, kHash, kIntset, kSet,
                                     kSortedSet, kStream, kEmptyStream}) {
    const Bytes dump = FromHex(hex);
    for (size_t size = 0; size + 10 < dump.size(); ++size) {
      EXPECT_FALSE(DecodeRdbValue(dump.substr(0, size) + footer).has_value()) << hex << size;
    }
  }
}

TEST(RdbFormatTest, UnsoundValuesAreRefused) {
  const std::string footer = "00000000000000000000";
  for (const char* value : {
           "63",                    // no such type
           "0f00",                  // a stream that ends early
           "0200",                  // an empty set
           "020201610161",          // a member twice
           "04020161016101610162",  // a field twice
           "0501"
           "0161"
           "000000000000f87f",  // a score that is not a number
           "0301"
           "0161"
           "fd",                    //
           "0281ffffffffffffffff",  // more members than bytes
           "00c3057fff0161",        // a compressed text that is too short for its size
           "00c38000000005ff",      //
           "120103"
           "0161",  // no such container
           "0b08"
           "0300000000000000",  // no such width
       }) {
    EXPECT_FALSE(DecodeRdbValue(FromHex(value + footer)).has_value()) << value;
  }
}

TEST(ListpackTest, EveryKindOfEntry) {
  // 4095 bytes of text come with the 12-bit length, one more with the 32-bit length.
  for (const size_t size : {0, 63, 64, 4095, 4096}) {
    Bytes entry;
    if (size < 64) {
      entry += static_cast<char>(0x80 | size);
    } else if (size < 4096) {
      entry += static_cast<char>(0xe0 | size >> 8);
      entry += static_cast<char>(size & 0xff);
    } else {
      entry += FromHex("f000100000");
    }
    entry.append(size, 't');
    entry.append(entry.size() > 127 ? 2 : 1, '\0');
    const size_t total = 7 + entry.size();
    Bytes listpack;
    for (int i = 0; i < 4; ++i) listpack += static_cast<char>(total >> i * 8);
    listpack += FromHex("0100") + entry + '\xff';
    const auto entries = DecodeListpack(listpack);
    ASSERT_TRUE(entries.has_value()) << size;
    EXPECT_EQ(*entries, std::vector<Bytes>{Bytes(size, 't')});
  }
  EXPECT_EQ(DecodeListpack(FromHex("1b0000000500"
                                   "7f01d00002f1008003f30000008005f2ffffff04ff")),
            (std::vector<Bytes>{"127", "-4096", "-32768", "-2147483648", "-1"}));
}

TEST(ListpackTest, WhatIsWrittenIsReadBack) {
  std::vector<Bytes> texts = {"",
                              "a",
                              "-0",
                              "007",
                              "0",
                              "127",
                              "128",
                              "4095",
                              "4096",
                              "-4096",
                              "-4097",
                              "32767",
                              "32768",
                              "-32769",
                              "8388607",
                              "8388608",
                              "-8388609",
                              "2147483648",
                              "-1",
                              "x y",
                              "-9223372036854775808",
                              "9223372036854775808"};
  for (const size_t size : {63, 64, 122, 127, 4095, 4096, 16377, 16378, 16379, 70'000}) {
    texts.emplace_back(size, 't');
  }
  ListpackWriter writer;
  for (const Bytes& text : texts) writer.Add(text);
  EXPECT_EQ(DecodeListpack(std::move(writer).Finish()), texts);
  ListpackWriter known;
  known.Add("f");
  known.Add("v");
  known.AddInteger(-200);
  EXPECT_EQ(HexEncode(std::move(known).Finish()), "100000000300816602817602df3802ff");
}

TEST(ListpackTest, ZiplistsOfOlderVersions) {
  const Bytes ziplist = FromHex(
      "1e000000190000000600"
      "00016103f102fd02feff03c0008004f0000080ff");
  EXPECT_EQ(DecodeZiplist(ziplist),
            (std::vector<Bytes>{"a", "0", "12", "-1", "-32768", "-8388608"}));
  for (size_t size = 0; size < ziplist.size(); ++size) {
    EXPECT_FALSE(DecodeZiplist(ziplist.substr(0, size)).has_value());
  }
}

TEST(LzfTest, DamageIsRefused) {
  const Bytes compressed = FromHex("016161e05700016161");
  EXPECT_EQ(LzfDecompress(compressed, 100), Bytes(100, 'a'));
  EXPECT_FALSE(LzfDecompress(compressed, 99).has_value());
  EXPECT_FALSE(LzfDecompress(compressed, 101).has_value());
  EXPECT_FALSE(LzfDecompress(FromHex("2000"), 3).has_value());  // from before the beginning
  EXPECT_FALSE(LzfDecompress("", size_t{1} << 60).has_value());
  for (size_t size = 0; size < compressed.size(); ++size) {
    EXPECT_FALSE(LzfDecompress(compressed.substr(0, size), 100).has_value());
  }
}

}  // namespace
}  // namespace cairn::data
