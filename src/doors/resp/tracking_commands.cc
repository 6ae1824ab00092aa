#include <fmt/format.h>

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doors/access/limits.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/connection_commands.h"
#include "doors/resp/dispatcher.h"
#include "doors/resp/instance.h"
#include "doors/resp/session.h"
#include "doors/resp/tracking.h"

// Client-side caching: CLIENT TRACKING and what belongs to it. Errors are Redis's.
namespace cairn::doors {
namespace {

struct TrackingRequest {
  TrackingOptions options;
  std::vector<std::string_view> prefixes;  // in the order they came, which errors go by
};

uint64_t TakeRedirect(ArgParser& parser, const Clients& clients, uint64_t earlier) {
  if (earlier != 0) parser.Fail("ERR A client can only redirect to a single other client");
  const int64_t id = parser.Integer();
  if (parser.ok() && (id < 0 || !clients.IsOpen(static_cast<uint64_t>(id)))) {
    parser.Fail("ERR The client ID you want redirect to does not exist");
  }
  return static_cast<uint64_t>(id);
}

TrackingRequest ParseTracking(ArgParser& parser, const Clients& clients) {
  TrackingRequest request;
  TrackingOptions& options = request.options;
  while (parser.HasNext()) {
    const bool has_value = parser.remaining() > 1;
    if (has_value && parser.Keyword("REDIRECT")) {
      options.redirect = TakeRedirect(parser, clients, options.redirect);
    } else if (has_value && parser.Keyword("PREFIX")) {
      request.prefixes.push_back(parser.Next());
    } else if (parser.Keyword("BCAST")) {
      options.broadcast = true;
    } else if (parser.Keyword("OPTIN")) {
      options.opt_in = true;
    } else if (parser.Keyword("OPTOUT")) {
      options.opt_out = true;
    } else if (parser.Keyword("NOLOOP")) {
      options.no_loop = true;
    } else {
      parser.Fail(kSyntaxError);
    }
  }
  return request;
}

bool Overlap(std::string_view a, std::string_view b) {
  return a.starts_with(b) || b.starts_with(a);
}

std::string OverlapText(std::string_view prefix, std::string_view other, std::string_view which) {
  return fmt::format(
      "ERR Prefix '{}' overlaps with {} prefix '{}'. Prefixes for a single client must not "
      "overlap.",
      Quotable(prefix), which, Quotable(other));
}

// What keeps the prefixes from being added to those the client has; empty: nothing.
std::string CheckPrefixes(std::span<const std::string_view> prefixes,
                          const std::set<std::string, std::less<>>& existing) {
  if (prefixes.size() + existing.size() > kMaxTrackingPrefixes) {
    return fmt::format("ERR a client can track at most {} prefixes", kMaxTrackingPrefixes);
  }
  for (size_t i = 0; i < prefixes.size(); ++i) {
    for (const std::string& other : existing) {
      if (Overlap(prefixes[i], other)) return OverlapText(prefixes[i], other, "an existing");
    }
    for (size_t j = i + 1; j < prefixes.size(); ++j) {
      if (Overlap(prefixes[i], prefixes[j])) {
        return OverlapText(prefixes[i], prefixes[j], "another provided");
      }
    }
  }
  return "";
}

// What keeps a client with these options (null: it tracks nothing yet) from having the new ones.
std::string CheckTracking(const TrackingRequest& request, const TrackingOptions* present) {
  const TrackingOptions& wanted = request.options;
  if (!wanted.broadcast && !request.prefixes.empty()) {
    return "ERR PREFIX option requires BCAST mode to be enabled";
  }
  if (present != nullptr && present->broadcast != wanted.broadcast) {
    return "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and "
           "then re-enabling it with a different mode.";
  }
  if (wanted.broadcast && (wanted.opt_in || wanted.opt_out)) {
    return "ERR OPTIN and OPTOUT are not compatible with BCAST";
  }
  if (wanted.opt_in && wanted.opt_out) return "ERR You can't use both OPTIN and OPTOUT";
  if (present != nullptr &&
      ((wanted.opt_in && present->opt_out) || (wanted.opt_out && present->opt_in))) {
    return "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and "
           "then re-enabling it with a different mode.";
  }
  if (!wanted.broadcast) return "";
  static const std::set<std::string, std::less<>> kNone;
  return CheckPrefixes(request.prefixes, present == nullptr ? kNone : present->prefixes);
}

void ClientTracking(ConnectionContext& context) {
  Instance& instance = context.dispatcher.instance();
  Session& session = context.session;
  ArgParser parser(context.args, 3);
  TrackingRequest request = ParseTracking(parser, instance.traffic().clients);
  if (!parser.Finish()) return context.Fail(parser.error());
  if (EqualsIgnoreCase(context.args[2], "off")) {
    session.tracking.reset();
    session.NoteTracking();
    return context.reply.Ok();
  }
  if (!EqualsIgnoreCase(context.args[2], "on")) return context.Fail(kSyntaxError);
  if (!instance.traffic().tracking.offered()) {
    return context.Fail(
        "ERR CLIENT TRACKING is not available on a store that several servers share (PostgreSQL): "
        "what another server changes would stay in your cache");
  }
  const std::string problem =
      CheckTracking(request, session.tracking == nullptr ? nullptr : &session.tracking->options());
  if (!problem.empty()) return context.Fail(problem);
  request.options.prefixes.insert(request.prefixes.begin(), request.prefixes.end());
  if (session.tracking == nullptr) {
    session.tracking = std::make_unique<TrackedClient>(instance.traffic().tracking,
                                                       context.dispatcher.tracking_post(),
                                                       session.id(), std::move(request.options));
  } else {
    session.tracking->Change(std::move(request.options));
  }
  session.NoteTracking();
  context.reply.Ok();
}

void ClientCaching(ConnectionContext& context) {
  TrackedClient* tracking = context.session.tracking.get();
  if (tracking == nullptr) {
    return context.Fail(
        "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or "
        "OPTOUT mode enabled");
  }
  ArgParser parser(context.args, 2);
  const std::optional<bool> yes = parser.OneOf<bool>({{"YES", true}, {"NO", false}});
  if (!yes) return context.Fail(kSyntaxError);
  if (*yes && !tracking->options().opt_in) {
    return context.Fail(
        "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.");
  }
  if (!*yes && !tracking->options().opt_out) {
    return context.Fail(
        "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.");
  }
  tracking->caching = true;
  context.reply.Ok();
}

int64_t RedirectOf(const TrackedClient* tracking) {
  return tracking == nullptr ? -1 : static_cast<int64_t>(tracking->options().redirect);
}

void ClientGetRedir(ConnectionContext& context) {
  context.reply.Integer(RedirectOf(context.session.tracking.get()));
}

std::vector<std::string_view> FlagsOf(const Session& session) {
  const TrackedClient* tracking = session.tracking.get();
  if (tracking == nullptr) return {"off"};
  const TrackingOptions& options = tracking->options();
  std::vector<std::string_view> flags = {"on"};
  if (options.broadcast) flags.emplace_back("bcast");
  if (options.opt_in) {
    flags.emplace_back("optin");
    if (tracking->caching) flags.emplace_back("caching-yes");
  }
  if (options.opt_out) {
    flags.emplace_back("optout");
    if (tracking->caching) flags.emplace_back("caching-no");
  }
  if (options.no_loop) flags.emplace_back("noloop");
  if (session.redirect_broken) flags.emplace_back("broken_redirect");
  return flags;
}

void ClientTrackingInfo(ConnectionContext& context) {
  const TrackedClient* tracking = context.session.tracking.get();
  net::RespWriter& reply = context.reply;
  reply.MapHeader(3);
  reply.Bulk("flags");
  const std::vector<std::string_view> flags = FlagsOf(context.session);
  reply.SetHeader(flags.size());
  for (const std::string_view flag : flags) reply.Bulk(flag);
  reply.Bulk("redirect");
  reply.Integer(RedirectOf(tracking));
  reply.Bulk("prefixes");
  if (tracking == nullptr) return reply.ArrayHeader(0);
  reply.ArrayHeader(tracking->options().prefixes.size());
  for (const std::string& prefix : tracking->options().prefixes) reply.Bulk(prefix);
}

}  // namespace

void AddTrackingCommands(Instance& instance) {
  struct Row {
    std::string_view name;
    int arity;
    std::string_view since;
    std::string_view complexity;
    std::string_view summary;
    std::string_view syntax;
    ConnectionHandler handler;
  };
  const Row kRows[] = {
      {"client|tracking", -3, "6.0.0", "O(N) for N prefixes",
       "Turns messages about changed keys on or off, for a client that caches.",
       "(ON | OFF) [REDIRECT client-id:integer] [PREFIX prefix ...] [BCAST] [OPTIN] [OPTOUT] "
       "[NOLOOP]",
       ClientTracking},
      {"client|caching", 3, "6.0.0", "O(1)",
       "Tells whether the client caches what the next command reads.", "(YES | NO)", ClientCaching},
      {"client|getredir", 2, "6.0.0", "O(1)",
       "Tells which connection gets the messages about changed keys.", "", ClientGetRedir},
      {"client|trackinginfo", 2, "6.2.0", "O(1)", "Tells how the connection hears of changed keys.",
       "", ClientTrackingInfo},
  };
  for (const Row& row : kRows) {
    instance.commands().Add({.name = row.name,
                             .arity = row.arity,
                             .flags = kNoScript | kLoading | kStale,
                             .categories = kCategoryConnection,
                             .group = "connection",
                             .since = row.since,
                             .complexity = row.complexity,
                             .summary = row.summary,
                             .syntax = row.syntax,
                             .connection = row.handler});
  }
}

}  // namespace cairn::doors
