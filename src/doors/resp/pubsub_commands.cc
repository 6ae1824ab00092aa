#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/resp/answer.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/connection_commands.h"
#include "doors/resp/dispatcher.h"
#include "doors/resp/instance.h"
#include "doors/resp/pubsub.h"
#include "doors/resp/session.h"

// Publish and subscribe. How messages travel stands in pubsub.h.
namespace cairn::doors {
namespace {

// --- Listening ----------------------------------------------------------------------------------

constexpr std::array<std::string_view, kChannelKinds> kSubscribeVerbs = {"subscribe", "psubscribe",
                                                                         "ssubscribe"};
constexpr std::array<std::string_view, kChannelKinds> kUnsubscribeVerbs = {
    "unsubscribe", "punsubscribe", "sunsubscribe"};

// What the replies to (UN)SUBSCRIBE count: shard channels apart from the others.
int64_t CountOf(const Session& session, ChannelKind kind) {
  const auto of = [&](ChannelKind counted) {
    return static_cast<int64_t>(session.subscription_count(counted));
  };
  if (kind == ChannelKind::kShard) return of(ChannelKind::kShard);
  return of(ChannelKind::kChannel) + of(ChannelKind::kPattern);
}

void Confirm(ConnectionContext& context, std::string_view verb,
             std::optional<std::string_view> name, ChannelKind kind) {
  context.reply.PushHeader(3);
  context.reply.Bulk(verb);
  if (name) {
    context.reply.Bulk(*name);
  } else {
    context.reply.Null();
  }
  context.reply.Integer(CountOf(context.session, kind));
}

void Changed(ConnectionContext& context) {
  Session& session = context.session;
  session.CountSubscriptions();
  context.connection.set_output_class(session.subscribed() ? net::OutputClass::kPubSub
                                                           : net::OutputClass::kNormal);
}

ConnectionHandler SubscribeTo(ChannelKind kind) {
  return [kind](ConnectionContext& context) {
    Subscriptions& subscriptions = context.session.SubscriptionsToChange();
    for (const std::string_view name : context.args.subspan(1)) {
      subscriptions.Add(kind, name);
      Changed(context);
      Confirm(context, kSubscribeVerbs[static_cast<size_t>(kind)], name, kind);
    }
  };
}

ConnectionHandler UnsubscribeFrom(ChannelKind kind) {
  return [kind](ConnectionContext& context) {
    const std::string_view verb = kUnsubscribeVerbs[static_cast<size_t>(kind)];
    Subscriptions& subscriptions = context.session.SubscriptionsToChange();
    std::vector<std::string> names(context.args.begin() + 1, context.args.end());
    if (names.empty()) {
      names.assign(subscriptions.names(kind).begin(), subscriptions.names(kind).end());
    }
    for (const std::string& name : names) {
      subscriptions.Remove(kind, name);
      Changed(context);
      Confirm(context, verb, name, kind);
    }
    if (names.empty()) Confirm(context, verb, std::nullopt, kind);
  };
}

// --- Publishing ---------------------------------------------------------------------------------

RunHandler PublishTo(ChannelKind kind) {
  return [kind](CommandContext& context) -> Result<void> {
    const size_t receivers = context.pubsub.Publish(
        context.transaction, {kind, std::string(context.args[1]), std::string(context.args[2])});
    context.reply.Integer(static_cast<int64_t>(receivers));
    return {};
  };
}

// --- PUBSUB -------------------------------------------------------------------------------------

AnswerHandler Channels(const PubSub& pubsub, ChannelKind kind) {
  return [kind, &pubsub](AnswerContext& context) {
    if (context.args.size() > 3) {
      return context.Fail(
          fmt::format("ERR unknown subcommand or wrong number of arguments for '{}'. Try PUBSUB "
                      "HELP.",
                      Quotable(context.args[1])));
    }
    const std::string_view pattern = context.args.size() == 3 ? context.args[2] : "*";
    const auto names = pubsub.Names(kind, pattern);
    context.reply.ArrayHeader(names.size());
    for (const std::string& name : names) context.reply.Bulk(name);
  };
}

AnswerHandler NumSub(const PubSub& pubsub, ChannelKind kind) {
  return [kind, &pubsub](AnswerContext& context) {
    const Args names = context.args.subspan(2);
    context.reply.ArrayHeader(names.size() * 2);
    for (const std::string_view name : names) {
      context.reply.Bulk(name);
      context.reply.Integer(static_cast<int64_t>(pubsub.CountListeners(kind, name)));
    }
  };
}

AnswerHandler NumPat(const PubSub& pubsub) {
  return [&pubsub](AnswerContext& context) {
    context.reply.Integer(static_cast<int64_t>(pubsub.CountNames(ChannelKind::kPattern)));
  };
}

// --- Settings -----------------------------------------------------------------------------------

void AddSettings(Instance& instance) {
  PubSub& pubsub = instance.traffic().pubsub;
  instance.settings().Add({.name = "notify-keyspace-events",
                           .get = [&pubsub] { return FormatKeyEvents(pubsub.key_events()); },
                           .set = [&pubsub](std::string_view value) -> Result<void> {
                             const std::optional<uint32_t> classes = ParseKeyEvents(value);
                             if (!classes) {
                               return Error{
                                   ErrorCode::kInvalid,
                                   "Invalid event class character. Use 'Ag$lshzxeKEtmdn'."};
                             }
                             pubsub.set_key_events(*classes);
                             return {};
                           }});
}

// --- Rows ---------------------------------------------------------------------------------------

constexpr uint32_t kListen = kPubSub | kNoScript | kLoading | kStale;
constexpr uint32_t kTell = kPubSub | kLoading | kStale | kFast;
constexpr uint32_t kAsk = kPubSub | kLoading | kStale;

void AddListening(CommandTable& table) {
  struct Row {
    std::string_view name;
    int arity;
    std::string_view since;
    std::string_view summary;
    std::string_view syntax;
    ConnectionHandler handler;
  };
  const Row kRows[] = {
      {"subscribe", -2, "2.0.0", "Begins to listen to channels.", "channel ...",
       SubscribeTo(ChannelKind::kChannel)},
      {"unsubscribe", -1, "2.0.0", "Stops listening to channels, or to all.", "[channel ...]",
       UnsubscribeFrom(ChannelKind::kChannel)},
      {"psubscribe", -2, "2.0.0", "Begins to listen to all channels that match patterns.",
       "pattern:pattern ...", SubscribeTo(ChannelKind::kPattern)},
      {"punsubscribe", -1, "2.0.0", "Stops listening to patterns, or to all.",
       "[pattern:pattern ...]", UnsubscribeFrom(ChannelKind::kPattern)},
      {"ssubscribe", -2, "7.0.0", "Begins to listen to shard channels.", "shardchannel ...",
       SubscribeTo(ChannelKind::kShard)},
      {"sunsubscribe", -1, "7.0.0", "Stops listening to shard channels, or to all.",
       "[shardchannel ...]", UnsubscribeFrom(ChannelKind::kShard)},
  };
  for (const Row& row : kRows) {
    const bool shard = row.since == "7.0.0";
    table.Add({.name = row.name,
               .arity = row.arity,
               .flags = kListen,
               .keys = shard ? std::vector<KeySpec>{{1, -1, 1, kNotAKey}} : std::vector<KeySpec>{},
               .while_subscribed = true,
               .group = "pubsub",
               .since = row.since,
               .complexity = "O(N) for N names",
               .summary = row.summary,
               .syntax = row.syntax,
               .connection = row.handler});
  }
}

void AddAsking(CommandTable& table, const PubSub& pubsub) {
  struct Row {
    std::string_view name;
    int arity;
    std::string_view since;
    std::string_view summary;
    std::string_view syntax;
    AnswerHandler answer;
  };
  const Row kRows[] = {
      {"pubsub|channels", -2, "2.8.0", "Lists channels that are listened to.", "[pattern:pattern]",
       Channels(pubsub, ChannelKind::kChannel)},
      {"pubsub|numsub", -2, "2.8.0", "Counts who listens to channels.", "[channel ...]",
       NumSub(pubsub, ChannelKind::kChannel)},
      {"pubsub|numpat", 2, "2.8.0", "Counts the patterns that are listened to.", "",
       NumPat(pubsub)},
      {"pubsub|shardchannels", -2, "7.0.0", "Lists shard channels that are listened to.",
       "[pattern:pattern]", Channels(pubsub, ChannelKind::kShard)},
      {"pubsub|shardnumsub", -2, "7.0.0", "Counts who listens to shard channels.",
       "[shardchannel ...]", NumSub(pubsub, ChannelKind::kShard)},
  };
  table.Add({.name = "pubsub",
             .arity = -2,
             .group = "pubsub",
             .since = "2.8.0",
             .summary = "Commands about channels and who listens."});
  for (const Row& row : kRows) {
    table.Add({.name = row.name,
               .arity = row.arity,
               .flags = kAsk,
               .scopes = ScopeRule::kNothing,
               .group = "pubsub",
               .since = row.since,
               .complexity = "O(N) for N names",
               .summary = row.summary,
               .syntax = row.syntax,
               .run = Answering(row.answer)});
  }
  table.Add(HelpRow("pubsub|help", 0, "pubsub", "6.2.0"));
}

}  // namespace

void AddPubSubCommands(Instance& instance) {
  AddSettings(instance);
  CommandTable& table = instance.commands();
  AddListening(table);
  table.Add({.name = "publish",
             .arity = 3,
             .flags = kTell,
             .scopes = ScopeRule::kNothing,
             .group = "pubsub",
             .since = "2.0.0",
             .complexity = "O(N+M) for N listeners of the channel and M patterns",
             .summary = "Sends a message to everybody who listens to a channel.",
             .syntax = "channel message",
             .run = PublishTo(ChannelKind::kChannel)});
  table.Add({.name = "spublish",
             .arity = 3,
             .flags = kTell,
             .keys = {{1, 1, 1, kNotAKey}},
             .scopes = ScopeRule::kNothing,
             .group = "pubsub",
             .since = "7.0.0",
             .complexity = "O(N) for N listeners",
             .summary = "Sends a message to everybody who listens to a shard channel.",
             .syntax = "shardchannel message",
             .run = PublishTo(ChannelKind::kShard)});
  AddAsking(table, instance.traffic().pubsub);
}

}  // namespace cairn::doors
