#include "data/rdb_format.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "data/listpack.h"
#include "data/lzf.h"

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
  for (const std::string_view hex :
       {kInt32, kHello, kHundredAs, kList, kHash, kIntset, kSet, kSortedSet}) {
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
           "0f00",                  // a stream
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
