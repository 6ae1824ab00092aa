#include "functions/protocol/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "functions/protocol/limits.h"

namespace cairn::functions {
namespace {

constexpr size_t kHeaderBytes = 5;
constexpr size_t kSmall = 4'096;
constexpr size_t kMaxShaBytes = 128;
constexpr size_t kMaxNameBytes = 256;
constexpr int64_t kMaxCount = int64_t{1} << 52U;  // JSON says exactly what is smaller
constexpr size_t kMaxFilesBytes =
    wire::kMaxBundleBytes +
    wire::kMaxBundleFiles * (wire::kMaxBundlePathBytes + 2 * sizeof(uint32_t)) + kSmall;

enum class Kind : uint8_t {
  kRun = 1,
  kHostReply = 2,
  kCompile = 3,
  kHostCall = 16,
  kLog = 17,
  kRunResult = 18,
  kCompiled = 19,
  kForked = 32,
  kExited = 33,
  kFork = 48,
};

// --- writing -------------------------------------------------------------------------------------

class Writer {
 public:
  explicit Writer(Kind kind) {
    AppendBig32(bytes_, 0);
    bytes_.push_back(static_cast<char>(kind));
  }
  Writer& Byte(uint8_t value) {
    bytes_.push_back(static_cast<char>(value));
    return *this;
  }
  Writer& Flag(bool value) { return Byte(value ? 1 : 0); }
  Writer& Big32(uint32_t value) {
    AppendBig32(bytes_, value);
    return *this;
  }
  Writer& Big64(uint64_t value) {
    AppendBig64(bytes_, value);
    return *this;
  }
  Writer& Signed64(int64_t value) { return Big64(static_cast<uint64_t>(value)); }
  Writer& Text(BytesView text) {
    Big32(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
    return *this;
  }
  Writer& Files(const std::vector<SourceFile>& files) {
    Big32(static_cast<uint32_t>(files.size()));
    for (const SourceFile& file : files) Text(file.path).Text(file.text);
    return *this;
  }
  Bytes Frame() {
    Bytes length;
    AppendBig32(length, static_cast<uint32_t>(bytes_.size() - kHeaderBytes));
    std::ranges::copy(length, bytes_.begin());
    return std::move(bytes_);
  }

 private:
  Bytes bytes_;
};

// --- reading -------------------------------------------------------------------------------------

// Reads fields and latches what is not allowed: a text past its limit, a flag that is neither 0
// nor 1.
class Reader {
 public:
  explicit Reader(BytesView payload) : in_(payload) {}

  uint8_t Byte(uint8_t most) {
    const uint8_t value = in_.Byte();
    if (value > most) ok_ = false;
    return value;
  }
  bool Flag() { return Byte(1) == 1; }
  uint32_t Big32() { return in_.Big32(); }
  uint64_t Big64() { return in_.Big64(); }
  int64_t Signed64() { return static_cast<int64_t>(in_.Big64()); }
  // How much or how many of something.
  int64_t Count64() {
    const int64_t value = Signed64();
    if (value < 0 || value > kMaxCount) ok_ = false;
    return value;
  }
  std::string OneOf(std::initializer_list<std::string_view> texts) {
    std::string text = Text(kSmall);
    if (std::ranges::find(texts, text) == texts.end()) ok_ = false;
    return text;
  }
  std::string Text(size_t most) {
    const uint32_t size = in_.Big32();
    if (size > most) ok_ = false;
    return ok_ ? std::string(in_.Take(size)) : std::string();
  }
  std::vector<SourceFile> Files() {
    std::vector<SourceFile> files;
    const uint32_t count = in_.Big32();
    if (count > wire::kMaxBundleFiles) ok_ = false;
    for (uint32_t i = 0; i < count && ok_ && in_.ok(); ++i) {
      std::string path = Text(wire::kMaxBundlePathBytes);
      std::string text = Text(wire::kMaxBundleBytes);
      files.push_back({.path = std::move(path), .text = std::move(text)});
    }
    return files;
  }
  bool AtEnd() const { return ok_ && in_.AtEnd(); }

 private:
  BytesReader in_;
  bool ok_ = true;
};

Program ReadProgram(Reader& in, std::string sha256) {
  Program program{.sha256 = std::move(sha256), .files = in.Files(), .entry = {}};
  program.entry = in.Text(wire::kMaxBundlePathBytes);
  program.handler = in.Text(kMaxNameBytes);
  program.isolation = static_cast<Isolation>(in.Byte(1));
  program.compiled = in.Text(wire::kMaxCompiledBytes);
  return program;
}

RunMessage ReadRun(Reader& in) {
  RunMessage run{.number = in.Big64(), .sha256 = in.Text(kMaxShaBytes)};
  if (in.Flag()) run.program = ReadProgram(in, run.sha256);
  run.event = in.Text(wire::kMaxEventBytes);
  run.context = in.Text(wire::kMaxContextBytes);
  run.env = in.Text(wire::kMaxEnvBytes);
  run.limits.wall_ms = in.Count64();
  run.limits.cpu_ms = in.Count64();
  run.limits.memory_bytes = in.Big64();
  run.only_load = in.Flag();
  return run;
}

HostReplyMessage ReadHostReply(Reader& in) {
  HostReplyMessage reply{.number = in.Big64(), .call = in.Big64()};
  reply.ok = in.Flag();
  reply.text = in.Text(wire::kMaxHostReplyBytes);
  return reply;
}

CompileMessage ReadCompile(Reader& in) {
  CompileMessage compile{.number = in.Big64(), .files = in.Files()};
  compile.entry = in.Text(wire::kMaxBundlePathBytes);
  return compile;
}

HostCallMessage ReadHostCall(Reader& in) {
  HostCallMessage call{.number = in.Big64(), .call = in.Big64()};
  call.operation = in.Text(wire::kMaxHostOperationBytes);
  call.arguments = in.Text(wire::kMaxHostCallBytes);
  return call;
}

LogMessage ReadLog(Reader& in) {
  LogMessage log{.number = in.Big64(), .level = in.Text(wire::kMaxLogLevelBytes)};
  log.text = in.Text(wire::kMaxLogLineBytes);
  return log;
}

RunResultMessage ReadRunResult(Reader& in) {
  RunResultMessage result{.number = in.Big64()};
  result.status = static_cast<RunStatus>(in.Byte(3));
  result.result = in.Text(wire::kMaxResultBytes);
  result.result_truncated = in.Flag();
  result.error.type = in.Text(wire::kMaxErrorTypeBytes);
  result.error.message = in.Text(wire::kMaxErrorMessageBytes);
  result.error.stack = in.Text(wire::kMaxStackBytes);
  result.limit_hit = in.OneOf({"", "wall", "cpu", "memory"});
  result.cpu_us = in.Count64();
  result.peak_memory_bytes = static_cast<uint64_t>(in.Count64());
  result.retire = in.Flag();
  result.cold = in.Flag();
  return result;
}

CompiledMessage ReadCompiled(Reader& in) {
  CompiledMessage compiled{.number = in.Big64(), .ok = in.Flag()};
  compiled.text = in.Text(compiled.ok ? wire::kMaxCompiledBytes : wire::kMaxErrorMessageBytes);
  return compiled;
}

// --- which kinds a direction has, how large they may be ------------------------------------------

template <typename Message>
struct Row {
  Kind kind;
  size_t max_bytes;
  Message (*read)(Reader& in);
};

template <typename Message>
const std::vector<Row<Message>>& Rows();

template <>
const std::vector<Row<ToChild>>& Rows() {
  static const std::vector<Row<ToChild>> rows = {
      {Kind::kRun,
       kMaxFilesBytes + wire::kMaxCompiledBytes + wire::kMaxEventBytes + wire::kMaxContextBytes +
           wire::kMaxEnvBytes,
       [](Reader& in) -> ToChild { return ReadRun(in); }},
      {Kind::kHostReply, wire::kMaxHostReplyBytes + kSmall,
       [](Reader& in) -> ToChild { return ReadHostReply(in); }},
      {Kind::kCompile, kMaxFilesBytes, [](Reader& in) -> ToChild { return ReadCompile(in); }},
  };
  return rows;
}

template <>
const std::vector<Row<ToServer>>& Rows() {
  static const std::vector<Row<ToServer>> rows = {
      {Kind::kHostCall, wire::kMaxHostCallBytes + kSmall,
       [](Reader& in) -> ToServer { return ReadHostCall(in); }},
      {Kind::kLog, wire::kMaxLogLineBytes + kSmall,
       [](Reader& in) -> ToServer { return ReadLog(in); }},
      {Kind::kRunResult,
       wire::kMaxResultBytes + wire::kMaxErrorMessageBytes + wire::kMaxStackBytes + kSmall,
       [](Reader& in) -> ToServer { return ReadRunResult(in); }},
      {Kind::kCompiled, wire::kMaxCompiledBytes + kSmall,
       [](Reader& in) -> ToServer { return ReadCompiled(in); }},
      {Kind::kForked, kSmall,
       [](Reader& in) -> ToServer {
         return ForkedMessage{.pid = in.Count64(), .sandbox = in.Big32()};
       }},
      {Kind::kExited, kSmall,
       [](Reader& in) -> ToServer {
         return ExitedMessage{.status = static_cast<int32_t>(in.Big32()), .cpu_us = in.Count64()};
       }},
  };
  return rows;
}

template <>
const std::vector<Row<ToZygote>>& Rows() {
  static const std::vector<Row<ToZygote>> rows = {
      {Kind::kFork, kSmall,
       [](Reader& in) -> ToZygote { return ForkMessage{.hard_memory_bytes = in.Big64()}; }},
  };
  return rows;
}

template <typename Message>
const Row<Message>* FindRow(uint8_t kind) {
  for (const Row<Message>& row : Rows<Message>()) {
    if (static_cast<uint8_t>(row.kind) == kind) return &row;
  }
  return nullptr;
}

}  // namespace

Bytes Encode(const RunMessage& message) {
  Writer out(Kind::kRun);
  out.Big64(message.number).Text(message.sha256).Flag(message.program.has_value());
  if (message.program) {
    const Program& program = *message.program;
    out.Files(program.files).Text(program.entry).Text(program.handler);
    out.Byte(static_cast<uint8_t>(program.isolation)).Text(program.compiled);
  }
  out.Text(message.event).Text(message.context).Text(message.env);
  out.Signed64(message.limits.wall_ms).Signed64(message.limits.cpu_ms);
  return out.Big64(message.limits.memory_bytes).Flag(message.only_load).Frame();
}

Bytes Encode(const HostReplyMessage& message) {
  Writer out(Kind::kHostReply);
  out.Big64(message.number).Big64(message.call).Flag(message.ok);
  return out.Text(message.text).Frame();
}

Bytes Encode(const CompileMessage& message) {
  Writer out(Kind::kCompile);
  return out.Big64(message.number).Files(message.files).Text(message.entry).Frame();
}

Bytes Encode(const HostCallMessage& message) {
  Writer out(Kind::kHostCall);
  out.Big64(message.number).Big64(message.call);
  return out.Text(message.operation).Text(message.arguments).Frame();
}

Bytes Encode(const LogMessage& message) {
  Writer out(Kind::kLog);
  return out.Big64(message.number).Text(message.level).Text(message.text).Frame();
}

Bytes Encode(const RunResultMessage& message) {
  Writer out(Kind::kRunResult);
  out.Big64(message.number).Byte(static_cast<uint8_t>(message.status));
  out.Text(message.result).Flag(message.result_truncated);
  out.Text(message.error.type).Text(message.error.message).Text(message.error.stack);
  out.Text(message.limit_hit).Signed64(message.cpu_us).Big64(message.peak_memory_bytes);
  return out.Flag(message.retire).Flag(message.cold).Frame();
}

Bytes Encode(const CompiledMessage& message) {
  Writer out(Kind::kCompiled);
  return out.Big64(message.number).Flag(message.ok).Text(message.text).Frame();
}

Bytes Encode(const ForkedMessage& message) {
  return Writer(Kind::kForked).Signed64(message.pid).Big32(message.sandbox).Frame();
}

Bytes Encode(const ExitedMessage& message) {
  Writer out(Kind::kExited);
  return out.Big32(static_cast<uint32_t>(message.status)).Signed64(message.cpu_us).Frame();
}

Bytes Encode(const ForkMessage& message) {
  return Writer(Kind::kFork).Big64(message.hard_memory_bytes).Frame();
}

template <typename Message>
Result<std::optional<Message>> MessageReader<Message>::Next() {
  const BytesView rest = BytesView(bytes_).substr(read_);
  if (rest.size() < kHeaderBytes) return std::optional<Message>();
  BytesReader header(rest);
  const uint32_t length = header.Big32();
  const uint8_t kind = header.Byte();
  const Row<Message>* const row = FindRow<Message>(kind);
  if (row == nullptr) {
    return Error{ErrorCode::kInvalid, fmt::format("a message of unknown kind {}", kind)};
  }
  if (length > row->max_bytes || length > max_bytes_) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("a message of kind {} with {} bytes is too long", kind, length)};
  }
  if (rest.size() - kHeaderBytes < length) return std::optional<Message>();
  Reader in(rest.substr(kHeaderBytes, length));
  std::optional<Message> message(row->read(in));
  if (!in.AtEnd()) {
    return Error{ErrorCode::kInvalid, fmt::format("a message of kind {} is malformed", kind)};
  }
  read_ += kHeaderBytes + length;
  if (read_ == bytes_.size()) {
    Bytes().swap(bytes_);  // what was large once need not stay so
    read_ = 0;
  } else if (read_ > bytes_.size() / 2) {
    bytes_.erase(0, read_);
    read_ = 0;
  }
  return message;
}

template class MessageReader<ToChild>;
template class MessageReader<ToServer>;
template class MessageReader<ToZygote>;

}  // namespace cairn::functions
