#include "seats/layer.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "doors/access/limits.h"
#include "house/configuration.h"
#include "house/declarations.h"
#include "house/registry.h"
#include "seats/cli_verbs.h"
#include "seats/commands.h"
#include "seats/feed.h"
#include "seats/operations.h"
#include "seats/queries.h"
#include "seats/refusal.h"
#include "seats/routes.h"
#include "seats/verify.h"

namespace cairn::seats {
namespace {

constexpr std::string_view kKeyPrefix = "seats.key_prefix";
constexpr std::string_view kBookingsTell = "buyers do it all day: the bookings tell it";

// The events of one database, each as of one moment.
Result<void> VerifyEvents(store::Store& store, const Place& place,
                          house::Verification& verification) {
  const Keys keys(place);
  const store::Scopes none;
  Page page;
  while (!verification.abandoned()) {
    std::vector<std::string> events;
    const auto list = [&](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(events, ListEvents(transaction, keys, page));
      return {};
    };
    CAIRN_RETURN_IF_ERROR(store.RunRead(none, list));
    if (events.empty()) break;
    page.after = events.back();
    for (const std::string& event : events) {
      VerifyReport report;
      const auto verify = [&](store::Transaction& transaction) -> Result<void> {
        CAIRN_ASSIGN_OR_RETURN(report, VerifyEvent(transaction, keys, event));
        return {};
      };
      const Result<store::Commit> done = store.RunRead(none, verify);
      // Keys that only look like an event's are passed over.
      if (!done.ok() && FindReason(done.error()) != nullptr) continue;
      if (!done.ok()) return done.error();
      for (const std::string& problem : report.problems) {
        verification.Problem(fmt::format("database {}, event {}: {}", place.db, event, problem));
      }
      verification.CountProblems(report.more_problems);
      const auto rows = static_cast<uint64_t>(1 + report.sections + report.bookings);
      if (!verification.Read(rows)) break;
    }
  }
  return {};
}

Result<void> VerifyAllEvents(store::Store& store, const std::string& key_prefix,
                             house::Verification& verification) {
  for (int db = 0; db < doors::kDatabases && !verification.abandoned(); ++db) {
    const Place place{static_cast<uint8_t>(db), key_prefix};
    CAIRN_RETURN_IF_ERROR(VerifyEvents(store, place, verification));
  }
  return {};
}

class SeatsLayer final : public house::Layer {
 public:
  std::string_view name() const override { return "seats"; }

  void Declare(house::Declarations& declarations) const override {
    declarations.AddPermission(
        {.name = "seats.read", .operators = true, .readers = true, .unaudited = house::kOnlyReads});
    declarations.AddPermission(
        {.name = "seats.book", .operators = true, .unaudited = kBookingsTell});
    declarations.AddPermission({.name = "seats.manage", .operators = true});
    declarations.AddSetting(
        house::NameSetting({kKeyPrefix, "What the keys of seat reservations begin with."}));
    declarations.AddVerb(SeatsVerb());
    declarations.AddVerify([this](store::Store& store, house::Verification& verification) {
      return VerifyAllEvents(store, key_prefix_, verification);
    });
  }

  void Configure(const house::Configuration& configuration) override {
    key_prefix_ = configuration.Text(kKeyPrefix);
  }

  void Register(house::Registry& registry) override {
    const house::Parts& parts = registry.parts();
    AddSeatCommands(parts.instance, key_prefix_);
    AddSeatRoutes({.store = parts.route_store,
                   .pubsub = parts.instance.traffic().pubsub,
                   .key_prefix = key_prefix_},
                  parts.routes);
    holds_.emplace(key_prefix_, parts.instance.traffic().pubsub);
    feeds_.emplace(key_prefix_);
    registry.AddTimer(kTimerHold, *holds_);
    registry.AddTimer(kTimerFeed, *feeds_);
  }

 private:
  std::string key_prefix_;
  std::optional<HoldTimers> holds_;
  std::optional<FeedTimers> feeds_;
};

}  // namespace

std::unique_ptr<house::Layer> MakeSeatsLayer() { return std::make_unique<SeatsLayer>(); }

}  // namespace cairn::seats
