#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "outside/http_service.h"

// A unary call of gRPC over HTTP/2. The body of a request, and of an answer, is one message:
//
//   flags:1      0; 1 says that the message is compressed, which we never ask for
//   length:4BE
//   message      `length` bytes
//
// How the call has ended stands in the trailers grpc-status and grpc-message; in the headers of an
// answer that has neither a body nor trailers.
namespace cairn::functions::grpc {

// The statuses that somebody reacts to.
inline constexpr int kOk = 0;
inline constexpr int kInvalidArgument = 3;
inline constexpr int kDeadlineExceeded = 4;
inline constexpr int kNotFound = 5;

Bytes Frame(BytesView message);
// The message of a whole body. kCorruption says what is wrong with it.
Result<Bytes> Unframe(BytesView body);

// "70000m", as the header grpc-timeout has it.
std::string TimeoutText(std::chrono::milliseconds timeout);

// The message that has come back. Otherwise
//   kNotFound      NOT_FOUND
//   kInvalid       INVALID_ARGUMENT
//   kIo            DEADLINE_EXCEEDED
//   kCorruption    what is no answer of gRPC, or a message that is not framed as it should be
//   kUnavailable   any other status
// with grpc-message, bounded and printable, as text.
Result<Bytes> ReadAnswer(const outside::HttpAnswer& answer);

}  // namespace cairn::functions::grpc
