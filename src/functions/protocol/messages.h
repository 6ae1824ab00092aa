#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "functions/protocol/program.h"

// What the server and the processes of the sandbox say to each other, over one socket for each
// child. A message is a frame:
//
//   length u32 | kind u8 | payload (length bytes)
//
// Integers are big-endian; texts and lists have their length (u32) in front. Each kind has a limit
// of its own on `length`, so neither side can make the other allocate more than that. Both sides
// treat each other as hostile: what does not decode is the end of the conversation.
//
//   server → child:   Run, HostReply, StreamRoom, Abort, Compile
//   child  → server:  HostCall, Log, RunResult, Compiled
//                     Answered, or StreamBegun StreamPiece… StreamEnded, before the RunResult
//   zygote → server:  Forked, before anything of the child; Exited, after everything of it
//   server → zygote:  Fork, on the zygote's own socket, with the child's end attached
namespace cairn::functions {

struct RunMessage {
  uint64_t number = 0;  // of the activation; the child repeats it
  std::string sha256;
  std::optional<Program> program = {};  // if the child does not have it
  std::string event;                    // JSON
  std::string context;                  // JSON
  std::string env;                      // JSON
  RunLimits limits = {};
  bool only_load = false;  // the program is made ready, and nothing of it is run
  AnswerMode answer = AnswerMode::kAtEnd;

  friend bool operator==(const RunMessage&, const RunMessage&) = default;
};

struct HostReplyMessage {
  uint64_t number = 0;
  uint64_t call = 0;
  bool ok = true;
  std::string text;  // JSON if ok, else what went wrong

  friend bool operator==(const HostReplyMessage&, const HostReplyMessage&) = default;
};

// The client has taken some of the answer.
struct StreamRoomMessage {
  uint64_t number = 0;
  uint64_t bytes = 0;

  friend bool operator==(const StreamRoomMessage&, const StreamRoomMessage&) = default;
};

// Nobody wants the answer any more.
struct AbortMessage {
  uint64_t number = 0;
  std::string reason;  // for people

  friend bool operator==(const AbortMessage&, const AbortMessage&) = default;
};

struct CompileMessage {
  uint64_t number = 0;
  std::vector<SourceFile> files;
  std::string entry;

  friend bool operator==(const CompileMessage&, const CompileMessage&) = default;
};

struct HostCallMessage {
  uint64_t number = 0;
  uint64_t call = 0;
  std::string operation;
  std::string arguments;  // JSON

  friend bool operator==(const HostCallMessage&, const HostCallMessage&) = default;
};

struct LogMessage {
  uint64_t number = 0;
  std::string level;
  std::string text;

  friend bool operator==(const LogMessage&, const LogMessage&) = default;
};

struct RunResultMessage {
  uint64_t number = 0;
  RunStatus status = RunStatus::kSuccess;
  std::string result = {};  // JSON, if it succeeded
  bool result_truncated = false;
  RunError error = {};
  std::string limit_hit = {};
  int64_t cpu_us = 0;
  uint64_t peak_memory_bytes = 0;
  bool retire = false;  // the child is of no more use
  bool cold = false;    // the program had to be loaded

  friend bool operator==(const RunResultMessage&, const RunResultMessage&) = default;
};

// The answer of a run that goes on.
struct AnsweredMessage {
  uint64_t number = 0;
  std::string result;  // as RunResultMessage has it
  bool result_truncated = false;

  friend bool operator==(const AnsweredMessage&, const AnsweredMessage&) = default;
};

// An answer begins whose body follows in pieces.
struct StreamBegunMessage {
  uint64_t number = 0;
  std::string head;  // a result with an empty body

  friend bool operator==(const StreamBegunMessage&, const StreamBegunMessage&) = default;
};

struct StreamPieceMessage {
  uint64_t number = 0;
  std::string bytes;

  friend bool operator==(const StreamPieceMessage&, const StreamPieceMessage&) = default;
};

// The body is complete. One that is not has no such message, only the RunResult.
struct StreamEndedMessage {
  uint64_t number = 0;

  friend bool operator==(const StreamEndedMessage&, const StreamEndedMessage&) = default;
};

struct CompiledMessage {
  uint64_t number = 0;
  bool ok = true;
  std::string text;  // the compiled program, or the error: file, line and what is wrong

  friend bool operator==(const CompiledMessage&, const CompiledMessage&) = default;
};

struct ForkedMessage {
  int64_t pid = 0;  // as the zygote knows it
  // The parts of the sandbox in force: bits of SandboxPart (child/sandbox.h).
  uint32_t sandbox = 0;

  friend bool operator==(const ForkedMessage&, const ForkedMessage&) = default;
};

struct ExitedMessage {
  int32_t status = 0;  // as wait() gives it
  int64_t cpu_us = 0;

  friend bool operator==(const ExitedMessage&, const ExitedMessage&) = default;
};

struct ForkMessage {
  uint64_t hard_memory_bytes = 0;

  friend bool operator==(const ForkMessage&, const ForkMessage&) = default;
};

using ToChild =
    std::variant<RunMessage, HostReplyMessage, CompileMessage, StreamRoomMessage, AbortMessage>;
using ToServer = std::variant<HostCallMessage, LogMessage, RunResultMessage, CompiledMessage,
                              ForkedMessage, ExitedMessage, AnsweredMessage, StreamBegunMessage,
                              StreamPieceMessage, StreamEndedMessage>;
using ToZygote = std::variant<ForkMessage>;

// As frames. Messages within the limits of limits.h always fit.
Bytes Encode(const RunMessage& message);
Bytes Encode(const HostReplyMessage& message);
Bytes Encode(const CompileMessage& message);
Bytes Encode(const StreamRoomMessage& message);
Bytes Encode(const AbortMessage& message);
Bytes Encode(const HostCallMessage& message);
Bytes Encode(const LogMessage& message);
Bytes Encode(const RunResultMessage& message);
Bytes Encode(const CompiledMessage& message);
Bytes Encode(const AnsweredMessage& message);
Bytes Encode(const StreamBegunMessage& message);
Bytes Encode(const StreamPieceMessage& message);
Bytes Encode(const StreamEndedMessage& message);
Bytes Encode(const ForkedMessage& message);
Bytes Encode(const ExitedMessage& message);
Bytes Encode(const ForkMessage& message);

// Cuts a stream of bytes into messages. After the first error everything fails.
template <typename Message>
class MessageReader {
 public:
  void Append(BytesView bytes) { bytes_.append(bytes); }
  // Of one message, for when no kind that may be longer is expected.
  void set_max_bytes(size_t bytes) { max_bytes_ = bytes; }
  // The next message; nullopt if it has not arrived whole. kInvalid if this is no message.
  Result<std::optional<Message>> Next();
  // Bytes that have arrived and belong to no message yet.
  size_t waiting() const { return bytes_.size() - read_; }

 private:
  Bytes bytes_;
  size_t read_ = 0;
  size_t max_bytes_ = SIZE_MAX;
};

extern template class MessageReader<ToChild>;
extern template class MessageReader<ToServer>;
extern template class MessageReader<ToZygote>;

}  // namespace cairn::functions
