#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "doors/resp/pubsub.h"
#include "doors/turn/held_scopes.h"
#include "net/resp/writer.h"
#include "store/scopes.h"
#include "store/store.h"
#include "store/transaction.h"

// A command is one row: how it is called, what it may touch, what runs, and what is told about it.
// COMMAND, the reference page and the console of the dashboard show the row; the dispatcher goes by
// it. A layer lists its rows in one place and hands them to CommandTable::Add.
//
//   {.name = "strlen", .arity = 2, .flags = kReadOnly | kFast, .categories = kCategoryString,
//    .keys = {{1, 1, 1, "RO"}}, .group = "string", .since = "2.2.0", .complexity = "O(1)",
//    .summary = "Tells how long a string is.", .syntax = "key:key", .run = Strlen},
namespace cairn::net {
class RespConnection;
}

namespace cairn::doors {

class AclUser;
class Dispatcher;
class Session;
class ClientWork;
struct Command;

// A request as it came: args[0] is the command's name. Views, valid during the call.
using Args = std::span<const std::string_view>;

// What COMMAND INFO calls a command's flags.
enum CommandFlag : uint32_t {
  kWrite = 1U << 0,  // may change data: runs under its scopes' locks
  kReadOnly = 1U << 1,
  kDenyOom = 1U << 2,
  kAdmin = 1U << 3,
  kPubSub = 1U << 4,
  kNoScript = 1U << 5,
  kBlocking = 1U << 6,
  kLoading = 1U << 7,
  kStale = 1U << 8,
  kSkipSlowLog = 1U << 9,
  kFast = 1U << 10,
  kNoAuth = 1U << 11,  // works before authentication
  kNoAsyncLoading = 1U << 12,
  kNoMulti = 1U << 13,  // refused between MULTI and EXEC
  kAllowBusy = 1U << 14,
  kMovableKeys = 1U << 15,
  kNoMandatoryKeys = 1U << 16,  // a call without keys is none with its keys missing
};

// Access-control categories that do not follow from the flags. (@write, @read, @admin, @dangerous
// for @admin, @fast and @slow do.)
enum CommandCategory : uint32_t {
  kCategoryKeyspace = 1U << 0,
  kCategoryString = 1U << 1,
  kCategoryConnection = 1U << 2,
  kCategoryTransaction = 1U << 3,
  kCategoryDangerous = 1U << 4,
  kCategoryAdmin = 1U << 5,
  kCategorySet = 1U << 6,
  kCategorySortedSet = 1U << 7,
  kCategoryList = 1U << 8,
  kCategoryHash = 1U << 9,
  kCategoryBitmap = 1U << 10,
  kCategoryHyperLogLog = 1U << 11,
  kCategoryGeo = 1U << 12,
  kCategoryStream = 1U << 13,
  kCategoryScripting = 1U << 14,
  kCategoryPubSub = 1U << 15,
};

// How the keys of a KeySpec are found.
enum class KeySearch : uint8_t {
  // At args[first], args[first + step], … up to and including args[last]; a negative `last` counts
  // from the end, -1 being the last argument.
  kRange,
  // Their number stands at args[first], they follow it.
  kCounted,
  // Behind the word `keyword`, looked for from args[first] on: one, or for a `last` of -1 those up
  // to
  // the end, of which `limit` 2 means the first half. Shown only: Command::find_keys finds them.
  kKeyword,
  // Command::find_keys knows.
  kUnknown,
};

inline constexpr std::string_view kNotAKey = "not_key";  // in `access`: names, but not of keys
struct KeySpec {
  int first = 0;
  int last = 0;
  int step = 1;
  std::string_view access;  // what happens to them, in COMMAND INFO's words: "RW access update"
  KeySearch search = KeySearch::kRange;
  std::string_view keyword = {};
  int limit = 0;
};

// Keys behind their number, which stands at args[number_at].
constexpr KeySpec CountedKeys(int number_at, std::string_view access) {
  return {.first = number_at, .access = access, .search = KeySearch::kCounted};
}

// What a command locks, if it writes, and what its reply has to wait for.
enum class ScopeRule {
  kKeys,        // its keys
  kNothing,     // it looks at nothing that is stored
  kEverything,  // the whole store: KEYS, FLUSHALL
};

// Who calls, as far as a handler that runs inside a transaction may know.
struct Caller {
  uint8_t db = 0;
  int protocol = 2;
  uint64_t connection_id = 0;
  // A command that finds nothing may wait (CommandContext::Block); in MULTI and in scripts it may
  // not.
  bool may_block = false;
  // Others have waited longer for the same keys: a command that would take something away takes
  // nothing, and waits in line.
  bool must_wait = false;
  // It is called by a script.
  bool in_script = false;
  // It has been waiting and looks again: a key of another type is as good as none.
  bool woken = false;
  // Who it is, whose rights bound what it does; commands that call or read more than their
  // arguments name go by it. Null: the user "default", without bounds.
  std::shared_ptr<const AclUser> user = {};
  // Goes with what it writes (Transaction::set_origin).
  uint32_t origin = 0;
  // What it reads is remembered for it (doors/resp/tracking.h), also by commands that this one
  // calls: Tracking::changes when the request began. nullopt: nothing is.
  std::optional<uint64_t> reads_since = {};
};

// What a handler is waiting for.
struct Blocking {
  std::optional<int64_t> timeout_ms;  // nullopt: for ever
  // What to wake up for; none: the command's keys.
  std::vector<store::Topic> topics = {};
  // Also to be woken when the whole database was cleared: it wants to know that a key is gone.
  bool when_cleared = false;
  // The request to run when it wakes, if not the one that came: XREAD … $ must remember where the
  // stream ended.
  std::vector<std::string> args = {};
};

// How often a command that reads has found the key it looked for: INFO's keyspace_hits.
struct KeyLookups {
  uint32_t hits = 0;
  uint32_t misses = 0;

  KeyLookups& operator+=(const KeyLookups& other) {
    hits += other.hits;
    misses += other.misses;
    return *this;
  }
};

struct CommandContext;

// What a row has made of the arguments of one call, for rows whose scopes follow from more than the
// places of keys. Command::parse makes it once; it then lives until the call has its reply, however
// often and on whatever threads the call runs meanwhile.
//
//   Command::parse ─ AddScopes ─ Run ─ (Run again: on the pool, under more scopes, when woken)
//
// It owns what it keeps, because the arguments may be gone before it. TypedRow (typed_row.h) makes
// one from a type of the layer's own.
class CommandRequest {
 public:
  CommandRequest() = default;
  virtual ~CommandRequest() = default;
  CommandRequest(const CommandRequest&) = delete;
  CommandRequest& operator=(const CommandRequest&) = delete;

  // Adds what it locks in database `db`; nothing if the arguments made no sense.
  virtual void AddScopes(uint8_t db, store::Scopes& scopes) const = 0;
  // The row's handler. Arguments that made no sense are refused here.
  virtual Result<void> Run(CommandContext& context) const = 0;
};
using SharedRequest = std::shared_ptr<const CommandRequest>;

// One call of a command with a `run` handler.
struct Call {
  // Parses the arguments, which is done nowhere else.
  Call(const Command& of, Args with);
  // A call whose arguments were parsed before.
  Call(const Command& of, Args with, SharedRequest parsed)
      : command(of), args(with), request(std::move(parsed)) {}

  const Command& command;
  Args args;              // borrowed
  SharedRequest request;  // null unless the row has `parse`
};

// What a handler inside a transaction is given. It may run more than once, on any thread: it
// changes nothing but the transaction and writes exactly one reply.
struct CommandContext {
  CommandContext(store::Transaction& in, const Call& of, const Caller& by, net::RespWriter to,
                 PubSub& tell, HeldScopes& under)
      : transaction(in),
        call(of),
        command(of.command),
        args(of.args),
        caller(by),
        reply(to),
        pubsub(tell),
        held(under) {}

  store::Transaction& transaction;
  const Call& call;
  const Command& command;
  Args args;
  const Caller& caller;
  net::RespWriter reply;
  PubSub& pubsub;
  HeldScopes& held;
  bool failed = false;  // the reply is an error
  std::optional<Blocking> blocking = {};
  KeyLookups lookups = {};

  uint8_t db() const { return caller.db; }
  Timestamp now() const { return transaction.now(); }
  // The reply is the error `text` ("ERR …"). Comes before anything is written to the transaction.
  //   return context.Fail("ERR no such key");
  Result<void> Fail(std::string_view text) {
    reply.Error(text);
    failed = true;
    return {};
  }

  // There is nothing to answer with yet. The reply that was written is for the case that time runs
  // out; if the caller may not block, it is the reply. Nothing may have been written to the
  // transaction.
  //
  //   context.reply.NullArray();
  //   return context.Block({.timeout_ms = timeout});
  Result<void> Block(Blocking wait) {
    if (caller.may_block) blocking = std::move(wait);
    return {};
  }

  // The handler touches what the scopes of its row do not cover. Fails unless they are held by now;
  // returned as the handler's error, that makes the body run again with these scopes too.
  //
  //   CAIRN_RETURN_IF_ERROR(context.Require(store::Scopes::Exclusive()));
  Result<void> Require(const store::Scopes& scopes) const { return held.Require(scopes); }

  // A key was looked for. Only those that commands look for to read are counted.
  void CountLookup(bool found);

  // Tells who listens to keyspace events (CONFIG SET notify-keyspace-events), once the commit is
  // there. `event` is Redis's name for what happened: "hset", "del".
  void Notify(KeyEventClass type, std::string_view event, std::string_view key) {
    pubsub.NotifyKeyEvent(transaction, caller.db, type, event, key);
  }
};

// Runs the handler of the context's command. A reply that `meter`, the one of the context's writer,
// has found too large fails it.
Result<void> RunHandlerOf(CommandContext& context, const net::ReplyMeter& meter);

// What a handler outside a transaction is given, on the connection's loop: it may use the session
// and the connection, and must not wait.
struct ConnectionContext {
  Dispatcher& dispatcher;
  net::RespConnection& connection;
  Session& session;
  const Command& command;
  Args args;
  net::RespWriter reply;
  bool failed = false;

  void Fail(std::string_view text) {
    reply.Error(text);
    failed = true;
  }
};

// Runs inside one transaction with the command's scopes. An Error is not for the client's mistakes
// (those are replies, see Fail) but for what keeps the store from answering: nothing of the command
// remains then.
using RunHandler = std::function<Result<void>(CommandContext&)>;
// Writes exactly one reply.
using ConnectionHandler = std::function<void(ConnectionContext&)>;
// Returns the store work whose end gives the reply; null if it has written the reply itself.
using PrepareHandler = std::function<std::unique_ptr<ClientWork>(ConnectionContext&)>;

// Makes the request of a call. Runs on the event loop, so what takes long to read is left to `run`.
using ParseFunction = std::function<SharedRequest(Args args)>;
// The scopes of a command for which ScopeRule does not say enough.
using ScopeFunction = std::function<void(Args args, uint8_t db, store::Scopes& scopes)>;
// The indexes of the keys of a command whose keys have no fixed places. Empty if there are none, or
// the arguments make no sense.
using KeyFunction = std::function<std::vector<size_t>(Args args)>;

// What of a call's arguments the audit log shows, which is never a secret.
using AuditText = std::string (*)(Args args);

// Whether a call that the command's flags allow to write says of itself that it does not: a script
// can. Reads nothing but what it needs to know that.
using WriteFunction = std::function<Result<bool>(store::Transaction& transaction, Args args)>;

struct Command {
  std::string_view name;  // lower case; a subcommand is "container|name"
  int arity = 0;          // number of arguments with the name; -n: at least n
  uint32_t flags = 0;     // CommandFlag
  uint32_t categories = 0;
  std::vector<KeySpec> keys = {};
  KeyFunction find_keys = {};  // adds to those that `keys` find by themselves
  ScopeRule scopes = ScopeRule::kKeys;
  ScopeFunction add_scopes = {};  // replaces `scopes`
  ParseFunction parse = {};       // its request replaces both
  WriteFunction never_writes = {};
  // Can take long even when memory has the answer (it visits many keys): runs on the pool, never on
  // a loop.
  bool long_running = false;
  bool runs_in_multi = false;     // runs at once between MULTI and EXEC, where others are queued
  bool while_subscribed = false;  // allowed to a RESP2 connection that listens to channels
  bool secret = false;            // its arguments hold a password: never logged
  bool stores = false;            // writes to the store, although clients do not see it as kWrite
  // Whether calls go into the audit log, see command_audit.h: those of operators do unless the row
  // says why not.
  bool audited = false;
  std::string_view unaudited = {};
  AuditText audit_text = nullptr;  // null: the first argument, none of a `secret` row

  std::string_view group;
  std::string_view since;
  std::string_view complexity = {};
  std::string_view summary;
  std::string_view syntax = {};             // see command_syntax.h
  std::vector<std::string_view> tips = {};  // for proxies and cluster clients
  std::string_view deprecated_since = {};
  std::string_view replaced_by = {};

  // Exactly one of these; none in a container that only has subcommands.
  RunHandler run = {};
  ConnectionHandler connection = {};
  PrepareHandler prepare = {};

  // Kept by the table.
  uint32_t index = 0;       // of the row among all rows
  bool is_audited = false;  // IsAudited of the row
  const Command* container = nullptr;
  std::vector<const Command*> subcommands = {};

  bool Has(CommandFlag flag) const { return (flags & flag) != 0; }
  bool AcceptsArity(size_t count) const {
    return arity >= 0 ? count == static_cast<size_t>(arity) : count >= static_cast<size_t>(-arity);
  }
  store::Access access() const {
    return Has(kWrite) || stores ? store::Access::kWrite : store::Access::kRead;
  }
};

// Whether it changes data or tells others, which CLIENT PAUSE WRITE holds back and a script that
// must not write may not call.
bool ChangesOrTells(const Command& command);

inline Call::Call(const Command& of, Args with)
    : command(of), args(with), request(of.parse ? of.parse(with) : nullptr) {}

inline void CommandContext::CountLookup(bool found) {
  if (command.Has(kReadOnly)) ++(found ? lookups.hits : lookups.misses);
}

// The indexes of the keys in `args`, which has the arity of `command`.
std::vector<size_t> FindKeys(const Command& command, Args args);

// The keys themselves, as views into `args`.
std::vector<std::string_view> KeysIn(const Command& command, Args args);
// Whether its keys are what it reads: not those of a script, which reads by calling commands.
bool NamesReadKeys(const Command& command);

// What the command does to its key at `index`, as KeySpec::access has it; empty if no spec tells.
std::string_view AccessOfKey(const Command& command, Args args, size_t index);

// Adds the scopes that the call needs in database `db`. `scratch` is overwritten; handing the same
// string in again saves an allocation.
void AddScopes(const Call& call, uint8_t db, store::Scopes& scopes, Bytes& scratch);

// The scope of one key of a database: what every command that names the key shares.
void AddKeyScope(uint8_t db, BytesView key, store::Scopes& scopes, Bytes& scratch);

// What a commit wakes when it may have something for a client that is blocked on the key: it put a
// list, a sorted set or a stream there, or took one away.
store::Topic KeyTopic(uint8_t db, BytesView key);
// What a commit wakes that has cleared a database, see Blocking::when_cleared.
store::Topic ClearedTopic(uint8_t db);

// A copy of a request that lives as long as it is needed.
class OwnedArgs {
 public:
  explicit OwnedArgs(Args args);
  OwnedArgs(OwnedArgs&&) = default;
  OwnedArgs& operator=(OwnedArgs&&) = default;
  OwnedArgs(const OwnedArgs&) = delete;
  OwnedArgs& operator=(const OwnedArgs&) = delete;

  Args view() const { return views_; }
  // What it takes, arguments and all.
  size_t bytes() const { return size_ + views_.size() * sizeof(std::string_view); }

 private:
  std::unique_ptr<char[]> buffer_;  // not a string: its bytes must not move with the object
  size_t size_ = 0;
  std::vector<std::string_view> views_;
};

// About what the request takes that `command` makes of these arguments: as much as they do.
inline size_t RequestBytes(const Command& command, const OwnedArgs& args) {
  return command.parse ? args.bytes() : 0;
}

// A call that lives as long as it is needed.
class OwnedCall {
 public:
  explicit OwnedCall(const Call& call)
      : args_(call.args), call_(call.command, args_.view(), call.request) {}
  OwnedCall(const OwnedCall&) = delete;
  OwnedCall& operator=(const OwnedCall&) = delete;

  const Call& view() const { return call_; }
  // What it takes: the arguments, and the request that was made of them.
  size_t bytes() const { return args_.bytes() + RequestBytes(call_.command, args_); }

 private:
  const OwnedArgs args_;
  const Call call_;
};

}  // namespace cairn::doors
