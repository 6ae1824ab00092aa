#include "functions/cadence/grpc_frame.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace cairn::functions::grpc {
namespace {

constexpr size_t kHeadBytes = 5;
constexpr size_t kShownBytes = 256;
constexpr int kHttpOk = 200;
constexpr std::string_view kContentType = "application/grpc";

Error Broken(std::string_view what) {
  return {ErrorCode::kCorruption, fmt::format("the answer is not one of gRPC: {}", what)};
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// grpc-message is percent-encoded; what is not encoded right stands as it is.
std::string PercentDecode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const int high = HexDigit(text[i + 1]);
      const int low = HexDigit(text[i + 2]);
      if (high >= 0 && low >= 0) {
        decoded += static_cast<char>(high * 16 + low);
        i += 2;
        continue;
      }
    }
    decoded += text[i];
  }
  return decoded;
}

std::optional<int> ParseStatus(std::string_view text) {
  int status = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), status);
  if (error != std::errc() || end != text.data() + text.size() || status < 0) return std::nullopt;
  return status;
}

ErrorCode CodeOf(int status) {
  switch (status) {
    case kInvalidArgument:
      return ErrorCode::kInvalid;
    case kDeadlineExceeded:
      return ErrorCode::kIo;
    case kNotFound:
      return ErrorCode::kNotFound;
    default:
      return ErrorCode::kUnavailable;
  }
}

}  // namespace

Bytes Frame(BytesView message) {
  Bytes framed;
  framed.reserve(kHeadBytes + message.size());
  framed.push_back('\0');
  AppendBig32(framed, static_cast<uint32_t>(message.size()));
  framed += message;
  return framed;
}

Result<Bytes> Unframe(BytesView body) {
  BytesReader reader(body);
  const uint8_t flags = reader.Byte();
  const uint32_t length = reader.Big32();
  if (!reader.ok()) return Broken("the body ends before its message");
  if (flags == 1) return Broken("the message is compressed, which was not asked for");
  if (flags != 0) return Broken("the message has unknown flags");
  const BytesView message = reader.Take(length);
  if (!reader.ok()) return Broken("the message is shorter than it says");
  if (!reader.AtEnd()) return Broken("the body has more than one message");
  return Bytes(message);
}

std::string TimeoutText(std::chrono::milliseconds timeout) {
  return fmt::format("{}m", timeout.count());
}

Result<Bytes> ReadAnswer(const outside::HttpAnswer& answer) {
  const bool trailers_only = answer.trailers.empty() && answer.body.empty();
  const auto find = [&](std::string_view name) {
    return trailers_only ? answer.Header(name) : answer.Trailer(name);
  };
  const std::optional<std::string_view> word = find("grpc-status");
  if (!word) {
    if (answer.status != kHttpOk) {
      return Error{ErrorCode::kUnavailable,
                   fmt::format("the server answered with HTTP status {}", answer.status)};
    }
    return Broken("it has no grpc-status");
  }
  const std::optional<int> status = ParseStatus(*word);
  if (!status) return Broken("its grpc-status is no number");
  if (*status != kOk) {
    const std::string message = PercentDecode(find("grpc-message").value_or(""));
    return Error{CodeOf(*status), fmt::format("the server answered with gRPC status {}: {}",
                                              *status, Printable(message, kShownBytes))};
  }
  if (!answer.Header("content-type").value_or("").starts_with(kContentType)) {
    return Broken("its content-type is another");
  }
  return Unframe(answer.body);
}

}  // namespace cairn::functions::grpc
