#include "doors/resp/monitor.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "doors/resp/arg_parser.h"
#include "doors/resp/connection_commands.h"
#include "doors/resp/dispatcher.h"
#include "doors/resp/instance.h"
#include "doors/resp/session.h"

namespace cairn::doors {
namespace {

void AppendQuoted(std::string& out, std::string_view arg) {
  out += '"';
  for (const char c : arg) {
    switch (c) {
      case '\\':
      case '"':
        out += '\\';
        out += c;
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\a':
        out += "\\a";
        break;
      case '\b':
        out += "\\b";
        break;
      default:
        if (c >= ' ' && c <= '~') {
          out += c;
        } else {
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
    }
  }
  out += '"';
}

// Whether args[index] may hold a user's name or password.
bool IsSecret(const Command& command, Args args, size_t index) {
  if (!command.secret || index == 0) return false;
  if (command.name != "hello") return true;
  for (size_t back = 1; back <= 2 && back < index; ++back) {
    if (EqualsIgnoreCase(args[index - back], "auth")) return true;
  }
  return false;
}

void Monitor(ConnectionContext& context) {
  context.dispatcher.monitors().Start(context.session);
  context.reply.Ok();
}

}  // namespace

std::string MonitorLine(Timestamp time, uint8_t db, std::string_view peer, const Command& command,
                        Args args) {
  std::string line =
      fmt::format("{}.{:06} [{} {}]", time.us / 1'000'000, time.us % 1'000'000, db, peer);
  for (size_t i = 0; i < args.size(); ++i) {
    line += ' ';
    AppendQuoted(line, IsSecret(command, args, i) ? "(redacted)" : args[i]);
  }
  return line;
}

void MonitorFeed::Start(Session& session) {
  if (session.monitor) return;
  session.monitor = true;
  std::atomic<size_t>& count = dispatcher_.instance().dispatchers().monitors();
  ++count;
  session.monitoring = store::Subscription([&count] { --count; });
  session.connection().set_output_class(net::OutputClass::kPubSub);
  connections_.push_back(session.id());
}

// What is posted from the loop itself may be overtaken by what the pool posts, so the lines stand
// in a line of their own.
void MonitorFeed::Show(std::shared_ptr<const std::string> line) {
  const std::lock_guard lock(mutex_);
  lines_.push_back(std::move(line));
  if (lines_.size() > 1) return;  // somebody is already on the way
  dispatcher_.Post([](Dispatcher& self) { self.monitors().WriteLines(); });
}

void MonitorFeed::WriteLines() {
  std::vector<std::shared_ptr<const std::string>> lines;
  {
    const std::lock_guard lock(mutex_);
    lines.swap(lines_);
  }
  for (const auto& line : lines) Write(*line);
}

void MonitorFeed::Write(const std::string& line) {
  net::RespServer* server = dispatcher_.instance().server();
  if (server == nullptr) return;
  std::erase_if(connections_, [&](uint64_t id) {
    net::RespConnection* connection = server->Find(dispatcher_.loop(), id);
    if (connection == nullptr || !SessionOf(*connection).monitor) return true;
    net::RespWriter(connection->out(), SessionOf(*connection).protocol).Simple(line);
    connection->Seal(0, 0);
    return false;
  });
}

void AddMonitorCommand(Instance& instance) {
  instance.commands().Add({.name = "monitor",
                           .arity = 1,
                           .flags = kAdmin | kNoScript | kLoading | kStale,
                           .group = "server",
                           .since = "1.0.0",
                           .summary = "Shows every command that the server is given from now on.",
                           .connection = Monitor});
}

}  // namespace cairn::doors
