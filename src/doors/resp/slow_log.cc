#include "doors/resp/slow_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "doors/access/limits.h"

namespace cairn::doors {
namespace {

std::string Shorten(std::string_view arg) {
  if (arg.size() <= kSlowLogArgumentBytes) return std::string(arg);
  return fmt::format("{}... ({} more bytes)", arg.substr(0, kSlowLogArgumentBytes),
                     arg.size() - kSlowLogArgumentBytes);
}

std::vector<std::string> Shorten(Args args) {
  std::vector<std::string> shortened;
  const bool cut = args.size() > kSlowLogArguments;
  for (const std::string_view arg : args.first(cut ? kSlowLogArguments - 1 : args.size())) {
    shortened.push_back(Shorten(arg));
  }
  if (cut) {
    shortened.push_back(
        fmt::format("... ({} more arguments)", args.size() - kSlowLogArguments + 1));
  }
  return shortened;
}

}  // namespace

void SlowLog::Add(Timestamp time, uint64_t duration_us, Args args, std::string peer,
                  std::string client_name) {
  const std::lock_guard lock(mutex_);
  entries_.push_front(
      {next_id_++, time, duration_us, Shorten(args), std::move(peer), std::move(client_name)});
  if (entries_.size() > max_length_) entries_.resize(max_length_);
}

std::vector<SlowLog::Entry> SlowLog::Newest(size_t count) const {
  const std::lock_guard lock(mutex_);
  return {entries_.begin(),
          entries_.begin() + static_cast<std::ptrdiff_t>(std::min(count, entries_.size()))};
}

size_t SlowLog::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

void SlowLog::Clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

size_t SlowLog::max_length() const {
  const std::lock_guard lock(mutex_);
  return max_length_;
}

void SlowLog::set_max_length(size_t length) {
  const std::lock_guard lock(mutex_);
  max_length_ = length;
  if (entries_.size() > max_length_) entries_.resize(max_length_);
}

}  // namespace cairn::doors
