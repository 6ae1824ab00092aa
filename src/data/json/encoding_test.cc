#include "data/json/encoding.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "data/json/text.h"

namespace cairn::data {
namespace {

TEST(JsonEncodingTest, GoldenBytes) {
  const auto hex = [](std::string_view text) { return HexEncode(EncodeJson(*ParseJson(text))); };
  EXPECT_EQ(hex("null"), "00");
  EXPECT_EQ(hex("false"), "01");
  EXPECT_EQ(hex("true"), "02");
  EXPECT_EQ(hex("0"), "0300");
  EXPECT_EQ(hex("-1"), "0301");
  EXPECT_EQ(hex("64"), "038001");
  EXPECT_EQ(hex("1.5"), "043ff8000000000000");
  EXPECT_EQ(hex("\"ab\""), "05026162");
  EXPECT_EQ(hex("[1,[]]"), "060203020600");
  EXPECT_EQ(hex("{\"a\":{}}"), "070101610700");
  EXPECT_EQ(hex("18446744073709551615"), "0affffffffffffffffff01");
  EXPECT_EQ(HexEncode(EncodeJson(JsonValue(JsonSplit{JsonType::kArray, 3}))), "080000000000000003");
  EXPECT_EQ(HexEncode(EncodeJson(JsonValue(JsonSplit{JsonType::kObject, 3}))),
            "090000000000000003");
}

TEST(JsonEncodingTest, ValuesComeBackAndSizesAreRight) {
  for (const char* text :
       {"null", "[true,false]", "9223372036854775807", "-9223372036854775808", "-0.0", "1e300",
        "9223372036854775808", R"({"b":[1,"x",{"c":null}],"a":-300})", "\"\"", "127", "128"}) {
    const JsonValue value = *ParseJson(text);
    const Bytes bytes = EncodeJson(value);
    const auto decoded = DecodeJson(bytes);
    ASSERT_TRUE(decoded.has_value()) << text;
    EXPECT_EQ(PrintJson(*decoded), text);
    EXPECT_EQ(EncodedJsonSize(value, std::numeric_limits<size_t>::max()), bytes.size()) << text;
    EXPECT_GT(EncodedJsonSize(value, 0), 0U);
    for (size_t cut = 0; cut < bytes.size(); ++cut) {
      EXPECT_FALSE(DecodeJson(BytesView(bytes).substr(0, cut)).has_value()) << text;
    }
    EXPECT_FALSE(DecodeJson(bytes + '\0').has_value());
  }
}

TEST(JsonEncodingTest, MembersAreFoundWhereTheyStand) {
  const Bytes object = EncodeJson(
      *ParseJson(R"({"a":[1,{"n":2}],"s":"n","d":1.5,"t":true,"o":{"n":3},"n":-300,"":null})"));
  const auto member = [&](std::string_view name) -> std::string {
    const std::optional<BytesView> found = EncodedJsonMember(object, name);
    return found ? PrintJson(*DecodeJson(*found)) : "none";
  };
  EXPECT_EQ(member("a"), R"([1,{"n":2}])");
  EXPECT_EQ(member("s"), R"("n")");
  EXPECT_EQ(member("d"), "1.5");
  EXPECT_EQ(member("t"), "true");
  EXPECT_EQ(member("o"), R"({"n":3})");
  EXPECT_EQ(member("n"), "-300");
  EXPECT_EQ(member(""), "null");
  EXPECT_EQ(member("no"), "none");
  for (const char* text : {"[1]", "1", "\"n\"", "null", "{}"}) {
    EXPECT_FALSE(EncodedJsonMember(EncodeJson(*ParseJson(text)), "n").has_value()) << text;
  }
  for (size_t cut = 0; cut < object.size(); ++cut) {
    EXPECT_FALSE(EncodedJsonMember(BytesView(object).substr(0, cut), "none").has_value());
  }
}

TEST(JsonEncodingTest, DamagedBytesAreRejected) {
  EXPECT_FALSE(DecodeJson("\x0b").has_value());
  EXPECT_FALSE(DecodeJson(Bytes(1000, '\x06')).has_value());
  EXPECT_FALSE(DecodeJson("\x06\xff\xff\xff\xff\x0f").has_value());
  Bytes deep;
  for (int i = 0; i < 100'000; ++i) deep += "\x06\x01";
  EXPECT_FALSE(DecodeJson(deep + '\0').has_value());
  EXPECT_FALSE(EncodedJsonMember("\x07\x01\x01n" + deep + '\0', "n").has_value());
  EXPECT_FALSE(EncodedJsonMember("\x07\x01\x01n\x0b", "n").has_value());
}

}  // namespace
}  // namespace cairn::data
