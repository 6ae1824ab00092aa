#include <fmt/format.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigtimedwait

#include <boost/json/parse.hpp>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "functions/cli/call.h"
#include "functions/cli/dev_server.h"
#include "functions/cli/fn_actions.h"
#include "functions/cli/folder.h"
#include "functions/cli/local_folder.h"
#include "functions/cli/outcome.h"
#include "functions/cli/target.h"

// cairn fn dev DIR: serves a folder's function on this machine, and again whenever a file changes.
namespace cairn::functions::cli {
namespace {

using house::VerbCall;

// Between two looks at the folder: some hundred microseconds for a folder of usual size.
constexpr int64_t kLookEveryNs = 300'000'000;
// How long a folder that has changed has to stay as it is.
constexpr int64_t kSettleNs = 50'000'000;

// SIGINT and SIGTERM as something to wait for. Threads that are started later do not get them.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~EndSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  // Whether one came within the time.
  bool Wait(int64_t ns) const {
    const timespec time{.tv_sec = 0, .tv_nsec = ns};
    return sigtimedwait(&set_, nullptr, &time) > 0;
  }

 private:
  sigset_t set_ = {};
  sigset_t before_ = {};
};

// Packs and compiles the folder, shows it, and runs it with the event, if one is given.
class Reloader {
 public:
  Reloader(const VerbCall& call, Target target, std::optional<std::string> event,
           LocalRuntime& runtime, DevServer& server)
      : call_(call),
        target_(std::move(target)),
        event_(std::move(event)),
        runtime_(runtime),
        server_(server) {}

  void Load() {
    Result<LocalFunction> loaded = LoadFolder(call_, target_, runtime_);
    if (!loaded.ok()) {
      call_.terminal.Complain(fmt::format("fn dev: {}", loaded.error().message));
      server_.Fail(loaded.error().message);
      function_ = nullptr;
      return;
    }
    loaded->version = ++version_;
    function_ = std::make_shared<const LocalFunction>(*std::move(loaded));
    server_.Show(function_);
    Note(fmt::format("{}  loaded {}", ResourceName(function_->name), version_));
  }

  void RunEvent() {
    if (!event_ || !function_) return;
    LocalRuntime::Invocation invocation{.event = *event_};
    invocation.logged = [](std::string_view level, std::string_view text) {
      Note(fmt::format("  [{}] {}", level, text));
    };
    const LocalOutcome outcome = runtime_.RunToEnd(*function_, std::move(invocation));
    PrintOutcome(boost::json::parse(OutcomeText(outcome)), "", call_.terminal);
  }

 private:
  const VerbCall& call_;
  const Target target_;
  const std::optional<std::string> event_;
  LocalRuntime& runtime_;
  DevServer& server_;
  std::shared_ptr<const LocalFunction> function_;
  uint64_t version_ = 0;
};

}  // namespace

Result<int> DevelopFolder(const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(Target target, TargetOf(call, call.arguments));
  const std::string folder = target.folder;
  CAIRN_ASSIGN_OR_RETURN(const LocalOptions options, LocalOptionsOf(call));
  std::optional<std::string> event;
  if (!call.Text("event").empty()) {
    CAIRN_ASSIGN_OR_RETURN(event, ReadJson("--event", call.Text("event")));
  }
  const EndSignals signals;
  LocalRuntime runtime(options);
  FolderLook look = LookAt(folder);
  if (look.empty()) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("there is nothing in {}; make a function with: cairn fn init {}",
                             folder, folder)};
  }
  DevServer server(runtime);
  Result<uint16_t> port = server.Listen(static_cast<uint16_t>(call.Number("port")));
  if (!port.ok()) {
    return Error{port.error().code,
                 fmt::format("{}; choose another port with --port", port.error().message)};
  }
  Reloader reloader(call, std::move(target), std::move(event), runtime, server);
  reloader.Load();
  call.terminal.Print(fmt::format("http://127.0.0.1:{}/  (Ctrl-C ends it)", *port));
  reloader.RunEvent();
  bool changed = false;
  while (!signals.Wait(changed ? kSettleNs : kLookEveryNs)) {
    FolderLook now = LookAt(folder);
    if (now != look) {
      // An editor may be in the middle of it.
      look = std::move(now);
      changed = true;
    } else if (changed) {
      changed = false;
      reloader.Load();
      reloader.RunEvent();
    }
  }
  return house::kExitOk;
}

}  // namespace cairn::functions::cli
