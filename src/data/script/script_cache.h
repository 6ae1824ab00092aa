#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cairn::data {

// A script as EVAL and SCRIPT LOAD are given it.
struct Script {
  std::string sha;     // of the whole text, 40 lower-case hexadecimal digits
  std::string source;  // the whole text
  size_t body_at = 0;  // where Lua begins: behind a first line "#!lua …"
  bool declares_flags = false;
  uint8_t flags = 0;  // ScriptFunction::Flag

  bool never_writes() const;
  std::string_view body() const { return std::string_view(source).substr(body_at); }
};

std::string Sha1Hex(std::string_view text);

// Reads the first line if it is "#!lua flags=…". The message of an error is the reply.
Result<Script> ParseScript(std::string sha, std::string_view source);

// The scripts that EVALSHA finds, in memory only. Safe to use from any thread.
class ScriptCache {
 public:
  using Entry = std::shared_ptr<const Script>;

  // In any case of letters; null if it is not there.
  Entry Find(std::string_view sha) const;
  void Add(Entry script);
  void Clear();
  size_t count() const;
  size_t bytes() const;  // of their texts

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> scripts_;
  size_t bytes_ = 0;
};

}  // namespace cairn::data
