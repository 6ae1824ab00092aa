#include "store/rocks/crc32c.h"

#include <gtest/gtest.h>

#include <string>

// RocksDB's own function, past the linker's detour.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" uint32_t __real__ZN7rocksdb6crc32c6ExtendEjPKcm(uint32_t crc, const char* data,
                                                           size_t size);

namespace cairn::store::rocks {
namespace {

uint32_t Crc(const std::string& text) { return ExtendCrc32c(0, text.data(), text.size()); }

TEST(Crc32cTest, HasTheValuesOfRfc3720) {
  EXPECT_EQ(Crc("123456789"), 0xe3069283U);
  EXPECT_EQ(Crc(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(Crc(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(Crc(""), 0U);
}

TEST(Crc32cTest, EqualsWhatRocksDbComputesForEveryLengthAndAlignment) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes += static_cast<char>(i * 167 + 13);
  for (size_t begin = 0; begin < 9; ++begin) {
    for (size_t size = 0; begin + size <= bytes.size(); ++size) {
      const char* data = bytes.data() + begin;
      ASSERT_EQ(ExtendCrc32c(17, data, size),
                __real__ZN7rocksdb6crc32c6ExtendEjPKcm(17, data, size))
          << begin << ", " << size;
    }
  }
}

TEST(Crc32cTest, OfTwoPartsIsThatOfTheWhole) {
  const std::string whole = "what was acknowledged is on disk";
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    const uint32_t first = ExtendCrc32c(0, whole.data(), cut);
    EXPECT_EQ(ExtendCrc32c(first, whole.data() + cut, whole.size() - cut), Crc(whole));
  }
}

}  // namespace
}  // namespace cairn::store::rocks
