#include "app/machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <vector>

namespace cairn::app {
namespace {

std::optional<uint64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  if (file >> number && number > 0) return number;  // "max" is no number
  return std::nullopt;
}

// The machine's memory, from /proc/meminfo: "MemTotal:  24572816 kB".
std::optional<uint64_t> MachineMemory(const std::string& root) {
  std::ifstream file(root + "proc/meminfo");
  std::string name;
  uint64_t kib = 0;
  if (file >> name >> kib && name == "MemTotal:") return kib * 1024;
  return std::nullopt;
}

// Lines of /proc/self/cgroup are "0::/path" (version 2) or "4:memory:/path" (version 1). The limit
// of every group on the way up holds too.
std::vector<std::string> LimitFiles(const std::string& root) {
  std::vector<std::string> files;
  std::ifstream groups(root + "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool version2 = controllers.empty();
    if (!version2 && controllers != "memory") continue;
    const std::string base = root + (version2 ? "sys/fs/cgroup" : "sys/fs/cgroup/memory");
    const std::string file = version2 ? "/memory.max" : "/memory.limit_in_bytes";
    std::filesystem::path group = line.substr(second + 1);
    for (; group.has_relative_path(); group = group.parent_path()) {
      files.push_back(base + group.string() + file);
    }
    files.push_back(base + file);  // in a container, its own group stands here
  }
  return files;
}

Error SystemError(const std::string& what) {
  return {ErrorCode::kIo, fmt::format("{}: {}", what, std::generic_category().message(errno))};
}

// A descriptor that is closed, and a file that is removed, at the end.
class ProbeFile {
 public:
  explicit ProbeFile(const std::string& directory) : path_(directory + "/.cairn-probe-XXXXXX") {
    fd_ = mkostemp(path_.data(), O_CLOEXEC);
  }
  ~ProbeFile() {
    if (fd_ < 0) return;
    unlink(path_.c_str());
    close(fd_);
  }
  ProbeFile(const ProbeFile&) = delete;
  ProbeFile& operator=(const ProbeFile&) = delete;

  int fd() const { return fd_; }

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace

MemoryLimit FindMemoryLimit(const std::string& root) {
  MemoryLimit limit{.bytes = MachineMemory(root).value_or(0)};
  for (const std::string& file : LimitFiles(root)) {
    const std::optional<uint64_t> bytes = ReadNumber(file);
    if (bytes && (limit.bytes == 0 || *bytes < limit.bytes)) {
      limit = {.bytes = *bytes, .from_control_group = true};
    }
  }
  return limit;
}

FileLimit OpenFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  return {limit.rlim_cur, limit.rlim_max};
}

FileLimit RaiseOpenFileLimit() {
  const FileLimit limit = OpenFileLimit();
  const rlimit raised{limit.hard, limit.hard};
  setrlimit(RLIMIT_NOFILE, &raised);  // where it is not allowed, the caller sees what holds
  return OpenFileLimit();
}

Result<SyncSpeed> MeasureSync(const std::string& directory, int writes) {
  const ProbeFile file(directory);
  if (file.fd() < 0) return SystemError("cannot write in " + directory);
  std::vector<std::chrono::microseconds> times;
  const std::string block(512, 'c');
  for (int i = 0; i < writes; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (write(file.fd(), block.data(), block.size()) != static_cast<ssize_t>(block.size())) {
      return SystemError("cannot write in " + directory);
    }
    if (fdatasync(file.fd()) != 0) return SystemError("cannot sync a file in " + directory);
    times.push_back(std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - start));
  }
  std::ranges::sort(times);
  return SyncSpeed{times[times.size() / 2], times.back()};
}

std::string DoubtAboutFileSystem(const std::string& directory) {
  struct statfs status {};
  if (statfs(directory.c_str(), &status) != 0) return "";
  switch (static_cast<uint64_t>(status.f_type)) {
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
      return "tmpfs, which a restart of the machine empties";
    case NFS_SUPER_MAGIC:
      return "NFS, whose locks and syncs depend on the server";
    case CIFS_SUPER_MAGIC:
    case SMB2_SUPER_MAGIC:
      return "SMB, whose locks and syncs depend on the server";
    case OVERLAYFS_SUPER_MAGIC:
      return "a container's own layer, which goes with the container: mount a volume";
    default:
      return "";
  }
}

}  // namespace cairn::app
