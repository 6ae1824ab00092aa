// What actors keep. Keys and values are bytes.

#include <fmt/format.h>

#include <string>
#include <utility>

#include "actors/resp/command_support.h"
#include "base/bytes.h"

namespace cairn::actors {
namespace {

using doors::ArgParser;
using doors::Args;
using Kind = BatchChange::Kind;

// --- Parsers -------------------------------------------------------------------------------------

Result<KeysRequest> ParseKeys(Args args) {
  CAIRN_ASSIGN_OR_RETURN(const ActorRef actor, ParseActor(args));
  KeysRequest request{.actor = actor, .keys = {}};
  for (const std::string_view key : args.subspan(2)) request.keys.emplace_back(key);
  return request;
}

Result<PutRequest> ParsePut(Args args) {
  CAIRN_ASSIGN_OR_RETURN(const ActorRef actor, ParseActor(args));
  if (args.size() % 2 != 0) return Syntax("every key has a value behind it");
  PutRequest request{.actor = actor, .entries = {}};
  for (size_t i = 2; i + 1 < args.size(); i += 2) {
    request.entries.push_back({.key = Bytes(args[i]), .value = Bytes(args[i + 1])});
  }
  return request;
}

Result<RangeRequest> ParseRange(Args args) {
  CAIRN_ASSIGN_OR_RETURN(const ActorRef actor, ParseActor(args));
  return RangeRequest{.actor = actor, .begin = Bytes(args[2]), .end = Bytes(args[3])};
}

bool TakeScanOption(ArgParser& parser, ListRequest& request) {
  if (parser.Keyword("PREFIX")) {
    request.prefix = parser.Next();
  } else if (parser.Keyword("FROM")) {
    request.begin = Bytes(parser.Next());
  } else if (parser.Keyword("TO")) {
    request.end = Bytes(parser.Next());
    request.end_exclusive = false;
  } else if (parser.Keyword("BEFORE")) {
    request.end = Bytes(parser.Next());
    request.end_exclusive = true;
  } else if (parser.Keyword("AFTER")) {
    request.after = Bytes(parser.Next());
  } else if (parser.Keyword("REVERSE")) {
    request.reverse = true;
  } else if (parser.Keyword("LIMIT")) {
    request.limit = parser.Integer("LIMIT needs a whole number");
  } else if (parser.Keyword("BYTES")) {
    request.bytes = parser.Integer("BYTES needs a whole number");
  } else {
    return false;
  }
  return true;
}

Result<ListRequest> ParseScan(Args args) {
  CAIRN_ASSIGN_OR_RETURN(const ActorRef actor, ParseActor(args));
  ListRequest request{.actor = actor};
  ArgParser parser(args, 2);
  while (parser.HasNext()) {
    if (TakeScanOption(parser, request)) continue;
    parser.Fail(fmt::format("'{}' is not an option", Printable(parser.Next(), 32)));
  }
  if (!parser.Finish()) return Syntax(parser.error());
  return request;
}

bool TakeBatchPart(ArgParser& parser, BatchRequest& request) {
  const auto take = [&](Kind kind, bool value, bool end) {
    BatchChange& change = request.changes.emplace_back();
    change.kind = kind;
    if (kind != Kind::kDrop) change.key = parser.Next();
    if (value) change.value = parser.Next();
    if (end) change.end = parser.Next();
  };
  if (parser.Keyword("PUT")) {
    take(Kind::kPut, /*value=*/true, /*end=*/false);
  } else if (parser.Keyword("DEL")) {
    take(Kind::kDelete, /*value=*/false, /*end=*/false);
  } else if (parser.Keyword("DELRANGE")) {
    take(Kind::kDeleteRange, /*value=*/false, /*end=*/true);
  } else if (parser.Keyword("DROP")) {
    take(Kind::kDrop, /*value=*/false, /*end=*/false);
  } else if (parser.Keyword("IFABSENT")) {
    request.conditions.push_back({.key = Bytes(parser.Next())});
  } else if (parser.Keyword("IFREVISION")) {
    Precondition& condition = request.conditions.emplace_back();
    condition.key = parser.Next();
    const int64_t revision = parser.Integer("IFREVISION needs a key and a revision");
    if (parser.ok() && revision < 1) parser.Fail("a revision is above 0; IFABSENT asks for none");
    condition.revision = static_cast<uint64_t>(revision);
  } else if (parser.Keyword("ID")) {
    request.idempotency_id = parser.Next();
    if (parser.ok() && request.idempotency_id.empty()) parser.Fail("an idempotency id has a byte");
  } else {
    return false;
  }
  return true;
}

Result<BatchRequest> ParseBatch(Args args) {
  CAIRN_ASSIGN_OR_RETURN(const ActorRef actor, ParseActor(args));
  BatchRequest request{.actor = actor};
  ArgParser parser(args, 2);
  while (parser.HasNext()) {
    if (TakeBatchPart(parser, request)) continue;
    parser.Fail(
        fmt::format("'{}' is not a part of a batch: PUT, DEL, DELRANGE, DROP, IFABSENT, "
                    "IFREVISION or ID",
                    Printable(parser.Next(), 32)));
  }
  if (!parser.Finish()) return Syntax(parser.error());
  return request;
}

// --- Replies -------------------------------------------------------------------------------------

void ReplyValues(net::RespWriter& reply, const Result<std::vector<std::optional<Entry>>>& found) {
  reply.ArrayHeader(found->size());
  for (const std::optional<Entry>& entry : *found) {
    if (entry) {
      reply.Bulk(entry->value);
    } else {
      reply.Null();
    }
  }
}

// key value revision updated_ms
void ReplyEntry(net::RespWriter& reply, const Entry& entry) {
  reply.ArrayHeader(4);
  reply.Bulk(entry.key);
  reply.Bulk(entry.value);
  reply.Integer(static_cast<int64_t>(entry.meta.revision));
  reply.Integer(entry.meta.updated_ms);
}

void ReplyEntries(net::RespWriter& reply, const Result<std::vector<std::optional<Entry>>>& found) {
  reply.ArrayHeader(found->size());
  for (const std::optional<Entry>& entry : *found) {
    if (entry) {
      ReplyEntry(reply, *entry);
    } else {
      reply.NullArray();
    }
  }
}

void ReplyPage(net::RespWriter& reply, const Result<EntryPage>& page) {
  reply.ArrayHeader(2);
  if (page->more && !page->entries.empty()) {
    reply.Bulk(page->entries.back().key);
  } else {
    reply.Null();
  }
  reply.ArrayHeader(page->entries.size());
  for (const Entry& entry : page->entries) ReplyEntry(reply, entry);
}

void ReplyRevision(net::RespWriter& reply, const Result<BatchAnswer>& answer) {
  reply.Integer(static_cast<int64_t>(answer->revision));
}

void ReplyBatch(net::RespWriter& reply, const Result<BatchAnswer>& answer) {
  reply.ArrayHeader(2);
  reply.Integer(static_cast<int64_t>(answer->revision));
  reply.Integer(answer->repeated ? 1 : 0);
}

}  // namespace

void AddEntryCommands(const CommandParts& parts) {
  constexpr uint32_t kChanges = doors::kWrite | doors::kDenyOom;
  AddRow(parts,
         {.name = "actor.get",
          .arity = -3,
          .flags = doors::kReadOnly,
          .complexity = "O(N) with N being the number of keys",
          .summary = "Returns the values of an actor's entries.",
          .syntax = "actor entry-key ..."},
         ParseKeys, operations::kGet, ReplyValues);
  AddRow(parts,
         {.name = "actor.entries",
          .arity = -3,
          .flags = doors::kReadOnly,
          .complexity = "O(N) with N being the number of keys",
          .summary = "Returns an actor's entries with their revisions.",
          .syntax = "actor entry-key ..."},
         ParseKeys, operations::kGet, ReplyEntries);
  AddRow(parts,
         {.name = "actor.scan",
          .arity = -2,
          .flags = doors::kReadOnly,
          .complexity = "O(N) with N being the number of entries returned",
          .summary = "Lists an actor's entries in the order of their keys.",
          .syntax = "actor [PREFIX prefix] [FROM begin] [TO end | BEFORE end] [AFTER cursor] "
                    "[REVERSE] [LIMIT count:integer] [BYTES bytes:integer]"},
         ParseScan, operations::kList, ReplyPage);
  AddRow(parts,
         {.name = "actor.put",
          .arity = -4,
          .flags = kChanges,
          .unaudited = kWorkOfActors,
          .complexity = "O(N) with N being the number of entries",
          .summary = "Writes entries of an actor.",
          .syntax = "actor (entry-key value) ..."},
         ParsePut, operations::kPut, ReplyRevision);
  AddRow(parts,
         {.name = "actor.del",
          .arity = -3,
          .flags = doors::kWrite,
          .unaudited = kWorkOfActors,
          .complexity = "O(N) with N being the number of keys",
          .summary = "Deletes entries of an actor.",
          .syntax = "actor entry-key ..."},
         ParseKeys, operations::kDelete, ReplyRevision);
  AddRow(parts,
         {.name = "actor.delrange",
          .arity = 4,
          .flags = doors::kWrite,
          .unaudited = kWorkOfActors,
          .complexity = "O(N) with N being the number of entries deleted",
          .summary = "Deletes an actor's entries from a key up to another, which stays.",
          .syntax = "actor begin end"},
         ParseRange, operations::kDeleteRange, ReplyRevision);
  AddRow(parts,
         {.name = "actor.drop",
          .arity = 2,
          .flags = doors::kWrite,
          .unaudited = kWorkOfActors,
          .complexity = "O(N) with N being the number of entries, up to some thousand",
          .summary = "Deletes all entries of an actor.",
          .syntax = "actor"},
         ParseActor, operations::kDrop, ReplyRevision);
  AddRow(parts,
         {.name = "actor.batch",
          .arity = -3,
          .flags = kChanges,
          .unaudited = kWorkOfActors,
          .complexity = "O(N) with N being the number of changes",
          .summary = "Changes entries of an actor, all or none, if conditions hold.",
          .syntax = "actor [ID idempotency-id] [IFABSENT entry-key | IFREVISION entry-key "
                    "revision:integer | PUT entry-key value | DEL entry-key | DELRANGE begin end | "
                    "DROP] ..."},
         ParseBatch, operations::kBatch, ReplyBatch);
}

}  // namespace cairn::actors
