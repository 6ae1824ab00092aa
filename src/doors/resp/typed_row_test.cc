#include "doors/resp/typed_row.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "doors/resp/nested_call.h"
#include "doors/testing/test_server.h"
#include "tests/support/await.h"
#include "tests/support/test_store.h"

namespace cairn::doors {
namespace {

using testing::TestClient;
using testing::TestServer;

constexpr std::string_view kBadValue = "ERR the value must not be bad";

// What the toy's commands are asked for.
struct ToyRequest {
  std::string key;
  std::string value;
};

store::Key StoredKey(const std::string& key) { return {store::Space::kSystem, key}; }

// A layer with one request and several ways to run it.
class TypedRowTest : public ::testing::Test {
 protected:
  using Handler = Result<void> (TypedRowTest::*)(CommandContext&, const ToyRequest&);

  Command Row(std::string_view name, int arity, uint32_t flags, Handler handler) {
    const auto parse = [this](Args args) -> Result<ToyRequest> {
      ++parses_;
      if (args.back() == "bad") return Error{ErrorCode::kInvalid, std::string(kBadValue)};
      return ToyRequest{.key = "toy/" + std::string(args[1]), .value = std::string(args.back())};
    };
    const auto scopes = [this](const ToyRequest& request, uint8_t db, store::Scopes& into) {
      ++scoped_;
      Bytes scratch;
      AddKeyScope(db, request.key, into, scratch);
    };
    const auto run = [this, handler](CommandContext& context, const ToyRequest& request) {
      ++runs_;
      return (this->*handler)(context, request);
    };
    Command row{.name = name,
                .arity = arity,
                .flags = flags,
                .group = "test",
                .since = "1.0.0",
                .summary = "For tests."};
    return TypedRow<ToyRequest>(std::move(row), {.parse = parse, .scopes = scopes, .run = run});
  }

  Result<void> Put(CommandContext& context, const ToyRequest& request) {
    context.transaction.Put(StoredKey(request.key), request.value);
    context.transaction.Wake(KeyTopic(context.db(), request.key));
    context.reply.Bulk(request.value);
    return {};
  }

  // Finds out that it touches more than it has said.
  Result<void> PutWide(CommandContext& context, const ToyRequest& request) {
    store::Scopes scopes;
    Bytes scratch;
    AddKeyScope(context.db(), "toy/elsewhere", scopes, scratch);
    CAIRN_RETURN_IF_ERROR(context.Require(scopes));
    return Put(context, request);
  }

  // Has to wait for the disk the first time.
  Result<void> PutFromDisk(CommandContext& context, const ToyRequest& request) {
    const bool on_loop = cairn::testing::OnRocks() && std::exchange(cold_, false);
    if (on_loop) return Error{ErrorCode::kWouldBlock, "on disk"};
    return Put(context, request);
  }

  // Takes what is there, and waits for it.
  Result<void> Take(CommandContext& context, const ToyRequest& request) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value,
                           context.transaction.Get(StoredKey(request.key)));
    if (!value) {
      context.reply.NullArray();
      return context.Block({.topics = {KeyTopic(context.db(), request.key)}});
    }
    context.transaction.Delete(StoredKey(request.key));
    context.reply.Bulk(*value);
    return {};
  }

  Result<void> NoteLoop(CommandContext& context, const ToyRequest& request) {
    loop_thread_ = std::this_thread::get_id();
    return Put(context, request);
  }

  // Notes where it looks for the first time.
  Result<void> TakeElsewhere(CommandContext& context, const ToyRequest& request) {
    if (!looked_) look_thread_ = std::this_thread::get_id();
    looked_ = true;
    return Take(context, request);
  }

  void AddCommands(Instance& instance) {
    CommandTable& table = instance.commands();
    table.Add(Row("t.put", 3, kWrite, &TypedRowTest::Put));
    table.Add(Row("t.putwide", 3, kWrite, &TypedRowTest::PutWide));
    table.Add(Row("t.putdisk", 3, kWrite, &TypedRowTest::PutFromDisk));
    table.Add(Row("t.take", 2, kWrite | kBlocking, &TypedRowTest::Take));
    Command slow = Row("t.putlong", 3, kWrite, &TypedRowTest::Put);
    slow.long_running = true;
    table.Add(std::move(slow));
    Command slow_take = Row("t.takelong", 2, kWrite | kBlocking, &TypedRowTest::TakeElsewhere);
    slow_take.long_running = true;
    table.Add(std::move(slow_take));
    table.Add(Row("t.loop", 3, kWrite, &TypedRowTest::NoteLoop));
    // Calls the command behind its first key, as a script does.
    table.Add({.name = "t.call",
               .arity = -3,
               .flags = kWrite,
               .add_scopes =
                   [](Args args, uint8_t db, store::Scopes& scopes) {
                     Bytes scratch;
                     AddKeyScope(db, "toy/" + std::string(args[1]), scopes, scratch);
                   },
               .group = "test",
               .since = "1.0.0",
               .summary = "For tests.",
               .run = [&instance](CommandContext& context) -> Result<void> {
                 NestedCalls calls(instance, context, {});
                 std::string reply;
                 CAIRN_ASSIGN_OR_RETURN(const Refusal refusal,
                                        calls.Run(context.args.subspan(2), 2, reply));
                 EXPECT_EQ(refusal, Refusal::kNone);
                 context.reply.Bulk(reply);
                 return {};
               }});
  }

  // On a shared store scopes are only an order (HeldScopes::only_order), so that nothing is run
  // again for them; but a transaction that has lost against another is.
  void ExpectRuns(int here, int at_least_shared) const {
    if (cairn::testing::OnRocks()) {
      EXPECT_EQ(runs_, here);
    } else {
      EXPECT_GE(runs_, at_least_shared);
    }
  }

  std::atomic<int> parses_{0};
  std::atomic<int> scoped_{0};
  std::atomic<int> runs_{0};
  bool cold_ = true;
  std::atomic<bool> looked_{false};
  std::atomic<std::thread::id> look_thread_;
  std::atomic<std::thread::id> loop_thread_;
  TestServer server_{{.add_commands = [this](Instance& instance) { AddCommands(instance); }}};
};

TEST_F(TypedRowTest, ALongCallThatWaitsLooksOnThePool) {
  EXPECT_EQ(server_.Run({"t.loop", "other", "v"}), "\"v\"");
  TestClient waits = server_.Connect();
  waits.Send({"t.takelong", "k"});
  cairn::testing::Await("the call to look", [&] { return looked_.load(); });
  EXPECT_NE(look_thread_.load(), loop_thread_.load());
  EXPECT_EQ(server_.Run({"t.put", "k", "v"}), "\"v\"");
  EXPECT_EQ(waits.Receive(), "\"v\"");
  // What is there is taken at once.
  EXPECT_EQ(server_.Run({"t.put", "k", "w"}), "\"w\"");
  EXPECT_EQ(server_.Run({"t.takelong", "k"}), "\"w\"");
}

TEST_F(TypedRowTest, ACallIsParsedOnce) {
  EXPECT_EQ(server_.Run({"t.put", "k", "v"}), "\"v\"");
  EXPECT_EQ(parses_, 1);
  EXPECT_EQ(scoped_, 1);
  ExpectRuns(1, 1);
}

TEST_F(TypedRowTest, ACallThatRunsAgainUnderMoreScopesIsParsedOnce) {
  EXPECT_EQ(server_.Run({"t.putwide", "k", "v"}), "\"v\"");
  EXPECT_EQ(parses_, 1);
  ExpectRuns(2, 1);
}

TEST_F(TypedRowTest, ACallThatLeavesTheLoopTakesItsRequestAlong) {
  EXPECT_EQ(server_.Run({"t.putdisk", "k", "from the first parse"}), "\"from the first parse\"");
  EXPECT_EQ(parses_, 1);
  ExpectRuns(2, 1);
  EXPECT_EQ(server_.Run({"t.putlong", "k", "v"}), "\"v\"");
  EXPECT_EQ(parses_, 2);
}

TEST_F(TypedRowTest, CallsInATransactionAreParsedOnceEach) {
  EXPECT_EQ(server_.Run({"MULTI"}), "OK");
  EXPECT_EQ(server_.Run({"t.put", "a", "1"}), "QUEUED");
  EXPECT_EQ(server_.Run({"t.putwide", "b", "2"}), "QUEUED");
  EXPECT_EQ(server_.Run({"t.put", "c", "bad"}), "QUEUED");
  EXPECT_EQ(server_.Run({"EXEC"}), "[\"1\", \"2\", (error) ERR the value must not be bad]");
  EXPECT_EQ(parses_, 3);
  EXPECT_EQ(scoped_, 2);
  ExpectRuns(4, 2);
}

TEST_F(TypedRowTest, ACallFromInsideAnotherCommandIsParsedOnce) {
  EXPECT_EQ(server_.Run({"t.call", "k", "t.put", "k", "v"}), R"("$1\x0d\x0av\x0d\x0a")");
  EXPECT_EQ(parses_, 1);
  EXPECT_EQ(scoped_, 1);
  ExpectRuns(1, 1);
  EXPECT_EQ(server_.Run({"t.call", "k", "t.put", "k", "bad"}),
            R"("-ERR the value must not be bad\x0d\x0a")");
  EXPECT_EQ(parses_, 2);
  ExpectRuns(1, 1);
}

TEST_F(TypedRowTest, ACallThatWaitsIsParsedOnceHoweverOftenItLooks) {
  TestClient first = server_.Connect();
  TestClient second = server_.Connect();
  first.Send({"t.take", "k"});
  cairn::testing::Await("the first look", [&] { return runs_ >= 1; });
  second.Send({"t.take", "k"});
  cairn::testing::Await("the second client", [&] { return parses_ >= 2; });
  EXPECT_EQ(server_.Run({"t.put", "k", "1"}), "\"1\"");
  EXPECT_EQ(first.Receive(), "\"1\"");
  EXPECT_EQ(server_.Run({"t.put", "k", "2"}), "\"2\"");
  EXPECT_EQ(second.Receive(), "\"2\"");
  EXPECT_EQ(parses_, 4);
  EXPECT_GE(runs_, 6);
}

TEST_F(TypedRowTest, BadArgumentsAreTheReplyAndLockNothing) {
  EXPECT_EQ(server_.Run({"t.put", "k", "bad"}), "(error) " + std::string(kBadValue));
  EXPECT_EQ(server_.Run({"t.putlong", "k", "bad"}), "(error) " + std::string(kBadValue));
  EXPECT_EQ(parses_, 2);
  EXPECT_EQ(scoped_, 0);
  EXPECT_EQ(runs_, 0);
}

TEST_F(TypedRowTest, CallsOfOneTurnAreParsedOnceEach) {
  TestClient client = server_.Connect();
  for (const std::string_view value : {"1", "2", "bad", "4"}) client.Send({"t.put", "k", value});
  EXPECT_EQ(client.Receive(), "\"1\"");
  EXPECT_EQ(client.Receive(), "\"2\"");
  EXPECT_EQ(client.Receive(), "(error) " + std::string(kBadValue));
  EXPECT_EQ(client.Receive(), "\"4\"");
  EXPECT_EQ(parses_, 4);
  ExpectRuns(3, 3);
}

TEST(TypedRowTableTest, ARowWithARequestSaysInNoOtherWayWhatItLocks) {
  const TypedFunctions<int> functions{
      .parse = [](Args args) -> Result<int> { return static_cast<int>(args.size()); },
      .scopes = [](const int&, uint8_t, store::Scopes&) {},
      .run = [](CommandContext& context, const int&) -> Result<void> {
        context.reply.Ok();
        return {};
      }};
  Command row = TypedRow<int>(
      {.name = "t.odd", .arity = 1, .group = "test", .since = "1.0.0", .summary = "For tests."},
      functions);
  row.add_scopes = [](Args, uint8_t, store::Scopes&) {};
  CommandTable table;
  EXPECT_DEATH(table.Add(row), "t.odd: a row with a request");
}

}  // namespace
}  // namespace cairn::doors
