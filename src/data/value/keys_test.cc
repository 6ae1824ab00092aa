#include "data/value/keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace cairn::data {
namespace {

std::vector<Bytes> UserKeys() {
  return {"",
          Bytes(1, '\0'),
          "a",
          Bytes("a\0", 2),
          "aa",
          "ab",
          "b",
          Bytes(255, 'x'),
          Bytes(256, 'x'),
          Bytes(65535, 'y'),
          Bytes(65536, 'y'),
          "\xff",
          "\xff\xff"};
}

TEST(DataKeysTest, RoundTrip) {
  for (const int db : {0, 1, 15, 255}) {
    for (const Bytes& user_key : UserKeys()) {
      const RecordKey key{static_cast<uint8_t>(db), user_key};
      const Bytes encoded = EncodeRecordKey(key);
      EXPECT_EQ(DecodeRecordKey(encoded), key);
      EXPECT_EQ(DecodeTimerOwner(TimerOwner(encoded)), key);
    }
  }
  for (const uint64_t version : {uint64_t{0}, uint64_t{255}, uint64_t{1} << 32, UINT64_MAX}) {
    for (const std::optional<int64_t> expire_ms :
         {std::optional<int64_t>(), std::optional<int64_t>(0), std::optional<int64_t>(1),
          std::optional<int64_t>(std::numeric_limits<int64_t>::max())}) {
      for (const Bytes& payload : UserKeys()) {
        for (const uint64_t generation : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
          const Record record{ValueType::kString, version, expire_ms, generation, payload};
          const Bytes encoded = EncodeRecord(record);
          EXPECT_EQ(DecodeRecord(encoded), record);
        }
      }
    }
  }
}

TEST(DataKeysTest, GoldenBytes) {
  EXPECT_EQ(HexEncode(EncodeRecordKey({2, "key"})), "01026b6579");
  EXPECT_EQ(HexEncode(TimerOwner(EncodeRecordKey({2, "key"}))), "026b6579");
  EXPECT_EQ(HexEncode(EncodeKeyCounter(2)), "0302");
  EXPECT_EQ(HexEncode(EncodeExpiringCounter(2)), "0402");
  EXPECT_EQ(HexEncode(RecordRange(2, "k").begin), "01026b");
  EXPECT_EQ(HexEncode(*RecordRange(2, "k").end), "01026c");
  EXPECT_EQ(HexEncode(ElementRange(2).begin), "0202");
  EXPECT_EQ(HexEncode(EncodeRecord({ValueType::kString, 0x0102030405060708, {}, 0, "v"})),
            "01010203040506070876");
  EXPECT_EQ(HexEncode(EncodeRecord({ValueType::kHash, 1, 0x11, 0, "v"})),
            "820000000000000001000000000000001176");
  EXPECT_EQ(HexEncode(EncodeRecord({ValueType::kHash, 1, {}, 0x22, "v"})),
            "420000000000000001000000000000002276");
  EXPECT_EQ(HexEncode(EncodeElementPrefix(2, 0x0102030405060708)), "02020102030405060708");
  EXPECT_EQ(HexEncode(EncodeReclaimOwner({2, 0x0102030405060708})), "020102030405060708");
  EXPECT_EQ(DecodeReclaimOwner(EncodeReclaimOwner({3, 77})), (Reclaimed{3, 77}));
  EXPECT_EQ(DecodeReclaimOwner("short"), std::nullopt);
}

TEST(DataKeysTest, EncodedOrderIsLogicalOrder) {
  std::vector<Bytes> storage = UserKeys();
  std::vector<RecordKey> keys;
  for (const int db : {0, 1, 15}) {
    for (const Bytes& user_key : storage) keys.push_back({static_cast<uint8_t>(db), user_key});
  }
  for (const RecordKey& a : keys) {
    for (const RecordKey& b : keys) {
      EXPECT_EQ(EncodeRecordKey(a) < EncodeRecordKey(b), a < b);
    }
  }
}

TEST(DataKeysTest, TruncatedInputIsRejected) {
  const Bytes key = EncodeRecordKey({2, ""});
  for (size_t size = 0; size < key.size(); ++size) {
    EXPECT_EQ(DecodeRecordKey(key.substr(0, size)), std::nullopt) << size;
  }
  EXPECT_EQ(DecodeRecordKey(EncodeKeyCounter(2)), std::nullopt);
  EXPECT_EQ(DecodeTimerOwner(""), std::nullopt);
  for (const std::optional<int64_t> expire_ms :
       {std::optional<int64_t>(), std::optional<int64_t>(5)}) {
    const Bytes record = EncodeRecord({ValueType::kString, 1, expire_ms, 7, ""});
    for (size_t size = 0; size < record.size(); ++size) {
      EXPECT_EQ(DecodeRecord(record.substr(0, size)), std::nullopt) << size;
    }
  }
  EXPECT_EQ(DecodeRecord(Bytes(20, '\0')), std::nullopt);    // no such type
  EXPECT_EQ(DecodeRecord(Bytes(20, '\x7f')), std::nullopt);  // nor this
}

TEST(DataKeysTest, NoTwoFamiliesShareAPrefix) {
  const Bytes families[] = {EncodeRecordKey({1, ""}), ElementRange(1).begin, EncodeKeyCounter(1),
                            EncodeExpiringCounter(1)};
  for (const Bytes& a : families) {
    for (const Bytes& b : families) {
      EXPECT_EQ(a.starts_with(b), &a == &b);
    }
  }
}

}  // namespace
}  // namespace cairn::data
