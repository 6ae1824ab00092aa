#include "tests/support/small_disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <vector>

#include "tests/support/process.h"

namespace cairn::testing {
namespace {

// What it says when it fails; nullopt: it worked.
std::optional<std::string> Run(std::vector<std::string> command) {
  const Finished finished = RunToEnd({.args = std::move(command)});
  if (finished.status.ok()) return std::nullopt;
  return finished.err.empty() ? "it failed" : finished.err;
}

}  // namespace

SmallDisk::SmallDisk(Kind kind, int megabytes)
    : kind_(kind), megabytes_(megabytes), path_(directory_ / "disk") {
  std::filesystem::create_directory(path_);
  if (geteuid() != 0) {
    failure_ = "mounting needs root";
    return;
  }
  if (kind_ == Kind::kExt4) {
    const std::string image = directory_.Write("image", "");
    std::filesystem::resize_file(image, static_cast<uint64_t>(megabytes) << 20);
    failure_ = Run({"/sbin/mkfs.ext4", "-q", "-m", "0", image});
  }
  if (!failure_) Mount();
}

SmallDisk::~SmallDisk() { Unmount(); }

bool SmallDisk::Mount() {
  failure_ = kind_ == Kind::kExt4
                 ? Run({"/bin/mount", "-o", "loop", directory_ / "image", path_})
                 : Run({"/bin/mount", "-t", "tmpfs", "-o",
                        "size=" + std::to_string(megabytes_) + "m", "none", path_});
  return !failure_;
}

void SmallDisk::Unmount() const { Run({"/bin/umount", path_}); }

bool SmallDisk::MountAgain() {
  Unmount();
  return Mount();
}

bool SmallDisk::TurnReadOnly() const {
  return !Run({"/bin/mount", "-o", "remount,abort", path_}).has_value();
}

void SmallDisk::Take(const std::string& name, uint64_t bytes) const {
  const int fd = open((*this / name).c_str(), O_WRONLY | O_CREAT, 0600);
  const std::string block(4096, 'b');
  while (bytes > 0 && write(fd, block.data(), std::min<uint64_t>(block.size(), bytes)) > 0) {
    bytes -= std::min<uint64_t>(block.size(), bytes);
  }
  fsync(fd);
  close(fd);
}

void SmallDisk::TakeAll(const std::string& name) const {
  Take(name, std::numeric_limits<uint64_t>::max());
}

void SmallDisk::GiveBack(const std::string& name) const { std::filesystem::remove(*this / name); }

}  // namespace cairn::testing
