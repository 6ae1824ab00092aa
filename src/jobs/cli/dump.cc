#include "jobs/cli/dump.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

namespace cairn::jobs {
namespace {

namespace json = boost::json;

constexpr size_t kPartBytes = 4UL * 1024 * 1024;

Error FileError(const std::string& file, int number) {
  return {ErrorCode::kIo, fmt::format("{}: {}", file, std::generic_category().message(number))};
}

struct CloseFile {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }
};

Result<uint64_t> Download(house::ApiClient& client, const std::string& name, std::FILE* file) {
  uint64_t bytes = 0;
  const auto take = [&](std::string_view piece) -> Result<void> {
    bytes += piece.size();
    if (std::fwrite(piece.data(), 1, piece.size(), file) == piece.size()) return {};
    return FileError(name, errno);
  };
  CAIRN_RETURN_IF_ERROR(client.Download("/api/v1/admin/backup", take));
  if (std::fflush(file) != 0 || fsync(fileno(file)) != 0) return FileError(name, errno);
  return bytes;
}

}  // namespace

Result<uint64_t> ExportJobs(house::ApiClient& client, const std::string& file) {
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return FileError(file, errno);
  const std::unique_ptr<std::FILE, CloseFile> out(fdopen(descriptor, "wb"));
  Result<uint64_t> bytes = Download(client, file, out.get());
  if (!bytes.ok()) (void)std::remove(file.c_str());
  return bytes;
}

Result<json::value> ImportJobs(house::ApiClient& client, const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return FileError(file, errno);
  int64_t first = 1;
  int64_t next = 1;
  std::string part;
  std::string line;
  while (true) {
    const bool more = static_cast<bool>(std::getline(in, line));
    if (more) {
      part.append(line).push_back('\n');
      ++next;
    }
    if (more && part.size() < kPartBytes) continue;
    if (part.empty()) break;
    CAIRN_ASSIGN_OR_RETURN(
        json::value answer,
        client.Post(fmt::format("/api/v1/admin/restore?line={}", first), std::exchange(part, {})));
    if (answer.at("status").as_string() == "restored") return answer;
    first = next;
  }
  if (in.bad()) return FileError(file, errno);
  return Error{
      ErrorCode::kInvalid,
      fmt::format("{} is incomplete, its last line is missing: nothing was restored", file)};
}

}  // namespace cairn::jobs
