#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/result.h"
#include "functions/model/records.h"

namespace cairn::functions {

// Records that were decoded before, by their text: what a record says follows from its text alone,
// so nothing here can be out of date. For records that each invocation reads.
//
// Safe to use from any thread.
template <typename Record>
class RecordMemo {
 public:
  Result<Record> Of(std::string_view text, Result<Record> (*decode)(std::string_view)) {
    {
      const std::scoped_lock lock(mutex_);
      const auto found = known_.find(text);
      if (found != known_.end()) return found->second;
    }
    Result<Record> decoded = decode(text);
    if (!decoded.ok() || text.size() > kMaxBytes) return decoded;
    const std::scoped_lock lock(mutex_);
    if (bytes_ + text.size() > kMaxBytes) {
      known_.clear();
      bytes_ = 0;
    }
    if (known_.emplace(text, *decoded).second) bytes_ += text.size();
    return decoded;
  }

 private:
  static constexpr size_t kMaxBytes = size_t{4} << 20U;  // of texts; then all are forgotten

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::mutex mutex_;
  std::unordered_map<std::string, Record, Hash, std::equal_to<>> known_;
  size_t bytes_ = 0;
};

// Those of ResolveRef.
struct ResolveMemo {
  RecordMemo<Function> functions;
  RecordMemo<Alias> aliases;
  RecordMemo<VersionMeta> versions;
};

}  // namespace cairn::functions
