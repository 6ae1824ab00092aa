// Result, bytes, hashes, clocks, random numbers.
#include <gtest/gtest.h>

#include <set>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/function_ref.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/result.h"

namespace cairn {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return Error{ErrorCode::kInvalid, "odd"};
  return n / 2;
}
Result<int> Quarter(int n) {
  CAIRN_ASSIGN_OR_RETURN(const int half, Half(n));
  CAIRN_RETURN_IF_ERROR(Half(half));
  return half / 2;
}

TEST(ResultTest, CarriesAValueOrTheFirstError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).error(), (Error{ErrorCode::kInvalid, "odd"}));
  EXPECT_FALSE(Quarter(7).ok());
  EXPECT_TRUE(Result<void>().ok());
}

TEST(ResultDeathTest, ValueOfAnErrorStopsTheProcessWithItsMessage) {
  EXPECT_DEATH(*Half(1), "odd");
}

TEST(ErrorCodeTest, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    names.insert(ErrorCodeName(static_cast<ErrorCode>(code)));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(ErrorCode::kInternal) + 1);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(CheckDeathTest, PrintsConditionAndValues) {
  EXPECT_DEATH(CAIRN_CHECK(1 > 2, "one {} two {}", 1, 2), "1 > 2.*one 1 two 2");
}

TEST(BytesTest, BigEndianKeepsNumericOrder) {
  const std::vector<uint64_t> numbers = {0,     1,          255,        256,        65535,
                                         65536, UINT32_MAX, 1ull << 32, 1ull << 63, UINT64_MAX};
  Bytes last;
  for (const uint64_t number : numbers) {
    Bytes encoded;
    AppendBig64(encoded, number);
    EXPECT_TRUE(last.empty() || last < encoded) << number;
    EXPECT_EQ(BytesReader(encoded).Big64(), number);
    last = encoded;
  }
  Bytes mixed;
  AppendBig16(mixed, 0x0102);
  AppendBig32(mixed, 0x03040506);
  EXPECT_EQ(HexEncode(mixed), "010203040506");
}

TEST(BytesReaderTest, FirstShortReadMakesAllLaterOnesFail) {
  BytesReader reader("\x01\x02\x03");
  EXPECT_EQ(reader.Big16(), 0x0102);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.Big32(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.Byte(), 0);
  EXPECT_EQ(reader.Rest(), "");
  EXPECT_FALSE(reader.AtEnd());
}

TEST(BytesTest, PrefixSuccessorBoundsExactlyThePrefix) {
  EXPECT_EQ(PrefixSuccessor("ab"), "ac");
  EXPECT_EQ(PrefixSuccessor("a\xff\xff"), "b");
  EXPECT_EQ(PrefixSuccessor("\xff\xff"), std::nullopt);
  EXPECT_EQ(PrefixSuccessor(""), std::nullopt);
  EXPECT_EQ(PrefixSuccessor("\x7f"), "\x80");
}

TEST(BytesTest, PrintableEscapesAndCuts) {
  EXPECT_EQ(Printable(BytesView("a\0\xff\\", 4)), "a\\x00\\xff\\x5c");
  EXPECT_EQ(Printable("abcdef", 3), "abc...");
}

TEST(HashTest, DependsOnEveryByteLengthAndSeed) {
  std::set<uint64_t> seen;
  size_t inputs = 0;
  for (size_t length = 0; length <= 40; ++length) {
    for (size_t at = 0; at < std::max<size_t>(length, 1); ++at) {
      Bytes bytes(length, 'x');
      if (length > 0) bytes[at] = 'y';
      for (const uint64_t seed : {0, 1}) {
        seen.insert(Hash64(bytes, seed));
        ++inputs;
      }
    }
  }
  EXPECT_EQ(seen.size(), inputs);
}

TEST(HashTest, LowBitsSpreadEvenly) {
  std::vector<int> buckets(64);
  for (int i = 0; i < 64'000; ++i) ++buckets[Hash64("key:" + std::to_string(i)) % 64];
  for (const int count : buckets) {
    EXPECT_GT(count, 850);
    EXPECT_LT(count, 1150);
  }
}

TEST(ManualClockTest, MovesOnlyWhenTold) {
  ManualClock clock(Timestamp::FromMillis(5));
  EXPECT_EQ(clock.Now().millis(), 5);
  clock.AdvanceMillis(10);
  EXPECT_EQ(clock.Now().millis(), 15);
}

TEST(SystemClockTest, MonotonicTimeDoesNotGoBack) {
  const SystemClock clock;
  const uint64_t before = clock.MonotonicNs();
  EXPECT_GE(clock.MonotonicNs(), before);
  EXPECT_GT(clock.Now(), Timestamp::FromMillis(1'600'000'000'000));
}

TEST(RandomTest, SeedRepeatsAndBelowStaysBelow) {
  SeededRandom a(7);
  SeededRandom b(7);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.Next(), b.Next());
  for (int i = 0; i < 1000; ++i) EXPECT_LT(a.Below(3), 3u);
  EXPECT_EQ(a.NextBytes(13).size(), 13u);
}

TEST(RandomTest, SystemRandomDoesNotRepeat) {
  SystemRandom random;
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.Next());
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(FunctionRefTest, CallsWithoutCopying) {
  int calls = 0;
  auto count = [&calls](int by) { return calls += by; };
  const FunctionRef<int(int)> reference = count;
  EXPECT_EQ(reference(2), 2);
  EXPECT_EQ(reference(3), 5);
}

}  // namespace
}  // namespace cairn
