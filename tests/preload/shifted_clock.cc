// Preloaded into a server whose machine's clock is to be set while it runs: its wall-clock time is
// off by as many milliseconds as the file SHIFTED_CLOCK_FILE holds (8 bytes, as the machine has
// them), and jumps when they are changed. How long things take stays as it is.
//
// Runs before and inside of everything, the allocator too: it calls nothing but the kernel.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

using Shift = std::atomic<int64_t>;

const Shift* OpenShift() {
  static const Shift none = 0;
  const char* const path = std::getenv("SHIFTED_CLOCK_FILE");
  if (path == nullptr) return &none;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return &none;
  void* const page = mmap(nullptr, sizeof(Shift), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return page == MAP_FAILED ? &none : static_cast<const Shift*>(page);
}

int64_t ShiftMs() {
  static std::atomic<const Shift*> shift = nullptr;
  const Shift* known = shift.load(std::memory_order_acquire);
  if (known == nullptr) {
    known = OpenShift();  // whoever else does so gets the same
    shift.store(known, std::memory_order_release);
  }
  return known->load(std::memory_order_relaxed);
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  if (result != 0 || clock != CLOCK_REALTIME) return result;
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  const int64_t ns = now->tv_sec * kNsPerSecond + now->tv_nsec + ShiftMs() * (kNsPerSecond / 1'000);
  now->tv_sec = ns / kNsPerSecond;
  now->tv_nsec = ns % kNsPerSecond;
  return 0;
}
