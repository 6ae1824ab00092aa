#include "admin/backup.h"

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

Result<BackupReport> MakeBackup(store::Store& store, const std::string& directory,
                                const Clock& clock) {
  const uint64_t start_ns = clock.MonotonicNs();
  CAIRN_RETURN_IF_ERROR(store.Backup(directory));
  return BackupReport{.directory = directory,
                      .bytes = BytesIn(directory),
                      .duration_ms = (clock.MonotonicNs() - start_ns) / 1'000'000};
}

}  // namespace cairn::admin
