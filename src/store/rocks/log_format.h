#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "store/rocks/crc32c.h"

// RocksDB's write-ahead log, as far as Cairn reads and writes it itself.
//
//   log       blocks of 32 KiB
//   block     fragments, then zeros where less than a header is left
//   fragment  checksum:4  length:2  type:1  payload      checksum of type and payload
//   write     the payload of a full fragment, or of a first, any middle and a last one
//             sequence:8  count:4  operations            one sequence number per counted operation
//
// All integers are little-endian. A type of 0 with length 0 stands for "nothing more in this
// block": files are made of zeros beforehand.
namespace cairn::store::rocks::log_format {

inline constexpr size_t kBlockBytes = 32 * 1024;
inline constexpr size_t kHeaderBytes = 7;
inline constexpr uint8_t kFull = 1;
inline constexpr uint8_t kFirst = 2;
inline constexpr uint8_t kMiddle = 3;
inline constexpr uint8_t kLast = 4;
inline constexpr size_t kBatchHeaderBytes = 12;
inline constexpr char kLogDataTag = 3;

template <typename T>
T LittleEndian(BytesView bytes) {
  T value = 0;
  for (size_t i = sizeof(T); i-- > 0;) {
    value = static_cast<T>(value << 8) | static_cast<uint8_t>(bytes[i]);
  }
  return value;
}

template <typename T>
void AppendLittleEndian(Bytes& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

// CRC-32C as RocksDB stores it: rotated and shifted, so that the checksum of data that holds
// checksums is not weakened.
inline uint32_t StoredChecksum(BytesView bytes) {
  const uint32_t sum = ExtendCrc32c(0, bytes.data(), bytes.size());
  return ((sum >> 15) | (sum << 17)) + 0xa282ead8u;
}

}  // namespace cairn::store::rocks::log_format
