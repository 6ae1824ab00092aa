#include "admin/process_usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace cairn::admin {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// /proc/self/statm counts pages: the second number is what is resident.
uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total_pages = 0;
  uint64_t resident_pages = 0;
  if (!(file >> total_pages >> resident_pages)) return 0;
  return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
}

uint64_t OpenFiles() {
  std::error_code failure;
  const std::filesystem::directory_iterator entries("/proc/self/fd", failure);
  if (failure) return 0;
  return static_cast<uint64_t>(std::distance(begin(entries), end(entries)));
}

}  // namespace

ProcessUsage CurrentUsage() {
  ProcessUsage usage{.resident_bytes = ResidentBytes(), .open_files = OpenFiles()};
  rusage times{};
  if (getrusage(RUSAGE_SELF, &times) == 0) {
    usage.cpu_seconds = Seconds(times.ru_utime) + Seconds(times.ru_stime);
  }
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) usage.max_files = files.rlim_cur;
  return usage;
}

}  // namespace cairn::admin
