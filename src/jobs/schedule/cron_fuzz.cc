// Whatever parses has a next run, later than asked for, and each one is the first after the one
// before: asked at any instant in between, the answer is the same.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/clock.h"
#include "jobs/schedule/cron.h"
#include "jobs/schedule/time_zone.h"

namespace cairn::jobs {
namespace {

void CheckExpression(const std::string& expression, int64_t start_seconds) {
  const Result<Cron> cron = Cron::Parse(expression);
  if (!cron.ok()) return;
  static const TimeZone zones[] = {TimeZone::Utc(), *TimeZone::Find("Europe/Berlin"),
                                   *TimeZone::Find("Australia/Lord_Howe")};
  for (const TimeZone& zone : zones) {
    Timestamp at{start_seconds * 1'000'000};
    for (int i = 0; i < 4; ++i) {
      const Result<Timestamp> next = cron->Next(at, zone);
      if (!next.ok()) break;
      CAIRN_CHECK(*next > at && next->us % 1'000'000 == 0, "{}", expression);
      const Timestamp between{at.us + (next->us - at.us) / 2};
      const Result<Timestamp> again = cron->Next(between, zone);
      CAIRN_CHECK(between == *next || (again.ok() && *again == *next), "{}", expression);
      at = *next;
    }
  }
}

}  // namespace
}  // namespace cairn::jobs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4 || size > 200) return 0;
  // From 1970 to 2106, so that it meets changes of the clocks.
  int64_t start = 0;
  for (size_t i = 0; i < 4; ++i) start = start * 256 + data[i];
  cairn::jobs::CheckExpression(std::string(reinterpret_cast<const char*>(data) + 4, size - 4),
                               start);
  return 0;
}
