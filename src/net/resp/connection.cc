#include "net/resp/connection.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "net/loop.h"
#include "net/resp/shard.h"

namespace cairn::net {
namespace {

using IoStatus = IoResult::Status;

// After so many requests of one connection, or so many bytes of replies, the others get their turn.
constexpr size_t kRequestsPerVisit = 1024;
constexpr size_t kOutputPerVisit = 1024 * 1024;
// Output that is worth counting before its turn is over.
constexpr size_t kMuchOutput = 256 * 1024;
// How many requests the handler sees before it executes the first of them.
constexpr size_t kRequestsAhead = 16;
// How much input a connection may keep that cannot execute it yet.
constexpr size_t kPausedInputBytes = 64 * 1024;
// A request with more arguments than this makes its parser give its memory back.
constexpr size_t kManyArguments = 1024;
// The least room a connection's own input buffer has when it is read into. One that has grown to
// more than twice as much shrinks again when it was not needed for a while.
constexpr size_t kLeastRoom = 16 * 1024;
constexpr size_t kMostKeptRoom = 1024 * 1024;  // more is given back at once
constexpr uint64_t kHandshakeTimeoutNs = 10'000'000'000;
constexpr uint64_t kTrimAfterNs = 1'000'000'000;

Timestamp WallTime(const Clock& clock, uint64_t at_ns) {
  const uint64_t now_ns = clock.MonotonicNs();
  const uint64_t ago_us = now_ns > at_ns ? (now_ns - at_ns) / 1000 : 0;
  return {clock.Now().us - static_cast<int64_t>(ago_us)};
}

}  // namespace

SocketConnection::SocketConnection(uint64_t id, RespShard& shard,
                                   std::shared_ptr<Transport> transport, uint64_t now_ns)
    : RespConnection(id, shard.loop()),
      shard_(shard),
      transport_(std::move(transport)),
      parser_(shard.options().limits),
      replies_(out_),
      opened_ns_(now_ns),
      active_ns_(now_ns),
      share_(*shard.shared().budget, shard, id) {
  parser_.set_authenticated(false);
  peer_ = PeerOf(fd()).ToString();
  local_ = LocalOf(fd()).ToString();
}

SocketConnection::~SocketConnection() {
  // The session goes first: its destructor may still ask the connection for its id or address.
  session_.reset();
}

bool SocketConnection::Start() {
  interest_ = EPOLLIN;
  if (!shard_.poller().Add(fd(), interest_, *this).ok()) return false;
  session_ = shard_.handler().Open(*this);
  CAIRN_CHECK(session_ != nullptr, "a handler opened no session");
  return true;
}

const ReleaseState& SocketConnection::ReleaseStateOfShard() const { return shard_.release_state(); }

// --- What a handler asks for --------------------------------------------------------------------

void SocketConnection::Seal(uint64_t ticket, uint32_t replies) {
  if (closed_) return;
  replies_.Seal(ticket, replies, ReleaseStateOfShard());
  if (replies_.unsent() > kMuchOutput) Account();
  if (replies_.waiting()) shard_.MarkWaiting(*this);
  shard_.MarkDirty(*this);
}

void SocketConnection::Refuse(uint32_t replies, std::string_view error_line) {
  if (closed_) return;
  replies_.Refuse(replies, error_line, ReleaseStateOfShard());
  if (replies_.waiting()) shard_.MarkWaiting(*this);
  shard_.MarkDirty(*this);
}

void SocketConnection::Pause(PauseReason reason) {
  paused_ = true;
  pause_reason_ = reason;
  shard_.MarkDirty(*this);
}

void SocketConnection::Resume() {
  if (!paused_) return;
  paused_ = false;
  if (closed_) return;
  if (shard_.draining()) {
    CloseAfterReplies();
  } else {
    shard_.MarkRunnable(*this);
  }
}

void SocketConnection::CloseAfterReplies() {
  closing_ = true;
  if (!closed_) shard_.MarkDirty(*this);
}

void SocketConnection::CloseNow() {
  if (closed_) return;
  closed_ = true;
  shard_.poller().Remove(fd());
  shard_.MarkClosed(*this);
}

RespConnection::Stats SocketConnection::Sizes() const {
  Stats sizes;
  sizes.input_bytes = std::max(input_.unread().size(), executing_bytes_);
  sizes.input_capacity = std::max(input_.capacity(), sizes.input_bytes);
  sizes.output_bytes = replies_.unsent();
  sizes.output_blocks = replies_.blocks();
  sizes.output_capacity = replies_.memory();
  sizes.held_bytes = held_bytes_;
  return sizes;
}

RespConnection::Stats SocketConnection::stats() const {
  if (!loop_.InLoop()) return published_.Read();
  Stats stats = Sizes();
  stats.opened = WallTime(shard_.clock(), opened_ns_);
  stats.last_active = WallTime(shard_.clock(), active_ns_);
  stats.requests = requests_;
  return stats;
}

void SocketConnection::Published::Write(const Stats& stats) {
  input_bytes.store(stats.input_bytes, std::memory_order_relaxed);
  input_capacity.store(stats.input_capacity, std::memory_order_relaxed);
  output_bytes.store(stats.output_bytes, std::memory_order_relaxed);
  output_blocks.store(stats.output_blocks, std::memory_order_relaxed);
  output_capacity.store(stats.output_capacity, std::memory_order_relaxed);
  held_bytes.store(stats.held_bytes, std::memory_order_relaxed);
}

RespConnection::Stats SocketConnection::Published::Read() const {
  Stats stats;
  stats.input_bytes = input_bytes.load(std::memory_order_relaxed);
  stats.input_capacity = input_capacity.load(std::memory_order_relaxed);
  stats.output_bytes = output_bytes.load(std::memory_order_relaxed);
  stats.output_blocks = output_blocks.load(std::memory_order_relaxed);
  stats.output_capacity = output_capacity.load(std::memory_order_relaxed);
  stats.held_bytes = held_bytes.load(std::memory_order_relaxed);
  return stats;
}

// What counts of it: memory that has been written to, or may have been. (Room for the rest of a
// large request is no more than addresses.)
size_t SocketConnection::Memory() const {
  const size_t kept = std::min(input_.capacity(), kMostKeptRoom);
  return std::max(input_.unread().size(), kept) + replies_.memory() + held_bytes_;
}

// --- Reading and executing ----------------------------------------------------------------------

void SocketConnection::OnReady(uint32_t events) {
  if (closed_) return;
  if ((events & EPOLLOUT) != 0) {
    write_blocked_ = false;
    shard_.MarkDirty(*this);
  }
  if (listed.runnable) return;  // has input enough
  const bool readable = (events & EPOLLIN) != 0 || (read_wants_write_ && (events & EPOLLOUT) != 0);
  if (readable && CanRead()) {
    ReadAndExecute();
  } else if ((events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0) {
    // Nobody is there to answer to. (EPOLLRDHUP is asked for only while blocked.)
    CloseNow();
  }
}

bool SocketConnection::CanExecute() const {
  return !paused_ && !closing_ && !closed_ && !share_.doomed() && !PastHardLimit();
}

bool SocketConnection::CanRead() const {
  if (input_ended_ || closing_ || closed_) return false;
  if (CanExecute()) return true;
  return input_.unread().size() < kPausedInputBytes;
}

void SocketConnection::ReadAndExecute() {
  const bool direct = input_.empty();
  if (!ReserveForRequest()) return CloseNow();
  parser_.set_bulk_limit(shard_.shared().bulk_bytes.load(std::memory_order_relaxed));
  const std::span<char> scratch = shard_.scratch();
  char* const to = direct ? scratch.data() : input_.tail();
  const size_t room = direct ? scratch.size() : std::max(input_.room(), size_t{1});
  const IoResult read = transport_->Read(to, room);
  read_wants_write_ = read.status == IoStatus::kWantWrite;
  switch (read.status) {
    case IoStatus::kDone:
      shard_.counters().bytes_in.Add(read.bytes);
      active_ns_ = shard_.now_ns();
      if (direct) {
        KeepInput(ExecuteAll({to, read.bytes}));
      } else {
        input_.Commit(read.bytes);
        input_peak_ = std::max(input_peak_, input_.unread().size());
        Continue();
      }
      return;
    case IoStatus::kWantRead:
    case IoStatus::kWantWrite:
      shard_.MarkDirty(*this);
      return;
    case IoStatus::kEnd:
      input_ended_ = true;
      Continue();
      return;
    case IoStatus::kFailed:
      return CloseNow();
  }
}

// Makes room in input_ for the rest of the request at its front, as far as its length is known.
bool SocketConnection::ReserveForRequest() {
  const size_t have = input_.unread().size();
  const size_t lacking = parser_.needed() > have ? parser_.needed() - have : 0;
  return input_.MakeRoom(std::max(lacking, kLeastRoom));
}

void SocketConnection::Run() {
  if (closed_) return;
  Continue();
  if (transport_->pending() && !listed.runnable && CanRead()) ReadAndExecute();
}

void SocketConnection::Continue() {
  const std::string_view before = input_.unread();
  const std::string_view rest = ExecuteAll(before);
  input_.Consume(before.size() - rest.size());
  if (input_.empty() && input_.capacity() > kMostKeptRoom) input_.Release();
}

// Takes over what ExecuteAll left of the shared buffer.
void SocketConnection::KeepInput(std::string_view rest) {
  if (rest.empty() || closed_) return;
  if (!input_.MakeRoom(std::max(parser_.needed(), rest.size())) || !input_.Append(rest)) CloseNow();
  input_peak_ = std::max(input_peak_, rest.size());
}

// Executes requests from the front of `input` as long as that is possible, and returns the rest.
std::string_view SocketConnection::ExecuteAll(std::string_view input) {
  shard_.MarkDirty(*this);
  backlog_ = false;
  RequestBatch& batch = shard_.batch();
  const size_t output_before = replies_.unsent();
  const auto wrote_enough = [&] { return replies_.unsent() > output_before + kOutputPerVisit; };
  for (size_t executed = 0; executed < kRequestsPerVisit; executed += batch.size()) {
    if (!CanExecute()) {
      backlog_ = true;
      return input;
    }
    const RespParser::Status status = ParseSome(input, batch);
    const std::span<const RespHandler::Request> requests = batch.requests();
    if (requests.size() > 1) shard_.handler().Expect(*this, requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      if (i > 0 && (!CanExecute() || wrote_enough())) {
        parser_.Restart();  // it is past what is left
        backlog_ = !CanExecute();
        if (!backlog_) shard_.MarkRunnable(*this);
        return input;
      }
      executing_bytes_ = input.size();
      ExecuteOne(requests[i]);
      executing_bytes_ = 0;
      input.remove_prefix(batch.bytes(i));
    }
    if (status == RespParser::Status::kNeedMore) {
      EndOfInput();
      return input;
    }
    if (status == RespParser::Status::kError) {
      shard_.counters().protocol_errors.Add(1);
      protocol_error_ = parser_.error();
      CloseAfterReplies();
      return {};
    }
    if (wrote_enough()) break;
  }
  shard_.MarkRunnable(*this);
  return input;
}

// Parses what is at the front of `input`, up to kRequestsAhead requests. Only the last of them may
// have arguments that are not part of the input, or leave the parser with much memory. Returns what
// the parser said last.
RespParser::Status SocketConnection::ParseSome(std::string_view input, RequestBatch& batch) {
  batch.Clear();
  for (;;) {
    const bool is_array = input.starts_with('*');
    const RespParser::Status status = parser_.Parse(input);
    if (status != RespParser::Status::kRequest) return status;
    batch.Add(parser_.args(), parser_.consumed());
    input.remove_prefix(parser_.consumed());
    // What a client may send before it has authenticated depends on the requests before.
    const bool alone =
        !is_array || !parser_.authenticated() || parser_.args().size() > kManyArguments;
    if (alone || batch.size() == kRequestsAhead) return status;
  }
}

void SocketConnection::ExecuteOne(RespHandler::Request args) {
  if (args.empty()) return;
  ++requests_;
  shard_.counters().requests.Add(1);
  shard_.MarkServed(*this);
  shard_.handler().Execute(*this, args);
  if (args.size() > kManyArguments) parser_.ReleaseMemory();
  if (replies_.unsent() > kMuchOutput) Account();
}

// What is left is no whole request.
void SocketConnection::EndOfInput() {
  const size_t limit = shard_.shared().query_buffer_bytes.load(std::memory_order_relaxed);
  if (parser_.needed() > limit) {
    shard_.log().Warn("closing a client past the query buffer limit",
                      {{"client", peer_}, {"needed", parser_.needed()}, {"limit", limit}});
    shard_.counters().protocol_errors.Add(1);
    protocol_error_ = fmt::format(
        "Protocol error: the request needs more than the {} bytes of client-query-buffer-limit",
        limit);
    CloseAfterReplies();
  } else if (input_ended_) {
    CloseAfterReplies();
  }
}

// --- The end of a turn --------------------------------------------------------------------------

void SocketConnection::Flush() {
  if (closed_) return;
  // Replies still being made come before the error and the end.
  const bool working = paused_ && pause_reason_ == PauseReason::kWorking;
  if (!protocol_error_.empty() && !working) FailProtocol();
  if (paused_ && pause_reason_ == PauseReason::kBlocked && input_ended_) return CloseNow();

  if (PastHardLimit()) return CloseUnread(PastUnauthenticatedLimit() ? "unauthenticated" : "hard");
  Write();
  if (closed_) return;
  if (PastSoftLimit(shard_.now_ns())) return CloseUnread("soft");
  Account();
  published_.Write(Sizes());
  if (closing_ && !working && replies_.sealed_all_sent()) {
    transport_->FinishSending();
    lingers_ = !input_ended_ && !shard_.draining();
    return CloseNow();
  }
  // Goes on with what had to wait, and with bytes that the socket will not announce again.
  if (CanExecute() && (backlog_ || transport_->pending())) shard_.MarkRunnable(*this);
  UpdateInterest();
}

// Earlier requests have been answered by now, so the error takes its place behind their replies.
void SocketConnection::FailProtocol() {
  out_.append("-ERR ").append(protocol_error_).append("\r\n");
  protocol_error_.clear();
  Seal(0, 1);
}

void SocketConnection::Write() {
  while (!write_blocked_) {
    const std::string_view bytes = replies_.sendable();
    if (bytes.empty()) return;
    const IoResult written = transport_->Write(bytes.data(), bytes.size());
    switch (written.status) {
      case IoStatus::kDone:
        shard_.counters().bytes_out.Add(written.bytes);
        active_ns_ = shard_.now_ns();
        replies_.Sent(written.bytes);
        // Less than asked for means that the socket's buffer is full. (TLS takes a record at a
        // time.)
        if (written.bytes < bytes.size() && !transport_->tls()) write_blocked_ = true;
        break;
      case IoStatus::kWantWrite:
        write_blocked_ = true;
        break;
      case IoStatus::kWantRead:
        return;  // a TLS handshake that goes on when the socket is readable, as it is watched for
      case IoStatus::kEnd:
      case IoStatus::kFailed:
        return CloseNow();
    }
  }
}

void SocketConnection::UpdateInterest() {
  uint32_t wanted = 0;
  if (CanRead()) {
    wanted |= EPOLLIN;
  } else if (paused_ && pause_reason_ == PauseReason::kBlocked && !input_ended_) {
    wanted |= EPOLLRDHUP;
  }
  if (write_blocked_ || read_wants_write_) wanted |= EPOLLOUT;
  if (wanted == interest_) return;
  interest_ = wanted;
  shard_.poller().Change(fd(), interest_, *this);
}

void SocketConnection::Drain() {
  if (closed_) return;
  if (!paused_) {
    CloseAfterReplies();
  } else if (pause_reason_ == PauseReason::kBlocked) {
    CloseNow();
  }
}

// --- Unsent output ------------------------------------------------------------------------------

const SharedOutputLimits& SocketConnection::output_limits() const {
  return shard_.shared().output_limits[static_cast<size_t>(output_class_)];
}

bool SocketConnection::PastHardLimit() const {
  return PastUnauthenticatedLimit() || output_limits().PastHard(replies_.unsent());
}

// Whoever has no secret is owed refusals alone: who asks for many and reads none holds little.
bool SocketConnection::PastUnauthenticatedLimit() const {
  return !parser_.authenticated() &&
         replies_.unsent() > shard_.options().limits.unauthenticated_output_bytes;
}

bool SocketConnection::PastSoftLimit(uint64_t now_ns) {
  const OutputLimits limits = output_limits().Get();
  if (limits.soft_bytes == 0 || replies_.unsent() <= limits.soft_bytes) {
    unread_since_ns_ = 0;
    return false;
  }
  if (unread_since_ns_ == 0) unread_since_ns_ = now_ns;
  const auto soft_ns = static_cast<uint64_t>(std::chrono::nanoseconds(limits.soft_for).count());
  return now_ns >= unread_since_ns_ + soft_ns;
}

void SocketConnection::CloseUnread(std::string_view limit) {
  shard_.log().Warn("closing a client that does not read its replies: client-output-buffer-limit",
                    {{"client", peer_}, {"limit", limit}, {"unsent_bytes", replies_.unsent()}});
  shard_.counters().output_disconnects.Add(1);
  CloseNow();
}

// --- From time to time --------------------------------------------------------------------------

void SocketConnection::LookAfter(uint64_t now_ns, uint64_t idle_timeout_ns) {
  if (Overdue(now_ns, idle_timeout_ns)) return CloseNow();
  if (AuthOverdue(now_ns)) return RefuseUnauthenticated();
  if (PastSoftLimit(now_ns)) return CloseUnread("soft");
  Trim(now_ns);
}

bool SocketConnection::Overdue(uint64_t now_ns, uint64_t idle_timeout_ns) const {
  if (!transport_->established()) return now_ns > opened_ns_ + kHandshakeTimeoutNs;
  if (paused_ || idle_timeout_ns == 0) return false;
  return now_ns > active_ns_ + idle_timeout_ns;
}

bool SocketConnection::AuthOverdue(uint64_t now_ns) const {
  const auto timeout = std::chrono::nanoseconds(shard_.options().auth_timeout);
  if (parser_.authenticated() || closing_ || timeout.count() == 0) return false;
  return now_ns > opened_ns_ + static_cast<uint64_t>(timeout.count());
}

void SocketConnection::RefuseUnauthenticated() {
  shard_.counters().auth_timeouts.Add(1);
  protocol_error_ = "the connection did not authenticate in time: see auth_timeout";
  CloseAfterReplies();
}

void SocketConnection::Trim(uint64_t now_ns) {
  const size_t peak = std::exchange(input_peak_, 0);
  if (!input_.empty()) return;
  if (now_ns >= active_ns_ + kTrimAfterNs && out_.empty()) {
    input_.Release();
    out_.shrink_to_fit();
    parser_.ReleaseMemory();
  } else if (input_.capacity() > 2 * kLeastRoom && peak < input_.capacity() / 2) {
    input_.Release();
    // If there is no memory for it, the next read tries again.
    (void)input_.MakeRoom(kLeastRoom);
  } else {
    return;
  }
  published_.Write(Sizes());
}

FileDescriptor SocketConnection::TakeLingering() {
  return lingers_ ? transport_->ReleaseFd() : FileDescriptor();
}

}  // namespace cairn::net
