#include "functions/cli/tool.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "house/login.h"

namespace cairn::functions::cli {
namespace {

using outside::ChildExit;
using outside::ChildProcess;

constexpr size_t kPieceBytes = 64UL * 1024;
constexpr size_t kMaxErrorBytes = 16UL * 1024;
constexpr std::array<std::string_view, 5> kPassedOn = {"PATH", "HOME", "TMPDIR", "LANG",
                                                       "NODE_PATH"};
constexpr uint64_t kNsPerMs = 1'000'000;

// One stream of the program, until it ends or is too long.
struct Stream {
  std::string text = {};
  bool ended = false;
};

}  // namespace

Result<ToolOutput> RunTool(const ToolCall& call, const house::Environment& environment,
                           const Clock& clock) {
  outside::ChildOptions options{.arguments = call.arguments, .directory = call.directory};
  for (const std::string_view name : kPassedOn) {
    const std::string value = house::ValueOf(environment, name);
    if (!value.empty()) options.environment.push_back(fmt::format("{}={}", name, value));
  }
  const std::string& program = call.arguments.front();
  CAIRN_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Start(options, clock));
  Stream out;
  Stream err;
  const uint64_t began_ns = clock.MonotonicNs();
  const auto limit_ms = static_cast<uint64_t>(call.timeout.count());
  while (!out.ended || !err.ended) {
    const uint64_t passed_ms = (clock.MonotonicNs() - began_ns) / kNsPerMs;
    if (passed_ms >= limit_ms) {
      return Error{ErrorCode::kIo, fmt::format("{} did not end within {} seconds", program,
                                               call.timeout.count() / 1'000)};
    }
    std::array<pollfd, 2> ready = {
        {{.fd = out.ended ? -1 : child.output_fd(), .events = POLLIN, .revents = 0},
         {.fd = err.ended ? -1 : child.errors_fd(), .events = POLLIN, .revents = 0}}};
    (void)poll(ready.data(), ready.size(), static_cast<int>(limit_ms - passed_ms));
    if (!out.ended) {
      CAIRN_ASSIGN_OR_RETURN(const ChildProcess::Piece piece, child.ReadOutput(kPieceBytes));
      out.text += piece.bytes;
      out.ended = piece.ended;
    }
    if (!err.ended) {
      CAIRN_ASSIGN_OR_RETURN(const ChildProcess::Piece piece, child.ReadErrors(kPieceBytes));
      if (err.text.size() < kMaxErrorBytes) err.text += piece.bytes;
      err.ended = piece.ended;
    }
    if (out.text.size() > call.max_output_bytes) {
      return Error{ErrorCode::kIo,
                   fmt::format("{} writes more than {} bytes", program, call.max_output_bytes)};
    }
  }
  const std::optional<ChildExit> exit = child.Wait(call.timeout);
  if (!exit) return Error{ErrorCode::kIo, fmt::format("{} did not end", program)};
  return ToolOutput{*exit, std::move(out.text), std::move(err.text)};
}

std::optional<std::string> FindProgram(std::string_view name,
                                       const house::Environment& environment) {
  const std::string path = house::ValueOf(environment, "PATH");
  std::string_view rest = path;
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string_view directory = rest.substr(0, colon);
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    if (directory.empty()) continue;
    std::string file = fmt::format("{}/{}", directory, name);
    std::error_code failure;
    if (std::filesystem::is_regular_file(file, failure) && access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  return std::nullopt;
}

}  // namespace cairn::functions::cli
