#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "tests/support/temp_directory.h"

namespace cairn::testing {

// A real file system of its own, small enough to be filled, mounted for as long as the object
// lives. Needs root.
class SmallDisk {
 public:
  enum class Kind { kTmpfs, kExt4 };

  SmallDisk(Kind kind, int megabytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // Why it could not be mounted, for GTEST_SKIP.
  const std::optional<std::string>& failure() const { return failure_; }

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  // A file that takes so many bytes, or all that is left; removed, it gives them back.
  void Take(const std::string& name, uint64_t bytes) const;
  void TakeAll(const std::string& name) const;
  void GiveBack(const std::string& name) const;

  // As after an error of the device: what is open for writing stays open, and every write fails.
  bool TurnReadOnly() const;
  // Mounts it again, for writing. Nothing may be open.
  bool MountAgain();

 private:
  bool Mount();
  void Unmount() const;

  const Kind kind_;
  const int megabytes_;
  TempDirectory directory_;
  const std::string path_;
  std::optional<std::string> failure_;
};

}  // namespace cairn::testing
