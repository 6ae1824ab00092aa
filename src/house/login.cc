#include "house/login.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/file_descriptor.h"

namespace cairn::house {
namespace {

namespace json = boost::json;

constexpr size_t kMaxLoginBytes = 64UL * 1024;
constexpr mode_t kOwnerOnly = 0600;
constexpr mode_t kOthers = 0077;

// The members of the file, and where they stand.
constexpr std::array<std::pair<std::string_view, std::string Login::*>, 5> kMembers = {{
    {"url", &Login::url},
    {"token", &Login::token},
    {"tenant", &Login::tenant},
    {"namespace", &Login::ns},
    {"ca_file", &Login::ca_file},
}};

Error FileError(std::string_view what, const std::string& file) {
  return {ErrorCode::kIo, fmt::format("cannot {} {}: {}", what, file, std::strerror(errno))};
}

Result<std::string> ReadAll(int fd, const std::string& file) {
  std::string text(kMaxLoginBytes + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError("read", file);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  text.resize(size);
  return text;
}

Result<Login> Parse(const std::string& text, const std::string& file) {
  const auto bad = [&](std::string_view problem) {
    return Error{
        ErrorCode::kInvalid,
        fmt::format("{} {}; log in again with: cairn auth login --url URL", file, problem)};
  };
  if (text.size() > kMaxLoginBytes) return bad("is too large");
  boost::system::error_code failure;
  const json::value value = json::parse(text, failure);
  if (failure || !value.is_object()) return bad("is not a JSON object");
  Login login;
  for (const auto& [name, member] : kMembers) {
    const json::value* const found = value.get_object().if_contains(name);
    if (found == nullptr) continue;
    if (!found->is_string()) return bad(fmt::format("has a {} that is not text", name));
    login.*member = std::string(found->get_string());
  }
  if (login.url.empty()) return bad("does not name a server");
  return login;
}

Result<void> WriteAll(int fd, std::string_view text, const std::string& file) {
  while (!text.empty()) {
    const ssize_t put = write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return FileError("write", file);
    text.remove_prefix(static_cast<size_t>(put));
  }
  if (fsync(fd) != 0) return FileError("write", file);
  return {};
}

}  // namespace

std::string ValueOf(const Environment& environment, std::string_view variable) {
  const auto found = environment.find(std::string(variable));
  return found == environment.end() ? "" : found->second;
}

Result<std::string> LoginFile(const Environment& environment) {
  std::string directory = ValueOf(environment, "XDG_CONFIG_HOME");
  if (directory.empty()) {
    const std::string home = ValueOf(environment, "HOME");
    if (home.empty()) {
      return Error{ErrorCode::kNotFound,
                   "the environment has neither HOME nor XDG_CONFIG_HOME, so there is no place for "
                   "a login"};
    }
    directory = home + "/.config";
  }
  return directory + "/cairn/auth.json";
}

Result<std::optional<Login>> ReadLogin(const Environment& environment) {
  const Result<std::string> file = LoginFile(environment);
  if (!file.ok()) return std::optional<Login>();
  const FileDescriptor opened(open(file->c_str(), O_RDONLY | O_CLOEXEC));
  if (opened.get() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<Login>();
    return FileError("read", *file);
  }
  struct stat status = {};
  if (fstat(opened.get(), &status) != 0) return FileError("read", *file);
  if ((status.st_mode & kOthers) != 0) {
    return Error{ErrorCode::kForbidden,
                 fmt::format("{} can be read by others; if its key is still yours alone: chmod 600 "
                             "{}",
                             *file, *file)};
  }
  CAIRN_ASSIGN_OR_RETURN(const std::string text, ReadAll(opened.get(), *file));
  CAIRN_ASSIGN_OR_RETURN(Login login, Parse(text, *file));
  return std::optional<Login>(std::move(login));
}

Result<void> WriteLogin(const Environment& environment, const Login& login) {
  CAIRN_ASSIGN_OR_RETURN(const std::string file, LoginFile(environment));
  const std::filesystem::path directory = std::filesystem::path(file).parent_path();
  std::error_code failure;
  if (std::filesystem::create_directories(directory, failure); failure) {
    return Error{ErrorCode::kIo,
                 fmt::format("cannot make {}: {}", directory.string(), failure.message())};
  }
  std::filesystem::permissions(directory, std::filesystem::perms::owner_all, failure);
  json::object object;
  for (const auto& [name, member] : kMembers) {
    if (!(login.*member).empty()) object[name] = login.*member;
  }
  // A new file takes the place of the old one, so nobody ever sees half of it.
  const std::string fresh = fmt::format("{}.{}", file, getpid());
  (void)unlink(fresh.c_str());
  const FileDescriptor opened(
      open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
  if (opened.get() < 0) return FileError("make", fresh);
  const Result<void> written = WriteAll(opened.get(), json::serialize(object) + "\n", fresh);
  if (!written.ok() || rename(fresh.c_str(), file.c_str()) != 0) {
    const Error error = written.ok() ? FileError("replace", file) : written.error();
    (void)unlink(fresh.c_str());
    return error;
  }
  return {};
}

Result<bool> RemoveLogin(const Environment& environment) {
  CAIRN_ASSIGN_OR_RETURN(const std::string file, LoginFile(environment));
  if (unlink(file.c_str()) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return FileError("remove", file);
}

}  // namespace cairn::house
