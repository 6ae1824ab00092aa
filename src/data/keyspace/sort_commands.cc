#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <compare>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "data/keyspace/commands.h"
#include "data/keyspace/sort_pattern.h"
#include "data/list/list.h"
#include "data/sorted_set/sorted_set.h"
#include "data/value/entry.h"
#include "data/value/fields.h"
#include "data/value/gathered.h"
#include "doors/resp/acl.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/command_audit.h"

// SORT and SORT_RO.
namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::CommandContext;

// --- The request --------------------------------------------------------------------------------

struct SortRequest {
  bool descending = false;
  bool by_text = false;            // ALPHA
  bool keeps_order = false;        // BY without an asterisk: nothing is compared
  std::optional<SortPattern> by;   // none: the elements themselves are compared
  std::vector<SortPattern> shown;  // GET; none: the elements themselves
  int64_t offset = 0;
  int64_t count = -1;  // negative: all
  std::optional<std::string_view> destination;

  bool ReadsOtherKeys() const {
    return (by && by->ReadsKeys()) || std::ranges::any_of(shown, &SortPattern::ReadsKeys);
  }
};

// Repeated options replace what came before, except GET, of which each adds a value. BY and GET
// read keys that follow from what is sorted: who may not read all is refused them.
SortRequest ParseRequest(const CommandContext& context, ArgParser& parser, bool may_store) {
  SortRequest request;
  const doors::AclUser* user = context.caller.user.get();
  const bool reads_all =
      user == nullptr || user->rules()->MayReadAnyKey(context.command, context.args);
  const auto check = [&](std::string_view option) {
    if (reads_all) return;
    parser.Fail(
        fmt::format("ERR {} option of SORT denied due to insufficient ACL permissions.", option));
  };
  while (parser.HasNext()) {
    if (parser.Keyword("ASC")) {
      request.descending = false;
    } else if (parser.Keyword("DESC")) {
      request.descending = true;
    } else if (parser.Keyword("ALPHA")) {
      request.by_text = true;
    } else if (parser.remaining() > 2 && parser.Keyword("LIMIT")) {
      request.offset = parser.Integer();
      request.count = parser.Integer();
    } else if (may_store && parser.remaining() > 1 && parser.Keyword("STORE")) {
      request.destination = parser.Next();
    } else if (parser.remaining() > 1 && parser.Keyword("BY")) {
      request.by.emplace(parser.Next());
      // One pattern without an asterisk is enough, wherever it stands.
      request.keeps_order = request.keeps_order || !request.by->ReadsKeys();
      if (request.by->ReadsKeys()) check("BY");
    } else if (parser.remaining() > 1 && parser.Keyword("GET")) {
      request.shown.emplace_back(parser.Next());
      check("GET");
    } else {
      parser.Fail(doors::kSyntaxError);
    }
  }
  return request;
}

// The part of the sorted elements that LIMIT asks for.
struct SortSlice {
  uint64_t begin = 0;
  uint64_t count = 0;
};

SortSlice SliceOf(const SortRequest& request, uint64_t size) {
  SortSlice slice;
  slice.begin = std::min(static_cast<uint64_t>(std::max<int64_t>(request.offset, 0)), size);
  slice.count = size - slice.begin;
  if (request.count >= 0) {
    slice.count = std::min(slice.count, static_cast<uint64_t>(request.count));
  }
  return slice;
}

// --- Reading the elements -----------------------------------------------------------------------

using Elements = std::vector<Bytes>;

// Of a list or a sorted set only what is asked for is read when its own order is kept.
Result<Elements> ReadList(CommandContext& context, std::string_view key, SortRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(List list, List::Load(context, key));
  List::Slice slice{.count = list.size()};
  if (request.keeps_order) {
    const SortSlice wanted = SliceOf(request, list.size());
    slice.count = wanted.count;
    slice.reverse = request.descending;
    slice.begin = slice.reverse ? list.size() - wanted.begin - wanted.count : wanted.begin;
    request.offset = 0;
  }
  Elements elements;
  Result<void> room;
  CAIRN_RETURN_IF_ERROR(list.Visit(slice, [&](uint64_t, BytesView element) {
    elements.emplace_back(element);
    room = list.Gather(element.size());
    return room.ok();
  }));
  if (!room.ok()) return room.error();
  return elements;
}

Result<Elements> ReadSortedSet(CommandContext& context, std::string_view key,
                               SortRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, key));
  SortedSet::Slice slice;
  if (request.keeps_order) {
    const SortSlice wanted = SliceOf(request, set.count());
    slice = {.reverse = request.descending, .offset = wanted.begin, .limit = wanted.count};
    request.offset = 0;
  }
  Elements elements;
  Result<void> room;
  CAIRN_RETURN_IF_ERROR(set.Visit({}, slice, [&](BytesView member, double) {
    elements.emplace_back(member);
    room = set.Gather(member.size());
    return room.ok();
  }));
  if (!room.ok()) return room.error();
  return elements;
}

Result<Elements> ReadSet(CommandContext& context, std::string_view key, SortRequest& request) {
  // A list that is stored should not have an order that means nothing, nor should a script see one.
  if (request.keeps_order && (request.destination || context.caller.in_script)) {
    request.keeps_order = false;
    request.by_text = true;
    request.by.reset();
  }
  CAIRN_ASSIGN_OR_RETURN(Fields set, Fields::Load(context, key, ValueType::kSet));
  Elements elements;
  CAIRN_RETURN_IF_ERROR(set.ForEach([&](BytesView member, BytesView) -> Result<bool> {
    elements.emplace_back(member);
    CAIRN_RETURN_IF_ERROR(set.Gather(member.size()));
    return true;
  }));
  return elements;
}

Result<std::optional<Elements>> ReadElementsOf(CommandContext& context, ValueType type,
                                               SortRequest& request) {
  const std::string_view key = context.args[1];
  const auto some = [](Result<Elements> elements) -> Result<std::optional<Elements>> {
    if (!elements.ok()) return elements.error();
    return std::optional(*std::move(elements));
  };
  switch (type) {
    case ValueType::kList:
      return some(ReadList(context, key, request));
    case ValueType::kSortedSet:
      return some(ReadSortedSet(context, key, request));
    case ValueType::kSet:
      return some(ReadSet(context, key, request));
    default:
      return std::optional<Elements>();
  }
}

// nullopt if the key holds what cannot be sorted. Where the slice is taken here already, the
// request's offset becomes 0.
Result<std::optional<Elements>> ReadElements(CommandContext& context, SortRequest& request) {
  const std::string_view key = context.args[1];
  CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Load(context, key));
  NoteSortRead(context, key, entry.exists());
  if (!entry.exists()) return std::optional(Elements());
  const doors::KeyLookups once = context.lookups;
  CAIRN_ASSIGN_OR_RETURN(std::optional<Elements> elements,
                         ReadElementsOf(context, entry.type(), request));
  context.lookups = once;  // the key was loaded again, as what it is
  return elements;
}

// --- Sorting ------------------------------------------------------------------------------------

struct SortItem {
  Bytes element;
  double score = 0;
  std::optional<Bytes> weight;  // with ALPHA and BY: what is compared
};

// As C reads a number: spaces in front are fine, nothing at all is 0, and so is the end at a zero
// byte.
std::optional<double> ParseWeight(const Bytes& text) {
  char* end = nullptr;
  errno = 0;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0' || errno == ERANGE || std::isnan(value)) return std::nullopt;
  return value;
}

// nullopt if a weight is not a number. What BY does not find weighs 0, or less than any text.
Result<std::optional<std::vector<SortItem>>> Weigh(CommandContext& context,
                                                   const SortRequest& request, Elements elements) {
  std::vector<SortItem> items;
  items.reserve(elements.size());
  Gathered gathered(context);
  bool all_numbers = true;
  for (Bytes& element : elements) {
    SortItem item{.element = std::move(element)};
    if (!request.keeps_order && (request.by || !request.by_text)) {
      std::optional<Bytes> weight;
      if (request.by) {
        CAIRN_ASSIGN_OR_RETURN(weight, request.by->Read(context, item.element));
      } else {
        weight = item.element;
      }
      if (request.by_text) {
        if (weight) CAIRN_RETURN_IF_ERROR(gathered.Add(weight->size()));
        item.weight = std::move(weight);
      } else if (weight) {
        const std::optional<double> score = ParseWeight(*weight);
        all_numbers = all_numbers && score;
        item.score = score.value_or(0);
      }
    }
    items.push_back(std::move(item));
  }
  if (!all_numbers) return std::optional<std::vector<SortItem>>();
  return std::optional(std::move(items));
}

std::weak_ordering Compare(const SortRequest& request, const SortItem& a, const SortItem& b) {
  if (request.by_text) return request.by ? a.weight <=> b.weight : a.element <=> b.element;
  if (a.score != b.score) {
    return a.score < b.score ? std::weak_ordering::less : std::weak_ordering::greater;
  }
  return a.element <=> b.element;
}

void Sort(const SortRequest& request, std::vector<SortItem>& items) {
  if (request.keeps_order) return;
  std::ranges::stable_sort(items, [&](const SortItem& a, const SortItem& b) {
    return std::is_lt(request.descending ? Compare(request, b, a) : Compare(request, a, b));
  });
}

// --- Results ------------------------------------------------------------------------------------

using Shown = std::vector<std::optional<Bytes>>;

Result<Shown> Show(CommandContext& context, const SortRequest& request,
                   std::vector<SortItem>& items) {
  const SortSlice slice = SliceOf(request, items.size());
  Gathered gathered(context);
  Shown shown;
  for (uint64_t i = slice.begin; i < slice.begin + slice.count; ++i) {
    for (const SortPattern& pattern : request.shown) {
      CAIRN_ASSIGN_OR_RETURN(std::optional<Bytes> value, pattern.Read(context, items[i].element));
      CAIRN_RETURN_IF_ERROR(gathered.Add(value ? value->size() : 0));
      shown.push_back(std::move(value));
    }
    if (request.shown.empty()) shown.emplace_back(std::move(items[i].element));
  }
  return shown;
}

// What was not found is stored as an empty element.
Result<void> StoreShown(CommandContext& context, std::string_view destination, const Shown& shown) {
  context.reply.Integer(static_cast<int64_t>(shown.size()));
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, destination));
  const bool existed = entry.exists();
  if (existed) entry.Remove();
  if (shown.empty()) {
    if (existed) context.Notify(doors::kEventGeneric, "del", destination);
    return {};
  }
  CAIRN_ASSIGN_OR_RETURN(List list, List::Load(context, destination));
  for (const std::optional<Bytes>& value : shown) {
    list.Push(ListEnd::kRight, value ? BytesView(*value) : BytesView());
  }
  list.Save();
  context.Notify(doors::kEventList, "sortstore", destination);
  return {};
}

Result<void> SortKey(CommandContext& context) {
  ArgParser parser(context.args, 2);
  SortRequest request = ParseRequest(context, parser, context.command.Has(doors::kWrite));
  if (!parser.Finish()) return context.Fail(parser.error());
  // What is only read is of one moment anyway; what follows from it in writing must not have
  // changed meanwhile.
  if (request.destination && request.ReadsOtherKeys()) {
    CAIRN_RETURN_IF_ERROR(context.Require(store::Scopes::Exclusive()));
  }
  CAIRN_ASSIGN_OR_RETURN(std::optional<Elements> elements, ReadElements(context, request));
  if (!elements) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(auto items, Weigh(context, request, *std::move(elements)));
  if (!items) return context.Fail("ERR One or more scores can't be converted into double");
  Sort(request, *items);
  CAIRN_ASSIGN_OR_RETURN(const Shown shown, Show(context, request, *items));
  if (request.destination) return StoreShown(context, *request.destination, shown);
  context.reply.ArrayHeader(shown.size());
  for (const std::optional<Bytes>& value : shown) {
    if (value) {
      context.reply.Bulk(*value);
    } else {
      context.reply.Null();
    }
  }
  return {};
}

// The destination. Of several STOREs the last one counts; what other options take is none.
std::vector<size_t> FindDestination(Args args) {
  std::vector<size_t> found;
  for (size_t i = 2; i + 1 < args.size(); ++i) {
    if (doors::EqualsIgnoreCase(args[i], "LIMIT")) {
      i += 2;
    } else if (doors::EqualsIgnoreCase(args[i], "BY") || doors::EqualsIgnoreCase(args[i], "GET")) {
      ++i;
    } else if (doors::EqualsIgnoreCase(args[i], "STORE")) {
      found.assign(1, ++i);
    }
  }
  return found;
}

}  // namespace

void AddSortCommands(doors::Instance& instance) {
  constexpr uint32_t kCategories = doors::kCategorySet | doors::kCategorySortedSet |
                                   doors::kCategoryList | doors::kCategoryDangerous;
  constexpr std::string_view kComplexity =
      "O(N + N*log(N)) for N elements; O(N) where they are not compared";
  constexpr doors::KeySpec kByAndGet = {.access = "RO access",
                                        .search = doors::KeySearch::kUnknown};
  constexpr doors::KeySpec kStore = {.access = "OW update", .search = doors::KeySearch::kUnknown};
  instance.commands().Add(
      {.name = "sort",
       .arity = -2,
       .flags = doors::kWrite | doors::kDenyOom | doors::kMovableKeys,
       .categories = kCategories,
       .keys = {{1, 1, 1, "RO access"}, kByAndGet, kStore},
       .find_keys = FindDestination,
       .unaudited = doors::kIsData,
       .group = "generic",
       .since = "1.0.0",
       .complexity = kComplexity,
       .summary = "Returns or stores the elements of a list, set or sorted set in order.",
       .syntax = "key:key [BY pattern:pattern] [LIMIT (offset:integer count:integer)] [GET "
                 "pattern:pattern ...] [ASC | DESC] [ALPHA] [STORE destination:key]",
       .run = SortKey});
  instance.commands().Add(
      {.name = "sort_ro",
       .arity = -2,
       .flags = doors::kReadOnly | doors::kMovableKeys,
       .categories = kCategories,
       .keys = {{1, 1, 1, "RO access"}, kByAndGet},
       .unaudited = doors::kOnlyReads,
       .group = "generic",
       .since = "7.0.0",
       .complexity = kComplexity,
       .summary = "Returns the elements of a list, set or sorted set in order.",
       .syntax = "key:key [BY pattern:pattern] [LIMIT (offset:integer count:integer)] [GET "
                 "pattern:pattern ...] [ASC | DESC] [ALPHA]",
       .run = SortKey});
}

}  // namespace cairn::data
