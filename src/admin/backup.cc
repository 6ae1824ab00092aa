#include "admin/backup.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>
#include <filesystem>
#include <system_error>

namespace cairn::admin {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

uint64_t BytesIn(const std::string& directory) {
  uint64_t bytes = 0;
  std::error_code failure;
  fs::recursive_directory_iterator entry(directory, failure);
  for (; !failure && entry != fs::recursive_directory_iterator(); entry.increment(failure)) {
    if (entry->is_regular_file(failure)) bytes += entry->file_size(failure);
  }
  return bytes;
}

fs::path WithoutSlash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

// Of `path` links were followed as far as they lead somewhere. One that is still there leads to
// what does not exist, which may be anywhere.
bool IsBelow(const fs::path& home, const fs::path& path) {
  auto [end, rest] = std::mismatch(home.begin(), home.end(), path.begin(), path.end());
  if (end != home.end() || rest == path.end()) return false;
  fs::path each = home;
  for (; rest != path.end(); ++rest) {
    each /= *rest;
    std::error_code missing;
    if (fs::is_symlink(fs::symlink_status(each, missing))) return false;
  }
  return true;
}

}  // namespace

json::object BackupReport::ToJson() const {
  return {{"directory", directory}, {"bytes", bytes}, {"duration_ms", duration_ms}};
}

Result<BackupReport> BackupReport::FromJson(std::string_view text) {
  boost::system::error_code failure;
  const json::value value = json::parse(text, failure);
  const json::object* object = failure ? nullptr : value.if_object();
  const auto number = [&](std::string_view name) {
    const json::value* field = object->if_contains(name);
    boost::system::error_code wrong;
    return field == nullptr ? 0 : field->to_number<uint64_t>(wrong);
  };
  const json::value* directory = object == nullptr ? nullptr : object->if_contains("directory");
  if (directory == nullptr || !directory->is_string()) {
    return Error{ErrorCode::kInternal, "the answer is not a backup report"};
  }
  return BackupReport{std::string(directory->get_string()), number("bytes"), number("duration_ms")};
}

Result<std::string> PlaceOfBackup(const std::string& directory, const std::string& wanted) {
  const Error elsewhere{
      ErrorCode::kForbidden,
      fmt::format("a backup goes below {}, and {} is not: choose a directory there, or start the "
                  "server with another backup.directory",
                  directory, wanted)};
  const fs::path place = fs::path(directory) / wanted;  // `wanted` alone if it is absolute
  const bool climbs = std::ranges::any_of(place, [](const fs::path& part) { return part == ".."; });
  if (climbs || wanted.find('\0') != std::string::npos) return elsewhere;
  std::error_code failure;
  fs::create_directories(directory, failure);
  const fs::path home = failure ? fs::path() : fs::canonical(directory, failure);
  if (failure) {
    return Error{ErrorCode::kIo, fmt::format("backup.directory {} cannot be used: {}", directory,
                                             failure.message())};
  }
  // What is there already may be a link that leads away.
  const fs::path real = WithoutSlash(fs::weakly_canonical(place, failure));
  if (failure || !IsBelow(home, real)) return elsewhere;
  fs::create_directories(real.parent_path(), failure);
  if (failure) {
    return Error{ErrorCode::kIo, fmt::format("{} cannot be made: {}", real.parent_path().string(),
                                             failure.message())};
  }
  return real.string();
}

Result<BackupReport> MakeBackup(store::Store& store, const std::string& directory,
                                const Clock& clock) {
  const uint64_t start_ns = clock.MonotonicNs();
  CAIRN_RETURN_IF_ERROR(store.Backup(directory));
  return BackupReport{.directory = directory,
                      .bytes = BytesIn(directory),
                      .duration_ms = (clock.MonotonicNs() - start_ns) / 1'000'000};
}

}  // namespace cairn::admin
