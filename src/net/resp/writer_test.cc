#include "net/resp/writer.h"

#include <gtest/gtest.h>

#include <limits>

namespace cairn::net {
namespace {

// What `write` appends in the given version of the protocol.
template <typename Write>
std::string Written(int version, const Write& write) {
  std::string out;
  RespWriter writer(out, version);
  write(writer);
  return out;
}

template <typename Write>
void ExpectWritten(const Write& write, const std::string& resp2, const std::string& resp3) {
  EXPECT_EQ(Written(2, write), resp2);
  EXPECT_EQ(Written(3, write), resp3);
}

TEST(RespWriterTest, SimpleTypesAreTheSameInBothVersions) {
  ExpectWritten([](RespWriter& w) { w.Simple("PONG"); }, "+PONG\r\n", "+PONG\r\n");
  ExpectWritten([](RespWriter& w) { w.Ok(); }, "+OK\r\n", "+OK\r\n");
  ExpectWritten([](RespWriter& w) { w.Bulk("a\r\nb"); }, "$4\r\na\r\nb\r\n", "$4\r\na\r\nb\r\n");
  ExpectWritten([](RespWriter& w) { w.Bulk(""); }, "$0\r\n\r\n", "$0\r\n\r\n");
  ExpectWritten([](RespWriter& w) { w.BulkToFill(3)[1] = 'b'; }, {"$3\r\n\0b\0\r\n", 9},
                {"$3\r\n\0b\0\r\n", 9});
  ExpectWritten([](RespWriter& w) { EXPECT_TRUE(w.BulkToFill(0).empty()); }, "$0\r\n\r\n",
                "$0\r\n\r\n");
  ExpectWritten([](RespWriter& w) { w.BulkInteger(-12); }, "$3\r\n-12\r\n", "$3\r\n-12\r\n");
  ExpectWritten([](RespWriter& w) { w.ArrayHeader(3); }, "*3\r\n", "*3\r\n");
}

TEST(RespWriterTest, IntegersReachTheirLimits) {
  EXPECT_EQ(Written(2, [](RespWriter& w) { w.Integer(0); }), ":0\r\n");
  EXPECT_EQ(Written(2, [](RespWriter& w) { w.Integer(std::numeric_limits<int64_t>::min()); }),
            ":-9223372036854775808\r\n");
  EXPECT_EQ(Written(2, [](RespWriter& w) { w.Integer(std::numeric_limits<int64_t>::max()); }),
            ":9223372036854775807\r\n");
  EXPECT_EQ(Written(2, [](RespWriter& w) { w.ArrayHeader(std::numeric_limits<size_t>::max()); }),
            "*18446744073709551615\r\n");
}

TEST(RespWriterTest, AnErrorIsAlwaysOneLine) {
  EXPECT_EQ(Written(2, [](RespWriter& w) { w.Error("ERR bad\r\nthing\n"); }),
            "-ERR bad  thing \r\n");
}

TEST(RespWriterTest, Resp3HasTypesThatResp2Lacks) {
  ExpectWritten([](RespWriter& w) { w.Null(); }, "$-1\r\n", "_\r\n");
  ExpectWritten([](RespWriter& w) { w.NullArray(); }, "*-1\r\n", "_\r\n");
  ExpectWritten([](RespWriter& w) { w.Boolean(true); }, ":1\r\n", "#t\r\n");
  ExpectWritten([](RespWriter& w) { w.Boolean(false); }, ":0\r\n", "#f\r\n");
  ExpectWritten([](RespWriter& w) { w.MapHeader(2); }, "*4\r\n", "%2\r\n");
  ExpectWritten([](RespWriter& w) { w.SetHeader(2); }, "*2\r\n", "~2\r\n");
  ExpectWritten([](RespWriter& w) { w.PushHeader(2); }, "*2\r\n", ">2\r\n");
  ExpectWritten([](RespWriter& w) { w.BigNumber("123"); }, "$3\r\n123\r\n", "(123\r\n");
  ExpectWritten([](RespWriter& w) { w.Verbatim("txt", "hi"); }, "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n");
  EXPECT_EQ(Written(3, [](RespWriter& w) { w.AttributeHeader(1); }), "|1\r\n");
}

TEST(RespWriterTest, DoublesHaveSeventeenDigits) {
  ExpectWritten([](RespWriter& w) { w.Double(0.1); }, "$19\r\n0.10000000000000001\r\n",
                ",0.10000000000000001\r\n");
  EXPECT_EQ(FormatDouble(3), "3");
  EXPECT_EQ(FormatDouble(-0.0), "-0");
  EXPECT_EQ(FormatDouble(1e300), "1.0000000000000001e+300");
  EXPECT_EQ(FormatDouble(5e-324), "4.9406564584124654e-324");
  EXPECT_EQ(FormatDouble(123456789012345680.0), "1.2345678901234568e+17");
  EXPECT_EQ(FormatDouble(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(FormatDouble(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(FormatDouble(std::numeric_limits<double>::quiet_NaN()), "nan");
}

}  // namespace
}  // namespace cairn::net
