#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace cairn::testing {

using Request = std::vector<std::string>;

// Makes requests that two servers with the same history must answer alike: all commands of the data
// layer on few keys, so that they meet, with many of the mistakes clients make. Nothing it sets
// expires while a test runs, and nothing depends on the time of day.
class Generator {
 public:
  // Without the commands whose names begin with one of `without`.
  Generator(uint64_t seed, const std::vector<std::string>& without);

  // Any command that may stand alone or in a MULTI, mistakes included.
  Request Any();
  // One that changes at most what it names, for use between WATCH and EXEC.
  Request Change();
  Request Watch();

  std::string Key();
  uint64_t Below(uint64_t bound) { return random_.Below(bound); }
  bool OneIn(uint64_t chances) { return random_.Below(chances) == 0; }

 private:
  std::string Value();
  std::string Expiry();
  std::string Pattern();
  std::string OneOf(std::initializer_list<const char*> choices);
  std::string Number(int64_t low, int64_t high);
  std::string Letter(char letter);
  std::string Choice(std::string_view word);
  Request Fill(const std::string& form);
  Request WithMistake(Request request);

  SeededRandom random_;
  std::vector<std::string> forms_;
  size_t first_form_ = 0;  // of those that are in use for a while
  std::vector<std::string> changes_;
};

}  // namespace cairn::testing
