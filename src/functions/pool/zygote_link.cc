#include "functions/pool/zygote_link.h"

#include <sys/socket.h>

#include <array>
#include <cstring>
#include <utility>

#include "functions/protocol/messages.h"

namespace cairn::functions {
namespace {

constexpr size_t kMaxWaiting = 256;

bool SendOrder(int control, const Bytes& frame, int descriptor) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> ancillary = {};
  iovec piece{.iov_base = const_cast<char*>(frame.data()), .iov_len = frame.size()};
  msghdr message = {};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = ancillary.data();
  message.msg_controllen = ancillary.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  return sendmsg(control, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

}  // namespace

struct ZygoteLink::Shared {
  struct Waiting {
    FileDescriptor socket;
    uint64_t hard_memory_bytes = 0;
  };

  std::mutex mutex;
  FileDescriptor control;  // open while the zygote runs
  std::vector<Waiting> waiting;
  int64_t starts = 0;
  bool stopped = false;

  // The mutex is held. A socket that cannot be sent is closed, which tells who waits for the child.
  void Send(const Waiting& wanted) const {
    (void)SendOrder(control.get(),
                    Encode(ForkMessage{.hard_memory_bytes = wanted.hard_memory_bytes}),
                    wanted.socket.get());
  }
};

class ZygoteLink::Watcher final : public outside::ChildWatcher {
 public:
  Watcher(std::shared_ptr<Shared> shared, Log log)
      : shared_(std::move(shared)), log_(std::move(log)) {}

  Result<void> Prepare(outside::ChildOptions& options) override {
    std::array<int, 2> ends = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      return Error{ErrorCode::kIo, "cannot make a pair of sockets"};
    }
    ours_ = FileDescriptor(ends[0]);
    theirs_ = FileDescriptor(ends[1]);
    options.inherited = {theirs_.get()};
    return {};
  }

  void Started(outside::ChildProcess& /*child*/) override {
    theirs_.Close();
    const std::lock_guard lock(shared_->mutex);
    shared_->control = std::move(ours_);
    ++shared_->starts;
    for (const Shared::Waiting& wanted : shared_->waiting) shared_->Send(wanted);
    shared_->waiting.clear();
  }

  void Errors(std::string_view bytes) override {
    log_.Warn("the sandbox of functions complains", {{"text", bytes}});
  }

  void Ended(const outside::ChildExit& exit) override {
    theirs_.Close();
    ours_.Close();
    log_.Warn("the sandbox of functions has ended and is started again",
              {{"reason", exit.ToString()}});
    const std::lock_guard lock(shared_->mutex);
    shared_->control.Close();
    shared_->waiting.clear();  // they learn now, and not when the next one is there
  }

 private:
  const std::shared_ptr<Shared> shared_;
  const Log log_;
  FileDescriptor ours_;
  FileDescriptor theirs_;
};

ZygoteLink::ZygoteLink(std::string program, const Clock& clock, Random& random, Log log)
    : program_(std::move(program)),
      clock_(clock),
      random_(random),
      log_(std::move(log)),
      shared_(std::make_shared<Shared>()) {}

ZygoteLink::~ZygoteLink() { Stop(); }

void ZygoteLink::Fork(FileDescriptor socket, uint64_t hard_memory_bytes) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->stopped) return;
  Shared::Waiting wanted{.socket = std::move(socket), .hard_memory_bytes = hard_memory_bytes};
  if (shared_->control.get() >= 0) return shared_->Send(wanted);
  if (shared_->waiting.size() < kMaxWaiting) shared_->waiting.push_back(std::move(wanted));
  if (keeper_) return;
  keeper_ = std::make_unique<outside::ChildKeeper>(clock_, random_, log_);
  outside::SupervisorOptions options;
  options.child.arguments = {program_, "sandbox"};
  // A process with threads cannot be forked; one arena is enough for one thread. What is retained
  // counts against the memory limit of functions.
  options.child.environment = {
      "MALLOC_CONF=narenas:1,background_thread:false,tcache_max:4096,retain:false"};
  options.child.output = outside::ChildStream::kNothing;
  keeper_->Add("sandbox", std::move(options), std::make_unique<Watcher>(shared_, log_));
}

void ZygoteLink::Stop() {
  std::unique_ptr<outside::ChildKeeper> keeper;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopped = true;
    keeper = std::move(keeper_);
  }
  if (keeper) keeper->Stop();  // its watcher takes the mutex
  const std::lock_guard lock(shared_->mutex);
  shared_->control.Close();
  shared_->waiting.clear();
}

int64_t ZygoteLink::starts() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->starts;
}

}  // namespace cairn::functions
