#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/entries/entries.h"
#include "actors/operations/batch.h"
#include "actors/operations/context.h"
#include "base/bytes.h"
#include "base/result.h"

// Entries, one small operation at a time, with the limits of limits.h: an actor's runtime can rely
// on these on any server. Whoever needs more sends a batch (batch.h).
namespace cairn::actors {

struct KeysRequest {
  ActorRef actor;
  std::vector<Bytes> keys;
};
// In the order of the keys; nullopt for those that are not there.
Result<std::vector<std::optional<Entry>>> GetEntries(Context& context, const KeysRequest& request);
Result<BatchAnswer> DeleteEntries(Context& context, const KeysRequest& request);

struct ListRequest {
  ActorRef actor;
  Bytes prefix = {};
  std::optional<Bytes> begin = {};
  std::optional<Bytes> end = {};
  bool end_exclusive = false;
  bool reverse = false;
  std::optional<Bytes> after = {};
  int64_t limit = kDefaultListEntries;  // 0: an empty page
  int64_t bytes = kDefaultListBytes;    // a page always has its first entry
};
Result<EntryPage> ListEntries(Context& context, const ListRequest& request);

struct PutRequest {
  ActorRef actor;
  struct Pair {
    Bytes key;
    Bytes value;
  };
  std::vector<Pair> entries;  // of one key twice the last counts
};
Result<BatchAnswer> PutEntries(Context& context, const PutRequest& request);

// From `begin` up to `end`, which stays; nothing if they are the wrong way round.
struct RangeRequest {
  ActorRef actor;
  Bytes begin;
  Bytes end;
};
Result<BatchAnswer> DeleteEntryRange(Context& context, const RangeRequest& request);
// All of them.
Result<BatchAnswer> DropEntries(Context& context, const ActorRef& actor);

// The limits as clients ask for them, JSON.
std::string LimitsJson(const Policy& policy);

}  // namespace cairn::actors
