#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace cairn::data {

// Up to where Redis keeps a value in one piece: CONFIG SET's hash-max-listpack-entries and its
// like. Nothing is stored differently for them. They decide what OBJECT ENCODING names, and so
// which values HSCAN, SSCAN and ZSCAN return at once. Safe to use from any thread.
struct EncodingLimits {
  std::atomic<int64_t> hash_fields = 512;
  std::atomic<int64_t> hash_bytes = 64;  // of one field or value
  std::atomic<int64_t> set_integers = 512;
  std::atomic<int64_t> sorted_set_members = 128;
  std::atomic<int64_t> sorted_set_bytes = 64;  // of one member
};
using SharedEncodingLimits = std::shared_ptr<EncodingLimits>;

}  // namespace cairn::data
