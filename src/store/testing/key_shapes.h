#pragma once

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <random>
#include <string>

namespace cairn::store::testing {

using Rng = std::mt19937_64;

// Each shape makes keys that collide, nest and share prefixes in its own way.
using KeyShape = std::string (*)(Rng& random);

inline std::string Pick(Rng& random, std::initializer_list<std::string> from) {
  return *(from.begin() + random() % from.size());
}

inline std::string TinyKey(Rng& random) {
  std::string key(random() % 4, '\0');
  for (char& c : key) c = static_cast<char>(random() % 3);
  return key;
}

inline std::string ZerosKey(Rng& random) { return std::string(random() % 300, '\0'); }

inline std::string BinaryKey(Rng& random) {
  std::string key(random() % 24, '\0');
  for (char& c : key) c = static_cast<char>(random());
  return key;
}

inline std::string NumberedKey(Rng& random) {
  const std::string digits = std::to_string(random() % 3000);
  return "key:" + std::string(12 - digits.size(), '0') + digits;
}

inline std::string SharedPrefixKey(Rng& random) {
  const size_t shared = random() % 4 == 0 ? random() % 80 : 60;
  return std::string(shared, 'p') + std::to_string(random() % 1000);
}

inline std::string LongKey(Rng& random) {
  return std::string(random() % 16 == 0 ? 20000 : 120 + random() % 16, 'l') + TinyKey(random);
}

inline std::string HotKey(Rng& random) { return Pick(random, {"a", "b", "counter"}); }

inline std::string MixedKey(Rng& random) {
  constexpr KeyShape kShapes[] = {TinyKey,     ZerosKey,        BinaryKey,
                                  NumberedKey, SharedPrefixKey, HotKey};
  return kShapes[random() % std::size(kShapes)](random);
}

}  // namespace cairn::store::testing
