#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/sorted_set/commands.h"
#include "data/sorted_set/geo.h"
#include "data/sorted_set/sorted_set.h"
#include "data/sorted_set/sorted_set_args.h"
#include "data/value/numbers.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"

// Places in sorted sets (geo.h): added, looked at, searched for around a place.
namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::Command;
using doors::CommandContext;
using doors::EqualsIgnoreCase;
using geo::Place;

// --- Arguments and replies ----------------------------------------------------------------------

Place TakePlace(ArgParser& parser) {
  Place place;
  place.longitude = TakeDouble(parser);
  place.latitude = TakeDouble(parser);
  if (!geo::IsValid(place)) {
    parser.Fail(fmt::format("ERR invalid longitude,latitude pair {:f},{:f}", place.longitude,
                            place.latitude));
  }
  return place;
}

// A unit as metres.
double TakeUnit(ArgParser& parser) {
  const auto unit = parser.OneOf<double>({{"M", 1}, {"KM", 1000}, {"FT", 0.3048}, {"MI", 1609.34}});
  if (!unit) parser.Fail("ERR unsupported unit provided. please use M, KM, FT, MI");
  return unit.value_or(1);
}

// What a cast to an unsigned integer makes of it on the machines Redis runs on.
uint64_t CastToUnsigned(double number) {
  constexpr uint64_t kTopBit = uint64_t{1} << 63;
  const auto to_signed = [](double x) {
    return x >= -0x1p63 && x < 0x1p63 ? static_cast<uint64_t>(static_cast<int64_t>(x)) : kTopBit;
  };
  return number < 0x1p63 ? to_signed(number) : to_signed(number - 0x1p63) ^ kTopBit;
}

// A sorted set may hold scores that are no cells.
Place PlaceOf(double score) { return geo::DecodePlace(CastToUnsigned(score)); }

void ReplyDistance(CommandContext& context, double distance) {
  context.reply.Bulk(fmt::format("{:.4f}", distance));
}

void ReplyCoordinate(CommandContext& context, double degrees) {
  // More digits than a double has elsewhere.
  const std::string text = FormatLongDouble(degrees);
  if (context.reply.resp3()) {
    context.reply.Raw("," + text + "\r\n");
  } else {
    context.reply.Bulk(text);
  }
}

void ReplyPlace(CommandContext& context, const Place& place) {
  context.reply.ArrayHeader(2);
  ReplyCoordinate(context, place.longitude);
  ReplyCoordinate(context, place.latitude);
}

// --- GEOADD -------------------------------------------------------------------------------------

struct AddOptions {
  bool if_missing = false;
  bool if_exists = false;
  bool count_changed = false;
};

AddOptions ParseAddOptions(ArgParser& parser) {
  AddOptions options;
  for (;;) {
    if (parser.Keyword("NX")) {
      options.if_missing = true;
    } else if (parser.Keyword("XX")) {
      options.if_exists = true;
    } else if (parser.Keyword("CH")) {
      options.count_changed = true;
    } else {
      break;
    }
  }
  const size_t rest = parser.remaining();
  if (rest == 0 || rest % 3 != 0 || (options.if_missing && options.if_exists)) {
    parser.Fail(doors::kSyntaxError);
  }
  return options;
}

Result<void> GeoAdd(CommandContext& context) {
  ArgParser parser(context.args, 2);
  const AddOptions options = ParseAddOptions(parser);
  std::vector<std::pair<std::string_view, double>> places;
  while (parser.HasNext()) {
    const Place place = TakePlace(parser);
    if (!parser.ok()) break;
    places.emplace_back(parser.Next(), static_cast<double>(geo::EncodePlace(place)));
  }
  if (!parser.ok()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  int64_t added = 0;
  int64_t moved = 0;
  for (const auto& [member, score] : places) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<double> old_score, set.Score(member));
    if (old_score ? options.if_missing || *old_score == score : options.if_exists) continue;
    if (old_score) {
      CAIRN_RETURN_IF_ERROR(set.Move(member, *old_score, score));
    } else {
      CAIRN_RETURN_IF_ERROR(set.PutNew(member, score));
    }
    ++(old_score ? moved : added);
  }
  if (added + moved > 0) {
    CAIRN_RETURN_IF_ERROR(set.Save(context, "zadd"));
  }
  context.reply.Integer(added + (options.count_changed ? moved : 0));
  return {};
}

// --- Looking ------------------------------------------------------------------------------------

Result<void> GeoPos(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  const Args members = context.args.subspan(2);
  context.reply.ArrayHeader(members.size());
  for (const std::string_view member : members) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<double> score, set.Score(member));
    if (score) {
      ReplyPlace(context, PlaceOf(*score));
    } else {
      context.reply.NullArray();
    }
  }
  return {};
}

Result<void> GeoHash(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  const Args members = context.args.subspan(2);
  context.reply.ArrayHeader(members.size());
  for (const std::string_view member : members) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<double> score, set.Score(member));
    if (score) {
      context.reply.Bulk(geo::GeoHashText(PlaceOf(*score)));
    } else {
      context.reply.Null();
    }
  }
  return {};
}

Result<void> GeoDist(CommandContext& context) {
  ArgParser parser(context.args, 4);
  if (parser.remaining() > 1) return context.Fail(doors::kSyntaxError);
  const double unit = parser.HasNext() ? TakeUnit(parser) : 1;
  if (!parser.Finish()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<double> a, set.Score(context.args[2]));
  CAIRN_ASSIGN_OR_RETURN(const std::optional<double> b, set.Score(context.args[3]));
  if (a && b) {
    ReplyDistance(context, geo::Distance(PlaceOf(*a), PlaceOf(*b)) / unit);
  } else {
    context.reply.Null();
  }
  return {};
}

// --- Searching ----------------------------------------------------------------------------------

enum class Sorting { kNone, kAscending, kDescending };

struct Search {
  geo::Shape shape;
  bool has_center = false;
  bool center_is_member = false;
  bool has_shape = false;
  double unit = 1;  // in metres
  Sorting sorting = Sorting::kNone;
  uint64_t count = 0;  // 0: all
  bool any = false;
  bool with_place = false;
  bool with_distance = false;
  bool with_cell = false;
  std::optional<std::string_view> store;
  bool store_distance = false;
};

// What a command's name says about its arguments.
struct SearchStyle {
  bool old = false;     // GEORADIUS: place and radius stand in front of the options
  bool stores = false;  // GEOSEARCHSTORE, and GEORADIUS with STORE
};

void TakeRadius(ArgParser& parser, Search& search) {
  const double radius = TakeDouble(parser, "ERR need numeric radius");
  if (radius < 0) parser.Fail("ERR radius cannot be negative");
  search.unit = TakeUnit(parser);
  search.shape.kind = geo::Shape::Kind::kCircle;
  search.shape.radius_m = radius * search.unit;
  search.has_shape = true;
}

void TakeBox(ArgParser& parser, Search& search) {
  const double width = TakeDouble(parser, "ERR need numeric width");
  const double height = TakeDouble(parser, "ERR need numeric height");
  if (width < 0 || height < 0) parser.Fail("ERR height or width cannot be negative");
  search.unit = TakeUnit(parser);
  search.shape.kind = geo::Shape::Kind::kBox;
  search.shape.width_m = width * search.unit;
  search.shape.height_m = height * search.unit;
  search.has_shape = true;
}

// In a key that does not exist any member will do: nothing will be found around it.
Result<void> TakeMember(ArgParser& parser, SortedSet& set, Search& search) {
  const std::string_view member = parser.Next();
  search.has_center = true;
  search.center_is_member = true;
  if (!set.exists()) return {};
  CAIRN_ASSIGN_OR_RETURN(const std::optional<double> score, set.Score(member));
  if (!score) parser.Fail("ERR could not decode requested zset member");
  search.shape.center = PlaceOf(score.value_or(0));
  return {};
}

// Takes an option of GEOSEARCH that says where to search. Returns whether there was one. An option
// may come again, and the last counts; but not the other of its kind.
Result<bool> TakeWhere(ArgParser& parser, SortedSet& set, Search& search) {
  const size_t left = parser.remaining();
  const bool may_be_member = !search.has_center || search.center_is_member;
  const bool may_be_place = !search.has_center || !search.center_is_member;
  const bool may_be_circle = !search.has_shape || search.shape.kind == geo::Shape::Kind::kCircle;
  const bool may_be_box = !search.has_shape || search.shape.kind == geo::Shape::Kind::kBox;
  if (may_be_member && left >= 2 && parser.Keyword("FROMMEMBER")) {
    CAIRN_RETURN_IF_ERROR(TakeMember(parser, set, search));
  } else if (may_be_place && left >= 3 && parser.Keyword("FROMLONLAT")) {
    search.shape.center = TakePlace(parser);
    search.has_center = true;
  } else if (may_be_circle && left >= 3 && parser.Keyword("BYRADIUS")) {
    TakeRadius(parser, search);
  } else if (may_be_box && left >= 4 && parser.Keyword("BYBOX")) {
    TakeBox(parser, search);
  } else {
    return false;
  }
  return true;
}

// Takes an option that says what to return of what was found.
bool TakeWhat(ArgParser& parser, Search& search) {
  if (parser.Keyword("WITHDIST")) {
    search.with_distance = true;
  } else if (parser.Keyword("WITHHASH")) {
    search.with_cell = true;
  } else if (parser.Keyword("WITHCOORD")) {
    search.with_place = true;
  } else if (parser.Keyword("ANY")) {
    search.any = true;
  } else if (parser.Keyword("ASC")) {
    search.sorting = Sorting::kAscending;
  } else if (parser.Keyword("DESC")) {
    search.sorting = Sorting::kDescending;
  } else if (parser.remaining() >= 2 && parser.Keyword("COUNT")) {
    const int64_t count = parser.Integer();
    if (count <= 0) parser.Fail("ERR COUNT must be > 0");
    search.count = static_cast<uint64_t>(std::max<int64_t>(count, 0));
  } else {
    return false;
  }
  return true;
}

// Takes an option that says where to put what was found.
bool TakeStore(ArgParser& parser, const SearchStyle& style, Search& search) {
  if (!style.stores) return false;
  if (!style.old) {
    if (!parser.Keyword("STOREDIST")) return false;
    search.store_distance = true;
    return true;
  }
  if (parser.remaining() < 2) return false;
  if (parser.Keyword("STORE")) {
    search.store_distance = false;
  } else if (parser.Keyword("STOREDIST")) {
    search.store_distance = true;
  } else {
    return false;
  }
  search.store = parser.Next();
  return true;
}

void CheckSearch(ArgParser& parser, const SearchStyle& style, std::string_view name,
                 const Search& search) {
  if (search.store && (search.with_distance || search.with_cell || search.with_place)) {
    parser.Fail(
        fmt::format("ERR {} is not compatible with WITHDIST, WITHHASH and WITHCOORD options",
                    style.old ? "STORE option in GEORADIUS" : "GEOSEARCHSTORE"));
  }
  if (!search.has_center) {
    parser.Fail(
        fmt::format("ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for {}", name));
  }
  if (!search.has_shape) {
    parser.Fail(fmt::format("ERR exactly one of BYRADIUS and BYBOX can be specified for {}", name));
  }
  if (search.any && search.count == 0) {
    parser.Fail("ERR the ANY argument requires COUNT argument");
  }
}

Result<void> ParseSearch(ArgParser& parser, SortedSet& set, const SearchStyle& style,
                         std::string_view name, Search& search) {
  while (parser.HasNext()) {
    if (TakeWhat(parser, search) || TakeStore(parser, style, search)) continue;
    bool taken = false;
    if (!style.old) {
      CAIRN_ASSIGN_OR_RETURN(taken, TakeWhere(parser, set, search));
    }
    if (!taken) parser.Fail(doors::kSyntaxError);
  }
  CheckSearch(parser, style, doors::Quotable(name), search);
  const bool nearest = search.count > 0 && !search.any && search.sorting == Sorting::kNone;
  if (nearest) search.sorting = Sorting::kAscending;
  return {};
}

struct Found {
  Bytes member;
  double score = 0;
  double distance = 0;  // in the unit of the search
  Place place;
};

Result<std::vector<Found>> Find(SortedSet& set, const Search& search) {
  std::vector<Found> found;
  Result<void> room;
  const auto enough = [&] { return search.any && found.size() >= search.count; };
  const auto visit = [&](BytesView member, double score) {
    const Place place = PlaceOf(score);
    if (const auto distance = geo::DistanceWithin(search.shape, place)) {
      room = set.Gather(member.size() + sizeof(Found));
      if (!room.ok()) return false;
      found.push_back({Bytes(member), score, *distance / search.unit, place});
    }
    return !enough();
  };
  for (const geo::CellRange& cells : geo::Cover(search.shape)) {
    const OrderRange range = ScoreRange({static_cast<double>(cells.first), false},
                                        {static_cast<double>(cells.end), true});
    CAIRN_RETURN_IF_ERROR(set.Visit(range, {}, visit));
    if (!room.ok()) return room.error();
    if (enough()) break;
  }
  if (search.sorting == Sorting::kAscending) {
    std::ranges::stable_sort(found, {}, &Found::distance);
  } else if (search.sorting == Sorting::kDescending) {
    std::ranges::stable_sort(found, std::ranges::greater{}, &Found::distance);
  }
  if (search.count > 0 && found.size() > search.count) found.resize(search.count);
  return found;
}

void ReplyFound(CommandContext& context, const Search& search, const std::vector<Found>& found) {
  const int extras = int{search.with_distance} + int{search.with_cell} + int{search.with_place};
  context.reply.ArrayHeader(found.size());
  for (const Found& each : found) {
    if (extras > 0) context.reply.ArrayHeader(static_cast<size_t>(extras) + 1);
    context.reply.Bulk(each.member);
    if (search.with_distance) ReplyDistance(context, each.distance);
    if (search.with_cell) context.reply.Integer(static_cast<int64_t>(each.score));
    if (search.with_place) ReplyPlace(context, each.place);
  }
}

Result<void> StoreFound(CommandContext& context, const Search& search, const SearchStyle& style,
                        std::vector<Found> found) {
  std::vector<ScoredMember> members;
  members.reserve(found.size());
  for (Found& each : found) {
    members.push_back({std::move(each.member), search.store_distance ? each.distance : each.score});
  }
  CAIRN_RETURN_IF_ERROR(StoreMembers(context, *search.store, members,
                                     style.old ? "georadiusstore" : "geosearchstore"));
  context.reply.Integer(static_cast<int64_t>(members.size()));
  return {};
}

Result<void> RunSearch(CommandContext& context, SortedSet& set, const SearchStyle& style,
                       const Search& search) {
  CAIRN_ASSIGN_OR_RETURN(std::vector<Found> found, Find(set, search));
  if (search.store) return StoreFound(context, search, style, std::move(found));
  ReplyFound(context, search, found);
  return {};
}

Result<void> GeoSearch(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  ArgParser parser(context.args, 2);
  Search search;
  CAIRN_RETURN_IF_ERROR(ParseSearch(parser, set, {}, context.args[0], search));
  if (!parser.ok()) return context.Fail(parser.error());
  return RunSearch(context, set, {}, search);
}

Result<void> GeoSearchStore(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[2]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  ArgParser parser(context.args, 3);
  constexpr SearchStyle kStyle{.stores = true};
  Search search{.store = context.args[1]};
  CAIRN_RETURN_IF_ERROR(ParseSearch(parser, set, kStyle, context.args[0], search));
  if (!parser.ok()) return context.Fail(parser.error());
  return RunSearch(context, set, kStyle, search);
}

template <bool kStores>
Result<void> GeoRadius(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  ArgParser parser(context.args, 2);
  constexpr SearchStyle kStyle{.old = true, .stores = kStores};
  Search search{.shape = {.center = TakePlace(parser)}, .has_center = true};
  TakeRadius(parser, search);
  CAIRN_RETURN_IF_ERROR(ParseSearch(parser, set, kStyle, context.args[0], search));
  if (!parser.ok()) return context.Fail(parser.error());
  return RunSearch(context, set, kStyle, search);
}

template <bool kStores>
Result<void> GeoRadiusByMember(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(SortedSet set, SortedSet::Load(context, context.args[1]));
  if (set.wrong_type()) return context.Fail(kWrongType);
  ArgParser parser(context.args, 2);
  constexpr SearchStyle kStyle{.old = true, .stores = kStores};
  Search search;
  CAIRN_RETURN_IF_ERROR(TakeMember(parser, set, search));
  if (set.exists()) {
    TakeRadius(parser, search);
  } else {
    // Redis does not look at the radius then.
    parser.Next();
    parser.Next();
    search.has_shape = true;
  }
  CAIRN_RETURN_IF_ERROR(ParseSearch(parser, set, kStyle, context.args[0], search));
  if (!parser.ok()) return context.Fail(parser.error());
  return RunSearch(context, set, kStyle, search);
}

// The keys behind STORE and STOREDIST.
std::vector<size_t> StoreKeys(Args args) {
  std::vector<size_t> keys;
  for (size_t i = 5; i + 1 < args.size(); ++i) {
    if (!EqualsIgnoreCase(args[i], "STORE") && !EqualsIgnoreCase(args[i], "STOREDIST")) continue;
    keys.push_back(++i);
  }
  return keys;
}

}  // namespace

void AddGeoCommands(doors::Instance& instance) {
  struct Row {
    std::string_view name;
    int arity;
    uint32_t flags;
    std::vector<doors::KeySpec> keys;
    std::string_view since;
    std::string_view complexity;
    std::string_view summary;
    std::string_view syntax;
    doors::RunHandler run;
    std::string_view replaced_by = {};
  };
  constexpr uint32_t kPut = doors::kWrite | doors::kDenyOom;
  constexpr uint32_t kOld = kPut | doors::kMovableKeys;
  constexpr uint32_t kRead = doors::kReadOnly;
  const std::vector<doors::KeySpec> read = {{1, 1, 1, "RO access"}};
  const std::vector<doors::KeySpec> update = {{1, 1, 1, "RW update"}};
  const std::vector<doors::KeySpec> store = {{1, 1, 1, "OW update"}, {2, 2, 1, "RO access"}};
  constexpr std::string_view kEach = "O(N) for N members asked for";
  constexpr std::string_view kAround = "O(N+log(M)) for N of M members in the cells around";
  const Row kRows[] = {
      {"geoadd", -5, kPut, update, "3.2.0", "O(log(N)) for each member",
       "Adds members at places, or moves them.",
       "key:key [NX | XX] [CH] (longitude:double latitude:double member) ...", GeoAdd},
      {"geopos", -2, kRead, read, "3.2.0", kEach, "Tells where members are.", "key:key member ...",
       GeoPos},
      {"geodist", -4, kRead, read, "3.2.0", "O(1)", "Tells how far two members are apart.",
       "key:key member1 member2 [M | KM | FT | MI]", GeoDist},
      {"geohash", -2, kRead, read, "3.2.0", kEach, "Tells where members are, as geohashes.",
       "key:key member ...", GeoHash},
      {"geosearch", -7, kRead, read, "6.2.0", kAround, "Finds members within a circle or a box.",
       "key:key (FROMMEMBER member | FROMLONLAT (longitude:double latitude:double)) ((BYRADIUS "
       "radius:double (M | KM | FT | MI)) | (BYBOX width:double height:double (M | KM | FT | MI))) "
       "[ASC | DESC] [(COUNT count:integer [ANY])] [WITHCOORD] [WITHDIST] [WITHHASH]",
       GeoSearch},
      {"geosearchstore", -8, kPut, store, "6.2.0", kAround,
       "Makes a sorted set of the members within a circle or a box.",
       "destination:key source:key (FROMMEMBER member | FROMLONLAT (longitude:double "
       "latitude:double)) ((BYRADIUS radius:double (M | KM | FT | MI)) | (BYBOX width:double "
       "height:double (M | KM | FT | MI))) [ASC | DESC] [(COUNT count:integer [ANY])] [STOREDIST]",
       GeoSearchStore},
      {"georadius", -6, kOld, read, "3.2.0", kAround,
       "Finds members within a circle around a place, or makes a sorted set of them.",
       "key:key longitude:double latitude:double radius:double (M | KM | FT | MI) [WITHCOORD] "
       "[WITHDIST] [WITHHASH] [(COUNT count:integer [ANY])] [ASC | DESC] [STORE key:key] "
       "[STOREDIST key:key]",
       GeoRadius<true>, "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` argument"},
      {"georadiusbymember", -5, kOld, read, "3.2.0", kAround,
       "Finds members within a circle around a member, or makes a sorted set of them.",
       "key:key member radius:double (M | KM | FT | MI) [WITHCOORD] [WITHDIST] [WITHHASH] [(COUNT "
       "count:integer [ANY])] [ASC | DESC] [STORE key:key] [STOREDIST key:key]",
       GeoRadiusByMember<true>,
       "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and `FROMMEMBER` arguments"},
      {"georadius_ro", -6, kRead, read, "3.2.10", kAround,
       "Finds members within a circle around a place.",
       "key:key longitude:double latitude:double radius:double (M | KM | FT | MI) [WITHCOORD] "
       "[WITHDIST] [WITHHASH] [(COUNT count:integer [ANY])] [ASC | DESC]",
       GeoRadius<false>, "`GEOSEARCH` with the `BYRADIUS` argument"},
      {"georadiusbymember_ro", -5, kRead, read, "3.2.10", kAround,
       "Finds members within a circle around a member.",
       "key:key member radius:double (M | KM | FT | MI) [WITHCOORD] [WITHDIST] [WITHHASH] [(COUNT "
       "count:integer [ANY])] [ASC | DESC]",
       GeoRadiusByMember<false>, "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments"},
  };
  for (const Row& row : kRows) {
    Command command{.name = row.name,
                    .arity = row.arity,
                    .flags = row.flags,
                    .categories = doors::kCategoryGeo,
                    .keys = row.keys,
                    .group = "geo",
                    .since = row.since,
                    .complexity = row.complexity,
                    .summary = row.summary,
                    .syntax = row.syntax,
                    .run = row.run};
    if (row.flags == kOld) {
      command.find_keys = StoreKeys;
      for (const std::string_view word : {"STORE", "STOREDIST"}) {
        command.keys.push_back({.first = -row.arity,
                                .access = "OW update",
                                .search = doors::KeySearch::kKeyword,
                                .keyword = word});
      }
    }
    if (!row.replaced_by.empty()) {
      command.deprecated_since = "6.2.0";
      command.replaced_by = row.replaced_by;
    }
    instance.commands().Add(std::move(command));
  }
}

}  // namespace cairn::data
